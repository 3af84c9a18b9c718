//! What was measured of a recommendation, and whether it holds.
//!
//! A window under which the programs do not come to their end cannot be used: it counts as the slowest. In real time
//! runs differ by more than windows do, at times, and the fastest of a dozen is so partly by luck. Where the runs of the
//! recommended window reach those of the fastest, both are run again in turn, and only these runs decide.

use std::collections::BTreeMap;

use ahead_device::measurement::statistics::permille;
use ahead_harness::statistics::{Interval, median, median_interval};
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

    /// Its fastest run is as fast as the slowest of `other`.
    fn reaches(&self, other: &Self) -> bool {
        let (Some((_, high)), Some((low, _))) = (self.range, other.range) else {
            return false;
        };
        high >= low
    }
}

/// The window that was the fastest and the recommended one, run again in turn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Duel {
    /// Runs of each.
    pub runs: usize,
    /// How many times as fast the other one is as the recommended one, the median of pairs that ran one after the other.
    pub ratio: f64,
    /// Where that median lies in 95 of 100 repetitions.
    pub interval: Interval,
}

impl Duel {
    /// Of rates of the recommended window and of the other one, pair by pair; `None` without any.
    pub(super) fn of(pairs: &[(u64, u64)]) -> Option<Self> {
        let ratios = pairs.iter().filter(|(own, _)| *own > 0);
        let ratios: Vec<f64> = ratios
            .map(|(own, other)| *other as f64 / *own as f64)
            .collect();
        Some(Self {
            runs: ratios.len(),
            ratio: median(&ratios)?.value,
            interval: median_interval(&ratios)?,
        })
    }

    /// The recommended window is as fast, as far as windows are told apart.
    fn is_near(&self) -> bool {
        self.ratio * 100.0 <= (100 + ALIKE_PER_CENT) as f64
    }
}

/// A recommendation and what a kernel really does.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    /// Both again in turn, where the runs of all windows did not tell them apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duel: Option<Duel>,
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
        let is_measured = windows.contains_key(&recommended_kib) && own.unfinished.is_none();
        Self {
            place,
            is_real_time,
            ahead_run: rate(CONTENDER),
            ceiling: rate(CEILING),
            recommended_kib,
            fastest_kib,
            loss_permille: permille(best_rate, own_rate.max(1)).saturating_sub(1000),
            duel: None,
            holds: is_measured && is_near,
            windows,
        }
    }

    /// Whether the runs of the recommended window, which is slower by their median, reach those of the fastest.
    pub(super) fn is_undecided(&self) -> bool {
        let of = |kib| self.windows.get(kib);
        let both = of(&self.recommended_kib).zip(of(&self.fastest_kib));
        !self.holds && both.is_some_and(|(own, best)| own.reaches(best))
    }

    /// Decided by running both again.
    pub(super) fn decided_by(self, duel: Duel) -> Self {
        Self {
            holds: duel.is_near(),
            duel: Some(duel),
            ..self
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
        let verdict = if self.holds { "Proved" } else { "Not proved" };
        let (name, fastest) = (name_of(self.recommended_kib), name_of(self.fastest_kib));
        if own.unfinished.is_some() {
            return format!("{verdict}: {name} cannot be used here; the fastest is {fastest}.");
        }
        let mut text = format!(
            "{verdict}: {name} is {} slower than the fastest, {fastest}; up to {ALIKE_PER_CENT} % counts as alike.",
            per_cent_of_permille(Some(self.loss_permille)),
        );
        if let Some(Duel {
            runs,
            ratio,
            interval: Interval { low, high },
        }) = self.duel
        {
            text += &format!(
                " Runs of both overlap, so they were run again, {runs} times in turn, which decides: {fastest} is ×{ratio:.3} as \
                 fast ({low:.3} to {high:.3})."
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

    fn in_real_time(own: [u64; 3], best: [u64; 3]) -> Proof {
        let rates = vec![
            (128, ProvedRate::of(own.to_vec())),
            (4096, ProvedRate::of(best.to_vec())),
        ];
        proof_of(rates, true, 128)
    }

    #[test]
    fn windows_whose_runs_overlap_are_undecided_and_others_are_not() {
        let apart = in_real_time([900, 905, 910], [1000, 1005, 1010]);
        assert!(!apart.holds && !apart.is_undecided(), "{apart:?}");
        let mixed = in_real_time([900, 905, 990], [980, 1005, 1010]);
        assert!(!mixed.holds && mixed.is_undecided(), "{mixed:?}");
        let near = in_real_time([980, 1000, 1001], [1000, 1005, 1010]);
        assert!(near.holds && !near.is_undecided(), "{near:?}");
        assert!(!proof(&[(512, 1000), (4096, 1031)], 512).is_undecided());
    }

    /// The fastest of a dozen is so partly by luck: that it was is no part of what decides.
    #[test]
    fn what_is_undecided_is_decided_by_runs_in_turn_alone() {
        let decided = |pairs: &[(u64, u64)]| {
            let mixed = in_real_time([900, 905, 990], [980, 1005, 1010]);
            mixed.decided_by(Duel::of(pairs).expect("pairs"))
        };
        let alike = decided(&[(1000, 1010), (990, 1000), (1010, 1000)]);
        assert!(alike.holds, "{alike:?}");
        let line =
            "run again, 3 times in turn, which decides: 4 MiB is ×1.010 as fast (0.990 to 1.010).";
        assert!(alike.text().contains(line), "{}", alike.text());
        let slower = decided(&[(1000, 1040), (990, 1030), (1010, 1000)]);
        assert!(
            !slower.holds && slower.text().contains("Not proved"),
            "{slower:?}"
        );
        assert_eq!(Duel::of(&[]), None);
    }
}
