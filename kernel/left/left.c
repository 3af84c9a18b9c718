// SPDX-License-Identifier: GPL-2.0
/*
 * left advised|many FILE: reads FILE in a way that adaptive read-ahead leaves to the stock algorithm.
 *
 * advised: through a mapping that MADV_SEQUENTIAL was said of, after two reads by which the file is known.
 * many: by a hundred descriptors in turn, each of which reads its own part from front to back.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define READERS		100
#define READ_BYTES	16384

static char buffer[READ_BYTES];

static int read_at(int fd, off_t offset)
{
	return pread(fd, buffer, READ_BYTES, offset) == READ_BYTES;
}

static int advised(const char *name, int fd, off_t size)
{
	volatile unsigned char *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	off_t at;

	(void)name;
	if (map == MAP_FAILED || madvise((void *)map, size, MADV_SEQUENTIAL) ||
	    !read_at(fd, size - 2 * READ_BYTES) || !read_at(fd, size / 2))
		return 0;
	for (at = 0; at < size / 2; at += 4096)
		buffer[0] += map[at];
	return 1;
}

static int many(const char *name, int fd, off_t size)
{
	off_t part = size / READERS / READ_BYTES * READ_BYTES, at;
	int fds[READERS], reader;

	(void)fd;
	for (reader = 0; reader < READERS; reader++)
		fds[reader] = open(name, O_RDONLY);
	for (at = 0; at < part; at += READ_BYTES)
		for (reader = 0; reader < READERS; reader++)
			if (!read_at(fds[reader], reader * part + at))
				return 0;
	return 1;
}

int main(int count, char **words)
{
	struct stat facts;
	int fd, done;

	if (count != 3)
		return 2;
	fd = open(words[2], O_RDONLY);
	if (fd < 0 || fstat(fd, &facts)) {
		perror(words[2]);
		return 1;
	}
	done = strcmp(words[1], "many") ? advised(words[2], fd, facts.st_size) :
					  many(words[2], fd, facts.st_size);
	if (!done)
		perror(words[1]);
	return !done;
}
