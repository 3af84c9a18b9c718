/*
 * With IS_LIBRARY a library that stands in the place of two calls, as libfakeroot-tcp does: one asks a server, with a lock held, the other
 * wants the lock. Else the program that calls the first one.
 */
#include "place.h"

#ifdef IS_LIBRARY
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uid_t getuid(void)
{
    int ends[2];
    char byte;
    pthread_mutex_lock(&lock);
    MUST(pipe(ends) == 0);
    pid_t server = fork();
    if (server == 0) {
        usleep(200000);
        _exit(write(ends[1], "a", 1) != 1);
    }
    MUST(read(ends[0], &byte, 1) == 1 && waitpid(server, NULL, 0) == server);
    pthread_mutex_unlock(&lock);
    return 7;
}

int fstat(int fd, struct stat *facts)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return (int)syscall(SYS_newfstatat, fd, "", facts, AT_EMPTY_PATH);
}
#else
int main(void)
{
    return getuid() != 7;
}
#endif
