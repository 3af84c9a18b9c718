//! What is recommended, as text, as JSON and as a picture.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use ahead_device::finding::Repair;
use ahead_device::measurement::statistics::permille;
use ahead_device::origin::in_both_units;
use ahead_study::chart::{Chart, LineChart, Scale, Series, Style};
use ahead_study::table;
use serde::Serialize;

use super::mix::Mix;
use super::proof::Proof;
use super::sweep::{ALIKE_PER_CENT, Choice, WindowOutcome, name_of};
use crate::figures::{megabytes, per_cent_of_permille, ratio, seconds, size};

/// A model further off than by a quarter is of another device.
const MODEL_OFF_PERMILLE_MAX: u64 = 250;

/// What was asked.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Head {
    /// The device, and what is known of it.
    pub source: String,
    /// What stands around it.
    pub machine: String,
    /// What streams through the page cache had of what is simulated of them, in thousandths, by window in KiB; what is said of
    /// rates and of the whole time is corrected by it. Empty where nothing is off.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub corrected_permille: BTreeMap<u64, u64>,
    /// What is read; `None` for a trace.
    pub mix: Option<Mix>,
    /// The trace that is read instead.
    pub trace: Option<PathBuf>,
    /// Memory for the programs and the page cache.
    pub memory_bytes: u64,
    /// What 99 of 100 reads must not exceed.
    pub limit_ns: Option<u64>,
    /// The window that is set now.
    pub now_kib: u64,
    /// What `set` would be given.
    pub target: Option<String>,
    /// No device is there that could have a window: what is called now is the default.
    #[serde(skip)]
    pub is_model: bool,
}

/// How sure the recommendation is.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Confidence {
    /// How far the model's curve lies from the measured one, in thousandths.
    pub model_off_permille: u64,
    /// Why the measurement is not to be relied on.
    pub doubt: Option<String>,
    /// The windows that would be recommended at the ends of what was measured, the slow one first; empty for a
    /// model that was not measured.
    pub at_ends_kib: Vec<Option<u64>>,
    /// How much longer the recommended window takes than the fastest that keeps the limit, at the worse of the
    /// two ends, in thousandths.
    pub loss_permille: u64,
    /// Whether it keeps the limit at both ends.
    pub keeps_limit: bool,
}

impl Confidence {
    /// From the outcomes of the device as measured, which come first, and at both ends, which have choices of
    /// their own.
    pub(super) fn of(
        choice: &Choice,
        rows: &[Vec<WindowOutcome>],
        at_ends: &[Choice],
        limit_ns: Option<u64>,
        model_off_permille: u64,
        doubt: Option<String>,
    ) -> Self {
        let (mut loss_permille, mut keeps_limit) = (0, true);
        for (row, own) in rows.iter().skip(1).zip(at_ends) {
            let with = |kib: Option<u64>| row.iter().find(|one| Some(one.window_kib) == kib);
            let (here, best) = (with(choice.window_kib), with(own.fastest_allowed_kib));
            match (here, best) {
                (Some(here), Some(best)) => {
                    let of_best = permille(here.elapsed_ns, best.elapsed_ns.max(1));
                    loss_permille = loss_permille.max(of_best.saturating_sub(1000));
                    keeps_limit &= here.keeps(limit_ns);
                }
                _ => keeps_limit = false,
            }
        }
        Self {
            model_off_permille,
            doubt: doubt.or_else(|| {
                let is_far = model_off_permille > MODEL_OFF_PERMILLE_MAX;
                is_far.then(|| "no model of a disk is like what was measured".to_owned())
            }),
            at_ends_kib: at_ends.iter().map(|one| one.window_kib).collect(),
            loss_permille,
            keeps_limit,
        }
    }
}

