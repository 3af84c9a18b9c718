/* reader PATTERN FILE [HOLD [HALF]]: reads FILE as PATTERN says, through calls or a mapping, and says `sum N` of the first
 * bytes of what it read. Built without shared libraries: nothing can be loaded into it.
 *
 * With HOLD it says `ready` when the file is open and waits for a line before it reads; with HALF a random reader also
 * says `half` and waits in the middle.
 *
 * `forward-for` and `mapped-random-for` read for READER_MS milliseconds, of a file that nothing of is in memory, and say how
 * much that was: KiB, and touches.
 *
 * READER_MUTE is a file of a server that does not answer: who wants to know anything of the reader's memory waits for that. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t sum;
static char buffer[1 << 16];

static void read_at(int fd, off_t offset, size_t length)
{
	if (pread(fd, buffer, length, offset) != (ssize_t)length) {
		perror("pread");
		exit(1);
	}
	sum += (unsigned char)buffer[0];
}

static void hold(const char *word)
{
	puts(word);
	fflush(stdout);
	if (!fgets(buffer, sizeof(buffer), stdin))
		exit(1);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static volatile pid_t mapper;
static volatile int is_locked;

static void *map_more(void *none)
{
	mapper = syscall(SYS_gettid);
	while (!is_locked)
		;
	mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return none;
}

/* Until who has this status waits, and cannot be woken by a signal that it handles. */
static void await_stuck(const char *status)
{
	char line[256] = "";
	int fd;

	while (!strstr(line, ") D ")) {
		fd = open(status, O_RDONLY);
		if (fd < 0 || read(fd, line, sizeof(line) - 1) < 0)
			exit(1);
		close(fd);
	}
}

/* Reads a byte of the memory of another process, and says so before: what else it does may wait for a disk. */
static int peek(char **words)
{
	char name[64];
	int fd;

	/* Who waits for the end of what the reader says does not wait for this one's. */
	close(1);
	snprintf(name, sizeof(name), "/proc/%s/mem", words[2]);
	fd = open(name, O_RDONLY);
	/* Its parent ends its call first, which gives memory back. */
	if (fd < 0 || read(atoi(words[4]), buffer, 1) != 1 || write(atoi(words[5]), "r", 1) != 1)
		return 1;
	return pread(fd, buffer, 1, strtoull(words[3], NULL, 10)) != 1;
}

/* Another process reads a page of ours that is a server's, with the lock of our memory, and a thread of ours waits for that lock: so does
 * everybody else then. */
static void keep_memory_locked(const char *path)
{
	int fd = open(path, O_RDONLY);
	void *touched = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	char name[64], process[16], address[32], go[16], ready[16];
	char *words[] = { "reader", "peek", process, address, go, ready, NULL };
	pthread_t thread;
	pid_t peeker;
	int to_it[2], from_it[2];

	/* What is touched first then needs the lock, as does the stack of a thread. */
	memset(buffer, 1, sizeof(buffer));
	pthread_create(&thread, NULL, map_more, NULL);
	while (!mapper)
		;
	sprintf(process, "%d", getpid());
	sprintf(address, "%ju", (uintmax_t)touched);
	/* A copy of ours would have our pages copied as they are written to, which needs the lock. */
	if (pipe(to_it) || pipe(from_it)) {
		perror("pipe");
		exit(1);
	}
	sprintf(go, "%d", to_it[0]);
	sprintf(ready, "%d", from_it[1]);
	if (posix_spawn(&peeker, "/proc/self/exe", NULL, NULL, words, words + 6)) {
		perror("spawn");
		exit(1);
	}
	if (write(to_it[1], "g", 1) != 1 || read(from_it[0], buffer, 1) != 1) {
		perror("peek");
		exit(1);
	}
	sprintf(name, "/proc/%d/stat", peeker);
	await_stuck(name);
	is_locked = 1;
	sprintf(name, "/proc/self/task/%d/stat", mapper);
	await_stuck(name);
}

