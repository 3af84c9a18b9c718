/*
 * A program that goes through a tree and looks at what it can see of itself meanwhile.
 * Usage: walk walk|close|fork|alone FOLDER. It lists FOLDER and the folders below, opens each regular file, checks
 * that its descriptors are the lowest free ones and no others are open, reads the file, and prints a sum of all bytes.
 * "close" closes all descriptors in the middle, "fork" lets a child go on in the middle, "alone" asks in the end
 * for what only a process with one thread may have.
 */
#define _GNU_SOURCE
#include "place.h"
#include <dirent.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char *how;
static unsigned long sum, files;

/* Open descriptors; the one that the list is read through is not counted. */
static int open_descriptors(void)
{
    DIR *all = opendir("/proc/self/fd"); MUST(all != NULL);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(all)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(all);
    return count - 1;
}

static void walk(int folder, int depth)
{
    static char bytes[1 << 16];
    int copy = dup(folder); MUST(copy >= 0);
    DIR *listing = fdopendir(copy); MUST(listing != NULL);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        if (entry->d_type == DT_DIR) {
            int below = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
            if (below < 0)
                continue;
            walk(below, depth + 1);
            close(below);
        }
        if (entry->d_type != DT_REG)
            continue;
        struct stat facts;
        MUST(fstatat(folder, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0);
        int file = openat(folder, entry->d_name, O_RDONLY | O_NOFOLLOW);
        MUST(file >= 0);
        /* Standard streams, a folder and its listing for each level, the file. */
        MUST(file == 3 + 2 * (depth + 1) && open_descriptors() == file + 1);
        for (ssize_t n; (n = read(file, bytes, sizeof bytes)) != 0;) {
            MUST(n > 0);
            for (ssize_t at = 0; at < n; at++)
                sum = sum * 31 + (unsigned char)bytes[at];
        }
        close(file);
        files++;
        if (files == 150 && !strcmp(how, "fork")) {
            pid_t child = fork(); MUST(child >= 0);
            if (child != 0) {
                int status; MUST(waitpid(child, &status, 0) == child);
                exit(WEXITSTATUS(status));
            }
        }
        if (files == 150 && !strcmp(how, "close")) {
            printf("%lu files\n", files);
            fflush(stdout);
            MUST(close_range(3, ~0U, 0) == 0);
            MUST(open("/", O_RDONLY | O_DIRECTORY) == 3);
            exit(0);
        }
    }
    closedir(listing);
}

int main(int argc, char **argv)
{
    MUST(argc == 3);
    how = argv[1];
    /* What was inherited is not of interest. */
    MUST(close_range(3, ~0U, 0) == 0);
    int root = open(argv[2], O_RDONLY | O_DIRECTORY); MUST(root == 3);
    walk(root, 0);
    printf("%lu files, sum %lu\n", files, sum);
    if (!strcmp(how, "alone")) {
        int result = unshare(CLONE_NEWUSER);
        printf("unshare: %d %s\n", result, result ? strerror(errno) : "");
    }
    return 0;
}
