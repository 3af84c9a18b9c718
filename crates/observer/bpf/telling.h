/* SPDX-License-Identifier: GPL-2.0-only */
/* What is known of watched files and of threads, and how their accesses become records.
 *
 * Accesses of equal length and step are told as one record, once they make CHUNK_BYTES or something waited, when
 * MILLISECOND has passed since the last one of the file, or at its end: nothing may follow, and who reads the file next is another. */
#ifndef AHEAD_TELLING_H
#define AHEAD_TELLING_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "descriptor.h"
#include "folio.h"
#include "record.h"

/* Files that are watched at most. The daemon forgets the oldest before the map is full. */
#define WATCHED_MAX 4096
/* Places of the filter, two to the power of this: 128 KiB. Fewer, and reads of files that are not watched share a place
 * with one that is, and pay for a hash; with half of WATCHED_MAX, one in eight does. */
#define FILTER_BITS 14
/* Told at once: less, and a fast reader wakes the daemon for every read; more, and the daemon hears of the crossing
 * of a marker too late. The first window of a stream is as large. */
#define CHUNK_BYTES (128 * 1024)
/* A slower reader than CHUNK_BYTES in this time is told access by access: it cannot wake the daemon often. */
#define MILLISECOND 1000000ULL
/* Bytes of the ring. A quarter of them unread is news, whatever they are about. */
#define RING_BYTES (1 << 20)

/* Of this process nothing is told: the daemon's own; 0: of all. */
__u32 own_process = 0;

struct file_key {
	__u64 inode;
	__u32 device;
	__u32 zero;
};

/* A watched file: the run of accesses that was not told yet. Two processors may write it at the same time; then a run
 * is told wrong, which makes one hint worse. */
struct run {
	__u64 start;
	__u64 length;
	__s64 step;
	__u64 told_ns;
	__u32 count;
	__u32 thread;
	__u32 flags;
	__s32 descriptor;
	/* Of the inode when it was touched last. */
	__u32 generation;
	__u32 unused;
};

/* What is known of a thread. */
struct thread {
	/* Since when it waits for a device; 0: it does not. */
	__u64 out_ns;
	/* It has waited for so long since its last access. */
	__u64 waited_ns;
	/* Its last access, and whether that was told before it could wait. */
	struct file_key file;
	__u64 start;
	__u64 end;
	/* In which attachment it began to wait. */
	__u32 out_attachment;
	__u32 flags;
	__u32 is_told;
	/* It begins where the one before ended. */
	__u32 goes_on;
	/* Length of the file, in bytes. */
	__u64 file_bytes;
	/* Pages that were mapped around a fault: told with the next fact, unless that is the fault itself. */
	__u64 around_start;
	__u64 around_end;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WATCHED_MAX);
	__type(key, struct file_key);
	__type(value, struct run);
} watched SEC(".maps");

/* How many watched files have this place. A look here is three loads, without a call; a hash of a file's whole key is
 * half of what a read from memory pays. Written by the daemon: before the file is watched, and after. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << FILTER_BITS);
	__type(key, __u32);
	__type(value, __u32);
} filter SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} records SEC(".maps");

/* Bytes `start` to `end` (exclusive) of a file. */
struct span {
	__u64 start;
	__u64 end;
};

/* Spans of a file that are settled, at most: one for each of as many streams. */
#define SETTLED_MAX 4

/* For which accesses to a watched file the daemon is not woken, as it would do nothing. To wake it takes the reader 3 to 13 us, a
 * tenth of a read of a page from flash; and where programs compute on all processors, one of them may have that of the
 * reader afterwards, for some milliseconds. Beside `watched`, as the daemon writes it while programs write the run. */
struct quiet {
	/* Where accesses have led to nothing for long, it is woken only if nothing has woken it for so long. */
	__u64 pause_ns;
	/* What lies between a reader and its marker was asked for: it is woken for who leaves that, or misses something there. */
	struct span settled[SETTLED_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WATCHED_MAX);
	__type(key, struct file_key);
	__type(value, struct quiet);
} quiet SEC(".maps");

/* Where the last record ends in the ring for which the daemon was woken. Not in .bss, which is `own_process` alone for who writes it. */
__u64 news_end SEC(".bss.news") = 0;
/* And when. */
__u64 woken_ns SEC(".bss.news") = 0;

/* A process that reads a file. */
struct reader_key {
	__u64 inode;
	__u32 device;
	__u32 process;
};

