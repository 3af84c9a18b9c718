//! A driver for the bench, for trying it before and beside the real command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use ahead_harness::results::{Limits, Results};
use ahead_harness::{
    BenchPlan, BenchProgress, DiskChoice, Preload, ReaderCommand, arm, render_results, render_table,
};
use ahead_workload::{presets, scenario};
use clap::Parser;

#[derive(Parser)]
enum Command {
    /// Runs patterns in arms and prints the table.
    Run(Box<Run>),
    /// Lists the patterns.
    List,
    /// Prints (and draws) results that were saved.
    Report {
        /// JSON file of an earlier run.
        json: PathBuf,
        /// Where to draw.
        #[arg(long)]
        svg: Option<PathBuf>,
    },
}

#[derive(clap::Args)]
struct Run {
    /// hdd, ssd, cloud, or a folder.
    #[arg(long)]
    disk: DiskChoice,
    #[arg(long, default_value = "all")]
    pattern: String,
    /// Workloads of this plan instead.
    #[arg(long)]
    plan: Option<PathBuf>,
    #[arg(long, default_value = "stock:128,ceiling")]
    arm: String,
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    /// 1.5 s a run instead of 5 s.
    #[arg(long)]
    quick: bool,
    #[arg(long)]
    seconds: Option<f64>,
    #[arg(long, default_value_t = 1024)]
    mib: u64,
    #[arg(long, value_delimiter = ',')]
    sweep: Vec<u64>,
    /// Libahead_preload.so of the `run` arm.
    #[arg(long)]
    library: Option<PathBuf>,
    /// NAME=VALUE for the `run` arm; may be repeated.
    #[arg(long)]
    env: Vec<String>,
    #[arg(long)]
    hole_bytes: Option<u64>,
    #[arg(long)]
    size_gib: Option<u64>,
    #[arg(long)]
    size_mib: Option<u64>,
    #[arg(long)]
    scale: Option<String>,
    /// Leaves the test files (and the disk) for the next time.
    #[arg(long)]
    keep: bool,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[arg(long)]
    json: Option<PathBuf>,
    #[arg(long)]
    svg: Option<PathBuf>,
}

fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "--reader") {
        return ahead_harness::reader_main(arguments.drain(1..));
    }
    if arguments
        .first()
        .is_some_and(|first| first == ahead_disk_emulator::SERVER_ARGUMENT)
    {
        let folder = arguments.get(1).map(PathBuf::from).unwrap_or_default();
        return ExitCode::from(u8::from(ahead_disk_emulator::serve(&folder).is_err()));
    }
    match Command::parse() {
        Command::List => {
            for preset in presets::PRESETS {
                println!("{:14} {}", preset.name, preset.about);
            }
            ExitCode::SUCCESS
        }
        Command::Report { json, svg } => {
            let results: Results =
                serde_json::from_slice(&std::fs::read(json).expect("readable")).expect("results");
            show(&results, svg);
            ExitCode::SUCCESS
        }
        Command::Run(run) => match start(*run) {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => {
                eprintln!("{message}");
                ExitCode::FAILURE
            }
        },
    }
}

fn start(run: Run) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let reader = ReaderCommand {
        program,
        arguments: vec!["--reader".into()],
    };
    let mut plan = BenchPlan::new(run.disk, reader);
    plan.scenarios = scenario::parse_list(&run.pattern).map_err(|e| e.to_string())?;
    if let Some(path) = &run.plan {
        let written = ahead_study::plan::Plan::read(path).map_err(|e| e.to_string())?;
        (plan.scenarios, plan.planned) =
            ahead_harness::planned::scenarios(&written).map_err(|e| e.to_string())?;
    }
    plan.arms = arm::parse_list(&run.arm).map_err(|e| e.to_string())?;
    plan.repeat = run.repeat;
    let seconds = run.seconds.unwrap_or(if run.quick { 1.5 } else { 5.0 });
    let milliseconds = std::time::Duration::from_secs_f64(seconds).as_millis();
    let milliseconds = u64::try_from(milliseconds).map_err(|e| e.to_string())?;
    plan.limits = Limits {
        bytes: run.mib << 20,
        milliseconds,
    };
    if !run.sweep.is_empty() {
        plan.sweep_kib = run.sweep;
    }
    plan.hole_bytes_max = run.hole_bytes;
    plan.keep = run.keep;
    plan.seed = run.seed;
    plan.time_scale = run.scale;
    plan.disk_bytes = run
        .size_gib
        .map(|gib| gib << 30)
        .or_else(|| run.size_mib.map(|mib| mib << 20));
    let pair = |text: &String| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        (name.to_owned(), value.to_owned())
    };
    plan.preload = run.library.map(|library| Preload {
        library,
        environment: run.env.iter().map(pair).collect(),
        settings_variable: "AHEAD_SETTINGS".into(),
    });
    for signal in signal_hook::consts::TERM_SIGNALS {
        let _ = signal_hook::flag::register(*signal, Arc::clone(&plan.stop));
    }
    let results = ahead_harness::run(&plan, &mut |progress| match progress {
        BenchProgress::Preparing { done, total } => {
            if done == total {
                eprintln!("test files written: {} MiB", total >> 20);
            }
        }
        BenchProgress::Started { .. } | BenchProgress::SoFar(_) => {}
        BenchProgress::OutOfMemory { scenario, arm, .. } => {
            eprintln!("{scenario} {arm}: out of memory");
        }
        BenchProgress::Ended {
            number,
            total,
            record,
        } => eprintln!(
            "{:>4}/{total} {:16} {:14} {:8.1} MB/s x{:.2}",
            number + 1,
            record.scenario.to_string(),
            record.arm.to_string(),
            record.megabytes_per_second(),
            record.amplification()
        ),
    })
    .map_err(|error| error.to_string())?;
    if let Some(path) = run.json {
        let text = serde_json::to_vec_pretty(&results).map_err(|e| e.to_string())?;
        std::fs::write(path, text).map_err(|e| e.to_string())?;
    }
    show(&results, run.svg);
    Ok(())
}

fn show(results: &Results, svg: Option<PathBuf>) {
    print!("{}", render_table(results));
    if let Some(path) = svg {
        std::fs::write(
            path,
            render_results(results)
                .to_svg()
                .expect("the picture can be drawn"),
        )
        .expect("the picture can be written");
    }
}
