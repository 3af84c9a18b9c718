//! What may be spent to fill a file in: time of its device, in nanoseconds.

use crate::signed::signed;

/// One part in so many of what reads wait may be spent in vain: one per cent, what a pattern that cannot be helped
/// may cost.
const COST_PARTS: u64 = 100;

/// The newest first read outside of sections adds one part in so many to the mean of what they wait. Fewer, and the mean is an accident;
/// more, and what reads waited behind others is believed when those are gone (generated seed 4067 on a volume).
const MEAN_READS: u64 = 16;

/// Of what the kernel would have read beyond the end of a stream one part in so many may be spent in vain. Fewer, and more is lost by it (of 2250
/// places 34 are worse by over 1 %, 84 better); more, and what is read in pieces is filled in late (27 and 72, with 16 parts 32 and 64).
const KERNEL_PARTS: u64 = 4;

/// No more is owed than what so many reads wait. More, and a file that has gone from memory is never filled in again; what is owed beyond that is no
/// cost, as those reads would have waited.
const OWED_READS: u64 = 16;

/// What reads of one kind wait, in the mean, those counted that do not wait.
#[derive(Debug)]
struct MeanWait {
    ns: u64,
}

impl MeanWait {
    /// A read begins: until it waits, it has not.
    fn on_read(&mut self) {
        self.ns -= self.ns / MEAN_READS;
    }

    /// It waited.
    fn on_wait(&mut self, waited_ns: u64) {
        self.ns = self.ns.saturating_add(waited_ns / MEAN_READS);
    }
}

/// The account of one file. All zero: nothing was read.
#[derive(Debug)]
pub(super) struct Account {
    /// Of first reads outside of sections that nothing had asked for.
    lone: MeanWait,
    /// Of those that a stream or the kernel asks for.
    asked_for: MeanWait,
    /// What was earned, less what was spent.
    may_spend_ns: i64,
    /// What the newest sections were to cost, until it is known what they do.
    estimate_ns: u64,
    settling: Settling,
}

/// Which reads have not shown yet what the newest sections cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settling {
    /// All have.
    Over,
    /// The one that they were asked for with, and the next one.
    Asking,
    /// The next one outside, which finds the arm at their end, or the device at work on them.
    Next,
}

impl Account {
    /// Nothing was read.
    pub(super) const EMPTY: Self = Self {
        lone: MeanWait { ns: 0 },
        asked_for: MeanWait { ns: 0 },
        may_spend_ns: 0,
        estimate_ns: 0,
        settling: Settling::Over,
    };

    /// What a first read outside of sections waits that nothing had asked for, in the mean.
    pub(super) fn mean_wait_ns(&self) -> u64 {
        self.lone.ns
    }

    /// Whether so much may be spent.
    pub(super) fn has(&self, cost_ns: u64) -> bool {
        signed(cost_ns) <= self.may_spend_ns
    }

    /// A first read inside of what was asked for finds its pages there: it has saved what others of its kind wait, but no more than `saved_ns_max`.
    pub(super) fn on_found(&mut self, is_asked_for: bool, saved_ns_max: u64) {
        let saved_ns = self.mean_wait(is_asked_for).ns.min(saved_ns_max);
        self.earn(saved_ns);
    }

    /// What others wait of which a stream or the kernel asks for too, or not.
    fn mean_wait(&mut self, is_asked_for: bool) -> &mut MeanWait {
        if is_asked_for {
            &mut self.asked_for
        } else {
            &mut self.lone
        }
    }

    /// A first read outside begins, with which nothing is asked for. Whether it says what such reads wait: then its wait, if it has one, is one of
    /// [those](Self::on_wait), or if a stream or the kernel asks for it of [these](Self::on_wait_asked_for).
    pub(super) fn on_first_read(&mut self, is_asked_for: bool) -> bool {
        let is_sample = self.settling == Settling::Over;
        if is_sample {
            self.mean_wait(is_asked_for).on_read();
        }
        is_sample
    }

    /// A read outside that a stream or the kernel asks for waited. `is_sample`: as [`Self::on_first_read`] said.
    pub(super) fn on_wait_asked_for(&mut self, waited_ns: u64, is_sample: bool) {
        if is_sample {
            self.asked_for.on_wait(waited_ns);
        }
        self.earn_share(waited_ns);
    }

