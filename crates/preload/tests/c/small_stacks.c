/*
 * Reads on stacks as small as programs have them: threads of PTHREAD_STACK_MIN, and a handler of
 * signals on 8 KiB, of which its registers take nearly half. "measure" prints how much of a stack
 * was used, "measure-handler" how much below the frame of a handler.
 */
#include "place.h"
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { SIZE = 4 << 20, FILES = 200, MEASURED = 256 << 10, OF_HANDLER = 8192, RED_ZONE = 256, PAINT = 0xa5 };
static unsigned char bytes[65536];
static const char *of_handler;

static void read_forward(const char *name, uint64_t seed)
{
    int fd = open(name, O_RDONLY); off_t at = 0; MUST(fd >= 0);
    for (ssize_t n; (n = read(fd, bytes, 4096)) > 0; at += n) check(seed, at, bytes, n);
    MUST(at == SIZE); MUST(close(fd) == 0);
}

static void read_backward_and_anywhere(const char *name, uint64_t seed)
{
    int fd = open(name, O_RDONLY); MUST(fd >= 0);
    for (off_t at = SIZE - 4096; at >= 0; at -= 4096) { MUST(pread(fd, bytes, 4096, at) == 4096); check(seed, at, bytes, 4096); }
    for (uint64_t state = 3, i = 0; i < 500; i++) { off_t at = any(&state) % (SIZE - 4096); MUST(pread(fd, bytes, 4096, at) == 4096); check(seed, at, bytes, 4096); }
    MUST(close(fd) == 0);
}

static void read_tree(void)
{
    int folder = open("tree", O_RDONLY | O_DIRECTORY); MUST(folder >= 0);
    for (int i = 0; i < FILES; i++) {
        char name[] = { 'a' + i / 26 % 26, 'a' + i % 26, 0 };
        int fd = openat(folder, name, O_RDONLY); MUST(fd >= 0); MUST(read(fd, bytes, sizeof bytes) == 3000); MUST(close(fd) == 0);
    }
    MUST(close(folder) == 0);
}

static void *everything(void *unused)
{
    read_forward("s1", 1); read_backward_and_anywhere("s2", 2); read_tree();
    return unused;
}

/* Runs a thread on this stack. Returns how much of it was used. */
static size_t run(void *(*what)(void *), unsigned char *stack, size_t size)
{
    pthread_attr_t attributes; pthread_t thread; size_t left = 0;
    memset(stack, PAINT, size);
    MUST(pthread_attr_init(&attributes) == 0); MUST(pthread_attr_setstack(&attributes, stack, size) == 0);
    MUST(pthread_create(&thread, &attributes, what, NULL) == 0); MUST(pthread_join(thread, NULL) == 0);
    while (left < size && stack[left] == PAINT) left++;
    return size - left;
}

/* With a page in front that nothing may touch. */
static unsigned char *stack_of(size_t size)
{
    unsigned char *stack = mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(stack != MAP_FAILED); MUST(mprotect(stack, 4096, PROT_NONE) == 0);
    return stack + 4096;
}

static void handle(int number) { (void)number; read_forward(of_handler, 3); }

static unsigned char *painted;

/* Names are resolved before: the loader saves all registers for that. */
static void handle_and_measure(int number)
{
    unsigned char here; size_t left = 0, below = &here - RED_ZONE - painted;
    (void)number; read_forward("s1", 1); read_backward_and_anywhere("s1", 1);
    MUST(close(openat(AT_FDCWD, "s1", O_RDONLY)) == 0);
    memset(painted, PAINT, below);
    read_forward(of_handler, 3); read_backward_and_anywhere("s2", 2); read_tree();
    while (left < below && painted[left] == PAINT) left++;
    printf("%zu\n", below - left + RED_ZONE);
}

static void on_signal_stack(void (*handler)(int), size_t size)
{
    stack_t stack = { .ss_sp = painted = stack_of(size), .ss_size = size };
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
    of_handler = "s3"; MUST(sigaltstack(&stack, NULL) == 0); MUST(sigaction(SIGUSR1, &action, NULL) == 0);
    MUST(raise(SIGUSR1) == 0);
}

static void make_files(void)
{
    make_file("s1", 1, SIZE); make_file("s2", 2, SIZE); make_file("s3", 3, SIZE); mkdir("tree", 0700);
    for (int i = 0; i < FILES; i++) {
        char name[] = { 't', 'r', 'e', 'e', '/', 'a' + i / 26 % 26, 'a' + i % 26, 0 };
        make_file(name, 4, 3000);
    }
    /* So that reads wait: what was just written is in memory. */
    sync();
    for (int i = -3; i < FILES; i++) {
        char name[] = { 't', 'r', 'e', 'e', '/', 'a' + i / 26 % 26, 'a' + i % 26, 0 };
        const char *path = i < 0 ? (const char *[]){ "s1", "s2", "s3" }[i + 3] : name;
        int fd = open(path, O_RDONLY); MUST(fd >= 0); posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); MUST(close(fd) == 0);
    }
}

int main(int count, char **arguments)
{
    MUST(count == 2); make_files();
    if (strcmp(arguments[1], "measure") == 0) {
        printf("%zu\n", run(everything, stack_of(MEASURED), MEASURED));
    } else if (strcmp(arguments[1], "threads") == 0) {
        size_t size = sysconf(_SC_THREAD_STACK_MIN);
        run(everything, stack_of(size), size);
    } else if (strcmp(arguments[1], "measure-handler") == 0) {
        on_signal_stack(handle_and_measure, MEASURED);
    } else {
        on_signal_stack(handle, OF_HANDLER);
    }
    return 0;
}
