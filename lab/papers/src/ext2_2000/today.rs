//! *mmapit* under Linux 6.18, on the authors' disk and with their program's time for a page: what became of
//! what they asked for.
//!
//! Since 2.6 a fault that finds a mark begins the next window while the program goes on, which is what the
//! authors call true read-ahead, and whoever reads ahead is no longer told how far by the program. Nothing
//! here is published; the walks from the end and at random places are those that their advice would have
//! turned read-ahead off for. `hdparm -t`, which the authors used to set up their disk, reads the disk itself
//! in order, 2 MiB at a time; what it would have printed is the line that *mmapit* cannot pass.

use ahead_sim::queue::QueueSettings;
use ahead_sim::report::WorldReport;
use ahead_sim::world::Machine;
use ahead_study::parallel;
use ahead_study::verdict::{FigureRow, Shown};
use ahead_workload::random::below;
use ahead_workload::{Job, Process, Step};

use super::cells::{
    Place, Queue, Runs, Transfer, files, machine, mapping, mb_per_s, mmapit, usage,
};
use crate::figure::{Figure, ModelKnobs, ReproduceError, float, run};

/// Windows in KiB: what an administrator can set. 128 is what the kernel sets.
const WINDOWS_KIB: [u64; 5] = [16, 64, 128, 512, 4096];
const DEFAULT: usize = 2;

/// One read of `hdparm -t`.
const HDPARM_READ: u64 = 2 << 20;

/// Rows; the authors' own best runs are in `runs`.
pub(super) fn add(
    figure: &mut Figure,
    runs: &Runs,
    knobs: &ModelKnobs,
) -> Result<(), ReproduceError> {
    let machine = today(knobs);
    walk(figure, &machine, runs)?;
    other_walks(figure, &machine, runs.pages)?;
    hdparm(figure, knobs, runs.pages)
}

/// The authors' machine with the queue, folios and mappings of Linux 6.18.
fn today(knobs: &ModelKnobs) -> Machine {
    Machine {
        queue: QueueSettings {
            // An IDE disk takes one request.
            device_depth: 1,
            ..QueueSettings::linux_6_18()
        },
        folio_order_max: 9,
        fault_around_pages: 16,
        ..machine(Transfer::Dma, Queue::Sources, knobs)
    }
}

fn policy(window_kib: u64) -> String {
    format!("linux-6.18:ra_kb={window_kib}")
}

fn walk(figure: &mut Figure, machine: &Machine, runs: &Runs) -> Result<(), ReproduceError> {
    let reports = parallel::map(&WINDOWS_KIB, |kib| {
        run(machine, &policy(*kib), &mmapit(Place::Inner, runs.pages))
    });
    let reports: Vec<WorldReport> = reports.into_iter().collect::<Result<_, _>>()?;
    let modified = Runs::at(&runs.modified, 64);
    let now = &reports[DEFAULT];
    figure.rows.push(
        FigureRow::ours(
            "mmapit under Linux 6.18, 128 KiB, MB/s",
            "no slower than the modified mechanism with 64 pages",
            Shown::new(
                format!("{:.2}", mb_per_s(now)),
                mb_per_s(now) >= 0.995 * mb_per_s(modified),
            ),
        )
        .because(format!(
            "{:.2} MB/s modified; {:.2} and {:.2} s idle",
            mb_per_s(modified),
            usage(now).idle,
            usage(modified).idle,
        )),
    );
    figure.rows.push(FigureRow::shown(
        "the same by window: KiB: MB/s",
        "",
        listed(&WINDOWS_KIB, &reports, |report| {
            format!("{:.2}", mb_per_s(report))
        }),
    ));
    Ok(())
}

fn listed(
    windows: &[u64],
    reports: &[WorldReport],
    text: impl Fn(&WorldReport) -> String,
) -> String {
    let cells = windows.iter().zip(reports);
    let cells = cells.map(|(kib, report)| format!("{kib}: {}", text(report)));
    cells.collect::<Vec<_>>().join(", ")
}

/// The page that a walk touches as its n-th, of so many.
type Walk = fn(u64, u64) -> u64;

/// `count` touches of single pages.
fn touches(pages: u64, count: u64, walk: Walk) -> Job {
    let steps = (0..count).map(move |number| Step::Touch {
        area: 0,
        page: walk(number, pages),
        pages: 1,
    });
    mapping("mmapit", Place::Inner, pages, steps)
}

/// Backward, and a twentieth of the pages at random places.
fn other_walks(figure: &mut Figure, machine: &Machine, pages: u64) -> Result<(), ReproduceError> {
    let walks: [(&str, u64, Walk); 2] = [
        ("from the end", pages, |number, pages| pages - 1 - number),
        (
            "at random places, a twentieth of the pages",
            pages / 20,
            |number, pages| below(2000, number, pages),
        ),
    ];
    for (name, count, walk) in walks {
        let reports = parallel::map(&WINDOWS_KIB, |kib| {
            run(machine, &policy(*kib), &touches(pages, count, walk))
        });
        let reports: Vec<WorldReport> = reports.into_iter().collect::<Result<_, _>>()?;
        figure.rows.push(FigureRow::shown(
            format!("mmapit {name}, Linux 6.18, by window: KiB: s, pages read for each touched"),
            "",
            listed(&WINDOWS_KIB, &reports, |report| {
                let read = float(report.device.bytes) / float(report.bytes.max(1));
                format!("{:.1} s, {read:.1}", usage(report).elapsed)
            }),
        ));
    }
    Ok(())
}

/// What the disk gives to a program that does nothing with it.
fn hdparm(figure: &mut Figure, knobs: &ModelKnobs, pages: u64) -> Result<(), ReproduceError> {
    let bytes = pages * 4096;
    let steps = (0..bytes / HDPARM_READ).map(|number| Step::Read {
        slot: 0,
        offset: number * HDPARM_READ,
        length: HDPARM_READ,
    });
    let job = |place| Job {
        files: files(place, [pages]),
        processes: vec![Process::new("hdparm", vec![1], steps.clone())],
        ..Job::default()
    };
    let cells = [
        (Transfer::Pio, Place::Inner),
        (Transfer::Dma, Place::Inner),
        (Transfer::Dma, Place::Outer),
    ];
    let reports = parallel::map(&cells, |(transfer, place)| {
        let mut machine = machine(*transfer, Queue::Sources, knobs);
        machine.costs.user_page_ns = 0;
        run(&machine, "linux-2.2", &job(*place))
    });
    let reports: Vec<WorldReport> = reports.into_iter().collect::<Result<_, _>>()?;
    let rates: Vec<String> = reports
        .iter()
        .map(|report| format!("{:.1}", mb_per_s(report)))
        .collect();
    figure.rows.push(FigureRow::shown(
        "hdparm -t on this model: PIO, DMA at the inner end, DMA at the outer, MB/s",
        "",
        rates.join(", "),
    ));
    Ok(())
}
