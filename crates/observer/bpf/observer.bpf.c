// SPDX-License-Identifier: GPL-2.0-only
/* What the page cache does for whom, told so that reads from memory cost next to nothing.
 *
 * Two sets of programs. *Misses* are always attached: they run where the kernel goes to a device
 * (`page_cache_sync_ra`, `page_cache_async_ra`, `page_cache_ra_order`), never for a read from memory. What they
 * find in a file that is not watched is one record, and the daemon decides whether it watches the file. *Accesses*
 * are attached while any file is watched: `mm_filemap_get_pages` for each read (it runs after the read has waited),
 * `mm_filemap_fault` and `mm_filemap_map_pages` for page faults, `sched_switch` for how long was waited, and for reads that
 * are about to wait. Reads of files that are not watched leave them after one look into an array.
 *
 * Why these: a kernel with tracepoints alone (no kprobes, no fentry by policy) has them, and each is where the fact is
 * known exactly. System-call tracepoints would slow every call of every program down.
 *
 * Accesses of equal length and step are told as one record, once they make CHUNK_BYTES or something waited, or when
 * MILLISECOND has passed since the last one of the file.
 *
 * Where `mm_filemap_map_pages` maps pages around a fault without a look at the device, the page that was touched is
 * not known: all of the pages that were mapped count as touched.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "descriptor.h"
#include "folio.h"
#include "record.h"

char LICENSE[] SEC("license") = "GPL";

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
#define PAGE_SHIFT 12

/* Of this process nothing is told: the daemon's own; 0: of all. */
__u32 own_process = 0;

/* So that the object describes the layout of a record, for the test that compares it with what Rust decodes. */
const struct {
	struct record record;
	enum record_kind kind;
	enum record_flag flag;
} layout = {};

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
	__u32 flags;
	__u32 is_told;
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
	__uint(max_entries, 1 << 20);
} records SEC(".maps");

/* Records that found the ring full. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} overruns SEC(".maps");

void *bpf_rdonly_cast(const void *object, __u32 type) __ksym __weak;

static __always_inline void send(struct record *record)
{
	__u32 zero = 0;
	__u64 *lost;

	if (!bpf_ringbuf_output(&records, record, sizeof(*record), 0))
		return;
	lost = bpf_map_lookup_elem(&overruns, &zero);
	if (lost)
		*lost += 1;
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

/* Tells the accesses of `run` that were not told. The last one waited `waited_ns`. */
static __always_inline void tell(struct run *run, struct file_key *key, __u64 file_bytes,
				 struct task_struct *task, __u64 waited_ns, __u64 now)
{
	struct file *opened = NULL;
	struct record record;

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
	send(&record);
}

/* One access to a watched file. `at_once`: it is told now, as the thread is about to wait. */
static __always_inline void add(struct run *run, struct file_key *key, __u64 file_bytes,
				struct task_struct *task, __u64 start, __u64 length, __u32 flags,
				__u64 waited_ns, bool at_once)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 thread = task->pid;
	__s64 step;

	/* Step and length stay over a telling: the run goes on. */
	if (run->count) {
		step = start - (run->start + run->step * (run->count - 1));
		if (run->thread != thread || run->length != length || run->flags != flags ||
		    (run->count > 1 && run->step != step)) {
			tell(run, key, file_bytes, task, 0, now);
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
	if (at_once || waited_ns || run->count * run->length >= CHUNK_BYTES ||
	    now - run->told_ns > MILLISECOND)
		tell(run, key, file_bytes, task, waited_ns, now);
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
	    false);
}

/* What the thread waited belongs to an access that was told before: the daemon hears of it. */
static __always_inline void tell_wait(struct task_struct *task, struct thread *thread,
				      __u64 file_bytes)
{
	struct file_key key = thread->file;
	__u64 now = bpf_ktime_get_ns();
	struct record record;
	struct run *run;

	if (!thread->waited_ns || !thread->is_told)
		return;
	/* The access comes before its wait. */
	run = bpf_map_lookup_elem(&watched, &key);
	if (run)
		tell(run, &key, file_bytes, task, 0, now);
	record = record_of(RECORD_WAIT, &key, file_bytes, task, now);
	record.start = thread->start << PAGE_SHIFT;
	record.length = (thread->end - thread->start) << PAGE_SHIFT;
	record.count = 1;
	record.flags = thread->flags;
	record.waited_ns = thread->waited_ns;
	thread->waited_ns = 0;
	send(&record);
}

