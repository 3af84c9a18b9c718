/* A descriptor that begins to bypass the cache after it was read through: 3 reads before, 50 after. */
#include "place.h"

enum { SIZE = 1 << 20 };

int main(void)
{
    unsigned char *bytes = aligned_alloc(4096, 4096); off_t at = 0;
    make_file("d1", 1, SIZE);
    int fd = open("d1", O_RDONLY); MUST(fd >= 0 && fdatasync(fd) == 0);
    for (; at < 3 * 4096; at += 4096) { MUST(pread(fd, bytes, 4096, at) == 4096); check(1, at, bytes, 4096); }
    if (fcntl(fd, F_SETFL, O_DIRECT) != 0) FAIL("the file system has no O_DIRECT");
    for (; at < 53 * 4096; at += 4096) { MUST(pread(fd, bytes, 4096, at) == 4096); check(1, at, bytes, 4096); }
    return 0;
}
