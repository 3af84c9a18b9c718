/*
 * Random file operations from a seed, each result written to a log.
 *
 * Usage: differential SEED OPERATIONS LOG
 * Works in the current folder, which must be empty. Two runs with the same arguments must write
 * the same log, whatever is preloaded: return values, errno, bytes, positions, numbers of
 * descriptors. Nothing here may depend on time, addresses, or what is in the page cache.
 *
 * A record has 32 bytes: operation (u32), errno (i32), result (i64), hash of the bytes (u64),
 * position of the descriptor afterwards (i64). Positions are asked for by a raw system call, so
 * that the asking does not correct what a preloaded library believes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

extern ssize_t __read_chk(int, void *, size_t, size_t);
extern ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
extern ssize_t __pread64_chk(int, void *, size_t, off_t, size_t);
extern size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
extern size_t __fread_unlocked_chk(void *, size_t, size_t, size_t, FILE *);
extern char *__fgets_chk(char *, size_t, int, FILE *);
extern ssize_t __getdelim(char **, size_t *, int, FILE *);
extern int __open_2(const char *, int);
extern int __openat64_2(int, const char *, int);
extern int __uflow(FILE *);

enum { SLOTS = 48, STREAMS = 8, FILES = 14 };
#define BUFFER_BYTES ((size_t)32 << 20)
#define POSITION_MAX ((off_t)48 << 20)

struct record { uint32_t operation; int32_t error; int64_t result; uint64_t hash; int64_t position; };

static uint64_t state;
static unsigned char *buffer;   /* BUFFER_BYTES bytes, then a page that nobody may touch */
static unsigned char *source;   /* SOURCE_BYTES of text, never changed: what is written comes from here */
#define SOURCE_BYTES ((size_t)24 << 20)
static int slots[SLOTS];
static FILE *streams[STREAMS];
/* Not from malloc: whether a direct read accepts a buffer depends on its address. */
static char stream_buffers[STREAMS][65536] __attribute__((aligned(4096)));
static char *line; static size_t line_size;
static struct record *records;
static const char *const odd_files[] = { "/proc/version", "/proc/filesystems", "/proc/self/cmdline",
    "/proc/sys/kernel/ostype", "/dev/zero", "/dev/null", ".", "/", "/etc", "/nowhere", "", "f0/x",
    "/sys/kernel/mm/transparent_hugepage/enabled" };

static uint64_t any(void)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
static uint64_t below(uint64_t n) { return any() % n; }
static int one_in(uint64_t n) { return below(n) == 0; }

static uint64_t hash_bytes(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t h = 0xcbf29ce484222325u ^ n;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t word; memcpy(&word, p, 8);
        h = (h ^ word) * 0x9fb21c651e98df25u; h ^= h >> 29;
    }
    for (; n; n--, p++) h = (h ^ *p) * 0x100000001b3u;
    return h;
}

static void name_of(char *name) { sprintf(name, "f%d", (int)below(FILES)); }

static int any_fd(void)
{
    if (one_in(60)) { static const int bad[] = { -1, -100, 777, 1 << 20, INT32_MAX }; return bad[below(5)]; }
    return slots[below(SLOTS)];
}

static int is_regular(int fd) { struct stat s; return fstat(fd, &s) == 0 && S_ISREG(s.st_mode); }
static int64_t kernel_position(int fd) { int e = errno; int64_t p = syscall(SYS_lseek, fd, 0L, SEEK_CUR); errno = e; return p; }
static off_t size_of(int fd) { struct stat s; return fstat(fd, &s) == 0 ? s.st_size : 0; }

static size_t any_length(void)
{
    switch (below(16)) {
    case 0: return 0;
    case 1: return 1 + below(16);
    case 2: case 3: case 4: return 4096;
    case 5: case 6: return 4096 * (1 + below(16));
    case 7: return 65536;
    case 8: return one_in(8) ? 1 + below(2 << 20) : 131072;
    case 9: return one_in(100) ? 9000000 + below(12 << 20) : 512;
    default: return 1 + below(8192);
    }
}

static off_t any_offset(void)
{
    switch (below(12)) {
    case 0: return -(off_t)below(10000);
    case 1: return (off_t)(4096 * below(12000));
    case 2: return one_in(4) ? INT64_MAX - (off_t)below(5000) : (off_t)below(10);
    case 3: case 4: return (off_t)below(POSITION_MAX);
    default: return (off_t)below(200000);
    }
}

