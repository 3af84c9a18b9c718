//! Sequential reading of an Intel X25-M over the read-ahead window, from the mail "512KB default
//! readahead size" (2010).
//!
//! `dd` reads 400 MiB in blocks of 4 KiB with windows from 4 KiB to 8 MiB, under the rules of Linux
//! 2.6.31 (those of 2.6.33 for a sequential reader). The disk is a fit to these very rates, taken
//! as one synchronous window each; what is tested is that kernel, cache and queue between program
//! and disk neither add nor hide anything. That is a check of ours, not evidence for the disk: every
//! rate counts as fitted. What the two published runs differ by (up to 4 MB/s) stands beside it.

use ahead_disk_model::DiskModel;
use ahead_sim::queue::{QueueSettings, Scheduler};
use ahead_sim::world::Machine;
use ahead_units::PageCount;
use ahead_workload::Workload;

use crate::figure::{
    Figure, ModelKnobs, Parameter, ParameterOrigin, Publication, ReproduceError, float, run,
};
use ahead_study::chart::{Chart, LineChart, Scale, Series, Style};
use ahead_study::parallel;
use ahead_study::verdict::FigureRow;

/// Window in KiB, and MB/s of two runs.
const PUBLISHED: [(u64, f64, f64); 11] = [
    (4, 123.0, 122.0),
    (16, 153.0, 153.0),
    (32, 161.0, 162.0),
    (64, 167.0, 168.0),
    (128, 197.0, 197.0),
    (256, 217.0, 217.0),
    (512, 238.0, 234.0),
    (1024, 251.0, 248.0),
    (2048, 259.0, 257.0),
    (4096, 269.0, 264.0),
    (8192, 266.0, 266.0),
];

/// `dd bs=4k count=102400`.
const FILE_MIB: u64 = 400;

fn machine() -> Machine {
    let disk = DiskModel::x25m();
    Machine {
        folio_order_max: 0,
        fault_around_pages: 1,
        // A SATA disk with 32 commands; such disks are not scheduled by position.
        queue: QueueSettings {
            device_depth: 32,
            ..QueueSettings::linux_2_6_18().with_scheduler(Scheduler::Noop)
        },
        ..Machine::modern(disk, PageCount::new(1 << 18))
    }
}

/// What the command line knows of it.
pub const PUBLICATION: Publication = Publication {
    name: "x25m-2010",
    about: "sequential reading of an Intel X25-M over the window: a fit, and what the kernel adds to it",
    parameters: PARAMETERS,
    compute: figure,
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "three figures of the disk",
        value: "9 µs, 24 µs and 15.45 µs a page",
        origin: ParameterOrigin::Fitted,
        source: "a least fit to the eleven published rates",
        turns: false,
    },
    Parameter {
        name: "pages before the slope changes",
        value: "21",
        origin: ParameterOrigin::Fitted,
        source: "where 128 KiB come out as well; the mail's own estimate has 16",
        turns: false,
    },
];

fn figure(_: &ModelKnobs) -> Result<Figure, ReproduceError> {
    let rates = parallel::map(&PUBLISHED, |(kib, ..)| {
        let work = Workload::Sequential {
            file_mib: FILE_MIB,
            read_kib: 4,
            passes: 1,
        };
        let policy = format!("linux-2.6.31:ra_kb={kib}");
        let report = run(&machine(), &policy, &work.job(0))?;
        Ok(float(report.bytes_per_second()) / 1e6)
    });
    let rates: Vec<f64> = rates.into_iter().collect::<Result<_, ReproduceError>>()?;
    let mut rows: Vec<FigureRow> = PUBLISHED
        .iter()
        .zip(&rates)
        .map(|((kib, first, second), rate)| {
            let what = format!("{kib} KiB window, MB/s, mean of two runs");
            let mean = f64::midpoint(*first, *second);
            FigureRow::fitted(what, mean, *rate, 1, "the disk is a fit to this row")
                .because(format!("published: {first:.0} and {second:.0}"))
        })
        .collect();
    let steps = rates.windows(2).map(|pair| pair[1] / pair[0]);
    let worst = steps.fold(f64::INFINITY, f64::min);
    rows.push(
        FigureRow::shown(
            "larger windows are not slower",
            "269 MB/s fall to 266",
            format!("smallest step: × {worst:.3}"),
        )
        .as_fitted("the model of the disk has no window that is slower than a smaller one"),
    );
    let xs = PUBLISHED.map(|(kib, ..)| float(kib));
    let points = |values: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
        xs.iter()
            .enumerate()
            .map(|(i, x)| (*x, values(i)))
            .collect()
    };
    let chart = LineChart {
        title: "Intel X25-M: sequential reading over window".to_owned(),
        x_label: "window (KiB)".to_owned(),
        y_label: "MB/s".to_owned(),
        x_scale: Scale::Logarithmic,
        series: vec![
            Series {
                name: "simulated, Linux 2.6.31".to_owned(),
                points: points(&|index| rates[index]),
                style: Style::Line,
            },
            Series {
                name: "published, first run".to_owned(),
                points: points(&|index| PUBLISHED[index].1),
                style: Style::Points,
            },
            Series {
                name: "published, second run".to_owned(),
                points: points(&|index| PUBLISHED[index].2),
                style: Style::Points,
            },
        ],
        ..LineChart::default()
    };
    Ok(Figure {
        name: "x25m-2010",
        title: "sequential reading of an X25-M over the window".to_owned(),
        source: "Wu Fengguang, \"512KB default readahead size\", linux-mm, February 2010"
            .to_owned(),
        rows,
        charts: vec![("x25m-2010".to_owned(), Chart::Lines(chart))],
        notes: vec![
            "the model of the disk is a fit to these very rates, window by window: what is tested is that \
             the kernel keeps such windows coming".to_owned(),
            "The disk model is fitted to these rates as windows that wait for each other; the \
             test is what the kernel's pipeline makes of it. 1 MB is 10^6 bytes (400 MiB in the \
             3.40 s that the mail prints for 4 KiB are 123 MB/s)."
                .to_owned(),
            "Processor costs are those of a server of the 2020s: the mail does not name the \
             machine, and reading is bound by the disk in every row."
                .to_owned(),
        ],
        parameters: PARAMETERS,
    })
}
