//! What may be spent to fill a file in: time of its device, in nanoseconds.

/// One part in so many of what reads wait may be spent in vain: one per cent, what a pattern that cannot be helped
/// may cost.
const COST_PARTS: u64 = 100;

/// The newest first read outside of sections adds one part in so many to the mean of what they wait. Fewer, and the mean is an accident;
/// more, and what reads waited behind others is believed when those are gone (generated seed 4067 on a volume).
const MEAN_READS: u64 = 16;

/// Reads whose waits show what a section costs: the one that it is asked for with, and the next one outside, which finds the arm at
/// its end or the device at work on it.
const SETTLING_READS: u8 = 2;

/// The account of one file. All zero: nothing was read.
#[derive(Debug)]
pub(super) struct Account {
    /// What a first read outside of sections waits, in the mean.
    mean_wait_ns: u64,
    /// The newest read is one of those, and has not waited yet.
    may_wait: bool,
    /// What was earned, less what was spent.
    may_spend_ns: i64,
    /// Reads that show what a section costs and have not waited yet, and what it was to cost.
    settling: u8,
    cost_ns: u64,
}

impl Account {
    /// Nothing was read.
    pub(super) const EMPTY: Self = Self {
        mean_wait_ns: 0,
        may_wait: false,
        may_spend_ns: 0,
        settling: 0,
        cost_ns: 0,
    };

    /// What a first read outside of sections waits, in the mean.
    pub(super) fn mean_wait_ns(&self) -> u64 {
        self.mean_wait_ns
    }

    /// Whether so much may be spent.
    pub(super) fn has(&self, cost_ns: u64) -> bool {
        signed(cost_ns) <= self.may_spend_ns
    }

    /// A read begins. `is_first`: of some of its pages it is the first one. It has saved no more than `saved_ns_max` if it is inside of what was
    /// asked for.
    pub(super) fn on_read(&mut self, is_inside: bool, is_first: bool, saved_ns_max: u64) {
        if core::mem::take(&mut self.may_wait) {
            self.count_wait(0);
        }
        if is_first && is_inside {
            let saved_ns = self.mean_wait_ns.min(saved_ns_max);
            self.earn(saved_ns);
        }
        self.may_wait = is_first && !is_inside && self.settling == 0;
    }

    /// Sections that are to cost so much are asked for with the newest read.
    pub(super) fn on_ask(&mut self, cost_ns: u64) {
        self.spend(cost_ns);
        (self.settling, self.cost_ns) = (SETTLING_READS, cost_ns);
        // It is none of those that say what reads wait.
        self.may_wait = false;
    }

    /// A read waited, outside of what was asked for or `inside`. Whether it is one that was to find its pages there.
    pub(super) fn on_wait(&mut self, inside: bool, waited_ns: u64) -> bool {
        let is_asking = self.settling == SETTLING_READS;
        if inside && !is_asking {
            self.spend(waited_ns);
            return true;
        }
        if self.settling > 0 {
            // What it waits longer than others is what the sections cost.
            self.spend(waited_ns);
            self.earn(self.mean_wait_ns);
            if waited_ns < self.mean_wait_ns {
                self.count_wait(waited_ns);
            }
            if is_asking {
                self.earn(self.cost_ns);
            }
            self.settling -= 1;
        } else if core::mem::take(&mut self.may_wait) {
            self.count_wait(waited_ns);
        }
        self.earn(waited_ns / COST_PARTS);
        false
    }

    /// A first read outside of sections has waited so long, or not.
    fn count_wait(&mut self, waited_ns: u64) {
        let others = self.mean_wait_ns - self.mean_wait_ns / MEAN_READS;
        self.mean_wait_ns = others.saturating_add(waited_ns / MEAN_READS);
    }

    fn earn(&mut self, ns: u64) {
        self.may_spend_ns = self.may_spend_ns.saturating_add(signed(ns));
    }

    /// So much was spent.
    pub(super) fn spend(&mut self, ns: u64) {
        self.may_spend_ns = self.may_spend_ns.saturating_sub(signed(ns));
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCESS_NS: u64 = 8_000_000;

    /// So many first reads outside of sections, each of which waits for one access.
    fn random(account: &mut Account, reads: u64) {
        for _ in 0..reads {
            account.on_read(false, true, ACCESS_NS);
            assert!(!account.on_wait(false, ACCESS_NS));
        }
    }

    #[test]
    fn of_what_reads_wait_one_per_cent_may_be_spent() {
        let mut account = Account::EMPTY;
        random(&mut account, 100);
        assert!(account.has(ACCESS_NS) && !account.has(ACCESS_NS + 1));
        account.on_ask(ACCESS_NS);
        assert!(!account.has(1), "it is spent");
    }

    #[test]
    fn what_a_section_costs_is_what_the_reads_after_it_wait_longer_than_others() {
        let mut account = Account::EMPTY;
        random(&mut account, 1000);
        let (mean, before) = (account.mean_wait_ns(), account.may_spend_ns);
        account.on_read(false, true, ACCESS_NS);
        account.on_ask(1_000_000);
        account.on_wait(true, mean + 2_000_000);
        account.on_read(false, true, ACCESS_NS);
        account.on_wait(false, mean + 500_000);
        let share = (2 * mean + 2_500_000) / COST_PARTS;
        let spent = before - account.may_spend_ns;
        assert!((spent - 2_500_000 + signed(share)).abs() < 4, "{spent}");
        assert_eq!(account.mean_wait_ns(), mean, "they do not count for it");
    }

    #[test]
    fn a_first_read_inside_earns_what_others_wait_and_none_that_is_read_again() {
        let mut account = Account::EMPTY;
        random(&mut account, 1000);
        let before = account.may_spend_ns;
        account.on_read(true, false, u64::MAX);
        assert_eq!(account.may_spend_ns, before);
        account.on_read(true, true, u64::MAX);
        assert_eq!(
            account.may_spend_ns - before,
            signed(account.mean_wait_ns())
        );
        account.on_read(true, true, 1000);
        assert!(account.on_wait(true, 1000), "it waited all the same");
        assert_eq!(
            account.may_spend_ns - before,
            signed(account.mean_wait_ns())
        );
    }

    #[test]
    fn a_file_that_was_read_before_has_nothing_to_save() {
        let mut account = Account::EMPTY;
        random(&mut account, 100);
        for _ in 0..1000 {
            account.on_read(false, true, ACCESS_NS);
        }
        assert!(account.mean_wait_ns() < MEAN_READS, "{account:?}");
    }

    #[test]
    fn no_wait_is_too_long_for_it() {
        let mut account = Account::EMPTY;
        for wait in [u64::MAX, u64::MAX, 0, u64::MAX] {
            account.on_read(false, true, u64::MAX);
            account.on_wait(false, wait);
            account.on_ask(u64::MAX);
            account.on_wait(true, wait);
            account.on_wait(true, wait);
        }
    }
}