static void *any_buffer(size_t *length)
{
    if (one_in(80)) {
        switch (below(4)) {
        case 0: return NULL;
        case 1: return (void *)8;
        case 2: return buffer + BUFFER_BYTES;
        default: return buffer + BUFFER_BYTES - (*length < BUFFER_BYTES ? *length / 2 : 100);
        }
    }
    if (one_in(400)) { *length = one_in(2) ? SSIZE_MAX : SIZE_MAX; return buffer; }
    if (*length > BUFFER_BYTES) *length = BUFFER_BYTES;
    return one_in(3) ? buffer + below(4096) * (*length < BUFFER_BYTES / 2) : buffer;
}

static off_t *any_offset_pointer(off_t *place)
{
    *place = any_offset();
    if (one_in(40)) return one_in(2) ? (off_t *)8 : (off_t *)(buffer + BUFFER_BYTES);
    return one_in(2) ? NULL : place;
}

static size_t any_copy_length(int source)
{
    if (is_regular(source) && size_of(source) <= (off_t)64 << 20) {
        if (one_in(150)) return 5000000 + below(30 << 20);
        if (one_in(400)) { static const size_t huge[] = { SSIZE_MAX, 0x7ffff000, SIZE_MAX, (size_t)1 << 62, ((size_t)1 << 62) + 1, 0x7fffffffc0000000 }; return huge[below(6)]; }
    }
    size_t length = any_length();
    return length > 300000 && !one_in(20) ? 5000 : length;
}

static void note(struct record *r, int64_t result, int fd)
{
    r->result = result;
    r->error = errno;
    r->position = fd >= 0 ? kernel_position(fd) : -2;
}

/* Text, so that lines are found in it: a line end in about 1 of 60 bytes. */
static void make_text(void)
{
    uint64_t word = 0;
    for (size_t i = 0; i < SOURCE_BYTES; i++) {
        if (i % 8 == 0) word = any();
        unsigned byte = word >> 8 * (i % 8) & 255;
        source[i] = byte < 4 ? '\n' : byte < 30 ? ' ' : byte;
    }
}

/* Where some bytes to write are taken from. */
static unsigned char *text(void) { return source + below(SOURCE_BYTES - (2 << 20)); }

static int is_too_far(int fd) { return kernel_position(fd) > POSITION_MAX || size_of(fd) > 2 * POSITION_MAX; }

/* Within one file the pieces of such a copy may overlap, and how long each is depends on the cache. */
static int is_same_file(int a, int b)
{
    struct stat one, two;
    return fstat(a, &one) == 0 && fstat(b, &two) == 0 && one.st_dev == two.st_dev && one.st_ino == two.st_ino && S_ISREG(one.st_mode);
}

/*
 * A pipe or socket that is filled from a file refers to pages of the page cache. Whether it sees
 * what is written to the file later depends on whether the page was dropped in between. So the
 * source is then a file that nobody writes to; returns its descriptor, or -1 if none was needed.
 */
static int still_source(int *fd, int target)
{
    if (is_regular(target) || !is_regular(*fd)) return -1;
    *fd = open("holes", O_RDONLY);
    lseek(*fd, below(6 << 20), SEEK_SET);
    return *fd;
}

