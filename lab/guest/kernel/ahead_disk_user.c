// SPDX-License-Identifier: GPL-2.0
/*
 * The side of the modelled disk that talks to the host: its files are the host's, and the guest's
 * time does not pass while they are read.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "ahead_disk.h"

void ahead_disk_end_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

long ahead_disk_read_file(const char *path, char *into, unsigned long bytes_max)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	unsigned long length = 0;
	long got = 1;

	if (file < 0)
		return -errno;
	while (got > 0 && length < bytes_max) {
		got = read(file, into + length, bytes_max - length);
		if (got > 0)
			length += got;
		else if (got < 0 && errno == EINTR)
			got = 1;
	}
	if (got < 0)
		got = -errno;
	close(file);
	return got < 0 ? got : (long)length;
}

void *ahead_disk_map(const char *path, unsigned long long bytes, int keeps,
		     int *error)
{
	int blank = path[0] == '\0';
	int flags = (keeps ? MAP_SHARED : MAP_PRIVATE) | MAP_NORESERVE | (blank ? MAP_ANONYMOUS : 0);
	int file = -1;
	void *map;

	if (!blank) {
		file = open(path, (keeps ? O_RDWR : O_RDONLY) | O_CLOEXEC);
		if (file < 0) {
			*error = -errno;
			return NULL;
		}
	}
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
	*error = map == MAP_FAILED ? -errno : 0;
	if (file >= 0)
		close(file);
	return map == MAP_FAILED ? NULL : map;
}

int ahead_disk_log_open(const char *path)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	return file < 0 ? -errno : file;
}

int ahead_disk_log_write(int file, const void *from, unsigned long bytes)
{
	const char *at = from;

	while (bytes > 0) {
		long put = write(file, at, bytes);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		at += put;
		bytes -= put;
	}
	return 0;
}