/// A window, and why.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Recommendation {
    /// What was asked.
    pub head: Head,
    /// The window, and the others.
    pub choice: Choice,
    /// How sure it is.
    pub confidence: Confidence,
    /// With the window that is set now.
    pub now: WindowOutcome,
    /// Under `ahead run`, over a kernel with the window that is set now.
    pub ahead_run: WindowOutcome,
    /// Window by window.
    pub curve: Vec<WindowOutcome>,
    /// What a kernel really does, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
}

/// One window beside the one that is set now.
#[derive(Clone, Debug, Serialize)]
pub(super) struct WhatIf {
    /// What was asked.
    pub head: Head,
    /// With the window that is set now.
    pub before: WindowOutcome,
    /// With the one that was asked about.
    pub after: WindowOutcome,
    /// Under `ahead run`, over a kernel with the window that is set now.
    pub ahead_run: WindowOutcome,
}

impl Head {
    /// The window that others are held against.
    fn before(&self) -> String {
        let what = if self.is_model { "default" } else { "now" };
        format!("{} {what}", name_of(self.now_kib))
    }

    fn text(&self) -> String {
        let mut text = format!("{}\nSimulated: {}\n", self.source, self.machine);
        let rungs = self.corrected_permille.iter();
        let rungs: Vec<_> = rungs
            .map(|(kib, off)| format!("{} at {}", per_cent_of_permille(Some(*off)), name_of(*kib)))
            .collect();
        if !rungs.is_empty() {
            let _ = writeln!(
                text,
                "Corrected by the ladder through the page cache, which had {} of what is simulated",
                rungs.join(", ")
            );
        }
        match (&self.mix, &self.trace) {
            (Some(mix), _) => {
                let _ = write!(
                    text,
                    "{} sequential stream{}, {} of their reads at random places, {} each",
                    mix.streams,
                    if mix.streams == 1 { "" } else { "s" },
                    per_cent_of_permille(Some(mix.random_permille)),
                    size(mix.request_bytes)
                );
                if let Some(rate) = mix.bytes_per_second_max {
                    let _ = write!(text, ", at most {}/s a stream", size(rate));
                }
            }
            (None, Some(path)) => {
                let _ = write!(text, "the reads of {}", path.display());
            }
            (None, None) => {}
        }
        let _ = write!(
            text,
            "; {} for programs and page cache",
            size(self.memory_bytes)
        );
        if let Some(limit_ns) = self.limit_ns {
            let what = self.limited();
            let _ = write!(text, "; {what} within {}", seconds(limit_ns));
        }
        text + "\n\n"
    }

    /// Whether figures of reads are those of the random ones.
    fn has_random(&self) -> bool {
        self.mix.is_some_and(|mix| mix.random_permille > 0)
    }

    fn what_is_limited(&self) -> &'static str {
        if self.has_random() {
            "random reads"
        } else {
            "reads"
        }
    }

    /// Which reads a limit is held against.
    fn limited(&self) -> &'static str {
        if self.has_random() {
            "99 % of random reads"
        } else {
            "all reads"
        }
    }

    /// The titles of columns, for random reads or all.
    fn titles(&self) -> [&'static str; 8] {
        let (median, most) = if self.has_random() {
            ("median random", "99 % of random")
        } else {
            ("median read", "99 % of reads")
        };
        [
            "window",
            "MB/s",
            "of best",
            median,
            most,
            "read/wanted",
            "memory",
            "too early",
        ]
    }
}

fn row(name: String, one: &WindowOutcome, fastest_ns: u64) -> [String; 8] {
    [
        name,
        megabytes(one.bytes_per_second),
        per_cent_of_permille(Some(permille(fastest_ns, one.elapsed_ns.max(1)))),
        seconds(one.p50_ns),
        seconds(one.p99_ns),
        ratio(Some(one.read_permille)),
        size(one.window_bytes),
        size(one.thrashed_pages * 4096),
    ]
}