static void descriptor_operation(struct record *r)
{
    size_t length = any_length();
    int slot = below(SLOTS), fd = any_fd(), other = any_fd();
    char name[16]; name_of(name);
    off_t offset = any_offset();
    void *place; ssize_t n; struct iovec parts[6]; int count;
    r->operation = below(64);
    errno = 4242;
    switch (r->operation) {
    case 0: case 1: case 2: {
        static const int modes[] = { O_RDONLY, O_RDONLY, O_RDONLY, O_RDWR, O_RDWR | O_CREAT, O_RDWR | O_APPEND, O_WRONLY,
            O_RDONLY | O_DIRECT, O_RDONLY | O_DIRECT, O_RDONLY | O_CLOEXEC, O_RDWR | O_CREAT | O_EXCL, O_PATH, O_RDONLY | O_DIRECTORY };
        int flags = modes[below(13)];
        /* Direct access that collides with cached writes ends as chance has it: nobody writes there. */
        if (flags & O_DIRECT) strcpy(name, "holes");
        if (one_in(8)) { n = open(odd_files[below(13)], flags & ~O_CREAT, 0600); }
        else switch (below(6)) {
            case 0: n = openat(AT_FDCWD, name, flags, 0600); break;
            case 1: n = open64(name, flags, 0600); break;
            case 2: n = flags & O_CREAT ? openat64(AT_FDCWD, name, flags, 0600) : __openat64_2(AT_FDCWD, name, flags); break;
            case 3: n = flags & O_CREAT ? open(name, flags, 0600) : __open_2(name, flags); break;
            default: n = open(name, flags, 0600);
        }
        note(r, n, n); slots[slot] = n; break;
    }
    case 3: n = close(fd); note(r, n, fd); break;
    case 4: n = dup(fd); note(r, n, n); slots[slot] = n; break;
    case 5: n = dup2(fd, one_in(10) ? -1 : 3 + (int)below(120)); note(r, n, n); slots[slot] = n; break;
    case 6: n = dup3(fd, 3 + below(120), one_in(2) ? O_CLOEXEC : one_in(9) ? 12345 : 0); note(r, n, n); slots[slot] = n; break;
    case 7: n = fcntl(fd, one_in(2) ? F_DUPFD : F_DUPFD_CLOEXEC, one_in(20) ? -5 : (int)below(100)); note(r, n, n); slots[slot] = n; break;
    case 8: n = fcntl(fd, one_in(2) ? F_GETFL : F_GETFD); note(r, n, fd); break;
    case 9:
        if (one_in(12)) { unsigned first = one_in(50) ? 3 : 3 + below(200); n = close_range(first, first == 3 ? ~0u : first - 1 + below(9), one_in(3) ? 4 : one_in(20) ? 64 : 0); note(r, n, -1); }
        else if (one_in(60)) { closefrom(100 + below(50)); note(r, 0, -1); }
        else { n = lseek(fd, 0, SEEK_CUR); note(r, n, fd); }
        break;
    case 10: case 11: {
        static const int whences[] = { SEEK_SET, SEEK_SET, SEEK_SET, SEEK_CUR, SEEK_END, SEEK_DATA, SEEK_HOLE, 99 };
        int whence = whences[below(8)];
        /* In blocks that are allocated but not written, the kernel calls data what is in the page
           cache, so any read-ahead changes the answer. In a file with true holes it cannot. */
        if ((whence == SEEK_DATA || whence == SEEK_HOLE) && is_regular(fd)) {
            int holes = open("holes", O_RDONLY); errno = 4242;
            n = lseek(holes, offset, whence); note(r, n, holes);
            n = read(holes, buffer, 5000); if (n > 0) r->hash = hash_bytes(buffer, n);
            errno = 4242; r->result += lseek(holes, 1 + below(6 << 20), whence); close(holes); break;
        }
        if (whence == SEEK_END || whence == SEEK_CUR) offset = (off_t)below(100000) - 50000;
        n = one_in(2) ? lseek(fd, offset, whence) : lseek64(fd, offset, whence); note(r, n, fd); break;
    }
    case 12: if (is_too_far(fd)) { note(r, -7, fd); break; }
        if (length > 1 << 20) length = 1 << 20;
        place = one_in(100) ? (void *)8 : one_in(100) ? source + SOURCE_BYTES - length / 2 : text();
        n = one_in(2) ? write(fd, place, length) : pwrite(fd, place, length, (off_t)below(POSITION_MAX)); note(r, n, fd); break;
    case 13:
        if (is_too_far(fd)) { note(r, -7, fd); break; }
        errno = 4242; parts[0].iov_base = text(); parts[0].iov_len = below(40000); parts[1].iov_base = text(); parts[1].iov_len = below(4000);
        n = writev(fd, parts, 2); note(r, n, fd); break;
    case 14: n = ftruncate(fd, one_in(10) ? -1 : (off_t)below(one_in(20) ? 32 << 20 : 300000)); note(r, n, fd); break;
    case 15: if (one_in(10)) { n = unlink(name); note(r, n, -1);
                int fresh = open(name, O_RDWR | O_CREAT, 0600); r->hash = write(fresh, text(), below(100000)); syscall(SYS_close, fresh); }
             else if (one_in(6)) { n = creat(name, 0600); note(r, n, n); slots[slot] = n; }
             else { n = rename(name, name); note(r, n, -1); }
             break;
    case 16: { int two[2]; n = one_in(2) ? pipe2(two, O_NONBLOCK) : socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, two);
             note(r, n, -1); if (n == 0) { slots[slot] = two[0]; slots[below(SLOTS)] = two[1]; r->hash = two[0] * 1000 + two[1]; } break; }
    case 17: case 18: {
        off_t a = 0, *pointer = any_offset_pointer(&a);
        if (is_too_far(other) || is_same_file(fd, other)) { note(r, -7, other); break; }
        int own = still_source(&fd, other);
        length = any_copy_length(fd); errno = 4242;
        n = one_in(2) ? sendfile(other, fd, pointer, length) : sendfile64(other, fd, pointer, length);
        note(r, n, fd); r->hash = a * 31 + kernel_position(other) + size_of(other) * 7;
        if (own >= 0) close(own);
        break;
    }
    case 19: case 20: {
        off_t a, b, *source = any_offset_pointer(&a), *target = any_offset_pointer(&b);
        if (b > POSITION_MAX || is_too_far(other)) { note(r, -7, other); break; }
        length = any_copy_length(fd); errno = 4242;
        n = copy_file_range(fd, source, other, target, length, one_in(40));
        note(r, n, fd); r->hash = a * 31 + b * 17 + kernel_position(other) + size_of(other) * 7; break;
    }
    case 21: {
        off_t a, b, *source = any_offset_pointer(&a), *target = one_in(3) ? any_offset_pointer(&b) : NULL;
        if (is_too_far(other) || is_same_file(fd, other)) { note(r, -7, other); break; }
        int own = still_source(&fd, other);
        length = any_copy_length(-1); errno = 4242;
        n = splice(fd, source, other, target, length, SPLICE_F_NONBLOCK); note(r, n, fd); r->hash = a;
        if (own >= 0) close(own);
        break;
    }
    case 22: n = one_in(2) ? posix_fadvise(fd, offset, length, (int)below(9) - 1) : posix_fadvise64(fd, offset, length, (int)below(6)); note(r, n, fd); break;
    case 23: n = readahead(fd, offset, length); note(r, n, fd); break;
    case 24: {
        off_t size = size_of(fd); length = 1 + below(300000);
        unsigned char *map = mmap(NULL, length, PROT_READ, one_in(2) ? MAP_SHARED : MAP_PRIVATE, fd, one_in(30) ? 5 : 0);
        note(r, map != MAP_FAILED, fd);
        if (map != MAP_FAILED) {
            if (is_regular(fd)) { size_t seen = (off_t)length < size ? length : (size_t)size; r->hash = hash_bytes(map, seen); }
            errno = 4242; r->result += 10 * madvise(map, length, below(6)); r->result += 1000 * posix_madvise(map, length, below(7)); r->error = errno;
            munmap(map, length);
        }
        break;
    }
    case 25: case 26: case 27: case 28:
        count = one_in(60) ? (one_in(2) ? -1 : 2000) : (int)below(6); length = 0;
        for (int i = 0; i < 6; i++) { size_t part = below(3) ? below(9000) : 0; parts[i].iov_base = one_in(150) ? (void *)8 : buffer + i * 16384; parts[i].iov_len = one_in(200) ? SIZE_MAX : part; }
            { struct iovec *array = one_in(90) ? (struct iovec *)16 : parts;
          if (count > 6) array = (struct iovec *)(buffer + BUFFER_BYTES);
          switch (r->operation) {
          case 25: n = readv(fd, array, count); break;
          case 26: n = one_in(2) ? preadv(fd, array, count, offset) : preadv64(fd, array, count, offset); break;
          case 27: n = preadv2(fd, array, count, one_in(3) ? -1 : offset, one_in(9) ? 0x7000 : one_in(5) ? 1 : 0); break;
          default: n = preadv64v2(fd, array, count, one_in(3) ? -1 : offset, 0);
          } }
        note(r, n, fd);
        /* Only what was read: a direct read past the end may leave anything behind it. */
        for (ssize_t i = 0, left = n; left > 0 && i < count; i++) {
            size_t part = (size_t)left < parts[i].iov_len ? (size_t)left : parts[i].iov_len;
            r->hash = r->hash * 31 + hash_bytes(parts[i].iov_base, part); left -= part;
        }
        break;
    case 29: case 30: case 31: case 32: case 33: case 34: case 35: case 36: case 37: case 38:
        place = any_buffer(&length); errno = 4242;
        if (place == NULL || (uintptr_t)place < 4096) n = pread(fd, place, length, offset);
        else switch (below(5)) {
        case 0: n = __pread_chk(fd, place, length, offset, length); break;
        case 1: n = __pread64_chk(fd, place, length, offset, length); break;
        case 2: n = pread64(fd, place, length, offset); break;
        default: n = pread(fd, place, length, offset);
        }
        note(r, n, fd); if (n > 0) r->hash = hash_bytes(place, n); break;
    case 39: /* direct: aligned, nearly */
        length = 4096 * (1 + below(32)); offset = 4096 * below(400) + (one_in(10) ? 512 : one_in(20));
        place = buffer + (one_in(10) ? 512 : one_in(20) * 3); n = pread(fd, place, length, offset); note(r, n, fd); if (n > 0) r->hash = hash_bytes(place, n); break;
    default:
        place = any_buffer(&length); errno = 4242;
        n = one_in(4) ? __read_chk(fd, place, length, length) : read(fd, place, length);
        note(r, n, fd); if (n > 0) r->hash = hash_bytes(place, n); break;
    }
}

