//! What was measured of a recommendation, and whether it holds.
//!
//! A window under which the programs do not come to their end cannot be used: it counts as the slowest. In real time
//! runs differ by more than windows do, at times; then two windows are told apart only where their runs are.

use std::collections::BTreeMap;

use ahead_device::measurement::statistics::permille;
use ahead_study::plan::{CEILING, FLOOR, GUEST_KERNEL};
use ahead_study::results::CONTENDER;
use ahead_study::table;
use serde::Serialize;

use super::sweep::{ALIKE_PER_CENT, WINDOWS_KIB, name_of};
use crate::figures::{megabytes, per_cent, per_cent_of_permille};
use crate::lab::Unfinished;

/// What the lab calls the kernel with this window.
pub(super) fn policy(kib: u64) -> String {
    match kib {
        0 => FLOOR.to_owned(),
        128 => GUEST_KERNEL.to_owned(),
        _ => format!("{GUEST_KERNEL}:ra_kb={kib}"),
    }
}

/// What one window does, measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct ProvedRate {
    /// Bytes per second that the programs got; of several runs the median. None where they did not come to their end.
    pub bytes_per_second: u64,
    /// (Largest − smallest) by the median of the runs, in thousandths; `None` of a single run.
    pub spread_permille: Option<u64>,
    /// Of several runs the slowest and the fastest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<(u64, u64)>,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<Unfinished>,
}

impl ProvedRate {
    /// Of runs with these rates, of which there is one at least.
    pub(super) fn of(mut rates: Vec<u64>) -> Self {
        rates.sort_unstable();
        let (Some(low), Some(high)) = (rates.first(), rates.last()) else {
            return Self::default();
        };
        let middle = rates[rates.len() / 2];
        let is_several = rates.len() > 1;
        Self {
            bytes_per_second: middle,
            spread_permille: is_several.then(|| permille(high - low, middle.max(1))),
            range: is_several.then_some((*low, *high)),
            unfinished: None,
        }
    }

    /// Of runs that did not end.
    pub(super) fn none(why: Unfinished) -> Self {
        Self {
            unfinished: Some(why),
            ..Self::default()
        }
    }

    /// Its runs differ by more than windows that are told apart.
    fn is_noisy(&self) -> bool {
        self.spread_permille > Some(ALIKE_PER_CENT * 10)
    }

    /// Its fastest run is as fast as the slowest of `other`.
    fn reaches(&self, other: &Self) -> bool {
        let (Some((_, high)), Some((low, _))) = (self.range, other.range) else {
            return false;
        };
        high >= low
    }
}

/// A recommendation and what a kernel really does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Proof {
    /// What was measured, and on what.
    pub place: String,
    /// Noise is in the figures.
    pub is_real_time: bool,
    /// Window by window, in KiB.
    pub windows: BTreeMap<u64, ProvedRate>,
    /// Under `ahead run`.
    pub ahead_run: Option<ProvedRate>,
    /// By a reader that knows its future.
    pub ceiling: Option<ProvedRate>,
    /// The window that was recommended.
    pub recommended_kib: u64,
    /// The fastest of all.
    pub fastest_kib: u64,
    /// So much slower is the recommended one, in thousandths.
    pub loss_permille: u64,
    /// The runs of one of both differ by more than windows that are told apart: it is judged by whether they overlap.
    pub is_judged_by_overlap: bool,
    /// It is as fast as the fastest, as far as windows are told apart.
    pub holds: bool,
}

