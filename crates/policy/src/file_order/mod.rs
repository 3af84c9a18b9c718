//! Which file of a listing comes next: visits of listed files in, batches of files to request out.
//!
//! A program that reads a tree lists a folder and visits (opens, or asks for the metadata of) its files.
//! The host tells each visit with the file's rank in the orders that programs use
//! ([`ListingOrder`]): it holds the names, this module holds none. Goals, served at once:
//!
//! * An order is followed once it has explained some visits in a row, and is carried from folder to
//!   folder: the next listing begins with the order that the last ones had.
//! * The number of files ahead begins small, doubles, and later grows eightfold while what was requested is used. It
//!   never exceeds 2048 files, nor the bytes that the host allows. A batch is requested when half of it is used
//!   up, as one is worth sorting by place, and may go over several listings.
//! * A program that does not follow (found its match, visits at random) causes no further request
//!   by itself: requests come from visits alone. What it leaves behind is owed (`trust`).
//! * A program that leaves out as many files each time (every third one) has only those requested that it comes to, also
//!   from listing to listing.
//! * How much of each file is needed is learned from what the program did with the last ones.
//!
//! No time, no names, no allocation; a listing of a million files takes as much as one of three.

pub mod limits;
pub mod listing;
pub mod order;
pub mod scores;
pub(crate) mod steps;
pub(crate) mod trust;

use crate::steering::steering;
use listing::{OUTSTANDING_FILES_MAX, OpenListing, Visited};
use order::{FileBatch, FileRanks, ListingOrder, Needed};
use scores::OrderScores;
use steps::Steps;
use trust::Trust;

steering! {
    /// Files ahead in the first batch. Fewer, and there is nothing to sort by place; more, and a program that
    /// stops at once has wasted them.
    /// Evidence: docs/results/evidence/AHEAD_FILES_MIN.csv
    AHEAD_FILES_MIN: u32 = 4;

    /// From so many files on a batch grows faster: sooner, and a program that stops after forty files waits behind as many
    /// that it does not want; later, and half of a tree is read before its batches are worth sorting.
    /// Evidence: docs/results/evidence/AHEAD_FILES_SURE.csv
    AHEAD_FILES_SURE: u32 = 64;

    /// Observations of how much was read that are remembered.
    /// Evidence: docs/results/evidence/OBSERVATIONS_MAX.csv
    OBSERVATIONS_MAX: u8 = 16;
}

/// What a process does with the files it lists.
#[derive(Clone, Copy, Debug)]
pub struct FileOrder {
    scores: OrderScores,
    steps: Steps,
    /// Files that are left out at the beginning of the listing behind the one that was planned last.
    skipped: u32,
    ahead: u32,
    /// Used since `ahead` was changed.
    used: u32,
    /// Of the last files: how many were only asked about, and how many were read.
    uses: [u8; 2],
    /// Of those read, as far as that is known: how many at their beginning alone, and how many further.
    amounts: [u8; 2],
    trust: Trust,
    outstanding_files: u32,
    outstanding_bytes: u64,
    bytes_max: u64,
}

/// How full a batch is that goes over several listings.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchFill {
    /// One file is always within the limit, or a large one would end everything.
    has_one: bool,
    is_full: bool,
}

impl FileOrder {
    /// Nothing is known. At most `bytes_max` bytes will be outstanding.
    #[must_use]
    pub fn new(bytes_max: u64) -> Self {
        Self {
            scores: OrderScores::new(),
            steps: Steps::new(),
            skipped: 0,
            ahead: AHEAD_FILES_MIN.get(),
            used: 0,
            uses: [0; 2],
            amounts: [0; 2],
            trust: Trust::new(),
            outstanding_files: 0,
            outstanding_bytes: 0,
            bytes_max,
        }
    }

    /// The order that is followed, if there is one.
    #[must_use]
    pub const fn order(&self) -> Option<ListingOrder> {
        self.scores.order()
    }

    /// How much of each file is needed: what most of the last ones were visited for.
    #[must_use]
    pub fn needed(&self) -> Needed {
        let ([asked, read], [head, whole]) = (self.uses, self.amounts);
        if asked > read {
            Needed::Metadata
        } else if head > whole {
            Needed::Head
        } else {
            Needed::Whole
        }
    }

    /// Files requested and not yet visited, of all listings.
    #[must_use]
    pub const fn outstanding_files(&self) -> u32 {
        self.outstanding_files
    }

    /// Bytes requested and not yet visited, of all listings.
    #[must_use]
    pub const fn bytes_outstanding(&self) -> u64 {
        self.outstanding_bytes
    }

    /// Bytes that may be requested now.
    #[must_use]
    pub const fn bytes_left(&self) -> u64 {
        self.bytes_max.saturating_sub(self.outstanding_bytes)
    }

    /// The most files that are outstanding at this time.
    #[must_use]
    pub const fn ahead(&self) -> u32 {
        self.ahead
    }

    /// Files that a batch should have now; 0 while enough are outstanding, or nothing should be requested.
    #[must_use]
    pub fn files_wanted(&self) -> u32 {
        let is_possible =
            self.order().is_some() && self.trust.allows_requests() && self.bytes_left() > 0;
        if !is_possible || self.outstanding_files * 2 > self.ahead {
            return 0;
        }
        self.ahead - self.outstanding_files
    }

    /// The program visits the file of `listing` that has these ranks. Returns whether it was requested.
    pub fn on_visit(&mut self, listing: &mut OpenListing, ranks: FileRanks) -> bool {
        let Visited {
            fits,
            used,
            wasted,
            step,
        } = listing.on_visit(ranks, self.order());
        if let Some(step) = step {
            self.steps.on_step(step);
        }
        self.scores.on_visit(fits, None);
        if self.trust.on_visit() {
            self.ahead = AHEAD_FILES_MIN.get();
            self.used = 0;
        }
        if used {
            self.release(1);
            self.trust.on_used();
            self.used += 1;
            self.grow();
        }
        self.waste(wasted);
        used
    }

