/*
 * A program that reads a file backward from a disk, and then makes children that read one page of it each and end.
 * Usage: children NUMBER
 */
#include "place.h"

enum { SIZE = 8 << 20, READ_BYTES = 16384 };

int main(int argc, char **argv)
{
    static unsigned char bytes[READ_BYTES];
    int status;
    make_file("c1", 1, SIZE);
    int fd = open("c1", O_RDONLY);
    MUST(fd >= 0 && fsync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
    for (off_t at = SIZE - READ_BYTES; at >= SIZE / 2; at -= READ_BYTES) MUST(pread(fd, bytes, READ_BYTES, at) == READ_BYTES);
    for (int i = 0; i < atoi(argv[1]); i++) {
        pid_t child = fork();
        if (child == 0) { MUST(pread(fd, bytes, 4096, 0) == 4096); exit(0); }
        MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    return 0;
}