impl Proof {
    /// From rates by what the lab calls the windows.
    pub(super) fn of(
        place: String,
        is_real_time: bool,
        rates: &BTreeMap<String, ProvedRate>,
        recommended_kib: u64,
    ) -> Self {
        let rate = |name: &str| rates.get(name).copied();
        let windows: BTreeMap<u64, ProvedRate> = WINDOWS_KIB
            .into_iter()
            .filter_map(|kib| Some((kib, rate(&policy(kib))?)))
            .collect();
        let fastest = windows.iter().max_by_key(|(_, one)| one.bytes_per_second);
        let fastest = fastest.map(|(kib, one)| (*kib, *one));
        let (fastest_kib, best) = fastest.unwrap_or_default();
        let own = windows.get(&recommended_kib).copied().unwrap_or_default();
        let (own_rate, best_rate) = (own.bytes_per_second, best.bytes_per_second);
        let is_near =
            u128::from(best_rate) * 100 <= u128::from(own_rate) * u128::from(100 + ALIKE_PER_CENT);
        let is_judged_by_overlap = own.is_noisy() || best.is_noisy();
        let is_measured = windows.contains_key(&recommended_kib) && own.unfinished.is_none();
        Self {
            place,
            is_real_time,
            ahead_run: rate(CONTENDER),
            ceiling: rate(CEILING),
            recommended_kib,
            fastest_kib,
            loss_permille: permille(best_rate, own_rate.max(1)).saturating_sub(1000),
            is_judged_by_overlap,
            holds: is_measured && (is_near || (is_judged_by_overlap && own.reaches(&best))),
            windows,
        }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let best = self.windows.get(&self.fastest_kib);
        let best = best.map_or(0, |one| one.bytes_per_second);
        let mut titles = vec!["window", "MB/s", "of best"];
        titles.extend(self.is_real_time.then_some("spread"));
        let row = |name: String, one: &ProvedRate| {
            let spread = per_cent_of_permille(one.spread_permille);
            let mut cells = match one.unfinished {
                None => vec![
                    name,
                    megabytes(one.bytes_per_second),
                    per_cent(one.bytes_per_second, best),
                ],
                Some(why) => vec![name, why.in_short().to_owned(), "-".to_owned()],
            };
            cells.extend(self.is_real_time.then_some(spread));
            cells
        };
        let mut rows = table::with_titles(&titles, 1..titles.len());
        for (kib, one) in &self.windows {
            let mark = if *kib == self.recommended_kib {
                " <"
            } else {
                ""
            };
            rows.add_row(row(name_of(*kib) + mark, one));
        }
        for (name, one) in [("ahead run", &self.ahead_run), ("ceiling", &self.ceiling)] {
            if let Some(one) = one {
                rows.add_row(row(name.to_owned(), one));
            }
        }
        format!(
            "\nMeasured: {}\n\n{rows}\n{}\n{}\n",
            self.place,
            self.unusable(),
            self.verdict()
        )
    }

    /// A line for each window under which the programs did not come to their end.
    fn unusable(&self) -> String {
        let windows = self.windows.iter();
        let lines = windows.filter_map(|(kib, one)| {
            let why = one.unfinished?;
            let name = name_of(*kib);
            Some(format!(
                "{name} cannot be used here and counts as the slowest: {why}.\n"
            ))
        });
        lines.collect()
    }