static __always_inline bool is_same(struct file_key *one, struct file_key *other)
{
	return one->inode == other->inode && one->device == other->device;
}

/* The thread touches pages `start` to `end` (exclusive) of a file that is watched. */
static __always_inline void touch(struct task_struct *task, struct inode *inode, struct file_key *key,
				  struct run *run, __u64 start, __u64 end, __u32 flags, bool at_once)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	__u64 waited_ns = 0, file_bytes = inode->i_size;
	bool is_last;

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
	if (is_last && thread->is_told) {
		tell_wait(task, thread, file_bytes);
		return;
	}
	tell_wait(task, thread, file_bytes);
	if (is_last && !thread->waited_ns)
		return;
	waited_ns = thread->waited_ns;
	thread->waited_ns = 0;
	thread->file = *key;
	thread->start = start;
	thread->end = end;
	thread->flags = flags;
	thread->is_told = at_once || (flags & FLAG_MAPPED);
	add(run, key, file_bytes, task, start << PAGE_SHIFT, (end - start) << PAGE_SHIFT, flags, waited_ns,
	    at_once);
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
	thread->waited_ns = 0;
	thread->around_end = 0;
}

/* The mode of the open file whose state is `ra`; 0 where that cannot be had. */
static __always_inline unsigned int mode_of(struct file_ra_state *ra)
{
	struct file *file;

	if (!bpf_rdonly_cast)
		return 0;
	file = bpf_rdonly_cast((void *)((__u64)ra - bpf_core_field_offset(struct file, f_ra)),
			       bpf_core_type_id_kernel(struct file));
	return file->f_mode;
}

/* The kernel reads from a device for this thread, through an open file of this mode, whose state is `ra`. */
static __always_inline int miss(struct inode *inode, __u64 index, struct file_ra_state *ra, unsigned int mode,
				__u64 pages, __u32 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct file_key key = key_of(inode);
	struct record record;
	struct thread *thread;
	struct run *run;

	if (is_ours(task))
		return 0;
	if (mode & FMODE_RANDOM)
		flags |= FLAG_ADVISED_RANDOM;
	run = bpf_map_lookup_elem(&watched, &key);
	if (run) {
		/* A read-ahead in the background says where the reader is, which its read says too. */
		if (flags & FLAG_EARLY)
			touch(task, inode, &key, run, index, index + pages, flags & ~FLAG_EARLY, true);
		return 0;
	}
	record = record_of(RECORD_MISS, &key, inode->i_size, task, bpf_ktime_get_ns());
	record.start = index << PAGE_SHIFT;
	record.length = pages << PAGE_SHIFT;
	record.count = 1;
	record.flags = flags;
	thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (thread && (flags & FLAG_EARLY)) {
		/* Its wait belongs to this access, should the file be watched by then. */
		begin_access(thread, &key, index, index + pages, flags & ~FLAG_EARLY, true);
	}
	if (!(flags & FLAG_MAPPED))
		record.descriptor = descriptor_of(task);
	record.ra_pages = ra->ra_pages;
	record.flags |= FLAG_WINDOW_KNOWN;
	send(&record);
	return 0;
}

SEC("tp_btf/page_cache_sync_ra")
int BPF_PROG(on_sync_readahead, struct inode *inode, unsigned long index, struct file_ra_state *ra,
	     unsigned long pages)
{
	return miss(inode, index, ra, mode_of(ra), pages, FLAG_EARLY);
}

SEC("tp_btf/page_cache_async_ra")
int BPF_PROG(on_async_readahead, struct inode *inode, unsigned long index, struct file_ra_state *ra,
	     unsigned long pages)
{
	return miss(inode, index, ra, mode_of(ra), pages, 0);
}

