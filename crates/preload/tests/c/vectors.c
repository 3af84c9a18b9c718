/* Reads cold pages here and there through readv and preadv: most of them wait for the device. */
#include "place.h"

enum { SIZE = 32 << 20, READS = 200 };

int main(void)
{
    static unsigned char bytes[2][2048]; uint64_t state = 7;
    struct iovec parts[] = { { bytes[0], 2048 }, { bytes[1], 2048 } };
    make_file("v1", 1, SIZE);
    int fd = open("v1", O_RDONLY); MUST(fd >= 0);
    MUST(fdatasync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
    for (int i = 0; i < READS; i++) {
        off_t at = 4096 * (off_t)(any(&state) % (SIZE / 4096));
        if (i % 2) { MUST(lseek(fd, at, SEEK_SET) == at); MUST(readv(fd, parts, 2) == 4096); }
        else MUST(preadv(fd, parts, 2, at) == 4096);
        check(1, at, bytes[0], 4096);
    }
    return 0;
}
