/*
 * A thread asks for a line while another has the stream locked and its buffer is out of reach, as
 * it is for a moment when a character is pushed back or the stream is opened again. The line must
 * come once the lock is free; who looks into the buffer before that dies.
 * Usage: busy_stream fgets|getline|getc
 */
#include "place.h"
#include <sched.h>
#include <sys/mman.h>

enum { SIZE = 4096 };
static FILE *stream;
static const char *kind;
static volatile pid_t reader;
static char text[256];

static void *read_line(void *argument)
{
    char *line = NULL; size_t size = 0;
    reader = syscall(SYS_gettid);
    if (strcmp(kind, "fgets") == 0) MUST(fgets(text, sizeof text, stream) == text);
    else if (strcmp(kind, "getline") == 0) { MUST(getline(&line, &size, stream) == 9); strcpy(text, line); }
    else { text[0] = (char)getc(stream); fgets(text + 1, sizeof text - 1, stream); }
    return argument;
}

/* Whether the thread waits inside a futex. */
static int waits(pid_t thread)
{
    char path[64], state[64] = "";
    sprintf(path, "/proc/self/task/%d/syscall", thread);
    int fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
    if (fd < 0) FAIL("cannot read %s", path);
    (void)!syscall(SYS_read, fd, state, sizeof state - 1);
    syscall(SYS_close, fd);
    return atoi(state) == SYS_futex && strncmp(state, "running", 7) != 0;
}

int main(int argc, char **argv)
{
    MUST(argc == 2); kind = argv[1];
    FILE *file = fopen("lines", "w"); MUST(file != NULL);
    for (int i = 0; i < 2000; i++) fprintf(file, "line %03d\n", i % 1000);
    MUST(fclose(file) == 0);
    char *buffer = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(buffer != MAP_FAILED && (stream = fopen("lines", "r")) != NULL);
    MUST(setvbuf(stream, buffer, _IOFBF, SIZE) == 0);
    char first[64]; MUST(fgets(first, sizeof first, stream) != NULL && strcmp(first, "line 000\n") == 0);
    /* So little is left that the next line may need a refill, and then again that it cannot. */
    for (int round = 0; round < 2; round++) {
        pthread_t thread;
        int last = round == 0 ? 1 : 445;
        for (int i = round == 0 ? 1 : 2; i < last; i++) MUST(fgets(first, sizeof first, stream) != NULL);
        flockfile(stream);
        MUST(mprotect(buffer, SIZE, PROT_NONE) == 0);
        reader = 0;
        MUST(pthread_create(&thread, NULL, read_line, NULL) == 0);
        while (reader == 0 || !waits(reader)) sched_yield();
        MUST(mprotect(buffer, SIZE, PROT_READ | PROT_WRITE) == 0);
        funlockfile(stream);
        MUST(pthread_join(thread, NULL) == 0);
        printf("%s", text);
    }
    return 0;
}
