/*
 * A program that announces a sandbox in which next to nothing is left, when the library has looked at its files already, and goes on.
 * Usage: strict characters|lines|copies|vectors. With the first two the sandbox is the strict one of 2005: read, write and the end
 * of the thread, and no look at the processor's counter. With the others asking for a position, a limit or a file system is the end.
 */
#include "place.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>

enum { SIZE = 8 << 20 };
#define FORBID(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static void end(const char *text)
{
    if (write(1, text, strlen(text)) < 0) syscall(SYS_exit, 2);
    syscall(SYS_exit, 0);
}

int main(int argc, char **argv)
{
    static char line[5000], buffer[65536];
    static unsigned char bytes[65536];
    const char *mode = argc > 1 ? argv[1] : "";
    int is_copies = strcmp(mode, "copies") == 0, is_vectors = strcmp(mode, "vectors") == 0;
    make_file("s1", 1, SIZE);
    FILE *stream = fopen("s1", "r"); MUST(stream != NULL && setvbuf(stream, buffer, _IOFBF, sizeof buffer) == 0);
    for (int i = 0; i < 3000; i++) MUST(fgetc(stream) == byte_at(1, i));
    int source = open("s1", O_RDONLY), target = open("s2", O_RDWR | O_CREAT, 0600); MUST(source >= 0 && target >= 0);
    struct iovec two[] = { { bytes, 30000 }, { bytes + 30000, 30000 } };
    for (int i = 0; i < 50; i++) MUST(readv(source, two, 2) == 60000);
    if (is_copies || is_vectors) {
        struct sock_filter filter[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            FORBID(SYS_lseek), FORBID(SYS_prlimit64), FORBID(SYS_fstatfs), FORBID(SYS_getpid), FORBID(SYS_gettid), FORBID(SYS_fadvise64),
            FORBID(SYS_readahead), FORBID(SYS_mmap), FORBID(SYS_madvise), FORBID(SYS_fcntl), FORBID(SYS_newfstatat), FORBID(SYS_fstat),
            FORBID(451 /* cachestat */), FORBID(SYS_clone), FORBID(SYS_clone3), FORBID(SYS_futex),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
        MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
        if (is_vectors)
            for (off_t at = 50 * 60000; at < 100 * 60000; at += 60000) { MUST(readv(source, two, 2) == 60000); check(1, at, bytes, 60000); }
        if (is_copies) {
            loff_t from = 1000; off_t also = 0;
            MUST(copy_file_range(source, &from, target, NULL, 65536, 0) > 0);
            MUST(sendfile(target, source, &also, SIZE) > 0);
        }
        end("all of it\n");
    }
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    if (strcmp(mode, "characters") == 0)
        for (int i = 3000; i < 300000; i++) if (fgetc(stream) != byte_at(1, i)) end("a wrong byte\n");
    if (strcmp(mode, "lines") == 0)
        for (int i = 0; i < 300; i++) if (fgets(line, sizeof line, stream) == NULL) end("no line\n");
    end("all of it\n");
}
