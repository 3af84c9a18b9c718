//! Whether a stream has a device to itself, and whether reads wait there that nothing had asked for.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// How much a switch between streams adds to the contest score, the score from which a device
/// counts as contested, and its ceiling. Two switches within eight requests are a contest; a
/// stream that asks alone for twelve requests has the device to itself again.
const SWITCH: u32 = 4;
const CONTESTED: u32 = 8;
const SCORE_MAX: u32 = 20;

/// Signs that others use a device. All zero: there was none.
#[derive(Debug, Default)]
pub(crate) struct Contest {
    last_asker: AtomicU64,
    /// The file that was asked for last, or read where nothing had been.
    newest_file: AtomicU64,
    score: AtomicU32,
    lone_score: AtomicU32,
}

impl Contest {
    /// Nobody else was seen.
    pub(crate) const fn new() -> Self {
        Self {
            last_asker: AtomicU64::new(0),
            newest_file: AtomicU64::new(0),
            score: AtomicU32::new(0),
            lone_score: AtomicU32::new(0),
        }
    }

    /// The stream `asker` asks, `is_first`: not having asked before.
    pub(crate) fn on_ask(&self, asker: u64, is_first: bool) {
        let is_same = self.last_asker.swap(asker, Relaxed) == asker;
        if is_first {
            // Its own reads waited before there was a stream: nobody else's.
            take_back(&self.score);
            take_back(&self.lone_score);
        } else if is_same {
            fall(&self.score);
        } else {
            rise(&self.score);
        }
        fall(&self.lone_score);
    }

    /// Pages of `file` are asked for, or read where none were. Returns whether those of another were since.
    pub(crate) fn on_file(&self, file: u64) -> bool {
        let is_other = self.newest_file.load(Relaxed) != file;
        if is_other {
            self.newest_file.store(file, Relaxed);
        }
        is_other
    }

    /// A read waited that no window covers.
    pub(crate) fn on_lone_wait(&self) {
        rise(&self.score);
        rise(&self.lone_score);
    }

    /// Whether others made the device move since the streams asked last.
    pub(crate) fn is_on(&self) -> bool {
        self.score.load(Relaxed) >= CONTESTED
    }

    /// Whether reads that no window covers have waited since the streams asked last.
    pub(crate) fn has_lone_reads(&self) -> bool {
        self.lone_score.load(Relaxed) >= CONTESTED
    }
}

/// One more sign. Threads that rise and fall at the same time may lose one, which is as good.
fn rise(score: &AtomicU32) {
    let risen = score.load(Relaxed).saturating_add(SWITCH);
    score.store(risen.min(SCORE_MAX), Relaxed);
}

/// A sign was none.
fn take_back(score: &AtomicU32) {
    score.store(score.load(Relaxed).saturating_sub(SWITCH), Relaxed);
}

/// One request without a sign.
fn fall(score: &AtomicU32) {
    score.store(score.load(Relaxed).saturating_sub(1), Relaxed);
}
