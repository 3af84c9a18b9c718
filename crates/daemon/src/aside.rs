//! What needs the lock of a process's memory is asked by threads of their own.
//!
//! A process's environment, its mappings, and advice about these need that lock (`mmap_lock`), and a process can keep it: a page of its
//! memory may be that of a FUSE server which never answers. So the loop has a thread ask, and waits for a moment. While the thread
//! waits on, nothing more is asked of that process, and the loop leaves it alone. A user has a few such threads and all users together a
//! few more, so that no user keeps the processes of others from being helped.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::mpsc::{RecvTimeoutError, Sender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ahead_sys::own_usage::own_thread_usage;
use rustix::time::{ClockId, clock_gettime};

use crate::worker;

/// So long the loop waits for an answer. Less, and a busy machine leaves readers alone for nothing; more, and all readers wait for
/// whoever does not answer. Long lists of mappings take a few milliseconds.
const PATIENCE: Duration = Duration::from_millis(10);

/// Threads that may wait for processes of one user, and for all but root's.
const OF_ONE_USER_MAX: usize = 2;
const OF_USERS_MAX: usize = 16;

/// A question, with its answer's way back.
type Work = Box<dyn FnOnce() + Send>;

/// Processes that have been asked and have not answered yet, and their users.
#[derive(Clone, Debug, Default)]
struct Asked(Arc<Mutex<HashMap<u32, u32>>>);

impl Asked {
    fn lock(&self) -> MutexGuard<'_, HashMap<u32, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks processes without waiting for long.
#[derive(Debug, Default)]
pub(crate) struct Aside {
    asked: Asked,
    /// The thread that has nothing to do.
    thread: RefCell<Option<Sender<Work>>>,
    spent: Cell<Duration>,
}

/// What an answer has cost: the processor's time, or, where the thread had to wait, all of it. A busy machine, which lets the thread begin
/// late, is nobody's fault.
struct Cost {
    began: Instant,
    cpu: Duration,
    waits: u64,
}

impl Cost {
    fn begin() -> Self {
        Self {
            began: Instant::now(),
            cpu: thread_time(),
            waits: own_thread_usage().waits,
        }
    }

    fn end(&self) -> Duration {
        if own_thread_usage().waits == self.waits {
            thread_time().saturating_sub(self.cpu)
        } else {
            self.began.elapsed()
        }
    }
}

/// Time of the processor that this thread has used.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

impl Aside {
    /// What `work` says of `process`. `None` where it takes too long, and until that thread has come back.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        process: u32,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        self.ask_within(PATIENCE, process, work)
    }

    fn ask_within<T: Send + 'static>(
        &self,
        patience: Duration,
        process: u32,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        // Its folder in /proc has the user of the process, whatever that does with its memory.
        let user = fs::metadata(format!("/proc/{process}")).map_or(0, |facts| facts.uid());
        if !may_ask(&mut self.asked.lock(), process, user) {
            return None;
        }
        let began = Instant::now();
        let asked = self.asked.clone();
        let (answer, answered) = sync_channel(1);
        let work = move || {
            let cost = Cost::begin();
            let found = (work(), cost.end());
            // Before the loop hears of it, which may ask again at once.
            asked.lock().remove(&process);
            let _ = answer.send(found);
        };
        let mut thread = self.thread.borrow_mut();
        let thread_of = || worker::begin("aside", |work: Work| work());
        let sent = thread.get_or_insert_with(thread_of).send(Box::new(work));
        let found = match sent {
            Ok(()) => answered.recv_timeout(patience),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        };
        let spent = match &found {
            Ok((_, spent)) => *spent,
            Err(_) => began.elapsed(),
        };
        self.on_spent(spent);
        match &found {
            Ok(_) => {}
            // It ends when it comes back; the next question has another thread.
            Err(RecvTimeoutError::Timeout) => *thread = None,
            Err(RecvTimeoutError::Disconnected) => {
                *thread = None;
                self.asked.lock().remove(&process);
            }
        }
        found.ok().map(|(found, _)| found)
    }

    /// What `work`, which reaches a file of a process, costs the loop itself counts as well.
    pub(crate) fn count<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = thread_time();
        let found = work();
        self.on_spent(thread_time().saturating_sub(before));
        found
    }

    fn on_spent(&self, spent: Duration) {
        self.spent.set(self.spent.get() + spent);
    }

    /// Whether `process` has not answered yet.
    pub(crate) fn waits_for(&self, process: u32) -> bool {
        self.asked.lock().contains_key(&process)
    }

    /// What reaching files has cost since this was asked last.
    pub(crate) fn take_spent(&self) -> Duration {
        self.spent.take()
    }
}

/// Notes that `process` of `user` is asked, if it may be.
fn may_ask(asked: &mut HashMap<u32, u32>, process: u32, user: u32) -> bool {
    let of_user = asked.values().filter(|of| **of == user).count();
    let of_users = asked.values().filter(|of| **of != 0).count();
    let is_full = user != 0 && (of_user >= OF_ONE_USER_MAX || of_users >= OF_USERS_MAX);
    let may = !is_full && of_user < OF_USERS_MAX && !asked.contains_key(&process);
    if may {
        asked.insert(process, user);
    }
    may
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    /// Longer than a test.
    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn a_process_that_does_not_answer_is_not_asked_again_until_it_has() {
        let aside = Aside::default();
        let (answer, mute) = channel::<u32>();
        assert_eq!(aside.ask_within(LONG, 1, || 7), Some(7));
        let asked = aside.ask_within(Duration::ZERO, 2, move || mute.recv());
        assert!(asked.is_none());
        assert!(aside.waits_for(2) && !aside.waits_for(1));
        assert_eq!(aside.ask_within(LONG, 2, || 7), None, "it has not answered");
        assert_eq!(aside.ask_within(LONG, 1, || 8), Some(8), "others have");
        answer.send(7).unwrap();
        while aside.waits_for(2) {
            thread::yield_now();
        }
        assert_eq!(aside.ask_within(LONG, 2, || 9), Some(9));
        assert!(aside.take_spent() > Duration::ZERO);
        assert_eq!(aside.take_spent(), Duration::ZERO);
    }

    #[test]
    fn processes_of_a_user_that_do_not_answer_take_no_thread_of_others() {
        let mut asked = HashMap::new();
        assert!(may_ask(&mut asked, 1, 1000) && may_ask(&mut asked, 2, 1000));
        assert!(!may_ask(&mut asked, 3, 1000) && may_ask(&mut asked, 3, 1001));
        // A user that may be many.
        for user in 2000..2100 {
            may_ask(&mut asked, user, user);
        }
        assert_eq!(asked.len(), OF_USERS_MAX);
        assert!(may_ask(&mut asked, 5000, 0), "root is none of them");
    }
}
