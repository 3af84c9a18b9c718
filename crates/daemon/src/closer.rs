//! Letting go of open files that were not meant to be reached.
//!
//! Between a fact and the decision a descriptor may have come to stand for a file of any server, and to close one of FUSE waits for
//! its answer (`fuse_flush`), which may never come. So another thread waits, for a few of them; with more, nothing is reached any more
//! until it goes on.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::Sender;

use crate::worker;

/// Open files that may wait to be closed.
const WAITING_MAX: usize = 16;

/// The thread that closes what may take long.
#[derive(Debug, Default)]
pub(crate) struct Closer {
    waiting: Arc<AtomicUsize>,
    thread: Option<Sender<OwnedFd>>,
}

impl Closer {
    /// Whether so many wait that no more may come.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.load(Relaxed) >= WAITING_MAX
    }

    /// Closes `opened`, some time.
    pub(crate) fn close(&mut self, opened: OwnedFd) {
        self.waiting.fetch_add(1, Relaxed);
        let thread = self.thread.get_or_insert_with(|| {
            let waiting = Arc::clone(&self.waiting);
            worker::begin("closer", move |opened| {
                drop(opened);
                waiting.fetch_sub(1, Relaxed);
            })
        });
        // Without a thread it is closed here.
        if thread.send(opened).is_err() {
            self.waiting.fetch_sub(1, Relaxed);
        }
    }
}