    /// More files ahead: twice as many when two batches were used, later eight times as many when half of one was.
    fn grow(&mut self) {
        let (enough, growth) = if self.ahead < AHEAD_FILES_SURE.get() {
            (self.ahead * 2, 2)
        } else {
            (self.ahead / 2, 8)
        };
        if self.used >= enough {
            self.ahead = (self.ahead * growth).min(OUTSTANDING_FILES_MAX);
            self.used = 0;
        }
    }

    /// The program is done with a file, and needed so much of it.
    pub fn on_needed(&mut self, needed: Needed) {
        match needed {
            Needed::Metadata => observe(&mut self.uses, 0),
            Needed::Head => observe(&mut self.amounts, 0),
            Needed::Whole => observe(&mut self.amounts, 1),
        }
        if needed != Needed::Metadata {
            self.on_read();
        }
    }

    /// The program is done with a file, and has read of it; how much is not known.
    pub fn on_read(&mut self) {
        observe(&mut self.uses, 1);
    }

    /// What to request of `listing` now, at most `most` files: what is left of [`Self::files_wanted`]. Each file
    /// of a batch counts as requested: [`Self::on_requested`] says for how many that is true. `None`: none
    /// of this listing is left, or nothing should be requested. Listings are asked in the order in which the program is
    /// expected there, beginning with the one where it is.
    pub fn next(&mut self, listing: &mut OpenListing, most: u32) -> Option<FileBatch> {
        let order = self.order()?;
        let wasted = listing.follow(order);
        self.waste(wasted);
        if !self.trust.allows_requests() || self.bytes_left() == 0 {
            return None;
        }
        let most = most.min(OUTSTANDING_FILES_MAX.saturating_sub(self.outstanding_files));
        let step = self.steps.step();
        let (start, end) = listing.next(most, step, &mut self.skipped)?;
        let batch = FileBatch {
            order,
            start,
            end,
            step,
            needed: self.needed(),
        };
        self.outstanding_files += batch.files();
        Some(batch)
    }

    /// Of the newest batch of `listing`, the files before rank `end` were requested, of `bytes` bytes
    /// together; not more than [`Self::bytes_left`] said.
    pub fn on_requested(&mut self, listing: &mut OpenListing, end: u32, bytes: u64) {
        let cut = listing.cut(end);
        self.outstanding_files = self.outstanding_files.saturating_sub(cut);
        if self.outstanding_files > 0 {
            self.outstanding_bytes = self.outstanding_bytes.saturating_add(bytes);
        }
    }

    /// Leaves out of `batch`, the newest of `listing`, what is beyond the bytes that may be outstanding: of `files`, the
    /// bytes of each of its files, those become 0. What is left counts as requested: how many files that are, and
    /// their bytes together. `fill` is of all parts of the batch.
    pub fn settle<'a>(
        &mut self,
        listing: &mut OpenListing,
        batch: FileBatch,
        fill: &mut BatchFill,
        files: impl Iterator<Item = &'a mut u64>,
    ) -> (u32, u64) {
        let most = self.bytes_left();
        let (mut total, mut count) = (0_u64, 0);
        for bytes in files {
            fill.is_full |= total.saturating_add(*bytes) > most && fill.has_one;
            if fill.is_full {
                *bytes = 0;
            } else {
                total += *bytes;
                count += 1;
                fill.has_one = true;
            }
        }
        // A later part may go on in the same folder.
        let kept = if fill.is_full {
            batch.end_of(count)
        } else {
            u32::MAX
        };
        self.on_requested(listing, kept, total);
        (count, total)
    }

    /// The program has no more use for `listing`: it was closed, or its place is needed. Returns how many
    /// files were requested for nothing.
    pub fn on_end(&mut self, listing: &mut OpenListing) -> u32 {
        let wasted = listing.give_up();
        self.waste(wasted);
        wasted
    }

    /// The program does something else with files from now on: how it went before says nothing about that.
    pub fn begin_anew(&mut self) {
        self.scores = OrderScores::new();
        self.steps = Steps::new();
        (self.uses, self.amounts) = ([0; 2], [0; 2]);
        self.ahead = AHEAD_FILES_MIN.get();
        self.used = 0;
    }

    /// What was requested of `listing` has another meaning now: the program begins anew. That is no waste.
    pub fn on_new_round(&mut self, listing: &mut OpenListing) {
        let outstanding = listing.give_up();
        self.release(outstanding);
    }

    fn waste(&mut self, files: u32) {
        if files > 0 {
            self.release(files);
            self.trust.on_wasted(files);
            self.ahead = (self.ahead / 2).max(AHEAD_FILES_MIN.get());
            self.used = 0;
        }
    }

    /// Files that are not outstanding any more take their part of the bytes with them.
    fn release(&mut self, files: u32) {
        let files = files.min(self.outstanding_files);
        if let Some(each) = self
            .outstanding_bytes
            .checked_div(u64::from(self.outstanding_files))
        {
            self.outstanding_bytes -= each * u64::from(files);
        }
        self.outstanding_files -= files;
        if self.outstanding_files == 0 {
            self.outstanding_bytes = 0;
        }
    }
}

/// One more observation of a kind; older ones fade.
fn observe(counts: &mut [u8; 2], kind: usize) {
    if counts.iter().sum::<u8>() >= OBSERVATIONS_MAX.get() {
        *counts = counts.map(|count| count / 2);
    }
    counts[kind] += 1;
}