/* The same where the tracepoints are missing (before 6.15): at the functions that have them now. */
SEC("fentry/page_cache_sync_ra")
int BPF_PROG(on_sync_readahead_function, struct readahead_control *control, unsigned long pages)
{
	return miss(control->mapping->host, control->_index, control->ra, BPF_CORE_READ(control, file, f_mode),
		    pages, FLAG_EARLY);
}

SEC("fentry/page_cache_async_ra")
int BPF_PROG(on_async_readahead_function, struct readahead_control *control, struct folio *folio,
	     unsigned long pages)
{
	return miss(control->mapping->host, control->_index, control->ra, BPF_CORE_READ(control, file, f_mode),
		    pages, 0);
}

/* Faults come to `page_cache_ra_order` without `page_cache_sync_ra`; what the thread touches says that it is one. */
static __always_inline int miss_of_fault(struct inode *inode, struct file_ra_state *ra, unsigned int mode)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = bpf_task_storage_get(&threads, task, 0, 0);
	struct file_key key = key_of(inode);

	if (!thread || !(thread->flags & FLAG_MAPPED) || !is_same(&thread->file, &key))
		return 0;
	/* Watched files have told it at the fault. */
	if (bpf_map_lookup_elem(&watched, &key))
		return 0;
	return miss(inode, thread->start, ra, mode, 1, FLAG_MAPPED | FLAG_EARLY);
}

SEC("tp_btf/page_cache_ra_order")
int BPF_PROG(on_ordered_readahead, struct inode *inode, unsigned long index, struct file_ra_state *ra)
{
	return miss_of_fault(inode, ra, mode_of(ra));
}

SEC("fentry/page_cache_ra_order")
int BPF_PROG(on_ordered_readahead_function, struct readahead_control *control, struct file_ra_state *ra)
{
	return miss_of_fault(control->mapping->host, ra, BPF_CORE_READ(control, file, f_mode));
}

/* A fault whose page is not mapped around: mostly it has to be fetched, and the thread waits now. */
static __always_inline int fault(struct inode *inode, __u64 index)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct file_key key = key_of(inode);
	struct thread *thread;
	struct run *run;

	if (is_ours(task))
		return 0;
	run = bpf_map_lookup_elem(&watched, &key);
	if (run) {
		touch(task, inode, &key, run, index, index + 1, FLAG_MAPPED, false);
		return 0;
	}
	thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread)
		return 0;
	begin_access(thread, &key, index, index + 1, FLAG_MAPPED, false);
	return 0;
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(on_fault, struct address_space *mapping, unsigned long index)
{
	return fault(mapping->host, index);
}

/* Before 6.12. */
SEC("fentry/filemap_fault")
int BPF_PROG(on_fault_function, struct vm_fault *fault_here)
{
	return fault(fault_here->vma->vm_file->f_mapping->host, fault_here->pgoff);
}

/* Pages `start` to `last` were mapped around a fault. */
static __always_inline int map_around(struct inode *inode, __u64 start, __u64 last)
{
	struct task_struct *task;
	struct file_key key;
	struct thread *thread;

	if (!may_be_watched(inode))
		return 0;
	task = bpf_get_current_task_btf();
	key = key_of(inode);
	if (is_ours(task) || !bpf_map_lookup_elem(&watched, &key))
		return 0;
	thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread)
		return 0;
	if (is_same(&thread->file, &key))
		add_around(task, thread, inode->i_mapping, inode->i_size, start, last + 1);
	else
		add_around(task, thread, NULL, inode->i_size, 0, 0);
	tell_wait(task, thread, inode->i_size);
	if (!is_same(&thread->file, &key)) {
		thread->file = key;
		thread->start = thread->end = 0;
	}
	thread->flags = FLAG_MAPPED;
	thread->around_start = start;
	thread->around_end = last + 1;
	return 0;
}

SEC("tp_btf/mm_filemap_map_pages")
int BPF_PROG(on_map, struct address_space *mapping, unsigned long start, unsigned long last)
{
	return map_around(mapping->host, start, last);
}

/* The function ends so when it has mapped the page that was touched; with 0 when that is not there. */
#define VM_FAULT_NOPAGE 0x100

