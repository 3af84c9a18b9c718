//! The account of one run, for people: every number with its unit, tables that leave out what
//! did not happen.

use ahead_sim::report::{ClassReport, ProcessorReport, Timeline, WorldReport};
use ahead_study::table;

use crate::figures::{per_cent, seconds, size};
const PAGE_BYTES: u64 = 4096;
/// Processes that are listed.
const PROCESSES_SHOWN: usize = 10;
/// Characters of a full bar.
const BAR: u64 = 40;

/// Everything. The timeline is left out where there is a finer one in a picture.
pub(super) fn text(
    title: &str,
    report: &WorldReport,
    beside: &[(&str, &WorldReport)],
    has_picture: bool,
) -> String {
    let mut text = format!("{title}\n\n");
    text += &summary(report, beside);
    text += &format!("\nWindows by class\n{}\n", classes(report));
    text += &format!(
        "\nReads and faults: how long they took\n{}",
        latency(report)
    );
    text += &format!("\nProcesses\n{}\n", processes(report));
    if let Some(timeline) = report.timeline.as_ref().filter(|_| !has_picture) {
        text += &format!(
            "\nProcessors over time: # program, + kernel, ! interrupts\n{}",
            bars(timeline)
        );
    }
    if !report.labels.is_empty() {
        text += "\nPhases\n";
        for (label, at_ns) in &report.labels {
            text += &format!("{label:>6}  began at {}\n", seconds(*at_ns));
        }
    }
    text
}

fn pages(count: u64) -> String {
    size(count.saturating_mul(PAGE_BYTES))
}

fn summary(report: &WorldReport, beside: &[(&str, &WorldReport)]) -> String {
    let mut text = String::new();
    let mut row = |title: &str, value: String| text += &format!("{title:18}{value}\n");
    row("time", seconds(report.elapsed_ns));
    for (policy, other) in beside {
        let time = seconds(other.elapsed_ns);
        let share = per_cent(report.elapsed_ns, other.elapsed_ns);
        row(
            &format!("  {policy}"),
            format!("{time}: this one takes {share} of it"),
        );
    }
    let (bytes, speed) = (size(report.bytes), size(report.bytes_per_second()));
    row(
        "delivered",
        format!(
            "{bytes}, {speed}/s, in {} reads and {} faults",
            report.reads, report.faults
        ),
    );
    let device = &report.device;
    row(
        "read from disk",
        format!(
            "{} ({} of what was delivered) in {} requests, {} seeks",
            size(device.bytes),
            per_cent(device.bytes, report.bytes),
            device.requests,
            device.seeks
        ),
    );
    let depth = report.depth_permille();
    row(
        "disk",
        format!(
            "busy {} of the time, mean depth {}.{:02}, at most {}; {} runs merged, {} refused",
            per_cent(device.busy_ns, report.elapsed_ns),
            depth / 1000,
            depth % 1000 / 10,
            device.depth_max,
            device.merges,
            device.refused
        ),
    );
    let found = &report.pages;
    row(
        "pages found",
        format!(
            "{} ready, {} still being read, {} with dropped I/O, {} missing, {} mapped already",
            found.hits_unlocked, found.hits_locked, found.hits_stale, found.misses, found.mapped
        ),
    );
    let ahead = &report.prefetch;
    row(
        "read ahead",
        format!(
            "{} pages: {} useful (of which late: {}), {} wasted, {} evicted too early",
            ahead.pages, ahead.useful, ahead.late, ahead.wasted, ahead.thrashed
        ),
    );
    row(
        "unread in memory",
        format!(
            "{} on average, at most {}",
            pages(ahead.unread_mean),
            pages(ahead.unread_max)
        ),
    );
    let waits = &report.waits;
    row(
        "waits",
        format!(
            "{} for a page ({}), {} for the queue ({})",
            waits.page,
            seconds(waits.page_ns),
            waits.queue,
            seconds(waits.queue_ns)
        ),
    );
    row("processors", shares(&report.processors));
    text
}

fn shares(time: &ProcessorReport) -> String {
    let all = time.user_ns + time.system_ns + time.interrupt_ns + time.idle_ns;
    format!(
        "programs {}, kernel {}, interrupts {}, idle {} (waiting {})",
        per_cent(time.user_ns, all),
        per_cent(time.system_ns, all),
        per_cent(time.interrupt_ns, all),
        per_cent(time.idle_ns, all),
        per_cent(time.io_wait_ns, all)
    )
}

