//! A file that is read over a small page cache, and what that started, as text.
//!
//! Notation: `[4,+8) mark 5` are eight single pages from page 4, of which 5 carries the mark;
//! `<8,+4>` is one folio of four pages. What a read started stands behind the page at which the
//! read begins.
#![allow(dead_code, unreachable_pub, reason = "each test uses another part")]

use std::ops::Range;

use ahead_replicas::kernel::folio::{self, Folio};
use ahead_replicas::kernel::on_demand::{OnDemand, OnDemandRelease};
use ahead_replicas::kernel::{Advice, Fault, Read, ReadAhead};

use super::page_cache::{PageCache, Started};

/// Limit of the file, in pages.
pub const LIMIT: u64 = 32;
/// Pages of the file.
pub const FILE_PAGES: u64 = 100_000;
/// Both releases with folios.
pub const FOLIO: [folio::FolioRelease; 2] = [
    folio::FolioRelease::Linux6_12,
    folio::FolioRelease::Linux6_18,
];

/// A file that is read, over a cache, and what that started.
pub struct Run<A> {
    /// The cache.
    pub cache: PageCache,
    /// The file.
    pub file: A,
}

pub fn on_demand(release: OnDemandRelease) -> Run<OnDemand> {
    Run {
        cache: PageCache::new(FILE_PAGES),
        file: OnDemand::new(release, LIMIT),
    }
}

/// Small folios only.
pub fn folio(release: folio::FolioRelease) -> Run<Folio> {
    Run {
        cache: PageCache::new(FILE_PAGES),
        file: Folio::new(release, LIMIT),
    }
}

/// Folios of up to 512 pages.
pub fn large(release: folio::FolioRelease, limit: u64) -> Run<Folio> {
    let mut run = Run {
        cache: PageCache::new(FILE_PAGES),
        file: Folio::new(release, limit),
    };
    run.cache.folio_order_max = 9;
    run
}

pub fn large_6_12() -> Run<Folio> {
    large(folio::FolioRelease::Linux6_12, LIMIT)
}

pub fn large_6_18() -> Run<Folio> {
    large(folio::FolioRelease::Linux6_18, LIMIT)
}

/// The runs that one window really added, and the mark if its page is among them.
pub fn shown(started: &Started) -> Option<String> {
    let is_folio = started.window.order > 0;
    let runs: Vec<String> = started
        .runs
        .iter()
        .map(|(start, pages)| match is_folio {
            true => format!("<{start},+{pages}>"),
            false => format!("[{start},+{pages})"),
        })
        .collect();
    let is_new = |mark: &u64| {
        let mut runs = started.runs.iter();
        runs.any(|&(start, pages)| (start..start + pages).contains(mark))
    };
    let mark = started.window.mark.filter(is_new);
    let mark = mark.map_or_else(String::new, |mark| format!(" mark {mark}"));
    (!runs.is_empty()).then(|| runs.join("+") + &mark)
}

impl<A: ReadAhead> Run<A> {
    pub fn started(&mut self) -> String {
        let log = self.cache.take_log();
        let windows: Vec<String> = log.iter().filter_map(shown).collect();
        windows.join(", ")
    }

    pub fn read(&mut self, start: u64, pages: u64) -> String {
        self.cache.read(&mut self.file, start, pages);
        self.started()
    }

    pub fn read_bytes(&mut self, start: u64, bytes: u64) -> String {
        let end = start + bytes;
        self.cache.read_bytes(&mut self.file, &Read { start, end });
        self.started()
    }

    pub fn fault(&mut self, page: u64, advice: Advice) -> String {
        let fault = self.cache.whole_file(page, advice);
        self.fault_in(&fault)
    }

    pub fn fault_in(&mut self, fault: &Fault) -> String {
        self.cache.fault_in(&mut self.file, fault);
        self.started()
    }

    /// Reads of `pages` pages each, from these pages on; only those that started something.
    pub fn reads(&mut self, pages: u64, starts: impl IntoIterator<Item = u64>) -> Vec<String> {
        let mut seen = Vec::new();
        for start in starts {
            let started = self.read(start, pages);
            if !started.is_empty() {
                seen.push(format!("{start}: {started}"));
            }
        }
        seen
    }

    /// Reads of `pages` pages each, one behind the other, that begin in `starts`.
    pub fn follow(&mut self, pages: u64, starts: Range<u64>) -> Vec<String> {
        let step = usize::try_from(pages).expect("a small number");
        self.reads(pages, starts.step_by(step))
    }
}

/// Pages of two streams in turn: 0, 1000, 1, 1001, …
pub fn interleaved(pages: u64, step: usize) -> impl Iterator<Item = u64> {
    (0..pages)
        .step_by(step)
        .flat_map(|page| [page, 1000 + page])
}

pub fn mixed_with_one_jump<A: ReadAhead>(run: &mut Run<A>) -> Vec<String> {
    [(500, 3), (900, 2), (503, 3), (506, 2), (508, 2)]
        .map(|(start, pages)| run.read(start, pages))
        .to_vec()
}

pub fn backward() -> impl Iterator<Item = u64> {
    (97..=100).rev().map(|number| number * 4)
}

pub const BACKWARD: [&str; 4] = [
    "400: [400,+4)",
    "396: [396,+4)",
    "392: [392,+4)",
    "388: [388,+4)",
];
