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

/* A system call by the instruction alone, which no library can see. Three arguments; the others are zero. */
static inline long unseen_call(long number, long first, long second, long third)
{
#if defined __x86_64__
    register long fourth __asm__("r10") = 0, fifth __asm__("r8") = 0;
    __asm__ volatile("syscall" : "+a"(number) : "D"(first), "S"(second), "d"(third), "r"(fourth), "r"(fifth) : "rcx", "r11", "memory");
    return number;
#elif defined __aarch64__
    register long n __asm__("x8") = number, a __asm__("x0") = first, b __asm__("x1") = second, c __asm__("x2") = third;
    register long d __asm__("x3") = 0, e __asm__("x4") = 0;
    __asm__ volatile("svc 0" : "+r"(a) : "r"(n), "r"(b), "r"(c), "r"(d), "r"(e) : "memory");
    return a;
#endif
}

static inline uint64_t any(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Writes what became of it and ends, by the calls that every sandbox leaves. */
static inline void end_with(const char *text)
{
    if (write(1, text, strlen(text)) < 0) syscall(SYS_exit, 2);
    syscall(SYS_exit, 0);
}

/* Descriptors that this process has. */
static inline int count_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 4096; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}
