/* SPDX-License-Identifier: GPL-2.0-only */
/* Through which descriptor the running system call reads, and what the program said about it. */
#ifndef AHEAD_DESCRIPTOR_H
#define AHEAD_DESCRIPTOR_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define FMODE_RANDOM 0x1000
#define PAGE_SHIFT 12

void *bpf_rdonly_cast(const void *object, __u32 type) __ksym __weak;

/* The descriptor that the running system call reads from; -1 where there is none, as in a page fault. */
static __always_inline __s32 descriptor_of(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__s64 call, first, second;

#if defined(__TARGET_ARCH_x86)
	call = (__s64)BPF_CORE_READ(regs, orig_ax);
	first = (__s64)BPF_CORE_READ(regs, di);
	second = (__s64)BPF_CORE_READ(regs, si);
	switch (call) {
	case 0: /* read */
	case 17: /* pread64 */
	case 19: /* readv */
	case 295: /* preadv */
	case 327: /* preadv2 */
	case 275: /* splice */
	case 326: /* copy_file_range */
		return (__s32)first;
	case 40: /* sendfile */
		return (__s32)second;
	}
#elif defined(__TARGET_ARCH_arm64)
	call = BPF_CORE_READ(regs, syscallno);
	first = (__s64)BPF_CORE_READ(regs, orig_x0);
	second = (__s64)BPF_CORE_READ(regs, user_regs.regs[1]);
	switch (call) {
	case 63: /* read */
	case 67: /* pread64 */
	case 65: /* readv */
	case 69: /* preadv */
	case 286: /* preadv2 */
	case 76: /* splice */
	case 285: /* copy_file_range */
		return (__s32)first;
	case 71: /* sendfile */
		return (__s32)second;
	}
#endif
	return -1;
}

/* A read of one piece, as it was called. */
struct read_call {
	__s32 descriptor;
	__u64 bytes;
	/* It says where; otherwise it reads where the descriptor stands. */
	bool has_offset;
	__s64 offset;
};

/* The `read` or `pread` that is running; false where it is another call, or none. */
static __always_inline bool read_call_of(struct task_struct *task, struct read_call *read)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

#if defined(__TARGET_ARCH_x86)
	__s64 call = (__s64)BPF_CORE_READ(regs, orig_ax);

	read->has_offset = call == 17;
	read->descriptor = (__s32)BPF_CORE_READ(regs, di);
	read->bytes = BPF_CORE_READ(regs, dx);
	read->offset = (__s64)BPF_CORE_READ(regs, r10);
	return call == 0 || call == 17;
#elif defined(__TARGET_ARCH_arm64)
	__s32 call = BPF_CORE_READ(regs, syscallno);

	read->has_offset = call == 67;
	read->descriptor = (__s32)BPF_CORE_READ(regs, orig_x0);
	read->bytes = BPF_CORE_READ(regs, user_regs.regs[2]);
	read->offset = (__s64)BPF_CORE_READ(regs, user_regs.regs[3]);
	return call == 63 || call == 67;
#else
	return false;
#endif
}

/* The open file behind a descriptor of the task; NULL where there is none. Reads whose pages are there go past every
 * place where the kernel itself looks at what a program said of it. */
static __always_inline struct file *opened_as(struct task_struct *task, __s32 descriptor)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **place, *file = NULL;

	if (descriptor < 0 || (__u32)descriptor >= BPF_CORE_READ(table, max_fds))
		return NULL;
	place = BPF_CORE_READ(table, fd);
	if (bpf_probe_read_kernel(&file, sizeof(file), place + descriptor))
		return NULL;
	return file;
}

/* Longer reads come in pieces, the first of which is told soon. */
#define WHOLE_READ_BYTES_MAX (16 * 1024 * 1024)

/* Pages `start` to `end` (exclusive) of a file. */
struct pages {
	__u64 start;
	__u64 end;
};

/* The file that the running `read` or `pread` of the task reads, and all the pages that it wants. NULL where it is another call, or
 * cannot be known. */
static __always_inline struct inode *inode_of_read(struct task_struct *task, struct pages *pages)
{
	struct read_call read = {};
	struct file *file;
	__u64 start;

	if (!bpf_rdonly_cast || !read_call_of(task, &read) || !read.bytes || read.bytes > WHOLE_READ_BYTES_MAX)
		return NULL;
	file = opened_as(task, read.descriptor);
	if (!file)
		return NULL;
	file = bpf_rdonly_cast(file, bpf_core_type_id_kernel(struct file));
	start = read.has_offset ? read.offset : file->f_pos;
	pages->start = start >> PAGE_SHIFT;
	pages->end = (start + read.bytes + (1 << PAGE_SHIFT) - 1) >> PAGE_SHIFT;
	return file->f_mapping->host;
}

#endif
