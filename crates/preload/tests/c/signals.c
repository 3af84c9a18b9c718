/*
 * A signal handler reads, seeks, copies and closes, while the program reads; both see their bytes.
 * Then one that never returns: it jumps out of whatever read, and whatever hook, was going on.
 */
#include "place.h"
#include <setjmp.h>
#include <sys/time.h>

enum { SIZE = 2 << 20, SIGNALS = 3000, JUMPS = 2000 };
static int fd_of_handler;
static off_t position_of_handler;
static volatile sig_atomic_t signals;

static void handle(int number)
{
    static unsigned char bytes[5000];
    int kept = errno; (void)number;
    ssize_t n = read(fd_of_handler, bytes, sizeof bytes);
    if (n < 0) FAIL("the handler's read failed");
    check(2, position_of_handler, bytes, n);
    position_of_handler += n;
    if (n == 0) position_of_handler = lseek(fd_of_handler, 0, SEEK_SET);
    n = pread(fd_of_handler, bytes, 100, 12345); check(2, 12345, bytes, n);
    if (signals % 16 == 0) { int copy = dup2(fd_of_handler, 200); MUST(copy == 200); MUST(close(copy) == 0); }
    signals++;
    errno = kept;
}

static sigjmp_buf way_out;
static void jump(int number) { (void)number; siglongjmp(way_out, 1); }

int main(void)
{
    static unsigned char bytes[20000];
    make_file("s1", 1, SIZE); make_file("s2", 2, SIZE);
    MUST((fd_of_handler = open("s2", O_RDONLY)) >= 0);
    int fd = open("s1", O_RDONLY); FILE *stream = fopen("s1", "r"); MUST(fd >= 0 && stream != NULL);
    struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
    MUST(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval often = { { 0, 150 }, { 0, 150 } }, never = { { 0, 0 }, { 0, 0 } };
    MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
    off_t position = 0, of_stream = 0;
    for (uint64_t state = 1; signals < SIGNALS; ) {
        ssize_t n = read(fd, bytes, 1 + any(&state) % sizeof bytes);
        MUST(n >= 0); check(1, position, bytes, n); position += n;
        if (n == 0) position = lseek(fd, 0, SEEK_SET);
        n = fread(bytes, 1, 1 + any(&state) % 6000, stream); check(1, of_stream, bytes, n); of_stream += n;
        if (n == 0) { rewind(stream); of_stream = 0; }
        errno = 0; MUST(pread(fd, bytes, 10, 5) == 10 && errno == 0);
    }
    MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
    int ends[2]; static volatile int jumps; static volatile uint64_t state = 9;
    struct itimerval soon = { { 0, 0 }, { 0, 100 } };
    MUST(pipe(ends) == 0);
    action.sa_handler = jump; MUST(sigaction(SIGALRM, &action, NULL) == 0);
    if (sigsetjmp(way_out, 1) != 0) jumps++;
    if (jumps < JUMPS) {
        uint64_t seed = state += 77;
        MUST(setitimer(ITIMER_REAL, &soon, NULL) == 0);
        if (jumps % 4 == 0) (void)!read(ends[0], bytes, 1);
        for (;;) { off_t at = any(&seed) % SIZE; ssize_t n = pread(fd, bytes, 5000, at); check(1, at, bytes, n < 300 ? n : 300); }
    }
    position = lseek(fd, 0, SEEK_SET);
    for (ssize_t n; (n = read(fd, bytes, 7000)) > 0; position += n) check(1, position, bytes, n);
    MUST(position == SIZE);
    return 0;
}
