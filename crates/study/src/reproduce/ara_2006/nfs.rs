//! Requests of one NFS client, served by eight daemons.
//!
//! The client cuts its own read-ahead into requests of `rsize`; whichever daemon is free takes the
//! next, and requests overtake each other. Under ARA a daemon opens the file for each request and
//! has no state, so the page cache itself is the only hint (the context method); between looking,
//! deciding and inserting another daemon may do the same for the same place, and windows overlap.
//! The stock logic keeps the state of a file from one request to the next (`raparms`), and all
//! daemons share it.
//!
//! Published: ARA is not better than stock at 32 KiB and at 512 KiB, the larger size helps it (the
//! article); large files over TCP in 32 KiB 41.8 → 29.2 s, over UDP in 8 KiB 61.7 → 31.1 s (V3, an
//! earlier ARA and another machine: shown for context). The article compared two kernel trees; one
//! large file read by a client that keeps eight requests under way stands for it here, because it
//! is the pieces of one file that get out of order. "Not better" holds when ARA saves less than
//! 2 %; the cause is there when windows overlap with eight daemons and not with one that is served
//! in order; the cure is one when ours is at least as fast as stock and ARA.

use ahead_sim::report::Report;
use ahead_sim::workload::Workload;
use ahead_sim::workload::random::{mix, shuffled};
use ahead_sim::world::{FileSpec, Job, Process, Step};

use super::{ARA, Figure, OURS, ReproduceError, STOCK, float, machines, seconds, time_ratio};
use crate::chart::{BarChart, Chart};
use crate::parallel;
use crate::reproduce::run;
use crate::verdict::Row;

const FILE_MIB: u64 = 512;
const DAEMONS: u32 = 8;
/// Requests within which the order is lost: one for each daemon.
const SHUFFLE: u64 = 8;
const SEED: u64 = 2006;

/// Time saved that would be an advantage.
const BETTER: f64 = 0.98;

#[derive(Clone, Copy, Debug)]
struct Cell {
    policy: &'static str,
    request_kib: u64,
    daemons: u32,
    shuffle: u64,
    keeps_state: bool,
}

const fn cell(policy: &'static str, request_kib: u64) -> Cell {
    Cell {
        policy,
        request_kib,
        daemons: DAEMONS,
        shuffle: SHUFFLE,
        keeps_state: false,
    }
}

const fn kept(cell: Cell) -> Cell {
    Cell {
        keeps_state: true,
        ..cell
    }
}

const fn in_order(cell: Cell) -> Cell {
    Cell {
        daemons: 1,
        shuffle: 1,
        ..cell
    }
}

/// For each size: stock with state, stock without, ARA, ARA in order, ours.
const CELLS: [Cell; 15] = [
    kept(cell(STOCK, 8)),
    cell(STOCK, 8),
    cell(ARA, 8),
    in_order(cell(ARA, 8)),
    cell(OURS, 8),
    kept(cell(STOCK, 32)),
    cell(STOCK, 32),
    cell(ARA, 32),
    in_order(cell(ARA, 32)),
    cell(OURS, 32),
    kept(cell(STOCK, 512)),
    cell(STOCK, 512),
    cell(ARA, 512),
    in_order(cell(ARA, 512)),
    cell(OURS, 512),
];

impl Cell {
    fn job(self) -> Job {
        if !self.keeps_state {
            let work = Workload::Server {
                file_mib: FILE_MIB,
                daemons: self.daemons,
                read_kib: self.request_kib,
                shuffle: self.shuffle,
            };
            return work.job(SEED);
        }
        let (length, window) = (self.request_kib << 10, self.shuffle);
        let requests = (FILE_MIB << 20) / length;
        let program = (0..requests).flat_map(move |index| {
            let number = index / window;
            let place = shuffled(SEED ^ mix(number), window, index % window);
            let read = Step::Read {
                slot: 0,
                offset: (number * window + place) * length,
                length,
            };
            [read, Step::UnitDone]
        });
        let process = Process {
            name: "server".to_owned(),
            open: vec![0],
            ..Process::default()
        };
        Job {
            files: vec![FileSpec::contiguous(FILE_MIB << 20)],
            processes: vec![process.with_workers(self.daemons, program)],
            ..Job::default()
        }
    }
}