SEC("fexit/filemap_map_pages")
int BPF_PROG(on_map_function, struct vm_fault *fault_here, unsigned long start, unsigned long last, unsigned int done)
{
	struct inode *inode = fault_here->vma->vm_file->f_mapping->host;
	__u64 pages = (inode->i_size + (1 << PAGE_SHIFT) - 1) >> PAGE_SHIFT;

	if (!(done & VM_FAULT_NOPAGE))
		return 0;
	return map_around(inode, start, last < pages ? last : pages - 1);
}

/* Pages `index` to `end` (exclusive) were read. */
static __always_inline int read_pages(struct inode *inode, __u64 index, __u64 end)
{
	struct task_struct *task;
	struct file_key key;
	struct run *run;

	if (!may_be_watched(inode))
		return 0;
	task = bpf_get_current_task_btf();
	if (is_ours(task))
		return 0;
	key = key_of(inode);
	run = bpf_map_lookup_elem(&watched, &key);
	if (run)
		touch(task, inode, &key, run, index, end, 0, false);
	return 0;
}

SEC("tp_btf/mm_filemap_get_pages")
int BPF_PROG(on_read, struct address_space *mapping, unsigned long index, unsigned long last)
{
	return read_pages(mapping->host, index, last + 1);
}

/* Before 6.12: when all is read, the position has moved behind it. */
SEC("fexit/filemap_read")
int BPF_PROG(on_read_function, struct kiocb *request, void *to, long before, long done)
{
	__u64 end = request->ki_pos, bytes = done - before;

	if (done <= before || end < bytes)
		return 0;
	return read_pages(request->ki_filp->f_mapping->host, (end - bytes) >> PAGE_SHIFT,
			  (end + (1 << PAGE_SHIFT) - 1) >> PAGE_SHIFT);
}

/* Longer reads come in pieces, the first of which is told soon. */
#define WAITING_BYTES_MAX (16 * 1024 * 1024)

/* The thread is about to wait in a read of the file that it is known for. It is told before, as nothing else tells it where
 * the pages were requested already: told afterwards, the daemon would hear that the reader is at a window when all of
 * that has come, and the device would have nothing to do until it has asked for the next one. */
static __always_inline void tell_waiting_read(struct task_struct *task, struct thread *thread)
{
	struct file_key key = thread->file, here;
	struct read_call read = {};
	struct inode *inode;
	struct file *file;
	struct run *run;
	__u64 start, page;

	if (thread->flags & FLAG_MAPPED || !bpf_rdonly_cast)
		return;
	run = bpf_map_lookup_elem(&watched, &key);
	if (!run || !read_call_of(task, &read) || !read.bytes || read.bytes > WAITING_BYTES_MAX)
		return;
	file = opened_as(task, read.descriptor);
	if (!file)
		return;
	file = bpf_rdonly_cast(file, bpf_core_type_id_kernel(struct file));
	inode = file->f_mapping->host;
	here = key_of(inode);
	if (!is_same(&here, &key))
		return;
	start = read.has_offset ? read.offset : file->f_pos;
	page = start >> PAGE_SHIFT;
	/* One that goes on where the last one ended. Others have their next window requested further ahead, and each would be told
	 * by itself. */
	if (page != thread->end && page + 1 != thread->end)
		return;
	touch(task, inode, &key, run, page,
	      (start + read.bytes + (1 << PAGE_SHIFT) - 1) >> PAGE_SHIFT, 0, true);
}

/* How long threads wait for devices: only those that touched a watched file have a state. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempted, struct task_struct *before, struct task_struct *after)
{
	struct thread *thread;

	if (BPF_CORE_READ_BITFIELD(before, in_iowait)) {
		thread = bpf_task_storage_get(&threads, before, 0, 0);
		if (thread) {
			tell_waiting_read(before, thread);
			thread->out_ns = bpf_ktime_get_ns();
		}
	}
	thread = bpf_task_storage_get(&threads, after, 0, 0);
	if (thread && thread->out_ns) {
		thread->waited_ns += bpf_ktime_get_ns() - thread->out_ns;
		thread->out_ns = 0;
	}
	return 0;
}
