/*
 * A child in the memory of its parent, with a thread pointer to zeros: the C library knows nothing of it, and it may
 * only call what makes a system call. Chromium leaves the root folder in such a child.
 */
#include "place.h"
#include <sched.h>

static char thread_area[16384] __attribute__((aligned(64))), stack[65536] __attribute__((aligned(64)));
static unsigned char bytes[8192];
static char folder[4096];

static int run(void *unused)
{
    (void)unused;
    int fd = open("bare", O_RDONLY);
    if (fd < 0 || lseek(fd, 100, SEEK_SET) != 100 || read(fd, bytes, 5000) != 5000 || pread(fd, bytes + 5000, 100, 0) != 100)
        _exit(1);
    if (dup2(fd, 200) != 200 || close(fd) != 0 || close(200) != 0) _exit(2);
    struct stat facts;
    if (stat("bare", &facts) != 0 || chdir("/") != 0 || chdir(folder) != 0 || open("nothing", O_RDONLY) != -1) _exit(3);
    _exit(0);
}

int main(void)
{
    make_file("bare", 1, 1 << 20); MUST(getcwd(folder, sizeof folder) != NULL);
    for (int i = 0; i < 3; i++) {
        memset(thread_area, 0, sizeof thread_area); memset(bytes, 0, sizeof bytes);
        int flags = CLONE_VM | CLONE_VFORK | CLONE_SETTLS | SIGCHLD, status;
        pid_t child = clone(run, stack + sizeof stack, flags, NULL, NULL, thread_area + sizeof thread_area / 2, NULL);
        MUST(child > 0); MUST(waitpid(child, &status, 0) == child);
        if (status != 0) FAIL("the child ended with status %x", status);
        check(1, 100, bytes, 5000); check(1, 0, bytes + 5000, 100);
        /* The next time the library is awake, and knows the file. */
        int fd = open("bare", O_RDONLY); MUST(read(fd, bytes, 4096) == 4096); MUST(close(fd) == 0);
    }
    return 0;
}
