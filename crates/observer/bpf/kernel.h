/* SPDX-License-Identifier: GPL-2.0-only */
/* The few fields of the kernel that are read here. The loader finds their offsets in the BTF of the kernel that
 * runs (CO-RE), so only names and kinds matter, and fields that are not used are left out. */
#ifndef AHEAD_KERNEL_H
#define AHEAD_KERNEL_H

typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
enum { false = 0, true = 1 };
#define NULL ((void *)0)

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_EXIST = 2 };
enum { BPF_F_NO_PREALLOC = 1 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0, BPF_RB_CONS_POS = 2, BPF_RB_PROD_POS = 3 };
/* Of the kernel's; the value is found when the programs are loaded. */
enum pageflags { PG_head = 6 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
};

struct address_space;

struct inode {
	struct super_block *i_sb;
	struct address_space *i_mapping;
	unsigned long i_ino;
	__u32 i_generation;
	__s64 i_size;
};

struct xarray {
	void *xa_head;
};

/* CONFIG_BASE_SMALL has 16 slots. */
struct xa_node {
	unsigned char shift;
	void *slots[64];
};

struct address_space {
	struct inode *host;
	struct xarray i_pages;
};

struct folio {
	/* The order of a large one, in the lowest byte; before 6.6 in a field of its own. */
	unsigned long _flags_1;
	unsigned char _folio_order;
};

struct file_ra_state {
	unsigned int ra_pages;
};

struct file {
	unsigned int f_mode;
	__s64 f_pos;
	struct file_ra_state f_ra;
	struct address_space *f_mapping;
};

struct readahead_control {
	struct file *file;
	struct address_space *mapping;
	struct file_ra_state *ra;
	unsigned long _index;
};

struct kiocb {
	struct file *ki_filp;
	__s64 ki_pos;
};

struct vm_area_struct {
	struct file *vm_file;
};

struct vm_fault {
	struct vm_area_struct *vma;
	unsigned long pgoff;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct task_struct {
	struct files_struct *files;
	int pid;
	int tgid;
	unsigned in_iowait : 1;
	__u32 self_exec_id;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r10;
	unsigned long dx;
	unsigned long di;
	unsigned long si;
	unsigned long orig_ax;
};
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	__u64 regs[31];
};
struct pt_regs {
	struct user_pt_regs user_regs;
	__u64 orig_x0;
	__s32 syscallno;
};
#endif

#pragma clang attribute pop

#endif
