/*
 * A FUSE server that wants no page cache (FOPEN_DIRECT_IO), and a program that reads its file. Root.
 * Usage: uncached forward|backward. It writes how often the server was asked, and for how many bytes.
 */
#include "place.h"
#include <linux/fuse.h>
#include <sys/mman.h>
#include <sys/mount.h>

enum { SIZE = 4 << 20, READ_BYTES = 32768, FILE_NODE = 2 };

static volatile struct { long reads, bytes; } *asked;

static struct fuse_attr attributes(uint64_t node)
{
    int is_file = node == FILE_NODE;
    return (struct fuse_attr){ .ino = node, .size = is_file ? SIZE : 0, .blocks = is_file ? SIZE / 512 : 0,
        .mode = is_file ? S_IFREG | 0644 : S_IFDIR | 0755, .nlink = 1, .blksize = 4096 };
}

static void answer(int device, uint64_t request, int error, const void *bytes, size_t length)
{
    struct fuse_out_header head = { sizeof head + length, -error, request };
    struct iovec parts[] = { { &head, sizeof head }, { (void *)bytes, length } };
    if (writev(device, parts, 2) < 0 && errno != ENOENT) _exit(3);
}

static void serve(int device)
{
    static char request[1 << 18], zeros[1 << 17];
    for (;;) {
        if (read(device, request, sizeof request) < 0) {
            if (errno == ENODEV) _exit(0);
            continue;
        }
        struct fuse_in_header *head = (struct fuse_in_header *)request;
        void *body = head + 1;
        if (head->opcode == FUSE_INIT) {
            struct fuse_init_out out = { .major = 7, .minor = 31, .max_readahead = 1 << 17, .max_background = 12, .max_write = 1 << 17 };
            answer(device, head->unique, 0, &out, sizeof out);
        } else if (head->opcode == FUSE_LOOKUP && strcmp(body, "f") == 0) {
            struct fuse_entry_out out = { .nodeid = FILE_NODE, .entry_valid = 3600, .attr_valid = 3600, .attr = attributes(FILE_NODE) };
            answer(device, head->unique, 0, &out, sizeof out);
        } else if (head->opcode == FUSE_GETATTR) {
            struct fuse_attr_out out = { .attr_valid = 3600, .attr = attributes(head->nodeid) };
            answer(device, head->unique, 0, &out, sizeof out);
        } else if (head->opcode == FUSE_OPEN) {
            struct fuse_open_out out = { .fh = 7, .open_flags = FOPEN_DIRECT_IO };
            answer(device, head->unique, 0, &out, sizeof out);
        } else if (head->opcode == FUSE_READ) {
            struct fuse_read_in *in = body;
            size_t left = in->offset < SIZE ? SIZE - in->offset : 0, length = in->size < left ? in->size : left;
            asked->reads++, asked->bytes += length;
            usleep(1000);
            answer(device, head->unique, 0, zeros, length);
        } else if (head->opcode == FUSE_STATFS) {
            struct fuse_statfs_out out = { .st = { .blocks = 100, .bsize = 4096, .namelen = 255, .frsize = 4096 } };
            answer(device, head->unique, 0, &out, sizeof out);
        } else if (head->opcode == FUSE_FLUSH || head->opcode == FUSE_RELEASE) {
            answer(device, head->unique, 0, NULL, 0);
        } else if (head->opcode != FUSE_FORGET && head->opcode != FUSE_BATCH_FORGET) {
            answer(device, head->unique, ENOSYS, NULL, 0);
        }
    }
}

int main(int argc, char **argv)
{
    static char bytes[READ_BYTES], options[200];
    int is_backward = argc > 1 && strcmp(argv[1], "backward") == 0, status;
    asked = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int device = open("/dev/fuse", O_RDWR);
    MUST(asked != MAP_FAILED && device >= 0 && (mkdir("mounted", 0755) == 0 || errno == EEXIST));
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
    MUST(mount("uncached", "mounted", "fuse.uncached", 0, options) == 0);
    pid_t server = fork();
    if (server == 0) serve(device);
    MUST(server > 0 && close(device) == 0);
    int file = open("mounted/f", O_RDONLY), wrong = file < 0;
    for (off_t at = 0; at < SIZE && !wrong; at += READ_BYTES) {
        off_t place = is_backward ? SIZE - READ_BYTES - at : at;
        wrong = pread(file, bytes, READ_BYTES, place) != READ_BYTES;
    }
    if (file >= 0) close(file);
    printf("%s: asked %ld times for %ld bytes\n", wrong ? "not read" : "read", asked->reads, asked->bytes);
    MUST(umount2("mounted", MNT_DETACH) == 0 && waitpid(server, &status, 0) == server);
    return wrong;
}
