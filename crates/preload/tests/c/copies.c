/* Copies inside the kernel that are longer than a piece: prints all that can be seen of each. */
#include "place.h"
#include <sys/sendfile.h>

enum { SIZE = 13 << 20 };
static volatile sig_atomic_t too_large;
static void note(int number) { (void)number; too_large++; }

static void tell(const char *what, ssize_t result, int source, int target, off_t a, off_t b)
{
    struct stat facts; fstat(target, &facts);
    printf("%s: %zd errno %d at %lld %lld, offsets %lld %lld, size %lld, signals %d\n", what, result, result < 0 ? errno : 0,
        (long long)lseek(source, 0, SEEK_CUR), (long long)lseek(target, 0, SEEK_CUR), (long long)a, (long long)b, (long long)facts.st_size, too_large);
    too_large = 0;
    unsigned char *bytes = malloc(SIZE); uint64_t hash = 1;
    for (ssize_t n, at = 0; (n = pread(target, bytes, SIZE, at)) > 0; at += n) for (ssize_t i = 0; i < n; i++) hash = hash * 31 + bytes[i];
    printf("    bytes %016llx\n", (unsigned long long)hash);
    free(bytes);
}

int main(void)
{
    signal(SIGXFSZ, note);
    make_file("source", 1, SIZE);
    static const size_t lengths[] = { 5 << 20, 8 << 20, SIZE, SIZE + 1, 0x7ffff000, (size_t)1 << 62, ((size_t)1 << 62) + 1, 0x7fffffffffffffff, ~(size_t)0 };
    static const rlim_t limits[] = { RLIM_INFINITY, 8 << 20, (8 << 20) + 5 };
    for (unsigned limit = 0; limit < 3; limit++)
        for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++)
            for (int kind = 0; kind < 12; kind++) {
                struct rlimit most = { limits[limit], RLIM_INFINITY };
                int source = open("source", O_RDWR), target = open("target", O_RDWR | O_CREAT | O_TRUNC, 0600);
                off_t a = kind & 1 ? 4096 : 100, b = kind & 2 ? 0 : 50; char what[64]; ssize_t n;
                if (kind & 2) { lseek(source, 12345, SEEK_SET); lseek(target, 777, SEEK_SET); }
                MUST(setrlimit(RLIMIT_FSIZE, &most) == 0);
                errno = 55;
                sprintf(what, "kind %d length %zx limit %u", kind, lengths[i], limit);
                if (kind < 4) n = sendfile(target, source, kind & 1 ? &a : NULL, lengths[i]);
                else if (kind < 8) n = copy_file_range(source, kind & 1 ? &a : NULL, target, kind & 2 ? &b : NULL, lengths[i], 0);
                else if (kind < 10) n = copy_file_range(source, &a, source, &(off_t){ SIZE - (2 << 20) }, lengths[i] < SIZE ? 6 << 20 : lengths[i], kind & 1);
                else n = sendfile(target, source, kind & 1 ? (off_t *)8 : &(off_t){ SIZE + 1 }, lengths[i]);
                if (n >= 0) MUST(errno == 55);
                most.rlim_cur = RLIM_INFINITY;
                MUST(setrlimit(RLIMIT_FSIZE, &most) == 0);
                tell(what, n, source, target, a, b);
                close(source); close(target);
            }
    return 0;
}
