/*
 * A program that forbids itself what a library might want, and goes on reading.
 * Usage: sandbox refuse|kill|exec. With "refuse" the filter comes by the instruction alone, which
 * cannot be noticed, and the calls fail; with "kill" it comes by prctl and each of them is the end;
 * with "exec" it comes as with "refuse", each call is the end, and then the program is executed
 * again ("inside") and finds itself in a sandbox that it never announced. What the loader needs is
 * allowed there.
 */
#include "place.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

enum { SIZE = 4 << 20 };
#define FORBID(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, verdict)

int main(int argc, char **argv)
{
    static unsigned char bytes[70000];
    int is_exec = argc > 1 && strcmp(argv[1], "exec") == 0, is_inside = argc > 1 && strcmp(argv[1], "inside") == 0;
    int is_kill = argc > 1 && strcmp(argv[1], "kill") == 0;
    uint32_t verdict = is_kill || is_exec ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
    make_file("b1", 1, SIZE);
    FILE *stream = fopen("b1", "r"); ssize_t n; uint64_t state = 3;
    int early = open("b1", O_RDONLY); MUST(early >= 0 && stream != NULL);
    for (off_t at = 0; at < SIZE / 2; at += n) { MUST((n = read(early, bytes, 65536)) > 0); check(1, at, bytes, n); }
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        FORBID(SYS_fadvise64), FORBID(SYS_readahead), FORBID(SYS_io_uring_setup), FORBID(SYS_io_uring_enter),
        FORBID(SYS_io_uring_register), FORBID(SYS_mmap), FORBID(SYS_madvise), FORBID(SYS_futex), FORBID(SYS_clone),
        FORBID(SYS_clone3), FORBID(SYS_fstatfs), FORBID(SYS_getpid), FORBID(SYS_gettid), FORBID(451 /* cachestat */), FORBID(SYS_process_madvise), FORBID(SYS_sysinfo),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_filter at_exec[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        FORBID(SYS_fadvise64), FORBID(SYS_readahead), FORBID(SYS_madvise), FORBID(SYS_fstatfs), FORBID(SYS_getpid), FORBID(SYS_gettid),
        FORBID(451 /* cachestat */), FORBID(SYS_readlinkat), FORBID(SYS_lseek), FORBID(SYS_fcntl), FORBID(SYS_clone), FORBID(SYS_clone3),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
    setvbuf(stdout, malloc(4096), _IOFBF, 4096);
    if (is_exec) {
        program = (struct sock_fprog){ sizeof at_exec / sizeof *at_exec, at_exec };
        MUST(syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
        char *arguments[] = { argv[0], "inside", NULL };
        execv(argv[0], arguments);
        FAIL("cannot execute %s", argv[0]);
    } else if (is_inside) {
        /* Forbidden already. */
    } else if (is_kill) {
        MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    } else {
        MUST(unseen_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0) == 0);
        MUST(unseen_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program) == 0);
    }
    for (off_t at = SIZE / 2; at < SIZE; at += n) { errno = 0; MUST((n = read(early, bytes, 65536)) > 0 && errno == 0); check(1, at, bytes, n); }
    int fd = open("b1", O_RDONLY); MUST(fd >= 0);
    for (off_t at = SIZE - 4096; at >= 0; at -= 8192) { errno = 0; MUST((n = pread(fd, bytes, 4096, at)) == 4096 && errno == 0); check(1, at, bytes, n); }
    for (int i = 0; i < 2000; i++) { off_t at = any(&state) % SIZE; MUST((n = pread(fd, bytes, 5000, at)) > 0); check(1, at, bytes, n); }
    for (off_t at = 0; (n = fread(bytes, 1, 10000, stream)) > 0; at += n) check(1, at, bytes, n);
    MUST(feof(stream) && !ferror(stream));
    if (is_inside) { printf("read all inside\n"); return 0; }
    if (!is_kill) printf("fadvise gives %d\n", posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED));
    int other = fcntl(fd, F_DUPFD, 100); MUST(other >= 100 && close(other) == 0);
    int copy = dup(fd); MUST(copy >= 0); MUST(close(fd) == 0); MUST(close(copy) == 0); MUST(fclose(stream) == 0);
    printf("read all\n");
    return 0;
}
