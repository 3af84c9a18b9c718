/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the three parts of the modelled disk say to each other: the block driver (kernel), its side
 * that talks to the host (user), and the model (Rust, the same crate that the simulator uses).
 */
#ifndef AHEAD_DISK_H
#define AHEAD_DISK_H

/* No event: only a request can change anything. */
#define AHEAD_DISK_IDLE (~0ULL)

/* A request that the model has finished; moments in nanoseconds of CLOCK_MONOTONIC. */
struct ahead_disk_completion {
	unsigned long long id;
	unsigned long long arrived_ns;
	unsigned long long completed_ns;
};

/* One line of the log, in the byte order of the machine. */
struct ahead_disk_log_entry {
	unsigned long long arrived_ns;
	/* What the model said, and when the driver ended the request. */
	unsigned long long completed_ns;
	unsigned long long ended_ns;
	unsigned long long offset;
	/* In the order in which the model was given them: several can arrive at one moment. */
	unsigned long long number;
	unsigned int bytes;
	/* 1: a write. */
	unsigned int flags;
};

/* The model: lab/guest-disk. */
void *ahead_disk_model_open(const char *toml, unsigned long toml_bytes,
			    unsigned long long capacity,
			    unsigned long long faster,
			    unsigned long long slower);
void ahead_disk_model_submit(void *model, unsigned long long now_ns,
			     unsigned long long id, unsigned long long offset,
			     unsigned long long bytes);
unsigned long long ahead_disk_model_next(const void *model);
unsigned long ahead_disk_model_advance(void *model, unsigned long long now_ns,
				       struct ahead_disk_completion *into,
				       unsigned long completions_max);
int ahead_disk_model_is_rotational(const void *model);

/* What the model needs of the kernel. */
void *ahead_disk_allocate(unsigned long bytes);
void ahead_disk_free(void *memory);
void ahead_disk_die(void);

/* The guest ends with the process that started it, also when that is killed. */
void ahead_disk_end_with_parent(void);
/* The host's side: ahead_disk_user.c. Negative: an errno of the host. */
long ahead_disk_read_file(const char *path, char *into, unsigned long bytes_max);
/*
 * Maps `bytes` of an image, writable. Unless `keeps`, what is written is seen by this guest only and
 * is gone with it.
 */
void *ahead_disk_map(const char *path, unsigned long long bytes, int keeps,
		     int *error);
int ahead_disk_log_open(const char *path);
int ahead_disk_log_write(int file, const void *from, unsigned long bytes);

#endif