/* Whose misses are not told before this time: they are left alone, and each miss would wake the daemon. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, WATCHED_MAX);
	__type(key, struct reader_key);
	__type(value, __u64);
} ignored SEC(".maps");

/* Records that found the ring full. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} overruns SEC(".maps");

/* A record that `wakes` wakes the daemon, unless it was woken for one that it has not read yet. Others it reads with the next, or
 * when it has waited for long. The daemon cannot read on behind a record that is reserved: so one that finds `news_end` ahead of
 * the daemon is read by who was woken for it, or is about to be. */
static __always_inline void send(struct record *record, bool wakes)
{
	struct record *place = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	__u64 flags = BPF_RB_NO_WAKEUP;
	__u32 zero = 0;
	__u64 *lost;

	if (!place) {
		lost = bpf_map_lookup_elem(&overruns, &zero);
		if (lost)
			*lost += 1;
		return;
	}
	*place = *record;
	if (!wakes)
		wakes = bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) > RING_BYTES / 4;
	if (wakes && bpf_ringbuf_query(&records, BPF_RB_CONS_POS) >= news_end) {
		news_end = bpf_ringbuf_query(&records, BPF_RB_PROD_POS);
		woken_ns = record->time_ns;
		flags = BPF_RB_FORCE_WAKEUP;
	}
	bpf_ringbuf_submit(place, flags);
}

/* Whether accesses to bytes `start` to `end` (exclusive) of a watched file are worth waking the daemon. A miss ends the span that it
 * lies in, until the daemon sets another: what follows it there was not asked for either. Page faults do not say whether they missed. */
static __always_inline bool is_news(struct file_key *key, __u64 start, __u64 end, bool is_mapped, bool is_missed, __u64 now)
{
	struct quiet *file = bpf_map_lookup_elem(&quiet, key);

	if (!file)
		return true;
	for (int place = 0; place < SETTLED_MAX && !is_mapped; place++) {
		if (start < file->settled[place].start || end > file->settled[place].end)
			continue;
		if (!is_missed)
			return false;
		file->settled[place].end = 0;
	}
	/* Others that have woken it had it read what this file had told. */
	return now - woken_ns >= file->pause_ns;
}

/* Whether accesses to the file have led to nothing for long. */
static __always_inline bool has_pause(struct file_key *key)
{
	struct quiet *file = bpf_map_lookup_elem(&quiet, key);

	return file && file->pause_ns;
}

static __always_inline bool is_ours(struct task_struct *task)
{
	return own_process && (__u32)task->tgid == own_process;
}

static __always_inline struct file_key key_of(struct inode *inode)
{
	struct file_key key = {
		.inode = inode->i_ino,
		.device = inode->i_sb->s_dev,
	};

	return key;
}

/* Odd, without a pattern in their bits: the golden ratio, and another. The daemon has the same. With one alone, files
 * whose numbers lie 32 apart are taken for each other. */
#define SPREAD 0x9E3779B97F4A7C15ULL
#define SPREAD_AGAIN 0xD1342543DE82EF95ULL

/* Whether the file may be watched; that it is not is certain. */
static __always_inline bool may_be_watched(struct inode *inode)
{
	__u64 spread = (__u64)inode->i_ino * SPREAD;
	__u32 place = (spread ^ spread >> 32) * SPREAD_AGAIN >> (64 - FILTER_BITS);
	__u32 *watched_here = bpf_map_lookup_elem(&filter, &place);

	return watched_here && *watched_here;
}

static __always_inline struct record record_of(__u32 kind, struct file_key *key, __u64 file_bytes,
					       struct task_struct *task, __u64 now)
{
	struct record record = {
		.time_ns = now,
		.kind = kind,
		.inode = key->inode,
		.device = key->device,
		.file_bytes = file_bytes,
		.process = task->tgid,
		.thread = task->pid,
		.descriptor = -1,
		.programs = task->self_exec_id,
	};

	return record;
}

/* Tells the accesses of `run` that were not told. The last one waited `waited_ns`, and `is_missed`: for pages that nobody had
 * asked for. */
static __always_inline void tell(struct run *run, struct file_key *key, __u64 file_bytes,
				 struct task_struct *task, __u64 waited_ns, bool is_missed, __u64 now)
{
	struct file *opened = NULL;
	__u64 first = run->start, last;
	struct record record;
	bool is_end;

