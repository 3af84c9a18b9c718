/*
 * Executes a program under a filter of system calls. Usage: filtered kill|allow PROGRAM [ARGUMENT...]. With "kill" the
 * filter ends the process at a call that only the helper for trees makes; with "allow" it lets all calls pass.
 */
#include "one_call.h"

int main(int argc, char **argv)
{
    MUST(argc > 2);
    uint32_t verdict = strcmp(argv[1], "kill") ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS;
    filter_call(SYS_close_range, verdict);
    execvp(argv[2], argv + 2);
    FAIL("cannot execute %s", argv[2]);
}
