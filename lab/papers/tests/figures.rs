//! Figures of 2000 and 2010, computed as `ahead reproduce` does, the long ones in a smaller size.

use ahead_papers::{
    Figure, disk_table_2010, ext2_2000, hit_ratio_2010, streams_2010, thrash_2010, x25m_2010,
};
use ahead_study::verdict::Verdict;

/// Rows that do not hold, in words.
fn broken(figure: &Figure) -> Vec<String> {
    let rows = figure.rows.iter();
    rows.filter(|row| row.verdict == Verdict::DoesNotHold)
        .map(|row| format!("{}: {} for {}", row.what, row.simulated, row.published))
        .collect()
}

fn draws(figure: &Figure) {
    assert!(!figure.charts.is_empty(), "{}", figure.name);
    for (stem, chart) in &figure.charts {
        let svg = chart.to_svg().expect("drawn");
        assert!(
            stem.starts_with(figure.name) && svg.starts_with("<svg"),
            "{stem}"
        );
    }
}

#[test]
fn the_table_of_the_theoretical_disk_is_exact_to_the_last_digit() {
    let figure = disk_table_2010::figure().expect("computed");
    assert_eq!(figure.count(Verdict::Exact), 11, "{:?}", broken(&figure));
    draws(&figure);
}

#[test]
fn the_rates_of_the_x25m_keep_their_shape() {
    let figure = x25m_2010::figure().expect("computed");
    assert_eq!(broken(&figure), [""; 0]);
    draws(&figure);
}

/// Bandwidth does not depend on the length of the files, so a sixteenth of it will do.
#[test]
fn both_arrays_give_any_number_of_readers_what_was_measured() {
    let figure = streams_2010::figure_of(64).expect("computed");
    let broken = broken(&figure);
    let rates: Vec<_> = broken.iter().filter(|row| row.contains("KB/s")).collect();
    assert!(rates.is_empty(), "{rates:?}");
    draws(&figure);
}

#[test]
fn larger_windows_of_read_around_leave_more_unused() {
    let figure = hit_ratio_2010::figure().expect("computed");
    assert_eq!(broken(&figure), [""; 0]);
    draws(&figure);
}

/// A fifth of the time: the counters are scaled up, shares and means are not.
#[test]
fn windows_after_thrashing_have_no_mark() {
    let figure = thrash_2010::figure_of(10).expect("computed");
    let exact = figure
        .rows
        .iter()
        .find(|row| row.what.contains("behind the mark") && row.published == "0");
    assert_eq!(exact.map(|row| row.verdict), Some(Verdict::Exact));
    draws(&figure);
}

/// A tenth of the file: whatever follows from the rules holds at any size.
#[test]
fn each_window_of_the_original_mechanism_costs_one_miss() {
    let figure = ext2_2000::figure_of(2_560).expect("computed");
    assert_eq!(figure.count(Verdict::Exact), 5, "{:?}", broken(&figure));
    for always in ["waits for the queue, modified", "modified beside original"] {
        let row = figure.rows.iter().find(|row| row.what.contains(always));
        assert_eq!(
            row.map(|row| row.verdict),
            Some(Verdict::ShapeHolds),
            "{always}"
        );
    }
    draws(&figure);
}
