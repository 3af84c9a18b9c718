/*
 * A program that enters a sandbox in a way of its own, reads what waits, and writes how that went.
 * Usage: entered strict|filter|prctl|counter|plain. The first two go by `syscall` with SYS_seccomp and "prctl" by
 * `syscall` with SYS_prctl, as the C library has no function for the first. "counter" forbids the processor's counter.
 * With "plain" there is no sandbox: results, errors and processes that `syscall` makes are as they must be.
 */
#include "place.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sched.h>

static void plain(void)
{
    char bytes[8];
    make_file("e1", 1, 3 << 12);
    int file = open("e1", O_RDONLY), status;
    MUST(file >= 0);
    unsigned char *mapped = (unsigned char *)syscall(SYS_mmap, NULL, 4096UL, PROT_READ, MAP_PRIVATE, file, 4096UL);
    MUST(mapped != MAP_FAILED);
    check(1, 4096, mapped, 4096);
    errno = 0;
    MUST(syscall(SYS_read, -1, bytes, 8UL) == -1 && errno == EBADF);
    errno = 5;
    MUST(syscall(SYS_unshare, 0) == 0 && syscall(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0) == 1 && errno == 5);
    MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) == -1 && (errno == EFAULT || errno == EACCES));
    MUST(syscall(SYS_setns, -1, 0) == -1 && errno == EBADF);
    for (int i = 0; i < 100; i++) {
        pid_t copy = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (copy == 0) { MUST(read(file, bytes, 8) == 8); syscall(SYS_exit_group, 8); }
        MUST(copy > 0 && waitpid(copy, &status, 0) == copy && WIFEXITED(status) && WEXITSTATUS(status) == 8);
        MUST(lseek(file, 0, SEEK_SET) == 0);
    }
    end_with("all of it\n");
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int ends[2];
    char byte;
    if (strcmp(mode, "plain") == 0) plain();
    make_file("e1", 1, 1 << 20);
    int file = open("e1", O_RDONLY);
    MUST(file >= 0 && read(file, &byte, 1) == 1 && pipe(ends) == 0);
    if (fork() == 0) {
        usleep(50000);
        MUST(write(ends[1], "some text", 9) == 9);
        _exit(0);
    }
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 3, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
    /* By the instruction alone, as no library can see: what is seen below is the call that is meant. */
    if (strcmp(mode, "counter") != 0) MUST(unseen_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0) == 0);
    if (strcmp(mode, "strict") == 0) MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL) == 0);
    if (strcmp(mode, "filter") == 0) MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
    if (strcmp(mode, "prctl") == 0) MUST(syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
#ifdef __x86_64__
    if (strcmp(mode, "counter") == 0) MUST(prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0);
#endif
    for (int i = 0; i < 9; i++) if (read(ends[0], &byte, 1) != 1) end_with("no byte\n");
    for (int i = 0; i < 50; i++) if (read(file, &byte, 1) != 1 || (unsigned char)byte != byte_at(1, i + 1)) end_with("a wrong byte\n");
    end_with("all of it\n");
}