/// Pages in windows that were in the cache or under way when the window was made, in percent of
/// all pages of windows: what others had asked for already.
fn overlap(report: &Report) -> f64 {
    let all = report.all_classes();
    let double = all.pages.saturating_sub(all.io_pages);
    100.0 * float(double) / float(all.pages.max(1))
}

pub(super) fn add(figure: &mut Figure) -> Result<(), ReproduceError> {
    let reports: Vec<Report> = parallel::map(&CELLS, |cell| {
        run(&machines::file_server(), cell.policy, &cell.job())
    })
    .into_iter()
    .collect::<Result<_, _>>()?;
    let mut times: Vec<Vec<f64>> = Vec::new();
    let mut of_ara = Vec::new();
    for (reports, cells) in reports.chunks(5).zip(CELLS.chunks(5)) {
        let [stock, stateless, ara, ordered, ours] = reports else {
            continue;
        };
        let kib = cells[0].request_kib;
        rows(figure, kib, [stock, stateless, ara, ordered, ours]);
        times.push(reports.iter().map(seconds).collect());
        of_ara.push((kib, seconds(ara)));
    }
    let time_of = |kib: u64| of_ara.iter().find(|(known, _)| *known == kib);
    if let (Some((_, small)), Some((_, large))) = (time_of(32), time_of(512)) {
        figure.rows.push(Row::statement(
            "NFS, requests of 512 KiB instead of 32 KiB",
            "ARA becomes faster",
            format!("{small:.1} → {large:.1} s"),
            large < small,
        ));
    }
    let arms = [
        "stock, one state for all daemons",
        "stock, no state",
        "ARA",
        "ARA, one daemon, in order",
        "adaptive",
    ];
    let bars = arms.iter().enumerate().map(|(arm, name)| {
        let heights = times.iter().map(|times| times[arm]).collect();
        ((*name).to_owned(), heights)
    });
    figure.charts.push((
        "ara-2006-nfs".to_owned(),
        Chart::Bars(BarChart {
            title: format!("{FILE_MIB} MiB over NFS: {DAEMONS} daemons, requests out of order"),
            y_label: "seconds".to_owned(),
            groups: ["8 KiB", "32 KiB", "512 KiB"].map(str::to_owned).to_vec(),
            bars: bars.collect(),
        }),
    ));
    Ok(())
}

fn rows(figure: &mut Figure, kib: u64, reports: [&Report; 5]) {
    let [stock, stateless, ara, ordered, ours] = reports;
    let what = format!("NFS, requests of {kib} KiB, time of ARA over stock");
    let ratio = time_ratio(ara, stock);
    let row = match kib {
        8 => Row::context(what, 31.2 / 61.6, ratio, 2),
        _ => Row::statement(what, "not better", format!("{ratio:.2}"), ratio >= BETTER),
    };
    figure.rows.push(row.because(format!(
        "{:.1} and {:.1} s, stock without state {:.1} s{}",
        seconds(ara),
        seconds(stock),
        seconds(stateless),
        if kib == 32 {
            "; V3 said 0.71 of its stock"
        } else {
            ""
        }
    )));
    figure.rows.push(
        Row::statement(
            format!("NFS, requests of {kib} KiB, cause: pages of ARA's windows asked for twice"),
            "windows overlap",
            format!(
                "{:.0} % with 8 daemons, {:.0} % with one in order",
                overlap(ara),
                overlap(ordered)
            ),
            overlap(ara) > overlap(ordered) + 1.0,
        )
        .because(format!("in order ARA needs {:.1} s", seconds(ordered))),
    );
    let best = ara.elapsed_ns.min(stock.elapsed_ns);
    figure.rows.push(Row::statement(
        format!("NFS, requests of {kib} KiB, cure: streams per file, not per descriptor"),
        "(ours)",
        format!("adaptive {:.1} s", seconds(ours)),
        ours.elapsed_ns <= best,
    ));
}
