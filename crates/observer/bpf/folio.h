/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the folio of a page begins and ends, by the page cache's own tree. */
#ifndef AHEAD_FOLIO_H
#define AHEAD_FOLIO_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

/* An entry of the page cache's tree: a node below, a slot that belongs to the one before, or a folio. */
#define IS_INTERNAL(entry) (((__u64)(entry) & 3) == 2)
#define LEVELS_MAX 8

/* The page cache's entry for a page; NULL where it has none. */
static __always_inline void *entry_of(struct address_space *mapping, __u64 index)
{
	const __u64 slots = bpf_core_field_size(((struct xa_node *)0)->slots) / sizeof(void *);
	void *entry = BPF_CORE_READ(mapping, i_pages.xa_head);

	for (int level = 0; level < LEVELS_MAX && IS_INTERNAL(entry) && (__u64)entry > 4096; level++) {
		struct xa_node *node = (struct xa_node *)((__u64)entry - 2);
		__u64 slot = index >> BPF_CORE_READ(node, shift) & (slots - 1);

		entry = NULL;
		bpf_probe_read_kernel(&entry, sizeof(entry), &node->slots[slot]);
		if (IS_INTERNAL(entry) && (__u64)entry >> 2 < slots) {
			slot = (__u64)entry >> 2;
			bpf_probe_read_kernel(&entry, sizeof(entry), &node->slots[slot]);
		}
	}
	return (__u64)entry & 3 ? NULL : entry;
}

/* The large folio that a page lies in: its first page, and the one behind it. Otherwise the page alone. */
static __always_inline void folio_of(struct address_space *mapping, __u64 page, __u64 *start, __u64 *end)
{
	unsigned long flags = 0;
	struct folio *folio;
	__u64 pages;

	*start = page;
	*end = page + 1;
	/* Kernels that keep the order elsewhere map pages one by one. */
	if (!bpf_core_field_exists(struct folio, _flags_1) || bpf_core_field_exists(struct folio, _folio_order))
		return;
	folio = entry_of(mapping, page);
	/* The flags come first in it, whatever they are called. */
	if (!folio || bpf_probe_read_kernel(&flags, sizeof(flags), folio) ||
	    !(flags & 1UL << bpf_core_enum_value(enum pageflags, PG_head)))
		return;
	pages = 1ULL << (BPF_CORE_READ(folio, _flags_1) & 31);
	*start = page & ~(pages - 1);
	*end = *start + pages;
}

#endif