/// The table of the statistics patches of 2010 to 2012.
fn classes(report: &WorldReport) -> ahead_study::table::Table {
    let titles = [
        "class",
        "windows",
        "at end",
        "cached",
        "with I/O",
        "early",
        "mean size",
        "mean tail",
        "mean I/O",
    ];
    let mut rows = table::with_titles(&titles, 1..9);
    let all = report.all_classes();
    for class in report.classes.iter().chain([&all]) {
        if class.windows > 0 || class.class == "all" {
            rows.add_row(class_row(class));
        }
    }
    rows
}

fn class_row(class: &ClassReport) -> [String; 9] {
    let mean = |pages: u64, of: u64| pages.checked_div(of).unwrap_or(0).to_string();
    [
        class.class.clone(),
        class.windows.to_string(),
        class.at_end_of_file.to_string(),
        class.cache_hits.to_string(),
        class.ios.to_string(),
        class.asynchronous.to_string(),
        mean(class.pages, class.windows),
        mean(class.async_pages, class.windows),
        mean(class.io_pages, class.ios),
    ]
}

fn latency(report: &WorldReport) -> String {
    let steps = &report.latency_histogram;
    let most = steps.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let mut text = String::new();
    for (below_ns, count) in steps {
        // Rounded up: what happened once is to be seen.
        let length = (u128::from(*count) * u128::from(BAR)).div_ceil(u128::from(most.max(1)));
        let length = usize::try_from(length).unwrap_or(0);
        text += &format!(
            "below {:>12} {count:>10} {}\n",
            seconds(*below_ns),
            "#".repeat(length)
        );
    }
    let all = &report.latency;
    text += &format!(
        "mean {}, half {}, 90 % {}, 99 % {}, 99.9 % {}, longest {}\n",
        seconds(all.mean_ns),
        seconds(all.p50_ns),
        seconds(all.p90_ns),
        seconds(all.p99_ns),
        seconds(all.p999_ns),
        seconds(all.max_ns)
    );
    text
}

fn processes(report: &WorldReport) -> String {
    let titles = [
        "process", "reads", "bytes", "program", "kernel", "waited", "longest", "finished",
    ];
    let mut rows = table::with_titles(&titles, 1..8);
    for process in report.processes.iter().take(PROCESSES_SHOWN) {
        rows.add_row([
            process.name.clone(),
            process.reads.to_string(),
            size(process.bytes),
            seconds(process.user_ns),
            seconds(process.system_ns),
            seconds(process.waited_ns),
            seconds(process.latency_max_ns),
            seconds(process.finished_ns),
        ]);
    }
    match report.processes.len().saturating_sub(PROCESSES_SHOWN) {
        0 => rows.to_string(),
        more => format!("{rows}\n{more} more"),
    }
}

fn bars(timeline: &Timeline) -> String {
    let mut text = String::new();
    for bucket in 0..timeline.idle_ns.len() {
        let row = |row: &Vec<u64>| row.get(bucket).copied().unwrap_or(0);
        let parts = [
            (row(&timeline.user_ns), "#"),
            (row(&timeline.system_ns), "+"),
            (row(&timeline.interrupt_ns), "!"),
        ];
        let idle_ns = row(&timeline.idle_ns);
        let all_ns = parts.iter().map(|(ns, _)| ns).sum::<u64>() + idle_ns;
        let (mut bar, mut sum_ns, mut drawn) = (String::new(), 0, 0);
        for (ns, sign) in parts {
            // Ends are rounded, not lengths: the bar is as long as its parts together.
            sum_ns += ns;
            let end = u128::from(sum_ns) * u128::from(BAR) + u128::from(all_ns / 2);
            let end = usize::try_from(end / u128::from(all_ns.max(1))).unwrap_or(0);
            bar += &sign.repeat(end - drawn);
            drawn = end;
        }
        let start_ns = u64::try_from(bucket).unwrap_or(0) * timeline.bucket_ns;
        text += &format!(
            "{:>12} |{bar:<40}| idle {}\n",
            seconds(start_ns),
            per_cent(idle_ns, all_ns)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_parts_together() {
        let timeline = Timeline {
            bucket_ns: 1_000_000,
            user_ns: vec![1, 0],
            system_ns: vec![1, 0],
            interrupt_ns: vec![1, 0],
            idle_ns: vec![1, 4],
        };
        let text = bars(&timeline);
        let parts = ["#", "+", "!"].map(|sign| text.matches(sign).count());
        assert_eq!(parts, [10, 10, 10]);
        assert!(
            text.lines()
                .nth(1)
                .is_some_and(|line| line.ends_with("idle 100.0 %"))
        );
    }

    #[test]
    fn an_empty_run_can_be_described() {
        let text = text("nothing", &WorldReport::default(), &[], false);
        assert!(text.contains("0.0 us"), "{text}");
    }
}