    /// A stream has ended, and the kernel would have spent so much on what lies behind it. No more is put by for that than `most_ns`, what can
    /// be spent at once.
    pub(super) fn on_ended(&mut self, kernel_ns: u64, most_ns: u64) {
        let left_ns = signed(most_ns).saturating_sub(self.may_spend_ns);
        let left_ns = u64::try_from(left_ns).unwrap_or(0);
        self.earn((kernel_ns / KERNEL_PARTS).min(left_ns));
    }

    /// Sections that are to cost so much are asked for with the newest read.
    pub(super) fn on_ask(&mut self, estimate_ns: u64) {
        self.spend(estimate_ns);
        (self.settling, self.estimate_ns) = (Settling::Asking, estimate_ns);
    }

    /// The newest sections cost nothing: they were there, or could not be asked for.
    pub(super) fn on_not_asked(&mut self) {
        if self.settling == Settling::Asking {
            self.earn(self.estimate_ns);
        }
        self.settling = Settling::Over;
    }

    /// The read with which the newest sections were asked for waited. What it waits longer than others is what they cost, unless others waited
    /// as well (`is_alone`): then it is what was thought.
    pub(super) fn on_asking_wait(&mut self, waited_ns: u64, is_alone: bool) {
        if self.settling == Settling::Asking && is_alone {
            self.settle(waited_ns);
            self.earn(self.estimate_ns);
            self.settling = Settling::Next;
        } else {
            self.settling = Settling::Over;
        }
        self.earn_share(waited_ns);
    }

    /// Another read outside waited, that began after they were asked for. `is_sample`: as [`Self::on_first_read`] said.
    pub(super) fn on_wait(&mut self, waited_ns: u64, is_sample: bool, is_alone: bool) {
        if self.settling != Settling::Over {
            if is_alone {
                self.settle(waited_ns);
            }
            self.settling = Settling::Over;
        } else if is_sample {
            self.lone.on_wait(waited_ns);
        }
        self.earn_share(waited_ns);
    }

    /// A read waited inside of what was asked for.
    pub(super) fn on_vain_wait(&mut self, waited_ns: u64) {
        let most = signed(self.lone.ns.saturating_mul(OWED_READS));
        let owed = self.may_spend_ns.min(0);
        self.spend(waited_ns);
        self.may_spend_ns = self.may_spend_ns.max((-most).min(owed));
    }

    /// Whoever has this account now has not earned what is in it.
    pub(super) fn forget(&mut self) {
        self.may_spend_ns = self.may_spend_ns.min(0);
        self.settling = Settling::Over;
    }

    /// So much was spent.
    pub(super) fn spend(&mut self, ns: u64) {
        self.may_spend_ns = self.may_spend_ns.saturating_sub(signed(ns));
    }

    fn settle(&mut self, waited_ns: u64) {
        self.spend(waited_ns);
        self.earn(self.lone.ns);
        if waited_ns < self.lone.ns {
            // They wait less now than they did.
            self.lone.on_read();
            self.lone.on_wait(waited_ns);
        }
    }

    fn earn_share(&mut self, waited_ns: u64) {
        self.earn(waited_ns / COST_PARTS);
    }

