//! What it costs to reach the files of a process, and who has to wait for that. Pure.
//!
//! A process with tens of thousands of mappings or descriptors takes milliseconds each time, and the loop serves all processes. So who
//! has spent much is left alone until a part of the time that has passed since makes up for it, and so are the other processes of its user,
//! for less: a process can start others. A first moment is free, as a slow machine takes long for each.

use std::num::NonZeroUsize;
use std::time::Duration;

use ahead_units::Timestamp;
use lru::LruCache;

/// What costs no more is nothing out of the ordinary.
const LITTLE: Duration = Duration::from_millis(1);

/// So much may be spent at once.
const FREE_NS: u64 = 100_000_000;

/// Beyond that a process has one of so many parts of the loop, and its user's processes one in all.
const PARTS_OF_PROCESS: u64 = 20;
const PARTS_OF_USER: u64 = 4;

/// Processes and users that are remembered.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

/// Who has an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Debtor {
    Process(u32),
    User(u32),
}

impl Debtor {
    fn parts(self) -> u64 {
        match self {
            Self::Process(_) => PARTS_OF_PROCESS,
            Self::User(_) => PARTS_OF_USER,
        }
    }
}

/// What was spent, and when that was counted.
#[derive(Clone, Copy, Debug)]
struct Spent {
    ns: u64,
    at: Timestamp,
}

/// What processes and users have spent of the loop.
#[derive(Debug)]
pub(crate) struct Spending {
    accounts: LruCache<Debtor, Spent>,
}

impl Spending {
    pub(crate) fn new() -> Self {
        Self {
            accounts: LruCache::new(REMEMBERED),
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
        let spent = u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX);
        let user = user.filter(|user| *user != 0).map(Debtor::User);
        for debtor in [Some(Debtor::Process(process)), user].into_iter().flatten() {
            let ns = self.owed(debtor, now).saturating_add(spent);
            self.accounts.put(debtor, Spent { ns, at: now });
        }
    }

    /// What `debtor` has spent that time has not made up for.
    fn owed(&self, debtor: Debtor, now: Timestamp) -> u64 {
        self.accounts.peek(&debtor).map_or(0, |spent| {
            let passed = now.get().saturating_sub(spent.at.get());
            spent.ns.saturating_sub(passed / debtor.parts())
        })
    }

    /// Whether nothing is done for `process` of `user` now.
    pub(crate) fn is_left_alone(&self, process: u32, user: Option<u32>, now: Timestamp) -> bool {
        let debtors = [Some(Debtor::Process(process)), user.map(Debtor::User)];
        let mut owed = debtors.into_iter().flatten().map(|it| self.owed(it, now));
        owed.any(|ns| ns > FREE_NS)
    }

    /// Whether anybody may be left alone.
    pub(crate) fn is_empty(&self) -> bool {
        self.accounts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Timestamp {
        Timestamp::new(ms * 1_000_000)
    }

    /// What `processes` get of the loop in ten seconds, each decision for one of them taking 19 ms, as with 65 530 mappings, one after another.
    fn spent_ms(processes: impl Iterator<Item = u32>, user: u32) -> u64 {
        let mut spending = Spending::new();
        let (mut now, mut spent) = (0, 0);
        for process in processes {
            if now >= 10_000 {
                return spent;
            }
            if spending.is_left_alone(process, Some(user), at(now)) {
                now += 1;
                continue;
            }
            (now, spent) = (now + 19, spent + 19);
            let took = Duration::from_millis(19);
            spending.on_spent(process, Some(user), took, at(now));
        }
        panic!("ten seconds are longer");
    }

    #[test]
    fn a_process_that_costs_much_has_a_twentieth_of_the_loop() {
        let spent = spent_ms(std::iter::repeat(7), 0);
        assert!((500..=100 + 500 + 2 * 19).contains(&spent), "{spent}");
    }

    /// It may start as many processes as it likes.
    #[test]
    fn a_users_processes_have_a_quarter_of_the_loop_together() {
        let spent = spent_ms(1.., 1000);
        assert!((2_500..=100 + 2_500 + 2 * 19).contains(&spent), "{spent}");
    }

    #[test]
    fn a_first_moment_is_free_and_others_are_not_affected() {
        let mut spending = Spending::new();
        spending.on_spent(7, Some(0), Duration::from_micros(1000), at(0));
        assert!(spending.is_empty(), "as most do");
        spending.on_spent(7, Some(1000), Duration::from_millis(100), at(0));
        assert!(!spending.is_left_alone(7, Some(1000), at(0)));
        spending.on_spent(7, Some(1000), Duration::from_millis(40), at(0));
        assert!(spending.is_left_alone(7, Some(1000), at(159)));
        assert!(spending.is_left_alone(8, Some(1000), at(159)));
        assert!(
            !spending.is_left_alone(8, Some(1001), at(1)),
            "another user's"
        );
        assert!(!spending.is_left_alone(8, Some(1000), at(160)));
        assert!(!spending.is_left_alone(7, Some(1000), at(800)));
    }
}
