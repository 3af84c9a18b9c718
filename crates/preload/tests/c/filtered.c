/*
 * Executes a program under a filter of system calls. Usage: filtered kill|allow PROGRAM [ARGUMENT...]. With "kill" the
 * filter ends the process at a call that only the helper for trees makes; with "allow" it lets all calls pass.
 */
#include "place.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

int main(int argc, char **argv)
{
    MUST(argc > 2);
    uint32_t verdict = strcmp(argv[1], "kill") ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1), BPF_STMT(BPF_RET | BPF_K, verdict),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    execvp(argv[2], argv + 2);
    FAIL("cannot execute %s", argv[2]);
}
