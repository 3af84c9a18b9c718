/*
 * A program that goes through a tree and looks at what it can see of itself meanwhile.
 * Usage: walk walk|close|fork|alone|end|bare|cancel|lease|named|list|rename|look|map FOLDER. It lists FOLDER and the folders below, opens each regular file, checks
 * that its descriptors are the lowest free ones and no others are open, reads the file, and prints a sum of all bytes.
 * "close" closes all descriptors in the middle, "fork" lets a child go on in the middle, "alone" asks in the end
 * for what only a process with one thread may have, "end" ends the first thread alone, "bare" has a child in the middle
 * that no handler of a fork prepares and that enters a sandbox, "cancel" enters one in a thread that is to be cancelled,
 * "lease" takes leases of files in the middle, "named" opens 0000 to 0399 without listing anything, each in another folder
 * than the one before, "list" the same, one folder after another, and "rename" gives files and a folder that come later other
 * names in the middle, other things their names, and puts all back in the end. "look" reads nothing of the files from the
 * 21st on, and "map" reads them through mappings.
 * Its threads have large variables of their own.
 */
#define _GNU_SOURCE
#include "place.h"
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char *how;
static unsigned long sum, files;
static __thread char storage[240 << 10];

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

static void enter_sandbox(void)
{
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
}

static void have_a_bare_child(void)
{
    pid_t child = _Fork(); MUST(child >= 0);
    if (child == 0) {
        alarm(20);
        enter_sandbox();
        _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : 1);
    }
    int status; MUST(waitpid(child, &status, 0) == child);
    printf("child: %#x\n", status);
}

static void *be_cancelled(void *nothing)
{
    pthread_cancel(pthread_self());
    enter_sandbox();
    printf("in a sandbox\n");
    pthread_testcancel();
    return nothing;
}

/* All files of the folder, from the last name on. */
static void take_leases(int folder)
{
    int taken = 0;
    for (int number = 399; number >= 0; number--) {
        char name[8];
        snprintf(name, sizeof name, "%04d", number);
        int file = openat(folder, name, O_RDWR);
        if (file < 0)
            continue;
        MUST(fcntl(file, F_SETLEASE, F_WRLCK) == 0);
        usleep(100);
        MUST(fcntl(file, F_SETLEASE, F_UNLCK) == 0);
        close(file);
        taken++;
    }
    printf("%d leases\n", taken);
}

/* Files of 07 are called 1007 instead of 0007, FIFOs stand in their places, and 06 is called 16. */
static void exchange(int root, int back)
{
    for (int number = 7; number < 400; number += 8) {
        char name[16], other[16];
        snprintf(name, sizeof name, "07/%04d", number);
        snprintf(other, sizeof other, "07/%04d", number + 1000);
        if (back)
            MUST(unlinkat(root, name, 0) == 0);
        MUST(renameat(root, back ? other : name, root, back ? name : other) == 0);
        if (!back)
            MUST(mkfifoat(root, name, 0600) == 0);
    }
    MUST(renameat(root, back ? "16" : "06", root, back ? "06" : "16") == 0);
}

static void open_by_name(const char *root)
{
    for (int at = 0; at < 400; at++) {
        char path[4096], bytes[20000];
        int number = strcmp(how, "list") ? at : at % 50 * 8 + at / 50;
        snprintf(path, sizeof path, "%s/%02d/%04d", root, number % 8, number);
        int file = open(path, O_RDONLY); MUST(file >= 0);
        MUST(read(file, bytes, sizeof bytes) == sizeof bytes);
        close(file);
    }
    if (!strcmp(how, "list"))
        return;
    char status[4096];
    int self = open("/proc/self/status", O_RDONLY); MUST(self >= 0);
    ssize_t length = read(self, status, sizeof status - 1); MUST(length > 0);
    close(self);
    status[length] = 0;
    const char *threads = strstr(status, "Threads:"); MUST(threads != NULL);
    printf("%.10s\n", threads);
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
        int is_mapped = files >= 20 && !strcmp(how, "map");
        if (is_mapped) {
            unsigned char *all = mmap(NULL, facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
            MUST(all != MAP_FAILED);
            for (off_t at = 0; at < facts.st_size; at++)
                sum = sum * 31 + all[at];
            MUST(munmap(all, facts.st_size) == 0);
        }
        int is_read = !is_mapped && (files < 20 || strcmp(how, "look"));
        /* As long as a read would take, or all are opened before one could be asked for. */
        if (!is_read && !is_mapped)
            usleep(300);
        for (ssize_t n; is_read && (n = read(file, bytes, sizeof bytes)) != 0;) {
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
        if (files == 150 && !strcmp(how, "bare"))
            have_a_bare_child();
        if (files == 150 && !strcmp(how, "rename"))
            exchange(3, 0);
        if (files == 150 && !strcmp(how, "lease"))
            take_leases(folder);
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
    memset(storage, 1, sizeof storage);
    if (!strcmp(how, "named") || !strcmp(how, "list")) {
        open_by_name(argv[2]);
        return 0;
    }
    int root = open(argv[2], O_RDONLY | O_DIRECTORY); MUST(root == 3);
    walk(root, 0);
    printf("%lu files, sum %lu\n", files, sum);
    if (!strcmp(how, "rename"))
        exchange(root, 1);
    if (!strcmp(how, "alone")) {
        int result = unshare(CLONE_NEWUSER);
        printf("unshare: %d %s\n", result, result ? strerror(errno) : "");
    }
    if (!strcmp(how, "cancel")) {
        pthread_t thread; MUST(pthread_create(&thread, NULL, be_cancelled, NULL) == 0);
        void *result; MUST(pthread_join(thread, &result) == 0);
        printf("cancelled: %d\n", result == PTHREAD_CANCELED);
    }
    if (!strcmp(how, "end"))
        pthread_exit(NULL);
    return 0;
}
