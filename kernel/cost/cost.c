// What reads and faults of a file that is in memory cost the whole machine, in instructions: on a machine whose clock counts
// them. The median of batches, so that no interrupt is in it.
//
//	cost FILE
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

enum { PAGES = 16384, PAGE = 4096, BATCH = 128, BATCHES = PAGES / BATCH, AROUND = 16 };

static int fd;
static char *map;
static char buffer[PAGE];

static void in_turn(long number)
{
	(void)number;
	if (read(fd, buffer, PAGE) != PAGE)
		exit(1);
}

static void backward(long number)
{
	if (pread(fd, buffer, PAGE, (PAGES - 1 - number) * PAGE) != PAGE)
		exit(1);
}

static void anywhere(long number)
{
	if (pread(fd, buffer, PAGE, number * 6247 % PAGES * PAGE) != PAGE)
		exit(1);
}

// As many pages as one fault may map lie between two touches.
static void touch(long number)
{
	*(volatile char *)(map + number % (PAGES / AROUND) * AROUND * PAGE);
}

static void nothing(long number)
{
	(void)number;
}

static int compare(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}

// Hundredths of an instruction, with the loop around it.
static uint64_t median(void (*operation)(long number), long batches)
{
	static uint64_t took[BATCHES];

	for (long batch = 0; batch < batches; batch++) {
		uint64_t start = __rdtsc();

		for (long i = 0; i < BATCH; i++)
			operation(batch * BATCH + i);
		took[batch] = __rdtsc() - start;
	}
	qsort(took, batches, sizeof(*took), compare);
	return took[batches / 2] * 100 / BATCH;
}

static void say(const char *what, uint64_t hundredths, uint64_t without)
{
	printf("TEST %s %lu\n", what, (hundredths - without + 50) / 100);
}

int main(int count, char **arguments)
{
	uint64_t loop;

	if (count != 2)
		return 2;
	fd = open(arguments[1], O_RDONLY);
	if (fd < 0)
		return 1;
	// All of it comes into memory, from the disk where it was not yet.
	while (read(fd, buffer, PAGE) == PAGE)
		;
	loop = median(nothing, BATCHES);
	for (int pass = 0; pass < 2; pass++) {
		lseek(fd, 0, SEEK_SET);
		say(pass ? "in-turn" : "in-turn-first", median(in_turn, BATCHES), loop);
	}
	say("backward", median(backward, BATCHES), loop);
	say("anywhere", median(anywhere, BATCHES), loop);
	map = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return 1;
	say("fault", median(touch, BATCHES / AROUND), loop);
	return 0;
}
