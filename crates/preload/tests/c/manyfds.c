/* As many open descriptors as the machine allows, up to 100 000: each is read from. */
#include "place.h"

enum { WANTED = 100000, FILES = 100, SIZE = 20000 };

int main(void)
{
    struct rlimit limit = { WANTED + 100, WANTED + 100 };
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
        limit.rlim_cur = limit.rlim_max;
        MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    }
    int count = limit.rlim_cur - 100 < WANTED ? (int)limit.rlim_cur - 100 : WANTED;
    int *fds = malloc(count * sizeof *fds); unsigned char bytes[300];
    for (int i = 0; i < FILES; i++) { char name[16]; sprintf(name, "m%d", i); make_file(name, i, SIZE); }
    for (int i = 0; i < count; i++) { char name[16]; sprintf(name, "m%d", i % FILES); MUST((fds[i] = open(name, O_RDONLY)) >= 0); }
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < count; i++) { MUST(read(fds[i], bytes, sizeof bytes) == sizeof bytes); check(i % FILES, round * sizeof bytes, bytes, sizeof bytes); }
    for (int i = 0; i < count; i += 2) MUST(close(fds[i]) == 0);
    for (int i = 1; i < count; i += 2) { MUST(pread(fds[i], bytes, 200, 7777) == 200); check(i % FILES, 7777, bytes, 200); }
    for (int i = 1; i < count; i += 2) MUST(close(fds[i]) == 0);
    int fd = open("m7", O_RDONLY); MUST(read(fd, bytes, 300) == 300); check(7, 0, bytes, 300);
    printf("%d descriptors\n", count);
    return 0;
}
