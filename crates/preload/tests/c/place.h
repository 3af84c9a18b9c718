/*
 * Data that proves its own place: byte i of file n is a function of n and i. And the few words
 * that all programs here share. A program ends with 0 if everything was as it must be; otherwise
 * it says in one line what was not.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAIL(...) do { fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); fprintf(stderr, __VA_ARGS__); \
    fprintf(stderr, " (errno %d)\n", errno); _exit(1); } while (0)
#define MUST(condition) do { if (!(condition)) FAIL("not so: %s", #condition); } while (0)

static inline unsigned char byte_at(unsigned file, uint64_t i)
{
    uint64_t word = (i >> 3) * 0x9e3779b97f4a7c15u + file * 0xbf58476d1ce4e5b9u;
    word ^= word >> 31;
    return (unsigned char)(word >> 8 * (i & 7));
}

static inline void check(unsigned file, uint64_t start, const unsigned char *bytes, ssize_t n)
{
    for (ssize_t i = 0; i < n; i++)
        if (bytes[i] != byte_at(file, start + i)) FAIL("file %u has a wrong byte at %llu", file, (unsigned long long)start + i);
}

static inline void make_file(const char *name, unsigned file, size_t size)
{
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    MUST(fd >= 0);
    unsigned char *bytes = malloc(size + 1);
    for (size_t i = 0; i < size; i++) bytes[i] = byte_at(file, i);
    MUST(write(fd, bytes, size) == (ssize_t)size);
    free(bytes);
    MUST(close(fd) == 0);
}

static inline uint64_t any(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Descriptors that this process has. */
static inline int count_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 4096; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}
