//! Three things that the machine leaves out, each modelled beside it to see whether it explains a figure that
//! does not hold: pages that are there one by one, a drive without read-ahead of its own, and the indirect blocks of
//! ext2.
//!
//! A file of ext2 has a block of 1024 block numbers for every 4 MiB (with blocks of 4 KiB), which lies before
//! them on the disk. Whoever asks for a page needs the block that names it, and waits for it. The modified
//! mechanism never waits for a place in the queue, but behind a full queue it waits for this block until
//! everything before it is served. Here the program reads the block as soon as read-ahead gets there, which is
//! as far before the page as the queue is long.

use ahead_disk_model::DiskModel;
use ahead_replicas::kernel::Advice;
use ahead_sim::report::WorldReport;
use ahead_sim::world::Machine;
use ahead_workload::{FileSpec, Job, Layout, Listed, Piece, Process, Step};

use super::cells::{
    Mechanism, Place, Queue, Transfer, WINDOWS, files, machine, map_all, mb_per_s, mmapit, sweep,
    usage,
};
use super::figures::locked_hits;
use crate::figure::{Figure, ModelKnobs, ReproduceError, run};
use ahead_study::parallel;
use ahead_study::verdict::{FigureRow, Shown};

/// Pages that one indirect block names.
const NAMED_PAGES: u64 = 1024;

/// Pages that the paper found in a full queue.
const QUEUE_PAGES: u64 = 256;

const PAGE: u64 = 4096;

pub(super) fn add(
    figure: &mut Figure,
    pages: u64,
    knobs: &ModelKnobs,
) -> Result<(), ReproduceError> {
    page_by_page(figure, pages, knobs)?;
    without_drive_read_ahead(figure, pages, knobs)?;
    indirect_blocks(figure, pages, knobs)
}

/// With PIO and requests of one page, of which as many fit into the queue: each page is there when the interrupt that
/// moves its bytes is over, and the program need not wait for its neighbour.
fn page_by_page(figure: &mut Figure, pages: u64, knobs: &ModelKnobs) -> Result<(), ReproduceError> {
    let mut machine = machine(Transfer::Pio, Queue::Paper, knobs);
    let in_a_request = u32::try_from(machine.queue.request_pages_max).unwrap_or(1);
    let slots = machine.queue.slots.map(|slots| slots * in_a_request);
    machine.queue = machine.queue.with_slots(slots).with_request_pages_max(1);
    let policies = WINDOWS.map(|window| Mechanism::Original.policy(window));
    let runs = sweep(&machine, &policies, pages)?;
    let locked: Vec<u64> = runs.iter().map(|run| run.pages.hits_locked).collect();
    let row = locked_hits("PIO, buffer by buffer", &locked, pages);
    figure.rows.push(row.or_because(
        "moving the next page takes the processor for 1.2 ms, which the program, with 0.29 ms for a page, \
         cannot have: it finds the next page moved again",
    ));
    Ok(())
}

/// The machine with DMA and a drive that reads what it is asked for and no more.
fn plain_drive(knobs: &ModelKnobs) -> Machine {
    let mut machine = machine(Transfer::Dma, Queue::Paper, knobs);
    if let DiskModel::Drive(drive) = &mut machine.disk
        && let Some(buffer) = &mut drive.buffer
    {
        buffer.read_ahead_sectors = 0;
    }
    machine
}

fn without_drive_read_ahead(
    figure: &mut Figure,
    pages: u64,
    knobs: &ModelKnobs,
) -> Result<(), ReproduceError> {
    let machine = plain_drive(knobs);
    let cells = [64, 256].map(|window| {
        [Mechanism::Original, Mechanism::Modified].map(|mechanism| mechanism.policy(window))
    });
    let reports = parallel::map(cells.as_flattened(), |policy| {
        run(&machine, policy, &mmapit(Place::Inner, pages))
    });
    let reports: Vec<WorldReport> = reports.into_iter().collect::<Result<_, _>>()?;
    for (pair, window) in reports.chunks(2).zip([64, 256]) {
        let [original, modified] = pair else {
            continue;
        };
        let factor = |after: &WorldReport| usage(original).idle / usage(after).idle.max(1e-3);
        figure.rows.push(
            FigureRow::judged(
                format!(
                    "fig. 6: idle time with {window} pages, drive without read-ahead of its own"
                ),
                "drastically less",
                "at least × 2 (our reading)",
                modified,
                ("original on both sides", original),
                |run| Shown::new(format!("× {:.1}", factor(run)), factor(run) >= 2.0),
            )
            .because(format!(
                "{:.2} and {:.2} s idle, {:.1} and {:.1} MB/s (published: 11 and 12.5 at best)",
                usage(original).idle,
                usage(modified).idle,
                mb_per_s(original),
                mb_per_s(modified)
            ))
            .or_because(
                "such a drive loses a revolution for every request of two pages: the authors' one read ahead",
            ),
        );
    }
    Ok(())
}