	if (!run->count)
		return;
	record = record_of(RECORD_ACCESSES, key, file_bytes, task, now);
	record.thread = run->thread;
	record.start = run->start;
	record.length = run->length;
	record.step = run->step;
	record.count = run->count;
	record.flags = run->flags;
	record.descriptor = run->descriptor;
	record.generation = run->generation;
	record.waited_ns = waited_ns;
	if (run->thread == (__u32)task->pid)
		opened = opened_as(task, run->descriptor);
	if (opened) {
		record.ra_pages = BPF_CORE_READ(opened, f_ra.ra_pages);
		record.flags |= FLAG_WINDOW_KNOWN;
		if (BPF_CORE_READ(opened, f_mode) & FMODE_RANDOM)
			record.flags |= FLAG_ADVISED_RANDOM;
	}
	/* The next access may go on where this one ended. */
	run->start += run->step * (run->count - 1);
	run->count = 0;
	run->told_ns = now;
	last = run->start;
	if (run->step < 0) {
		last = first;
		first = run->start;
	}
	/* Who has read the end of a file asks for nothing more of it. */
	is_end = last + run->length >= file_bytes && !(run->flags & FLAG_MAPPED) && !waited_ns && !is_missed;
	send(&record, !is_end && is_news(key, first, last + run->length, run->flags & FLAG_MAPPED, is_missed, now));
}

/* When an access is told. */
enum urgency {
	/* With the others of its run. */
	LATER,
	/* Now, as the thread is about to wait. */
	BEFORE_WAIT,
	/* The same, for pages that nobody has asked for. */
	BEFORE_MISS,
};

/* One access to a watched file. */
static __always_inline void add(struct run *run, struct file_key *key, __u64 file_bytes,
				struct task_struct *task, __u64 start, __u64 length, __u32 flags,
				__u64 waited_ns, enum urgency when)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 thread = task->pid;
	__s64 step;

	/* Step and length stay over a telling: the run goes on. */
	if (run->count) {
		step = start - (run->start + run->step * (run->count - 1));
		if (run->thread != thread || run->length != length || run->flags != flags ||
		    (run->count > 1 && run->step != step)) {
			tell(run, key, file_bytes, task, 0, false, now);
		} else {
			run->step = step;
			run->count++;
		}
	}
	if (!run->count) {
		run->start = start;
		run->length = length;
		run->step = 0;
		run->count = 1;
		run->thread = thread;
		run->flags = flags;
		run->descriptor = flags & FLAG_MAPPED ? -1 : descriptor_of(task);
	}
	if (when != LATER || waited_ns || run->count * run->length >= CHUNK_BYTES ||
	    start + length >= file_bytes || now - run->told_ns > MILLISECOND)
		tell(run, key, file_bytes, task, waited_ns, when == BEFORE_MISS, now);
}

/* Pages of a mapping that were mapped without a look at the device, and what the thread touches next: `next_start` to
 * `next_end` of the same `mapping`, or something else where that is NULL.
 *
 * Where they surround the page that the thread has just waited for, that is this fault once more, now that its page is
 * there. What it mapped beside was touched only if the thread goes on behind it: a scan does not fault there.
 *
 * Since 6.18 a fault maps all of a large folio, and no tracepoint says so: a thread that goes on behind the folio has
 * touched the rest of it. */
static __always_inline void add_around(struct task_struct *task, struct thread *thread,
				       struct address_space *mapping, __u64 file_bytes, __u64 next_start,
				       __u64 next_end)
{
	__u64 start = thread->around_start, end = thread->around_end, folio_start, folio_end;
	struct file_key key = thread->file;
	struct run *run;

	if (!end) {
		if (!mapping || !(thread->flags & FLAG_MAPPED) || thread->start >= thread->end)
			return;
		start = thread->start;
		end = thread->end;
	}
	thread->around_end = 0;
	if (mapping && (next_start > end || next_end < start)) {
		folio_of(mapping, end - 1, &folio_start, &folio_end);
		if (next_start == folio_end)
			end = folio_end;
		else if (next_end == folio_start)
			start = folio_start;
	}
	if (thread->end > start && thread->start < end) {
		if (mapping && next_start == end)
			start = thread->end;
		else if (mapping && next_end == start)
			end = thread->start;
		else
			return;
		if (start >= end)
			return;
	}
	run = bpf_map_lookup_elem(&watched, &key);
	if (!run)
		return;
	thread->start = start;
	thread->end = end;
	add(run, &key, file_bytes, task, start << PAGE_SHIFT, (end - start) << PAGE_SHIFT, FLAG_MAPPED, 0,
	    LATER);
}