impl Recommendation {
    fn outcome(&self, window_kib: u64) -> WindowOutcome {
        let found = self.curve.iter().find(|one| one.window_kib == window_kib);
        found.copied().unwrap_or_default()
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut text = self.head.text();
        let fastest_ns = self
            .curve
            .iter()
            .map(|one| one.elapsed_ns)
            .min()
            .unwrap_or(0);
        let mut rows = table::with_titles(&self.head.titles(), 1..8);
        for one in &self.curve {
            let mark = match one.window_kib {
                kib if Some(kib) == self.choice.window_kib => " <",
                _ => "",
            };
            rows.add_row(row(name_of(one.window_kib) + mark, one, fastest_ns));
        }
        rows.add_row(row("ahead run".to_owned(), &self.ahead_run, fastest_ns));
        let _ = writeln!(text, "{rows}\n");
        match self.choice.window_kib {
            Some(kib) => text += &self.recommended(kib),
            None => text += &self.nothing(),
        }
        if self.choice.is_conflict {
            text += &self.conflict();
        }
        if let Some(proof) = &self.proof {
            text += &proof.text();
        }
        text
    }

    fn recommended(&self, kib: u64) -> String {
        let chosen = self.outcome(kib);
        let mut text = format!("Recommended: {}.\n", in_both_units(kib));
        if self.choice.alternatives_kib.is_empty() {
            let _ = writeln!(
                text,
                "Every other window is more than {ALIKE_PER_CENT} % slower, or breaks the limit."
            );
        } else {
            let names: Vec<_> = self
                .choice
                .alternatives_kib
                .iter()
                .copied()
                .map(name_of)
                .collect();
            let _ = writeln!(
                text,
                "As good within {ALIKE_PER_CENT} %: {}. The smallest of 128 KiB and more costs others the least.",
                names.join(", ")
            );
        }
        if let Some(first) = self.curve.iter().find(|one| one.fills_memory) {
            let _ = writeln!(
                text,
                "Left out: {} and more, whose windows fill the memory: how much of them is read twice is chance.",
                name_of(first.window_kib)
            );
        }
        let now = &self.now;
        let faster = permille(now.elapsed_ns, chosen.elapsed_ns.max(1));
        let _ = writeln!(
            text,
            "Beside {}: ×{} the throughput, 99 % of {} within {} instead of {}.",
            self.head.before(),
            ratio(Some(faster)),
            self.head.what_is_limited(),
            seconds(chosen.p99_ns),
            seconds(now.p99_ns)
        );
        let _ = write!(
            text,
            "What it costs the others: up to {} of memory",
            size(chosen.window_bytes)
        );
        let _ = if chosen.thrashed_pages > 0 {
            writeln!(
                text,
                ", of which {} were evicted before they were read, and read again.",
                size(chosen.thrashed_pages * 4096)
            )
        } else {
            writeln!(text, "; nothing was evicted before it was read.")
        };
        text += &self.sureness();
        if let Some(target) = &self.head.target
            && kib != self.head.now_kib
        {
            let _ = writeln!(text, "To set it: {}", Repair::now(target, kib).command);
        }
        text
    }

    fn sureness(&self) -> String {
        let confidence = &self.confidence;
        if confidence.at_ends_kib.is_empty() {
            return "How sure: exact for this model.\n".to_owned();
        }
        let names: Vec<String> = confidence
            .at_ends_kib
            .iter()
            .map(|kib| kib.map_or_else(|| "none".to_owned(), name_of))
            .collect();
        if let Some(doubt) = &confidence.doubt {
            return format!("How sure: not at all, as {doubt}.\n");
        }
        format!(
            "How sure: the model's curve lies within {} of the measured one; with the slowest and the fastest \
             figures that were measured {} would be recommended, and this one is {} slower than the best at \
             most.{}\n",
            per_cent_of_permille(Some(confidence.model_off_permille)),
            names.join(" and "),
            per_cent_of_permille(Some(confidence.loss_permille)),
            if confidence.keeps_limit {
                ""
            } else {
                " The limit may not be kept there."
            }
        )
    }

