/*
 * A signal interrupts a copy inside the kernel before anything was moved: the program must hear of
 * it, after one attempt. A filter makes each attempt a SIGSYS, whose handler counts it and answers
 * for the kernel. Usage: interrupted sendfile|copy_file_range|at_offset
 */
#include "place.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <ucontext.h>

enum { SIZE = 9 << 20 };
static volatile sig_atomic_t attempts;

static void answer(int number, siginfo_t *info, void *context)
{
    ucontext_t *at = context; (void)number; (void)info;
    attempts++;
#if defined __x86_64__
    at->uc_mcontext.gregs[REG_RAX] = -EINTR;
#elif defined __aarch64__
    at->uc_mcontext.regs[0] = -EINTR;
#endif
}

int main(int argc, char **argv)
{
    MUST(argc == 2);
    make_file("source", 1, SIZE);
    int source = open("source", O_RDONLY), target = open("target", O_RDWR | O_CREAT | O_TRUNC, 0600);
    unsigned char bytes[5000]; off_t offset = 4096; ssize_t n;
    MUST(read(source, bytes, sizeof bytes) == sizeof bytes);
    struct sigaction action = { .sa_sigaction = answer, .sa_flags = SA_SIGINFO };
    MUST(sigaction(SIGSYS, &action, NULL) == 0);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendfile, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_copy_file_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
    MUST(syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
    errno = 0;
    if (strcmp(argv[1], "sendfile") == 0) n = sendfile(target, source, NULL, SIZE);
    else if (strcmp(argv[1], "at_offset") == 0) n = sendfile(target, source, &offset, SIZE);
    else n = copy_file_range(source, NULL, target, NULL, SIZE, 0);
    printf("%zd, errno %d, after %d attempts\n", n, errno, attempts);
    return 0;
}