    fn earn(&mut self, ns: u64) {
        self.may_spend_ns = self.may_spend_ns.saturating_add(signed(ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCESS_NS: u64 = 8_000_000;

    /// So many first reads outside of sections, each of which waits for one access.
    fn random(account: &mut Account, reads: u64) {
        for _ in 0..reads {
            assert!(account.on_first_read(false));
            account.on_wait(ACCESS_NS, true, true);
        }
    }

    #[test]
    fn of_what_reads_wait_one_per_cent_may_be_spent() {
        let mut account = Account::EMPTY;
        random(&mut account, 100);
        assert!(account.has(ACCESS_NS) && !account.has(ACCESS_NS + 1));
        account.on_ask(ACCESS_NS);
        assert!(!account.has(1), "it is spent");
        account.on_not_asked();
        assert!(account.has(ACCESS_NS), "it was not");
    }

    #[test]
    fn of_what_the_kernel_would_have_brought_behind_a_stream_a_quarter_may_be_spent() {
        let mut account = Account::EMPTY;
        account.on_ended(1_000_000, 600_000);
        assert!(account.has(250_000) && !account.has(250_001));
        (0..3).for_each(|_| account.on_ended(1_000_000, 600_000));
        assert!(account.has(600_000) && !account.has(600_001));
        account.on_ended(u64::MAX, u64::MAX);
        account.spend(u64::MAX);
        account.on_ended(u64::MAX, u64::MAX);
    }

    #[test]
    fn what_a_section_costs_is_what_the_reads_after_it_wait_longer_than_others() {
        let mut account = Account::EMPTY;
        random(&mut account, 1000);
        let (mean, before) = (account.mean_wait_ns(), account.may_spend_ns);
        account.on_ask(1_000_000);
        account.on_asking_wait(mean + 2_000_000, true);
        assert!(!account.on_first_read(false), "it is the next one");
        assert!(!account.on_first_read(true), "so is this one");
        account.on_wait(mean + 500_000, false, true);
        let share = (2 * mean + 2_500_000) / COST_PARTS;
        let spent = before - account.may_spend_ns;
        assert!((spent - 2_500_000 + signed(share)).abs() < 4, "{spent}");
        assert_eq!(account.mean_wait_ns(), mean, "they do not count for it");
        assert!(account.on_first_read(false));
    }

    /// Where several reads wait together, none of them shows what a section costs.
    #[test]
    fn beside_others_a_section_costs_what_was_thought() {
        let mut account = Account::EMPTY;
        random(&mut account, 1000);
        let before = account.may_spend_ns;
        account.on_ask(1_000_000);
        account.on_asking_wait(100, false);
        account.on_wait(100, false, false);
        assert_eq!(before - account.may_spend_ns, 1_000_000 - 2);
    }

    #[test]
    fn a_first_read_inside_earns_what_others_wait_unless_it_waits_too() {
        let mut account = Account::EMPTY;
        random(&mut account, 1000);
        let before = account.may_spend_ns;
        account.on_found(false, u64::MAX);
        assert_eq!(
            account.may_spend_ns - before,
            signed(account.mean_wait_ns())
        );
        account.on_found(false, 1000);
        account.on_vain_wait(1000);
        assert_eq!(
            account.may_spend_ns - before,
            signed(account.mean_wait_ns())
        );
    }

    /// Of a record of several reads the first one waits as long as any, and the others, which a stream asks for, for less.
    #[test]
    fn what_a_stream_asks_for_has_saved_what_such_reads_wait() {
        let mut account = Account::EMPTY;
        random(&mut account, 1000);
        for read in 0..1000 {
            assert!(account.on_first_read(true));
            if read % 2 == 0 {
                account.on_wait_asked_for(ACCESS_NS, true);
            }
        }
        let lone = account.mean_wait_ns();
        assert!(lone >= ACCESS_NS - 16, "{lone}");
        let before = account.may_spend_ns;
        account.on_found(true, u64::MAX);
        let saved = account.may_spend_ns - before;
        let half = signed(ACCESS_NS) / 2;
        assert!((saved - half).abs() < half / 10, "{saved}");
    }

    #[test]
    fn a_file_that_was_read_before_has_nothing_to_save() {
        let mut account = Account::EMPTY;
        random(&mut account, 100);
        for _ in 0..1000 {
            account.on_first_read(false);
        }
        assert!(account.mean_wait_ns() < MEAN_READS, "{account:?}");
    }

    #[test]
    fn the_child_of_a_fork_has_earned_nothing_yet_and_owes_what_was_owed() {
        let mut account = Account::EMPTY;
        random(&mut account, 100);
        account.forget();
        assert!(account.has(0) && !account.has(1));
        account.spend(5);
        account.forget();
        assert!(!account.has(0));
    }

    #[test]
    fn no_wait_is_too_long_for_it() {
        let mut account = Account::EMPTY;
        for wait in [u64::MAX, u64::MAX, 0, u64::MAX] {
            let is_sample = account.on_first_read(false);
            account.on_wait(wait, is_sample, true);
            account.on_ask(u64::MAX);
            account.on_asking_wait(wait, true);
            account.on_wait(wait, false, true);
            account.on_vain_wait(wait);
            account.on_found(false, u64::MAX);
            let is_sample = account.on_first_read(true);
            account.on_wait_asked_for(wait, is_sample);
            account.on_found(true, u64::MAX);
        }
    }
}
