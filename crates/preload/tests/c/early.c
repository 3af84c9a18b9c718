/* A library whose constructor reads before or after ours has run. */
#include "place.h"

__attribute__((constructor)) static void read_early(void)
{
    char bytes[64]; errno = 33;
    int fd = open("/proc/version", O_RDONLY); MUST(fd >= 0);
    MUST(read(fd, bytes, 10) == 10); MUST(pread(fd, bytes, 10, 0) == 10);
    MUST(lseek(fd, 0, SEEK_SET) == 0);
    FILE *f = fopen("/proc/version", "r"); MUST(f != NULL);
    char line[64]; MUST(fgets(line, sizeof line, f) != NULL); MUST(memcmp(line, bytes, 10) == 0);
    MUST(dup2(fd, 90) == 90 && close(90) == 0 && fclose(f) == 0 && close(fd) == 0);
    MUST(fcntl(fd, F_GETFD) == -1 && errno == EBADF);
}