/// *mmapit* with the indirect blocks, where read-ahead gets to them `ahead` pages before the program.
fn with_indirect_blocks(place: Place, pages: u64, ahead: u64) -> Job {
    let before = files(place, []);
    let base: u64 = before.iter().map(|file| file.bytes).sum();
    let blocks = pages.div_ceil(NAMED_PAGES);
    let block_at = |block: u64| base + block * (NAMED_PAGES + 1) * PAGE;
    let spec = |pages: u64, pieces: Vec<Piece>| FileSpec {
        bytes: pages * PAGE,
        layout: Layout::Pieces { pieces },
    };
    let data = (0..blocks).map(|block| Piece {
        pages: NAMED_PAGES,
        offset: block_at(block) + PAGE,
    });
    let indirect = (0..blocks).map(|block| Piece {
        pages: 1,
        offset: block_at(block),
    });
    let mut steps = vec![
        map_all(pages),
        // The file system reads its own blocks one at a time.
        Step::Advise {
            slot: 1,
            advice: Advice::Random,
        },
    ];
    let mut touched = 0;
    for block in 0..blocks {
        let due = (block * NAMED_PAGES).saturating_sub(ahead).max(touched);
        if due > touched {
            steps.push(Step::Touch {
                area: 0,
                page: touched,
                pages: due - touched,
            });
            touched = due;
        }
        steps.push(Step::Read {
            slot: 1,
            offset: block * PAGE,
            length: PAGE,
        });
    }
    steps.push(Step::Touch {
        area: 0,
        page: touched,
        pages: pages - touched,
    });
    let own = [
        spec(pages, data.collect()),
        spec(blocks, indirect.collect()),
    ];
    Job {
        files: before.into_iter().chain(own).collect(),
        processes: vec![Process::new("mmapit", vec![1, 2], Listed::new(steps))],
        ..Job::default()
    }
}

fn indirect_blocks(
    figure: &mut Figure,
    pages: u64,
    knobs: &ModelKnobs,
) -> Result<(), ReproduceError> {
    const TRIED: [u64; 4] = [64, 128, 512, 4096];
    let machine = machine(Transfer::Dma, Queue::Paper, knobs);
    for (place, name) in [(Place::Inner, "inner"), (Place::Outer, "outer")] {
        let reports = parallel::map(&TRIED, |window| {
            let ahead = QUEUE_PAGES.min(2 * window);
            let job = with_indirect_blocks(place, pages, ahead);
            run(&machine, &Mechanism::Modified.policy(*window), &job)
        });
        let reports: Vec<WorldReport> = reports.into_iter().collect::<Result<_, _>>()?;
        let rates: Vec<f64> = reports.iter().map(mb_per_s).collect();
        figure.rows.push(
            FigureRow::judged(
                format!(
                    "open: modified, 512 pages and more beside 64, with indirect blocks, {name} end"
                ),
                "slower, though with fewer waits",
                "by more than a printed digit (0.05 MB/s)",
                &rates,
                ("64 pages on both sides", &vec![rates[0]; TRIED.len()]),
                |rates| {
                    let texts: Vec<String> = TRIED
                        .iter()
                        .zip(rates)
                        .map(|(window, rate)| format!("{window}: {rate:.2}"))
                        .collect();
                    Shown::new(
                        format!("MB/s by window: {}", texts.join(", ")),
                        rates[2].max(rates[3]) < rates[0] - 0.05,
                    )
                },
            )
            .or_because(
                "the program has the pages before the block while it waits, so little is lost",
            ),
        );
    }
    Ok(())
}
