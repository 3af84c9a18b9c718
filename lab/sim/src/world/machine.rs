//! The machine that a world runs on: processors, memory, costs, queue, disk. Data only.

use ahead_disk_model::DiskModel;
use ahead_units::{ByteLength, PageCount};

use super::dirty::WriteBackSettings;
use crate::queue::QueueSettings;
use ahead_replicas::page_cache::{Aging, Limit, Replacement};

/// Largest folio of a file on 4 KiB pages, as log2 of its pages: one page table's worth, 2 MiB.
pub const FOLIO_ORDER_MAX: u8 = 9;

/// What the kernel and the programs take of a processor, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// One system call, without what it does. System time, as all below unless said.
    pub syscall_ns: u64,
    /// Finding one page in the cache.
    pub page_lookup_ns: u64,
    /// Copying one page to the program. A part of a page costs its share.
    pub page_copy_ns: u64,
    /// Allocating one page and putting it into the cache.
    pub page_insert_ns: u64,
    /// One page fault, without the search for the page.
    pub fault_ns: u64,
    /// Handing one run of pages to the queue.
    pub request_ns: u64,
    /// Interrupt work for each completed run. Interrupt time.
    pub interrupt_ns: u64,
    /// The same for each of its pages: what brings them to memory without DMA.
    pub interrupt_page_ns: u64,
    /// From the end of that work until the pages can be used; takes no processor. A long way to
    /// the disk and back.
    pub delivery_ns: u64,
    /// Waking a task and giving it the processor.
    pub switch_ns: u64,
    /// What the program does with each page it gets. User time.
    pub user_page_ns: u64,
    /// The library's part of each read under `adaptive`. User time.
    pub library_ns: u64,
}

impl Costs {
    /// Nothing costs anything: only the disk takes time.
    #[must_use]
    pub const fn free() -> Self {
        Self {
            syscall_ns: 0,
            page_lookup_ns: 0,
            page_copy_ns: 0,
            page_insert_ns: 0,
            fault_ns: 0,
            request_ns: 0,
            interrupt_ns: 0,
            interrupt_page_ns: 0,
            delivery_ns: 0,
            switch_ns: 0,
            user_page_ns: 0,
            library_ns: 0,
        }
    }

    /// A server of the 2020s: 350 ns to copy 4 KiB that are cold, a microsecond for a fault.
    /// Orders of magnitude; the comparison with a real machine measures its own.
    #[must_use]
    pub const fn modern() -> Self {
        Self {
            syscall_ns: 150,
            page_lookup_ns: 20,
            page_copy_ns: 350,
            page_insert_ns: 120,
            fault_ns: 700,
            request_ns: 1_500,
            interrupt_ns: 1_500,
            interrupt_page_ns: 0,
            delivery_ns: 0,
            switch_ns: 2_000,
            user_page_ns: 0,
            library_ns: 40,
        }
    }

    /// The Pentium III of the ext2 measurements of 2000: the program's own work on a page is
    /// 0.29 ms (100 MB in 7.4 s of user time, derived from the 12.5 MB/s run). What the kernel
    /// takes is not published; these are that processor's usual costs.
    #[must_use]
    pub const fn pentium_iii() -> Self {
        Self {
            syscall_ns: 1_000,
            page_lookup_ns: 300,
            page_copy_ns: 20_000,
            page_insert_ns: 2_000,
            fault_ns: 3_000,
            request_ns: 5_000,
            interrupt_ns: 10_000,
            interrupt_page_ns: 0,
            delivery_ns: 0,
            switch_ns: 5_000,
            user_page_ns: 290_000,
            library_ns: 1_000,
        }
    }
}

/// A machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Processors, at least 1.
    pub cpus: u32,
    /// Longest time that a task keeps its processor while others wait for it; 0: until it waits.
    pub slice_ns: u64,
    /// Pages of memory, as programs are told.
    pub memory_pages: u64,
    /// Of these, pages that hold something else than contents of files.
    pub other_pages: u64,
    /// Whose size that is.
    pub limit: Limit,
    /// The pages of a control group are counted then for the first time.
    pub group_counted_ns: u64,
    /// How pages are replaced.
    pub replacement: Replacement,
    /// How the aging clock of adaptive read-ahead ticks.
    pub aging: Aging,
    /// When dirty pages are written, and writers wait.
    pub write_back: WriteBackSettings,
    /// Largest folio of the file system as log2 of its pages; 0 before folios.
    pub folio_order_max: u8,
    /// Neighbours in the cache that a fault maps as well: pages of the aligned block, a power of
    /// two; 1: none. Linux 3.15 and later: 16.
    pub fault_around_pages: u64,
    /// Costs.
    pub costs: Costs,
    /// The request queue.
    pub queue: QueueSettings,
    /// The disk behind it.
    pub disk: DiskModel,
    /// Its capacity.
    pub capacity: ByteLength,
}

impl Machine {
    /// Pages of memory for contents of files.
    #[must_use]
    pub const fn cache_pages(&self) -> u64 {
        let pages = self.memory_pages.saturating_sub(self.other_pages);
        if pages == 0 { 1 } else { pages }
    }

    /// A machine of today running Linux 6.18 with one processor per four tasks of a small server.
    #[must_use]
    pub fn modern(disk: DiskModel, memory: PageCount) -> Self {
        Self {
            cpus: 4,
            slice_ns: 3_000_000,
            memory_pages: memory.get(),
            other_pages: 0,
            limit: Limit::Machine,
            group_counted_ns: 0,
            replacement: Replacement::TwoList,
            aging: Aging::Scanned,
            write_back: WriteBackSettings::linux(),
            folio_order_max: FOLIO_ORDER_MAX,
            fault_around_pages: 16,
            costs: Costs::modern(),
            queue: QueueSettings::linux_6_18_for(&disk),
            disk,
            capacity: ByteLength::new(1 << 42),
        }
    }

    /// The machine of the ext2 measurements of 2000: one processor, Linux 2.2.
    #[must_use]
    pub fn pentium_iii(disk: DiskModel, memory: PageCount) -> Self {
        Self {
            cpus: 1,
            slice_ns: 200_000_000,
            memory_pages: memory.get(),
            other_pages: 0,
            limit: Limit::Machine,
            group_counted_ns: 0,
            replacement: Replacement::TwoList,
            aging: Aging::FirstReferences,
            write_back: WriteBackSettings::linux_2_6_18(),
            folio_order_max: 0,
            fault_around_pages: 1,
            costs: Costs::pentium_iii(),
            queue: QueueSettings::linux_2_2(),
            disk,
            capacity: ByteLength::new(10_000_000_000),
        }
    }

    /// Nothing but the disk takes time, and every request reaches it alone: for arithmetic.
    #[must_use]
    pub fn ideal(disk: DiskModel, memory: PageCount) -> Self {
        Self {
            cpus: 1,
            slice_ns: 0,
            memory_pages: memory.get(),
            other_pages: 0,
            limit: Limit::Machine,
            group_counted_ns: 0,
            replacement: Replacement::TwoList,
            aging: Aging::FirstReferences,
            write_back: WriteBackSettings::linux_2_6_18(),
            folio_order_max: 0,
            fault_around_pages: 1,
            costs: Costs::free(),
            queue: QueueSettings::direct(),
            disk,
            capacity: ByteLength::new(1 << 42),
        }
    }
}