    fn verdict(&self) -> String {
        let own = self.windows.get(&self.recommended_kib);
        let own = own.copied().unwrap_or_default();
        let best = self.windows.get(&self.fastest_kib);
        let best = best.copied().unwrap_or_default();
        let verdict = if self.holds { "Proved" } else { "Not proved" };
        let (name, fastest) = (name_of(self.recommended_kib), name_of(self.fastest_kib));
        if own.unfinished.is_some() {
            return format!("{verdict}: {name} cannot be used here; the fastest is {fastest}.");
        }
        let mut text = format!(
            "{verdict}: {name} is {} slower than the fastest, {fastest}; up to {ALIKE_PER_CENT} % counts as alike.",
            per_cent_of_permille(Some(self.loss_permille)),
        );
        if self.is_judged_by_overlap && self.recommended_kib != self.fastest_kib {
            let [own_spread, best_spread] =
                [own, best].map(|one| per_cent_of_permille(one.spread_permille));
            let overlap = if own.reaches(&best) {
                "overlap, so they are not told apart"
            } else {
                "do not overlap"
            };
            text += &format!(
                " Runs of the one differ by {own_spread}, of the other by {best_spread}, and {overlap}."
            );
        }
        if self.is_real_time {
            text += " Real time: what else the machine did is in these figures.";
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof_of(rates: Vec<(u64, ProvedRate)>, is_real_time: bool, recommended_kib: u64) -> Proof {
        let rates = rates.into_iter().map(|(kib, rate)| (policy(kib), rate));
        Proof::of(
            "a test".to_owned(),
            is_real_time,
            &rates.collect(),
            recommended_kib,
        )
    }

    fn proof(rates: &[(u64, u64)], recommended_kib: u64) -> Proof {
        let rates = rates
            .iter()
            .map(|(kib, rate)| (*kib, ProvedRate::of(vec![*rate])));
        proof_of(rates.collect(), false, recommended_kib)
    }

    #[test]
    fn three_in_a_hundred_slower_than_the_fastest_holds_and_more_does_not() {
        let rates = [(128, 500), (512, 1000), (4096, 1030), (8192, 700)];
        let near = proof(&rates, 512);
        assert_eq!(
            (near.holds, near.loss_permille, near.fastest_kib),
            (true, 30, 4096)
        );
        assert!(
            near.text().contains("Proved: 512 KiB is 3.0 %"),
            "{}",
            near.text()
        );
        let far = proof(&[(512, 1000), (4096, 1031)], 512);
        assert!(
            !far.holds && far.text().contains("Not proved"),
            "{}",
            far.text()
        );
        assert!(!proof(&rates, 128).holds);
        assert!(
            !proof(&rates, 1024).holds,
            "what was not measured is not proved"
        );
    }

    /// 32 programs in 256 MiB under 16 MiB and more: the memory is smaller than their windows.
    #[test]
    fn a_window_that_cannot_be_used_is_the_slowest_and_is_said_in_a_line() {
        let rates = |kib| {
            let rates = vec![
                (128, ProvedRate::of(vec![1000])),
                (16384, ProvedRate::none(Unfinished::OutOfMemory)),
                (
                    65536,
                    ProvedRate::none(Unfinished::TookTooLong { seconds: 200 }),
                ),
            ];
            proof_of(rates, false, kib)
        };
        let usable = rates(128);
        assert!(usable.holds && usable.fastest_kib == 128, "{usable:?}");
        let text = usable.text();
        for line in [
            "16 MiB cannot be used here and counts as the slowest: out of memory, the kernel ended a program.",
            "64 MiB cannot be used here and counts as the slowest: did not end within 200 s.",
            "Proved: 128 KiB is 0.0 % slower than the fastest, 128 KiB;",
        ] {
            assert!(
                text.lines().any(|one| one.starts_with(line)),
                "{line}\n{text}"
            );
        }
        let unusable = rates(16384);
        assert!(!unusable.holds);
        let line = "Not proved: 16 MiB cannot be used here; the fastest is 128 KiB.";
        assert!(unusable.text().contains(line), "{}", unusable.text());
        let nothing = vec![(512, ProvedRate::none(Unfinished::OutOfMemory))];
        assert!(!proof_of(nothing, false, 512).holds, "nothing is as slow");
    }

    /// Real time: runs that differ by more than 3 % tell windows apart only where they do not overlap.
    #[test]
    fn windows_whose_runs_differ_are_judged_by_whether_they_overlap() {
        let against = |own: [u64; 3], best: [u64; 3]| {
            let rates = vec![
                (128, ProvedRate::of(own.to_vec())),
                (4096, ProvedRate::of(best.to_vec())),
            ];
            proof_of(rates, true, 128)
        };
        let apart = against([900, 905, 910], [1000, 1005, 1010]);
        assert!(!apart.holds && !apart.is_judged_by_overlap, "{apart:?}");
        let mixed = against([900, 905, 990], [980, 1005, 1010]);
        assert!(mixed.holds && mixed.is_judged_by_overlap, "{mixed:?}");
        let line = "Runs of the one differ by 9.9 %, of the other by 2.9 %, and overlap, so they are not told apart.";
        assert!(mixed.text().contains(line), "{}", mixed.text());
        let noisy = against([800, 905, 910], [980, 1005, 1010]);
        assert!(
            !noisy.holds && noisy.text().contains("do not overlap"),
            "{}",
            noisy.text()
        );
        let near = against([980, 1000, 1001], [1000, 1005, 1010]);
        assert!(near.holds && !near.is_judged_by_overlap, "{near:?}");
    }
}