/* What the thread waited belongs to its last access: the daemon hears of it. */
static __always_inline void tell_wait(struct task_struct *task, struct thread *thread,
				      __u64 file_bytes)
{
	struct file_key key = thread->file;
	__u64 now = bpf_ktime_get_ns();
	struct record record;
	struct run *run;

	if (!thread->waited_ns)
		return;
	/* The access comes before its wait. */
	run = bpf_map_lookup_elem(&watched, &key);
	if (run)
		tell(run, &key, file_bytes, task, 0, false, now);
	record = record_of(RECORD_WAIT, &key, file_bytes, task, now);
	record.start = thread->start << PAGE_SHIFT;
	record.length = (thread->end - thread->start) << PAGE_SHIFT;
	record.count = 1;
	record.flags = thread->flags;
	record.waited_ns = thread->waited_ns;
	thread->waited_ns = 0;
	/* It says what an access took, which can wait for the next one. */
	send(&record, false);
}

static __always_inline bool is_same(struct file_key *one, struct file_key *other)
{
	return one->inode == other->inode && one->device == other->device;
}

/* The thread touches pages `start` to `end` (exclusive) of a file that is watched. */
static __always_inline void touch(struct task_struct *task, struct inode *inode, struct file_key *key,
				  struct run *run, __u64 start, __u64 end, __u32 flags, enum urgency when)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	__u64 waited_ns = 0, file_bytes = inode->i_size;
	bool is_last, may_be_cut;
	struct pages read;

	if (!thread)
		return;
	if (thread->around_end && (flags & FLAG_MAPPED) && is_same(&thread->file, key) &&
	    start >= thread->around_start && start < thread->around_end)
		/* This is the fault that pages were mapped around. */
		thread->around_end = 0;
	if (is_same(&thread->file, key) && (flags & FLAG_MAPPED))
		add_around(task, thread, inode->i_mapping, file_bytes, start, end);
	else
		add_around(task, thread, NULL, file_bytes, 0, 0);
	/* A large read comes here in pieces, and each ends where the read ends; a page is read in parts. */
	is_last = is_same(&thread->file, key) && end == thread->end && start >= thread->start;
	/* A page that was mapped around, and told: it has the kernel's marker, so that it faults nevertheless. */
	if (flags & FLAG_MAPPED && is_same(&thread->file, key) && start >= thread->start && end <= thread->end)
		is_last = true;
	/* A wait in the middle of a read is a part of it: as an access of its own it would break a stride. */
	if (is_last || thread->is_told)
		tell_wait(task, thread, file_bytes);
	if (is_last)
		return;
	/* Where the kernel finds a page on its way behind others that are there, it says nothing of those, and mostly waits: of a thread
	 * that was not known that is not known, and a wait may be over before it began. */
	may_be_cut = thread->waited_ns || !thread->end || (end - start) << PAGE_SHIFT < run->length;
	if (may_be_cut && !(flags & FLAG_MAPPED) && !has_pause(key) && inode_of_read(task, &read) == inode &&
	    read.end == end && read.start < start)
		start = read.start;
	waited_ns = thread->waited_ns;
	thread->waited_ns = 0;
	thread->goes_on = is_same(&thread->file, key) && start == thread->end;
	thread->file_bytes = file_bytes;
	thread->file = *key;
	thread->start = start;
	thread->end = end;
	thread->flags = flags;
	run->generation = inode->i_generation;
	thread->is_told = when != LATER || (flags & FLAG_MAPPED);
	add(run, key, file_bytes, task, start << PAGE_SHIFT, (end - start) << PAGE_SHIFT, flags, waited_ns,
	    when);
}

/* The thread's last access is this one, in a file that is not watched: nothing was waited for it yet. */
static __always_inline void begin_access(struct thread *thread, struct file_key *key, __u64 start, __u64 end,
					 __u32 flags, bool is_told)
{
	thread->file = *key;
	thread->start = start;
	thread->end = end;
	thread->flags = flags;
	thread->is_told = is_told;
	thread->goes_on = 0;
	thread->waited_ns = 0;
	thread->around_end = 0;
}

#endif
