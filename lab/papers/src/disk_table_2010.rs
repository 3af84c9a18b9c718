//! The table of a theoretical disk in "512KB default readahead size" (2010): 8 ms and 100 MB/s.
//!
//! The mail computes what windows of 4 KiB to 4 MiB give a reader that waits for each. Here every
//! line is a run: a program reads a file through a mapping, each missing page brings its window and
//! nothing is asked for ahead of need, and only the disk takes time. All digits must be those of
//! the mail.

use ahead_disk_model::DiskModel;
use ahead_sim::world::Machine;
use ahead_units::{PAGE_BYTES, PageCount};
use ahead_workload::{Hint, TouchOrder, Workload};

use crate::figure::{Figure, ModelKnobs, Publication, ReproduceError, float, run};
use ahead_study::chart::{Chart, LineChart, Scale, Series, Style};
use ahead_study::parallel;
use ahead_study::verdict::FigureRow;

/// Window in KiB; then, as printed: transfer and latency in ms, utilisation in %, KB/s.
const PUBLISHED: [(u64, [&str; 4]); 11] = [
    (4, ["0.04", "8.04", "0.49", "497.57"]),
    (8, ["0.08", "8.08", "0.97", "990.33"]),
    (16, ["0.16", "8.16", "1.92", "1961.69"]),
    (32, ["0.31", "8.31", "3.76", "3849.62"]),
    (64, ["0.62", "8.62", "7.25", "7420.29"]),
    (128, ["1.25", "9.25", "13.51", "13837.84"]),
    (256, ["2.50", "10.50", "23.81", "24380.95"]),
    (512, ["5.00", "13.00", "38.46", "39384.62"]),
    (1024, ["10.00", "18.00", "55.56", "56888.89"]),
    (2048, ["20.00", "28.00", "71.43", "73142.86"]),
    (4096, ["40.00", "48.00", "83.33", "85333.33"]),
];

/// Whole windows of every size.
const FILE_MIB: u64 = 64;

/// The access time of the disk. The table's transfer time is what a window takes beyond it.
const ACCESS_MS: f64 = 8.0;

/// One line, computed from a run.
struct Line {
    texts: [String; 4],
    kb_per_s: f64,
}

fn line(kib: u64) -> Result<Line, ReproduceError> {
    let machine = Machine::ideal(DiskModel::theory(), PageCount::new(FILE_MIB << 8));
    let work = Workload::Mapped {
        file_mib: FILE_MIB,
        order: TouchOrder::Forward,
        advice: Hint::Normal,
        touches: None,
        step_pages: None,
    };
    let policy = format!("advise-original:n={}", kib * 1024 / PAGE_BYTES);
    let report = run(&machine, &policy, &work.job(0))?;
    let latency_ms = float(report.elapsed_ns) / float(report.device.requests) / 1e6;
    let transfer_ms = latency_ms - ACCESS_MS;
    let kb_per_s = float(report.bytes) / 1024.0 / (float(report.elapsed_ns) / 1e9);
    Ok(Line {
        texts: [
            format!("{transfer_ms:.2}"),
            format!("{latency_ms:.2}"),
            format!("{:.2}", transfer_ms / latency_ms * 100.0),
            format!("{kb_per_s:.2}"),
        ],
        kb_per_s,
    })
}

fn in_words(texts: [&str; 4]) -> String {
    let [transfer, latency, utilisation, rate] = texts;
    format!("{transfer} ms, {latency} ms, {utilisation} %, {rate} KB/s")
}

/// What the command line knows of it. Disk and windows are published: nothing is free.
pub const PUBLICATION: Publication = Publication {
    name: "disk-table-2010",
    about: "windows of 4 KiB to 4 MiB on a disk of 8 ms and 100 MB/s: arithmetic, to the digit",
    parameters: &[],
    compute: figure,
};

fn figure(_: &ModelKnobs) -> Result<Figure, ReproduceError> {
    let lines = parallel::map(&PUBLISHED, |(kib, _)| line(*kib));
    let lines: Vec<Line> = lines.into_iter().collect::<Result<_, _>>()?;
    let none = lines[0].texts.each_ref().map(String::as_str);
    let rows = PUBLISHED
        .iter()
        .zip(&lines)
        .map(|((kib, published), line)| {
            let simulated = line.texts.each_ref().map(String::as_str);
            FigureRow::same(
                format!("{kib} KiB: transfer, latency, utilisation, rate"),
                in_words(*published),
                in_words(simulated),
                ("no read-ahead: page by page", in_words(none)),
            )
        });
    let published = PUBLISHED
        .iter()
        .filter_map(|(kib, texts)| Some((float(*kib), texts[3].parse().ok()?)));
    let simulated = PUBLISHED.iter().zip(&lines);
    let chart = LineChart {
        title: "A disk of 8 ms and 100 MB/s: rate over window".to_owned(),
        x_label: "window (KiB)".to_owned(),
        y_label: "KB/s".to_owned(),
        x_scale: Scale::Logarithmic,
        series: vec![
            Series {
                name: "simulated".to_owned(),
                points: simulated
                    .map(|((kib, _), line)| (float(*kib), line.kb_per_s))
                    .collect(),
                style: Style::Line,
            },
            Series {
                name: "published".to_owned(),
                points: published.collect(),
                style: Style::Points,
            },
        ],
        ..LineChart::default()
    };
    Ok(Figure {
        name: "disk-table-2010",
        title: "what windows of 4 KiB to 4 MiB make of a disk of 8 ms and 100 MB/s".to_owned(),
        source: "Wu Fengguang, \"512KB default readahead size\", linux-mm, February 2010"
            .to_owned(),
        rows: rows.collect(),
        charts: vec![("disk-table-2010".to_owned(), Chart::Lines(chart))],
        notes: vec![
            "Simulated with one synchronous window at a time: a mapping read in order, aligned \
             clusters on a miss, no read-ahead on a hit, no cost but the disk's. MB and KB have \
             powers of 1024, as in the mail."
                .to_owned(),
            "Latency is elapsed time over requests; transfer is latency less 8 ms; utilisation is \
             transfer over latency."
                .to_owned(),
        ],
        ..Figure::default()
    })
}
