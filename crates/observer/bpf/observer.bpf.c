// SPDX-License-Identifier: GPL-2.0-only
/* What the page cache does for whom, told so that reads from memory cost next to nothing.
 *
 * Two sets of programs. *Misses* are always attached: they run where the kernel goes to a device
 * (`page_cache_sync_ra`, `page_cache_async_ra`, `page_cache_ra_order`), never for a read from memory. What they
 * find in a file that is not watched is one record, and the daemon decides whether it watches the file; nothing is told of small
 * files that the kernel brings whole, nor of files that the daemon leaves alone for now (`ignored`). *Accesses*
 * are attached while any file is watched: `mm_filemap_get_pages` for each read (it runs after the read has waited),
 * `mm_filemap_fault` and `mm_filemap_map_pages` for page faults, `sched_switch` for how long was waited, and for reads and faults
 * that are about to wait. Reads of files that are not watched leave them after one look into an array.
 *
 * Why these: a kernel with tracepoints alone (no kprobes, no fentry by policy) has them, and each is where the fact is
 * known exactly. System-call tracepoints would slow every call of every program down.
 *
 * How accesses become records, and which state that takes: `telling.h`.
 *
 * Where `mm_filemap_map_pages` maps pages around a fault without a look at the device, the page that was touched is
 * not known: all of the pages that were mapped count as touched.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "descriptor.h"
#include "telling.h"

char LICENSE[] SEC("license") = "GPL";

/* So that the object describes the layout of a record, for the test that compares it with what Rust decodes. */
const struct {
	struct record record;
	enum record_kind kind;
	enum record_flag flag;
} layout = {};

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

/* Files of so many bytes and less: no more than the daemon's first request. */
#define SMALL_FILE_BYTES (128 * 1024)

/* Whether small files that the kernel brings whole are not told: for who only wants to read ahead. */
__u32 leaves_small SEC(".bss.small") = 0;

/* Whether the kernel brings all of a small file by itself: it is read from its start, or further ahead at a marker. To be told of
 * it would cost the readers of trees of such files 20 us for each, and little could be won. */
static __always_inline bool is_brought_whole(struct inode *inode, __u64 index, struct file_ra_state *ra, __u32 flags)
{
	return leaves_small && inode->i_size <= SMALL_FILE_BYTES &&
	       (__u64)ra->ra_pages << PAGE_SHIFT >= inode->i_size && !(flags & FLAG_MAPPED) &&
	       (!index || !(flags & FLAG_EARLY));
}

/* Whether nothing is told of a miss: what reads the file is left alone for now. */
static __always_inline bool is_ignored(struct file_key *key, struct task_struct *task, __u64 now)
{
	struct reader_key reader = {
		.inode = key->inode,
		.device = key->device,
		.process = task->tgid,
	};
	__u64 *until = bpf_map_lookup_elem(&ignored, &reader);

	return until && now < *until;
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
	bool is_told;
	__u64 now;

	if (is_ours(task))
		return 0;
	if (mode & FMODE_RANDOM)
		flags |= FLAG_ADVISED_RANDOM;
	run = bpf_map_lookup_elem(&watched, &key);
	if (run) {
		/* A read-ahead in the background says where the reader is, which its read says too. */
		if (flags & FLAG_EARLY)
			touch(task, inode, &key, run, index, index + pages, flags & ~FLAG_EARLY, BEFORE_MISS);
		return 0;
	}
	now = bpf_ktime_get_ns();
	is_told = !is_brought_whole(inode, index, ra, flags) && !is_ignored(&key, task, now);
	thread = bpf_task_storage_get(&threads, task, 0, is_told ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	if (thread && (flags & FLAG_EARLY)) {
		/* Its wait belongs to this access, should the file be watched by then, and in no case to the one before. */
		begin_access(thread, &key, index, index + pages, flags & ~FLAG_EARLY, true);
	}
	if (!is_told)
		return 0;
	record = record_of(RECORD_MISS, &key, inode->i_size, task, now);
	record.generation = inode->i_generation;
	record.start = index << PAGE_SHIFT;
	record.length = pages << PAGE_SHIFT;
	record.count = 1;
	record.flags = flags;
	if (!(flags & FLAG_MAPPED))
		record.descriptor = descriptor_of(task);
	record.ra_pages = ra->ra_pages;
	record.flags |= FLAG_WINDOW_KNOWN;
	send(&record, true);
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
		touch(task, inode, &key, run, index, index + 1, FLAG_MAPPED, LATER);
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
	if (thread->is_told)
		tell_wait(task, thread, inode->i_size);
	if (!is_same(&thread->file, &key)) {
		thread->file = key;
		thread->start = thread->end = 0;
		thread->goes_on = 0;
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
		touch(task, inode, &key, run, index, end, 0, LATER);
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

/* A scan with holes leaves out so many at most. Fewer, and one of every other page is told when its window has come; more, and
 * strides are told one by one. */
#define LEFT_OUT_PAGES_MAX 16

/* The thread is about to wait in a read of the file that it is known for. It is told before, as nothing else tells it where
 * the pages were requested already: told afterwards, the daemon would hear that the reader is at a window when all of
 * that has come, and the device would have nothing to do until it has asked for the next one. */
static __always_inline void tell_waiting_read(struct task_struct *task, struct thread *thread)
{
	struct file_key key = thread->file, here;
	struct inode *inode;
	struct pages read;
	struct run *run;
	bool is_near;

	run = bpf_map_lookup_elem(&watched, &key);
	if (!run)
		return;
	inode = inode_of_read(task, &read);
	if (!inode)
		return;
	here = key_of(inode);
	if (!is_same(&here, &key))
		return;
	/* One that goes on where the last one ended, or leaves out a few pages; or any other of a file of which something is expected. */
	is_near = read.start + 1 >= thread->end && read.start <= thread->end + LEFT_OUT_PAGES_MAX;
	if (!is_near && has_pause(&key))
		return;
	touch(task, inode, &key, run, read.start, read.end, 0, BEFORE_WAIT);
}

/* The same for a page fault: at the end of a window a scan waits for all of the next request, and is through it before what is told
 * then has been acted on. */
static __always_inline void tell_waiting_fault(struct task_struct *task, struct thread *thread)
{
	struct file_key key = thread->file;
	struct run *run;

	if (!thread->goes_on)
		return;
	run = bpf_map_lookup_elem(&watched, &key);
	if (run && run->thread == (__u32)task->pid)
		tell(run, &key, thread->file_bytes, task, 0, false, bpf_ktime_get_ns());
}

/* How often this was attached: who left the processor before the last time has come back unseen. */
__u32 attachment SEC(".bss.attached") = 0;

/* How long threads wait for devices: only those that touched a watched file have a state. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempted, struct task_struct *before, struct task_struct *after)
{
	struct thread *thread;

	if (BPF_CORE_READ_BITFIELD(before, in_iowait)) {
		thread = bpf_task_storage_get(&threads, before, 0, 0);
		if (thread) {
			if (thread->flags & FLAG_MAPPED)
				tell_waiting_fault(before, thread);
			else
				tell_waiting_read(before, thread);
			thread->out_ns = bpf_ktime_get_ns();
			thread->out_attachment = attachment;
		}
	}
	thread = bpf_task_storage_get(&threads, after, 0, 0);
	if (thread && thread->out_ns) {
		if (thread->out_attachment == attachment)
			thread->waited_ns += bpf_ktime_get_ns() - thread->out_ns;
		thread->out_ns = 0;
	}
	return 0;
}
