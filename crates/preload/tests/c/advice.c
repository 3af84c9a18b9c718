/*
 * A program that says RANDOM of a file and reads it backward from a disk.
 * Usage: advice plain|copy|flags|vfork|taken_back. Between advice and reads it copies the descriptor, changes its flags, or
 * closes it in the child of a vfork; or it takes the advice back.
 */
#include "place.h"

enum { SIZE = 16 << 20, READ_BYTES = 16384 };

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    static unsigned char bytes[READ_BYTES];
    int status;
    make_file("a1", 1, SIZE);
    int fd = open("a1", O_RDONLY);
    MUST(fd >= 0 && fsync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
    MUST(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) == 0);
    if (strcmp(mode, "copy") == 0) MUST((fd = dup(fd)) >= 0);
    if (strcmp(mode, "flags") == 0) MUST(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
    if (strcmp(mode, "taken_back") == 0) MUST(posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL) == 0);
    if (strcmp(mode, "vfork") == 0) {
        pid_t child = vfork();
        if (child == 0) { close(fd); dup2(0, fd); close_range(fd, fd, 0); _exit(0); }
        MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    for (off_t at = SIZE - READ_BYTES; at >= SIZE / 2; at -= READ_BYTES) {
        MUST(pread(fd, bytes, READ_BYTES, at) == READ_BYTES);
        check(1, at, bytes, READ_BYTES);
    }
    return 0;
}