    fn nothing(&self) -> String {
        let calmest = self.outcome(self.choice.calmest_kib);
        format!(
            "No window keeps the limit: the least is {} with {}.\n",
            seconds(calmest.limited_ns),
            name_of(calmest.window_kib)
        )
    }

    fn conflict(&self) -> String {
        let fastest = self.outcome(self.choice.fastest_kib);
        let run = &self.ahead_run;
        let keeps = run.keeps(self.head.limit_ns);
        let of_fastest = permille(fastest.elapsed_ns, run.elapsed_ns.max(1));
        format!(
            "No single value serves both: {} would be the fastest ({} MB/s), with {} within {}. \
             `ahead run` decides for each open file: {} MB/s, {} of the fastest, within {}{}.\n",
            name_of(fastest.window_kib),
            megabytes(fastest.bytes_per_second),
            self.head.limited(),
            seconds(fastest.limited_ns),
            megabytes(run.bytes_per_second),
            per_cent_of_permille(Some(of_fastest)),
            seconds(run.limited_ns),
            if keeps {
                ", which keeps the limit"
            } else {
                ", which does not keep the limit either"
            }
        )
    }

    /// Throughput and latency over the window. A logarithmic axis has no place for "off".
    pub(super) fn chart(&self) -> Chart {
        let line = |name: &str, value: &dyn Fn(&WindowOutcome) -> f64| Series {
            name: name.to_owned(),
            points: self
                .curve
                .iter()
                .map(|one| (one.window_kib as f64, value(one)))
                .collect(),
            style: Style::Line,
        };
        let mut series = vec![
            line("MB/s", &|one| one.bytes_per_second as f64 / 1e6),
            line(
                &format!("99 % of {}, ms", self.head.what_is_limited()),
                &|one| one.p99_ns as f64 / 1e6,
            ),
        ];
        if let Some(kib) = self.choice.window_kib {
            let chosen = self.outcome(kib);
            series.push(Series {
                name: "recommended".to_owned(),
                points: vec![(kib as f64, chosen.bytes_per_second as f64 / 1e6)],
                style: Style::Points,
            });
        }
        Chart::Lines(LineChart {
            title: self.head.source.clone(),
            x_label: "window, KiB".to_owned(),
            y_label: "MB/s, ms".to_owned(),
            x_scale: Scale::Logarithmic,
            y_scale: Scale::Logarithmic,
            series,
            ..LineChart::default()
        })
    }
}

impl WhatIf {
    /// For people.
    pub(super) fn text(&self) -> String {
        let mut text = self.head.text();
        let (before, after) = (&self.before, &self.after);
        let all = [before, after, &self.ahead_run];
        let fastest_ns = all.iter().map(|one| one.elapsed_ns).min().unwrap_or(0);
        let mut rows = table::with_titles(&self.head.titles(), 1..8);
        rows.add_row(row(
            self.head.before().replace(' ', "\u{a0}"),
            before,
            fastest_ns,
        ));
        rows.add_row(row(name_of(after.window_kib), after, fastest_ns));
        rows.add_row(row("ahead run".to_owned(), &self.ahead_run, fastest_ns));
        let _ = writeln!(text, "{rows}\n");
        let _ = writeln!(
            text,
            "{} instead of {}: ×{} the throughput, ×{} {}, up to {} of memory instead of {}.",
            name_of(after.window_kib),
            name_of(before.window_kib),
            ratio(Some(permille(before.elapsed_ns, after.elapsed_ns.max(1)))),
            ratio(Some(permille(after.limited_ns, before.limited_ns.max(1)))),
            if self.head.has_random() {
                "the 99th percentile of random reads"
            } else {
                "the slowest read"
            },
            size(after.window_bytes),
            size(before.window_bytes)
        );
        text
    }
}
