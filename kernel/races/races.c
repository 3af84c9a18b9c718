// Many threads in few files: they read forward, backward, in strides, anywhere, through read() and through mappings, while
// others cut the files, write them again, remove them and give advice. It ends after so many accesses; mistakes in
// locking and memory are found by the kernel that it runs in.
//
//	races FOLDER THREADS ACCESSES [read-only] [failing]
//
// `read-only` leaves the files as they are. `failing` has the kernel's allocations fail for these threads, as failslab is
// set to, and lets errors be: without it they end the program, and wrong data does so always.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 12, PAGES = 1024, PAGE = 4096, BURST = 48, THREADS_MAX = 256 };

enum kind { FORWARD, BACKWARD, STRIDED, ANYWHERE, MAPPED, CUTTING, REMOVING, ADVISING, KINDS };

static const char *folder;
static long accesses;
static bool read_only, failing;
static atomic_long reads, touches, cuts, removals, advices, lost, errors;

struct worker {
	pthread_t thread;
	enum kind kind;
	uint64_t random;
};

// A mapping that ends before it is touched: that is no mistake.
static _Thread_local sigjmp_buf behind_the_end;

static void on_bus_error(int signal)
{
	(void)signal;
	siglongjmp(behind_the_end, 1);
}

static uint64_t draw(struct worker *worker, uint64_t below)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random % below;
}

static void end_with(const char *what, int file, long page)
{
	printf("TEST races: %s: file %d page %ld: %s\n", what, file, page, strerror(errno));
	fflush(stdout);
	_exit(1);
}

// What others do to the files explains some errors; those of the disk and of memory only faults that are injected do.
static void note_error(const char *what, int file, long page)
{
	if (errno == ENOENT || errno == EEXIST)
		return;
	if (!failing)
		end_with(what, file, page);
	atomic_fetch_add(&errors, 1);
}

static uint64_t word_of(int file, long page)
{
	return ((uint64_t)file + 1) << 32 | (uint64_t)page;
}

// A page has its own word, or is a hole since the file was cut.
static void check(uint64_t word, int file, long page)
{
	if (word && word != word_of(file, page)) {
		errno = 0;
		end_with("wrong data", file, page);
	}
}

static void path_of(int file, char path[256])
{
	snprintf(path, 256, "%s/file%d", folder, file);
}

static void read_at(int fd, int file, long page, long pages, char *buffer)
{
	ssize_t got = pread(fd, buffer, pages * PAGE, page * PAGE);

	if (got < 0)
		note_error("read", file, page);
	for (long i = 0; (i + 1) * PAGE <= got; i++)
		check(*(uint64_t *)(buffer + i * PAGE), file, page + i);
	atomic_fetch_add(&reads, 1);
}

static void touch_all(struct worker *worker, int fd, int file)
{
	char *map = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	bool backward = draw(worker, 2), anywhere = draw(worker, 3) == 0;
	long first = draw(worker, PAGES);

	if (map == MAP_FAILED) {
		note_error("mmap", file, 0);
		return;
	}
	if (sigsetjmp(behind_the_end, 1)) {
		atomic_fetch_add(&lost, 1);
	} else {
		for (long i = 0; i < BURST; i++) {
			long page = anywhere ? (long)draw(worker, PAGES) :
				(first + (backward ? PAGES - i : i)) % PAGES;

			check(*(volatile uint64_t *)(map + page * PAGE), file, page);
			atomic_fetch_add(&touches, 1);
		}
	}
	munmap(map, PAGES * PAGE);
}

static void write_from(int fd, int file, long page)
{
	char buffer[PAGE] = { 0 };

	for (; page < PAGES; page++) {
		memcpy(buffer, &(uint64_t){ word_of(file, page) }, sizeof(uint64_t));
		if (pwrite(fd, buffer, PAGE, page * PAGE) != PAGE) {
			note_error("write", file, page);
			return;
		}
	}
}

static void cut(struct worker *worker, int fd, int file)
{
	long page = draw(worker, PAGES);

	if (ftruncate(fd, page * PAGE + draw(worker, PAGE)) || fsync(fd))
		note_error("ftruncate", file, page);
	write_from(fd, file, page);
	atomic_fetch_add(&cuts, 1);
}

