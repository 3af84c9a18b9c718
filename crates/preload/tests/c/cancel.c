/* Threads cancelled while they wait inside a read: their clean-up runs, and nobody else notices. */
#include "place.h"

enum { ROUNDS = 200, KINDS = 5 };
static int ends[2];
static int cleaned;
static FILE *stream;

static void clean(void *argument) { (void)argument; __atomic_add_fetch(&cleaned, 1, __ATOMIC_SEQ_CST); }

static void *wait_for_ever(void *argument)
{
    char byte; struct iovec part = { &byte, 1 }; char *line = NULL; size_t size = 0;
    pthread_cleanup_push(clean, NULL);
    switch ((uintptr_t)argument) {
    case 0: (void)!read(ends[0], &byte, 1); break;
    case 1: (void)!readv(ends[0], &part, 1); break;
    case 2: (void)!fread(&byte, 1, 1, stream); break;
    case 3: (void)!getline(&line, &size, stream); break;
    default: for (int fd = open("c1", O_RDONLY);;) (void)!pread(fd, &byte, 1, 5);
    }
    pthread_cleanup_pop(0);
    return NULL;
}

int main(void)
{
    make_file("c1", 1, 100000);
    int fd = open("c1", O_RDONLY); off_t position = 0; unsigned char bytes[400];
    for (uintptr_t round = 0; round < ROUNDS; round++) {
        pthread_t thread; void *result;
        /* A fresh pipe each time: a cancelled thread leaves the lock of its stream behind. */
        MUST(pipe(ends) == 0);
        stream = fdopen(dup(ends[0]), "r");
        MUST(pthread_create(&thread, NULL, wait_for_ever, (void *)(round % KINDS)) == 0);
        MUST(pthread_cancel(thread) == 0);
        MUST(pthread_join(thread, &result) == 0);
        MUST(result == PTHREAD_CANCELED);
        MUST(cleaned <= (int)round + 1);
        ssize_t n = read(fd, bytes, sizeof bytes); check(1, position, bytes, n); position += n;
        close(ends[0]); close(ends[1]);
    }
    return 0;
}
