/* SPDX-License-Identifier: GPL-2.0-only */
/* What the programs tell the daemon: the layout of a record, for both sides. `src/record.rs` decodes it, and a test
 * there compares its offsets with those that the compiler gave this struct. */
#ifndef AHEAD_RECORD_H
#define AHEAD_RECORD_H

/* What kind of record. */
enum record_kind {
	/* A file that is not watched had to be fetched from its device. */
	RECORD_MISS = 1,
	/* Accesses to a watched file: `count` of equal length, `step` bytes from one to the next. */
	RECORD_ACCESSES = 2,
	/* An access that was told before has waited. */
	RECORD_WAIT = 3,
};

enum record_flag {
	/* Through a mapping: a page fault. */
	FLAG_MAPPED = 1,
	/* The program said RANDOM about the open file. */
	FLAG_ADVISED_RANDOM = 2,
	/* Told before the kernel waits for the device. */
	FLAG_EARLY = 4,
	/* The open file's state of read-ahead was seen: `ra_pages` is known. */
	FLAG_WINDOW_KNOWN = 8,
};

struct record {
	/* CLOCK_MONOTONIC, nanoseconds. */
	__u64 time_ns;
	__u64 inode;
	/* First access: its first byte, and bytes. Whole pages. */
	__u64 start;
	__u64 length;
	/* Bytes from the start of one access to that of the next. */
	__s64 step;
	/* How long the last of these accesses waited for a device. */
	__u64 waited_ns;
	/* Length of the file in bytes. */
	__u64 file_bytes;
	__u32 kind;
	__u32 flags;
	__u32 count;
	/* As the kernel keeps it: major << 20 | minor. */
	__u32 device;
	__u32 process;
	__u32 thread;
	/* Number of the descriptor in the process, or -1. */
	__s32 descriptor;
	/* Window of the open file, in pages. */
	__u32 ra_pages;
	/* Programs that the process has executed: another number is another program. */
	__u32 programs;
	/* Which of the files that had this inode one after another; 0: not known. */
	__u32 generation;
};

#endif