static void stream_operation(struct record *r)
{
    int slot = below(STREAMS); FILE *f = streams[slot]; char name[16]; name_of(name);
    size_t length = any_length(); long n = 0; off_t offset = (off_t)below(300000); char word[80];
    if (length > 100000) length = 100000;
    r->operation = 100 + below(40);
    if (f == NULL || r->operation == 100) {
        static const char *const modes[] = { "r", "r", "r", "r", "r", "r+", "a+", "re", "rb" };
        r->operation = 100; errno = 4242;
        if (f != NULL) { n = fclose(f); r->hash = n; r->error = errno; }
        errno = 4242;
        f = one_in(12) ? fopen(odd_files[below(13)], "r") : one_in(2) ? fopen(name, modes[below(9)]) : fopen64(name, modes[below(9)]);
        if (f == NULL && one_in(3)) { int fd = any_fd(); if (fd > 2) f = fdopen(fd, "r"); }
        streams[slot] = f; r->error = errno;
        if (f != NULL) {
            setvbuf(f, stream_buffers[slot], one_in(12) ? _IONBF : _IOFBF, one_in(2) ? 4096 : one_in(2) ? 65536 : 1 + below(20000));
            note(r, fileno(f), fileno(f));
        }
        return;
    }
    memset(buffer, 0, 512);
    /* These read until they find something: not from an endless device, nor byte by byte. */
    int is_unbounded = (r->operation >= 113 && r->operation <= 118) || r->operation == 132;
    if (is_unbounded && (!is_regular(fileno(f)) || __fbufsize(f) < 512 || size_of(fileno(f)) > 2 << 20)) r->operation = 108;
    errno = 4242;
    switch (r->operation) {
    case 101: case 102: case 103: n = fread(buffer, 1, length, f); r->hash = hash_bytes(buffer, n); break;
    case 104: { size_t size = 1 + below(50); n = fread(buffer, size, below(400), f); r->hash = hash_bytes(buffer, n * size); break; }
    case 105: n = fread_unlocked(buffer, 1, length, f); r->hash = hash_bytes(buffer, n); break;
    case 106: n = __fread_chk(buffer, BUFFER_BYTES, 1, length, f); r->hash = hash_bytes(buffer, n); break;
    case 107: n = __fread_unlocked_chk(buffer, BUFFER_BYTES, 7, length / 7, f); r->hash = hash_bytes(buffer, n * 7); break;
    case 108: case 109: case 110: n = fgets((char *)buffer, 1 + below(300), f) != NULL; r->hash = hash_bytes(buffer, 300); break;
    case 111: n = fgets_unlocked((char *)buffer, 1 + below(30000), f) != NULL; r->hash = hash_bytes(buffer, 300); break;
    case 112: n = __fgets_chk((char *)buffer, BUFFER_BYTES, 1 + below(300), f) != NULL; r->hash = hash_bytes(buffer, 300); break;
    case 113: case 114: case 115: case 116: n = getline(&line, &line_size, f); r->hash = n > 0 ? hash_bytes(line, n) : 0; break;
    case 117: n = getdelim(&line, &line_size, below(256), f); r->hash = n > 0 ? hash_bytes(line, n) : 0; break;
    case 118: n = __getdelim(&line, &line_size, 'e', f); r->hash = n > 0 ? hash_bytes(line, n) : 0; break;
    case 119: n = fgetc(f); break;
    case 120: for (int i = 0; i < 200; i++) r->hash = r->hash * 31 + (n = getc(f)); break;
    case 121: for (int i = 0; i < 500; i++) r->hash = r->hash * 31 + (n = getc_unlocked(f)); break;
    case 122: for (int i = 0; i < 50; i++) r->hash = r->hash * 31 + (n = fgetc_unlocked(f)); break;
    case 123: n = fgetc(f); if (n != EOF) { n = 1000 * n + ungetc(one_in(2) ? n : 65, f); r->hash = fgetc(f) * 300 + fgetc(f); } break;
    case 124: n = fseek(f, (long)offset - 10, SEEK_SET); break;
    case 125: n = fseeko(f, (off_t)below(20000) - 10000, SEEK_CUR); break;
    case 126: n = fseeko64(f, -(off_t)below(40000), SEEK_END); break;
    case 127: n = ftell(f); break;
    case 128: rewind(f); break;
    case 129: { fpos_t place; n = fgetpos(f, &place); if (n == 0) { r->hash = fgetc(f); n += fsetpos(f, &place); } break; }
    case 130: n = fflush(f); break;
    case 131: if (one_in(4)) { f = streams[slot] = freopen(one_in(20) ? "/nowhere" : name, "r", f); n = f != NULL; if (f != NULL) setvbuf(f, stream_buffers[slot], _IOFBF, 4096); } break;
    case 132: word[0] = 0; n = fscanf(f, "%63s", word); r->hash = hash_bytes(word, strlen(word)); break;
    case 133: if (ftello(f) < POSITION_MAX) { errno = 4242; 
            /* The C standard wants a seek between reading and writing, and after it a flush. */
            n = fseek(f, 0, SEEK_CUR); n = 10000 * n + fwrite(text(), 1, below(9000), f); n = 10 * n + fflush(f); } break;
    case 134: clearerr(f); break;
    case 135: n = fileno(f); slots[below(SLOTS)] = n; break;
    case 136: if (one_in(30)) { n = syscall(SYS_close, fileno(f)); } else n = feof(f) + 2 * ferror(f); break;
    case 137: { FILE *old = stdin; stdin = f; n = one_in(2) ? getchar() : getchar_unlocked(); stdin = old; break; }
    case 138: if (one_in(5)) { n = fclose(f); f = streams[slot] = NULL; } break;
    default: n = fread(buffer, 4096, 1, f); r->hash = hash_bytes(buffer, n * 4096);
    }
    if (f != NULL) note(r, n, fileno(f)); else note(r, n, -1);
    if (f != NULL) r->result ^= (int64_t)(feof(f) != 0) << 60 ^ (int64_t)(ferror(f) != 0) << 61;
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    state = strtoull(argv[1], NULL, 0);
    size_t operations = strtoull(argv[2], NULL, 0);
    signal(SIGPIPE, SIG_IGN);
    buffer = mmap(NULL, BUFFER_BYTES + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(buffer + BUFFER_BYTES, 4096, PROT_NONE);
    source = mmap(NULL, SOURCE_BYTES + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(source + SOURCE_BYTES, 4096, PROT_NONE);
    make_text();
    records = calloc(operations, sizeof *records);
    static const size_t sizes[FILES] = { 0, 1, 100, 4095, 4096, 4097, 65536, 300000, 1 << 20, 3 << 20, (8 << 20) + 123, 24 << 20, 20000, 150000 };
    for (int i = 0; i < FILES; i++) {
        char name[16]; sprintf(name, "f%d", i);
        int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (write(fd, source, sizes[i]) != (ssize_t)sizes[i]) return 3;
        if (i == 12) { if (ftruncate(fd, 6 << 20) || pwrite(fd, source, 5000, 5 << 20) != 5000) return 3; }
        if (i % 2) fsync(fd);
        close(fd);
    }
    int holes = open("holes", O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (off_t at = 0; at < 6 << 20; at += 1 << 19) if (pwrite(holes, source, 70000, at) != 70000) return 3;
    if (ftruncate(holes, 7 << 20) || fsync(holes) || close(holes)) return 3;
    for (int i = 0; i < SLOTS; i++) slots[i] = -1;
    for (size_t i = 0; i < operations; i++) {
        if (below(5) < 3) descriptor_operation(&records[i]); else stream_operation(&records[i]);
        if (i % 4096 == 0) for (int k = 0; k < FILES; k++) { char name[16]; sprintf(name, "f%d", k); struct stat s; if (stat(name, &s) == 0 && s.st_size > (off_t)64 << 20 && truncate(name, 1 << 20)) return 3; }
    }
    int log = syscall(SYS_openat, AT_FDCWD, argv[3], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const char *p = (const char *)records;
    for (size_t left = operations * sizeof *records; left; ) { ssize_t n = syscall(SYS_write, log, p, left); if (n <= 0) return 4; p += n; left -= n; }
    return 0;
}
