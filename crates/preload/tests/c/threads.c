/* 64 threads read the same and different files, while they open, copy and close descriptors. */
#include "place.h"

enum { THREADS = 64, FILES = 8, SIZE = 1 << 20, ROUNDS = 300 };
static int shared[FILES];

static void *work(void *argument)
{
    uint64_t state = (uintptr_t)argument;
    unsigned char *bytes = malloc(70000);
    for (int round = 0; round < ROUNDS; round++) {
        unsigned file = any(&state) % FILES;
        char name[16]; sprintf(name, "t%u", file);
        off_t start = any(&state) % SIZE; size_t length = any(&state) % 66000; ssize_t n;
        switch (any(&state) % 5) {
        case 0: case 1:
            MUST((n = pread(shared[file], bytes, length, start)) >= 0); check(file, start, bytes, n); break;
        case 2: {
            int fd = open(name, O_RDONLY); MUST(fd >= 0);
            MUST(lseek(fd, start, SEEK_SET) == start);
            for (int i = 0; i < 4; i++, start += n) { MUST((n = read(fd, bytes, length / 4 + 1)) >= 0); check(file, start, bytes, n); }
            MUST(close(fd) == 0); break;
        }
        case 3: {
            FILE *f = fopen(name, "r"); MUST(f != NULL);
            MUST(fseek(f, start, SEEK_SET) == 0);
            n = fread(bytes, 1, length, f); check(file, start, bytes, n);
            int c = getc(f); if (c != EOF) MUST(c == byte_at(file, start + n));
            MUST(fclose(f) == 0); break;
        }
        default: {
            int fd = open(name, O_RDONLY), copy = dup(fd), other = fcntl(fd, F_DUPFD_CLOEXEC, 100);
            MUST(fd >= 0 && copy >= 0 && other >= 0);
            MUST((n = read(fd, bytes, length)) >= 0); check(file, 0, bytes, n); start = n;
            MUST((n = read(copy, bytes, length)) >= 0); check(file, start, bytes, n); start += n;
            MUST(close(fd) == 0);
            struct iovec parts[2] = { { bytes, 5000 }, { bytes + 5000, 3000 } };
            MUST((n = readv(other, parts, 2)) >= 0); check(file, start, bytes, n);
            MUST(close(copy) == 0); MUST(close(other) == 0);
        }
        }
    }
    free(bytes);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (unsigned file = 0; file < FILES; file++) {
        char name[16]; sprintf(name, "t%u", file); make_file(name, file, SIZE);
        MUST((shared[file] = open(name, O_RDONLY)) >= 0);
    }
    int before = count_descriptors();
    for (uintptr_t i = 0; i < THREADS; i++) MUST(pthread_create(&threads[i], NULL, work, (void *)(i + 1)) == 0);
    for (int i = 0; i < THREADS; i++) MUST(pthread_join(threads[i], NULL) == 0);
    MUST(count_descriptors() == before);
    return 0;
}
