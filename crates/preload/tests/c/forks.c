/*
 * Forks, vforks and spawned programs, each of which reads and looks at the bytes.
 * Usage: forks FORKS VFORKS SPAWNS. With one argument: be the program that was started.
 */
#include "place.h"
#include <spawn.h>

enum { SIZE = 300000, TOGETHER = 8 };
extern char **environ;
static unsigned char bytes[70000];

static void look(int inherited, unsigned i)
{
    ssize_t n; off_t start = (off_t)(i * 7919u % SIZE);
    MUST((n = pread(inherited, bytes, 8192, start)) >= 0); check(1, start, bytes, n);
    int fd = open("f1", O_RDONLY); MUST(fd >= 0);
    for (start = 0; start < 20000; start += n) { MUST((n = read(fd, bytes, 5000)) == 5000); check(1, start, bytes, n); }
    MUST(close(fd) == 0);
}

static void harvest(pid_t pid)
{
    int status;
    MUST(waitpid(pid, &status, 0) == pid);
    if (status != 0) FAIL("a child ended with status %x", status);
}

int main(int argc, char **argv)
{
    if (argc == 2) { int fd = open("f1", O_RDONLY); look(fd, atoi(argv[1])); return 0; }
    make_file("f1", 1, SIZE);
    int fd = open("f1", O_RDONLY), reader = open("f1", O_RDONLY), before = count_descriptors();
    FILE *stream = fopen("f1", "r"); off_t position = 0; ssize_t n;
    MUST(fd >= 0 && reader >= 0 && stream != NULL);
    pid_t children[TOGETHER] = { 0 };
    for (unsigned i = 0; i < strtoul(argv[1], NULL, 0); i++) {
        pid_t *place = &children[i % TOGETHER];
        if (*place != 0) harvest(*place);
        MUST((*place = fork()) >= 0);
        if (*place == 0) { look(fd, i); int c = getc(stream); MUST(c == EOF || c >= 0); _exit(0); }
        MUST((n = read(reader, bytes, 3000)) >= 0); check(1, position, bytes, n);
        position += n;
        if (n == 0) { MUST(lseek(reader, 0, SEEK_SET) == 0); position = 0; }
    }
    for (int i = 0; i < TOGETHER; i++) if (children[i] != 0) harvest(children[i]);
    for (unsigned i = 0; i < strtoul(argv[2], NULL, 0); i++) {
        char text[16]; sprintf(text, "%u", i);
        char *arguments[] = { argv[0], text, NULL };
        pid_t pid = vfork();
        MUST(pid >= 0);
        if (pid == 0) {
            /* What the child does to its descriptors must not be taken for the parent's. */
            dup2(fd, reader); close(fd); close_range(100, 200, 0);
            execv(argv[0], arguments); _exit(9);
        }
        MUST((n = read(reader, bytes, 3000)) >= 0); check(1, position, bytes, n);
        position += n;
        if (n == 0) { MUST(lseek(reader, 0, SEEK_SET) == 0); position = 0; }
        harvest(pid);
    }
    for (unsigned i = 0; i < strtoul(argv[3], NULL, 0); i++) {
        char text[16]; sprintf(text, "%u", i);
        char *arguments[] = { argv[0], text, NULL }; pid_t pid;
        MUST(posix_spawn(&pid, argv[0], NULL, NULL, arguments, environ) == 0);
        harvest(pid);
    }
    MUST(fclose(stream) == 0);
    MUST(count_descriptors() == before);
    MUST(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    return 0;
}
