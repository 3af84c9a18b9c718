/*
 * Descriptors with high numbers, of which the library keeps no line at first.
 * Usage: numbers strict|filter|close|seen. With "strict" and "filter" the program enters a sandbox that ends it for
 * a mapping, and reads and closes what it has; with "close" it closes a million numbers that it does not have;
 * with "seen" it only reads.
 */
#include "one_call.h"
#include <sys/resource.h>

enum { NUMBER = 2100 };

static long address_space(void)
{
    long pages = 0;
    FILE *facts = fopen("/proc/self/statm", "r");
    MUST(facts != NULL && fscanf(facts, "%ld", &pages) == 1);
    fclose(facts);
    return pages;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    char bytes[16];
    if (strcmp(mode, "close") == 0) {
        long before = address_space();
        for (int fd = 3; fd < 1 << 20; fd++) close(fd);
        printf("%ld pages more\n", address_space() - before);
        return 0;
    }
    struct rlimit many = { 4096, 4096 };
    MUST(setrlimit(RLIMIT_NOFILE, &many) == 0);
    make_file("n1", 1, 1 << 16);
    int file = open("n1", O_RDONLY), ends[2];
    MUST(file >= 0 && read(file, bytes, 16) == 16 && pipe(ends) == 0 && write(ends[1], "some text", 9) == 9);
    /* By the kernel alone: the library sees no number of them. */
    MUST(syscall(SYS_dup3, ends[0], NUMBER, 0) == NUMBER && syscall(SYS_dup3, file, NUMBER + 1, 0) == NUMBER + 1);
    if (strcmp(mode, "strict") == 0) {
        MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    } else if (strcmp(mode, "filter") == 0) {
        filter_call(SYS_mmap, SECCOMP_RET_KILL_PROCESS);
        MUST(lseek(NUMBER + 1, 0, SEEK_SET) == 0 && readv(NUMBER, &(struct iovec){ bytes, 1 }, 1) == 1);
        MUST(posix_fadvise(NUMBER + 1, 0, 0, POSIX_FADV_RANDOM) == 0 && dup2(NUMBER + 1, NUMBER + 1000) == NUMBER + 1000);
        MUST(close(NUMBER + 1000) == 0 && open("n1", O_RDONLY) >= 0);
    }
    if (read(NUMBER, bytes, 4) != 4 || read(NUMBER + 1, bytes, 16) != 16) end_with("not read\n");
    if (strcmp(mode, "filter") == 0 && (close(NUMBER) != 0 || close(NUMBER + 1) != 0)) end_with("not closed\n");
    if (strcmp(mode, "seen") == 0) return 0;
    end_with("all of it\n");
}
