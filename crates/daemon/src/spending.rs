//! What it costs to reach the files of a process, and who has to wait for that. Pure.
//!
//! A process with tens of thousands of mappings or descriptors takes milliseconds each time, and the loop serves all processes. So who
//! cost much is left alone for many times as long, and so are the other processes of its user, for less: a process can start others.

use std::num::NonZeroUsize;
use std::time::Duration;

use ahead_units::Timestamp;
use lru::LruCache;

/// What costs no more is nothing out of the ordinary.
const LITTLE: Duration = Duration::from_millis(1);

/// A process is left alone for so many times as long as it took: it has a twentieth of the loop. Its user's others, a quarter in all.
const TIMES_OF_PROCESS: u32 = 20;
const TIMES_OF_USER: u32 = 3;

/// Processes and users that are remembered.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

/// Who is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Debtor {
    Process(u32),
    User(u32),
}

/// Until when processes are left alone that cost much.
#[derive(Debug)]
pub(crate) struct Spending {
    until: LruCache<Debtor, Timestamp>,
}

impl Spending {
    pub(crate) fn new() -> Self {
        Self {
            until: LruCache::new(REMEMBERED),
        }
    }

    /// So much was spent on reaching a file of `process` until `now`. Its user is `user`; root's processes are each for itself.
    pub(crate) fn on_spent(
        &mut self,
        process: u32,
        user: Option<u32>,
        spent: Duration,
        now: Timestamp,
    ) {
        if spent <= LITTLE {
            return;
        }
        let mut leave = |debtor, times| {
            let pause = u64::try_from((spent * times).as_nanos()).unwrap_or(u64::MAX);
            let until = Timestamp::new(now.get().saturating_add(pause));
            self.until.put(debtor, until);
        };
        leave(Debtor::Process(process), TIMES_OF_PROCESS);
        if let Some(user) = user.filter(|user| *user != 0) {
            leave(Debtor::User(user), TIMES_OF_USER);
        }
    }

    /// Whether nothing is done for `process` of `user` now.
    pub(crate) fn is_left_alone(&self, process: u32, user: Option<u32>, now: Timestamp) -> bool {
        let debtors = [Some(Debtor::Process(process)), user.map(Debtor::User)];
        let mut until = debtors
            .iter()
            .flatten()
            .filter_map(|it| self.until.peek(it));
        until.any(|until| now < *until)
    }

    /// Whether anybody may be left alone.
    pub(crate) fn is_empty(&self) -> bool {
        self.until.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Timestamp {
        Timestamp::new(ms * 1_000_000)
    }

    /// 65 530 mappings: each decision took the loop 19 ms, one after another.
    #[test]
    fn a_process_that_cost_much_is_left_alone_for_twenty_times_as_long() {
        let mut spending = Spending::new();
        spending.on_spent(7, Some(0), Duration::from_micros(1000), at(0));
        assert!(spending.is_empty(), "as most do");
        spending.on_spent(7, Some(0), Duration::from_millis(19), at(0));
        assert!(spending.is_left_alone(7, Some(0), at(379)));
        assert!(!spending.is_left_alone(7, Some(0), at(380)));
        assert!(!spending.is_left_alone(8, Some(0), at(1)), "another one");
    }

    /// It may start as many processes as it likes.
    #[test]
    fn a_users_processes_have_a_quarter_of_the_loop_together() {
        let mut spending = Spending::new();
        let (mut now, mut spent) = (0, 0);
        for process in 1..1000 {
            if spending.is_left_alone(process, Some(1000), at(now)) {
                now += 1;
                continue;
            }
            (now, spent) = (now + 19, spent + 19);
            spending.on_spent(process, Some(1000), Duration::from_millis(19), at(now));
        }
        assert!(spent * 3 <= now, "{spent} of {now} ms");
        assert!(!spending.is_left_alone(2000, Some(1001), at(now)));
    }
}
