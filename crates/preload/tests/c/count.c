/* Runs a program and prints how many system calls it makes, from its exec on. Usage: count CMD… */
#include "place.h"
#include <sys/ptrace.h>

int main(int argc, char **argv)
{
    MUST(argc > 1);
    pid_t pid = fork(); MUST(pid >= 0);
    if (pid == 0) { MUST(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0); execvp(argv[1], argv + 1); FAIL("cannot execute %s", argv[1]); }
    int status; long stops = 0;
    MUST(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
    MUST(ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD) == 0);
    for (int signal = 0;;) {
        MUST(ptrace(PTRACE_SYSCALL, pid, 0, signal) == 0 && waitpid(pid, &status, 0) == pid);
        if (!WIFSTOPPED(status)) break;
        signal = WSTOPSIG(status);
        if (signal == (SIGTRAP | 0x80)) { stops++; signal = 0; }
        else if (signal == SIGTRAP) signal = 0; /* another exec */
    }
    if (status != 0) FAIL("ended with status %x", status);
    printf("%ld\n", (stops + 1) / 2);
    return 0;
}