static void make(int file)
{
	char path[256];
	int fd;

	path_of(file, path);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0) {
		note_error("open", file, 0);
		return;
	}
	write_from(fd, file, 0);
	close(fd);
}

static void give_advice(struct worker *worker, int fd, int file)
{
	static const int advice[] = { POSIX_FADV_DONTNEED, POSIX_FADV_RANDOM, POSIX_FADV_SEQUENTIAL,
				      POSIX_FADV_WILLNEED, POSIX_FADV_NORMAL };
	long page = draw(worker, PAGES);
	int error = posix_fadvise(fd, page * PAGE, 64 * PAGE, advice[draw(worker, 5)]);

	errno = error;
	if (error || readahead(fd, page * PAGE, 32 * PAGE))
		note_error("advice", file, page);
	atomic_fetch_add(&advices, 1);
}

static void burst(struct worker *worker, char *buffer)
{
	bool writes = worker->kind == CUTTING || worker->kind == REMOVING;
	int file = draw(worker, FILES), fd;
	long first = draw(worker, PAGES), pages = 1 << draw(worker, 6);
	char path[256];

	path_of(file, path);
	if (worker->kind == REMOVING) {
		if (unlink(path))
			note_error("unlink", file, 0);
		make(file);
		atomic_fetch_add(&removals, 1);
		return;
	}
	fd = open(path, writes ? O_RDWR : O_RDONLY);
	if (fd < 0) {
		note_error("open", file, 0);
		return;
	}
	if (worker->kind == MAPPED)
		touch_all(worker, fd, file);
	else if (worker->kind == CUTTING)
		cut(worker, fd, file);
	for (long i = 0; i < BURST && worker->kind != MAPPED && !writes; i++) {
		long at = worker->kind == FORWARD ? first + i * pages :
			  worker->kind == BACKWARD ? first + PAGES - i * pages :
			  worker->kind == STRIDED ? first + i * 24 : (long)draw(worker, PAGES);

		if (worker->kind == ADVISING && i % 8 == 0)
			give_advice(worker, fd, file);
		read_at(fd, file, (at % PAGES + PAGES) % PAGES, worker->kind == ANYWHERE ? 1 : pages, buffer);
	}
	close(fd);
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	char *buffer = malloc(32 * PAGE);
	long done;

	if (!buffer)
		end_with("malloc", 0, 0);
	if (failing) {
		int fd = open("/proc/thread-self/make-it-fail", O_WRONLY);

		if (fd < 0 || write(fd, "1", 1) != 1)
			end_with("make-it-fail", 0, 0);
		close(fd);
	}
	for (done = 0; done < accesses; done += BURST)
		burst(worker, buffer);
	free(buffer);
	return NULL;
}

int main(int count, char **arguments)
{
	static struct worker workers[THREADS_MAX];
	struct sigaction action = { .sa_handler = on_bus_error };
	long threads;

	if (count < 4)
		return 2;
	folder = arguments[1];
	threads = strtol(arguments[2], NULL, 10);
	accesses = strtol(arguments[3], NULL, 10);
	for (int i = 4; i < count; i++) {
		read_only |= !strcmp(arguments[i], "read-only");
		failing |= !strcmp(arguments[i], "failing");
	}
	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	sigaction(SIGBUS, &action, NULL);
	for (int file = 0; file < FILES && !read_only; file++)
		make(file);
	for (long i = 0; i < threads; i++) {
		enum kind kind = i % KINDS;

		if (read_only && (kind == CUTTING || kind == REMOVING))
			kind = MAPPED;
		workers[i].kind = kind;
		workers[i].random = 0x9e3779b97f4a7c15u * (i + 1);
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			end_with("pthread_create", 0, i);
	}
	for (long i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	printf("TEST races in %s: reads %ld touches %ld cuts %ld removals %ld advices %ld lost %ld errors %ld\n",
	       folder, reads, touches, cuts, removals, advices, lost, errors);
	return 0;
}