int main(int count, char **words)
{
	const char *pattern = words[1];
	int fd = open(words[2], O_RDONLY);
	struct stat facts;
	uint64_t seed = 1;
	uint64_t done = 0;
	off_t size, at;
	double end;

	if (!strcmp(pattern, "peek"))
		return peek(words);
	if (fd < 0 || fstat(fd, &facts)) {
		perror(words[2]);
		return 1;
	}
	size = facts.st_size;
	if (count > 3)
		hold("ready");
	if (getenv("READER_MUTE"))
		keep_memory_locked(getenv("READER_MUTE"));
	end = getenv("READER_MS") ? seconds() + atof(getenv("READER_MS")) / 1000 : 0;
	if (!strcmp(pattern, "forward-for")) {
		for (at = 0; seconds() < end; done += 64, at += 64 << 10) {
			if (at + (64 << 10) > size) {
				/* From the start again, from the disk. */
				posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
				at = 0;
			}
			read_at(fd, at, 64 << 10);
		}
		sum = done;
	} else if (!strcmp(pattern, "backward")) {
		for (at = size - (64 << 10); at >= 0; at -= 64 << 10)
			read_at(fd, at, 64 << 10);
	} else if (!strcmp(pattern, "backward-positioned")) {
		/* By the position of the descriptor, as tac does. */
		for (at = size - (64 << 10); at >= 0; at -= 64 << 10) {
			lseek(fd, at, SEEK_SET);
			if (read(fd, buffer, 64 << 10) != 64 << 10)
				return 1;
			sum += (unsigned char)buffer[0];
		}
	} else if (!strcmp(pattern, "backward-advised")) {
		for (at = size - (64 << 10); at >= 0; at -= 64 << 10) {
			/* As a database does that knows better, in the middle. */
			if (at == size / 2)
				posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
			read_at(fd, at, 64 << 10);
		}
	} else if (!strcmp(pattern, "strided")) {
		for (at = 0; at < size; at += 256 << 10)
			read_at(fd, at, 16 << 10);
	} else if (!strcmp(pattern, "forward")) {
		for (at = 0; at < size; at += 64 << 10)
			read_at(fd, at, 64 << 10);
	} else {
		volatile unsigned char *mapped = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

		if (mapped == MAP_FAILED) {
			perror("mmap");
			return 1;
		}
		if (!strcmp(pattern, "mapped-random-for")) {
			for (; seconds() < end; done++) {
				seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
				sum += mapped[(seed >> 33) % (size / 4096) * 4096];
			}
			sum = done;
		} else if (!strcmp(pattern, "mapped-backward-advised")) {
			madvise((void *)mapped, size, MADV_RANDOM);
			for (at = size - 4096; at >= size - (8 << 20); at -= 4096)
				sum += mapped[at];
		} else if (!strcmp(pattern, "mapped-backward"))
			for (at = size - 4096; at >= 0; at -= 4096)
				sum += mapped[at];
		else if (!strcmp(pattern, "mapped-forward"))
			for (at = 0; at < size; at += 4096)
				sum += mapped[at];
		else if (!strcmp(pattern, "mapped-strided"))
			for (at = 0; at < size; at += 512 << 10)
				sum += mapped[at];
		else if (!strcmp(pattern, "mapped-random-forked")) {
			/* A worker reads until its window is taken, and ends; then who has opened the file. */
			pid_t worker = fork();

			for (int touch = 0; !worker || touch < 200; touch++) {
				if (worker && !touch) {
					hold("half");
					kill(worker, SIGKILL);
					waitpid(worker, NULL, 0);
					hold("alone");
				}
				seed = seed * 6364136223846793005ULL + 1442695040888963407ULL + !worker;
				sum += mapped[(seed >> 33) % (size / 4096) * 4096];
			}
		} else if (!strcmp(pattern, "mapped-random"))
			for (int touch = 0; touch < 400; touch++) {
				if (touch == 200 && count > 4)
					hold("half");
				seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
				sum += mapped[(seed >> 33) % (size / 4096) * 4096];
			}
		else
			return 2;
	}
	printf("sum %llu\n", (unsigned long long)sum);
	return 0;
}
