//! The hit rate of files as a limit: what was requested for nothing closes, and a pause that grows
//! comes before each new try.

use crate::steering::steering;

steering! {
    /// Visits that pay for one wasted file: at most one file in nine is wasted in the long run. Fewer, and
    /// the device reads much that is not wanted; more, and one abandoned folder is never forgiven.
    /// Evidence: docs/results/evidence/VISITS_PER_WASTED.csv
    VISITS_PER_WASTED: u32 = 8;

    /// Wasted files that are owed before nothing is requested. Fewer, and a program that leaves one folder
    /// early is not helped in the next; more, and one that only looks costs real bandwidth.
    /// Evidence: docs/results/evidence/OWED_FILES_MAX.csv
    OWED_FILES_MAX: u32 = 32;

    /// Visits before the first new try. Fewer, and a program that does not follow pays for it again soon; more, and one that
    /// goes on in an order waits for so many files.
    /// Evidence: docs/results/evidence/PAUSE_VISITS_MIN.csv
    PAUSE_VISITS_MIN: u32 = 64;

    /// Visits before the last new try. Fewer, and a long run in no order pays again and again; more, and it is never helped
    /// any more.
    /// Evidence: docs/results/evidence/PAUSE_VISITS_MAX.csv
    PAUSE_VISITS_MAX: u32 = 1 << 16;

    /// Files used one after another that make the next pause short again. Fewer, and chance does it; more, and what went
    /// wrong once is never forgiven.
    /// Evidence: docs/results/evidence/USED_FILES_TRUSTED.csv
    USED_FILES_TRUSTED: u32 = 256;
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Trust {
    /// In visits: each wasted file costs [`VISITS_PER_WASTED`].
    owed: u32,
    /// Visits until the next try; 0 while requests are allowed.
    pause: u32,
    next_pause: u32,
    used_in_a_row: u32,
}

impl Trust {
    pub(super) fn new() -> Self {
        Self {
            owed: 0,
            pause: 0,
            next_pause: PAUSE_VISITS_MIN.get(),
            used_in_a_row: 0,
        }
    }

    pub(super) fn allows_requests(&self) -> bool {
        self.pause == 0
    }

    /// Returns whether the pause is over with this visit.
    pub(super) fn on_visit(&mut self) -> bool {
        let was_closed = self.pause > 0;
        self.pause = self.pause.saturating_sub(1);
        was_closed && self.pause == 0
    }

    pub(super) fn on_used(&mut self) {
        self.owed = self.owed.saturating_sub(1);
        self.used_in_a_row = self.used_in_a_row.saturating_add(1);
        if self.used_in_a_row >= USED_FILES_TRUSTED.get() {
            self.next_pause = PAUSE_VISITS_MIN.get();
        }
    }

    pub(super) fn on_wasted(&mut self, files: u32) {
        if files == 0 {
            return;
        }
        self.used_in_a_row = 0;
        self.owed = self
            .owed
            .saturating_add(files.saturating_mul(VISITS_PER_WASTED.get()));
        if self.owed > OWED_FILES_MAX.get() * VISITS_PER_WASTED.get() && self.pause == 0 {
            self.pause = self.next_pause;
            self.next_pause = (self.next_pause * 4).min(PAUSE_VISITS_MAX.get());
            // The next try may waste an eighth of what this one did.
            self.owed = OWED_FILES_MAX.get() * VISITS_PER_WASTED.get() / 8 * 7;
        }
    }
}
