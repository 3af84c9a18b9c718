//! Figures computed as `ahead reproduce` does, the long ones in a smaller size; `ara-2006` and
//! `dead-ahead-2017` take minutes without optimisation and belong to the test of the command.
//!
//! No test here asks a row to hold: a row that fails is a result. What is asked is that rows can fail.

use std::path::Path;

use ahead_papers::{
    ALL, Figure, ModelKnobs, disk_table_2010, ext2_2000, find, hit_ratio_2010, oci_2017,
    sensitivity, streams_2010, thrash_2010, x25m_2010,
};
use ahead_study::verdict::Verdict;

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

/// Every judged row has its null model and says where its bounds come from; no other row is judged.
fn can_fail(figure: &Figure) {
    for row in &figure.rows {
        let judged = row.verdict.is_evidence() || row.verdict == Verdict::NotDiscriminating;
        assert_eq!(row.null.is_some(), judged, "{}", row.what);
        assert!(!judged || !row.bound.is_empty(), "{}", row.what);
        let passed = row.null.as_ref().is_some_and(|null| null.passes);
        let holds = matches!(row.verdict, Verdict::Exact | Verdict::Holds);
        assert!(!(passed && holds), "{}: the null model passes", row.what);
        assert!(
            !row.published.contains("ours") || row.verdict == Verdict::Ours,
            "{}",
            row.what
        );
    }
}

fn row(figure: &Figure, what: &str) -> Verdict {
    let found = figure.rows.iter().find(|row| row.what.contains(what));
    found.unwrap_or_else(|| panic!("no row {what}")).verdict
}

#[test]
fn the_table_of_the_theoretical_disk_is_exact_and_its_first_line_proves_nothing() {
    let figure = (disk_table_2010::PUBLICATION.compute)(&ModelKnobs::AS_IS).expect("computed");
    can_fail(&figure);
    assert_eq!(figure.count(Verdict::Exact), 10);
    // Windows of one page are no read-ahead.
    assert_eq!(figure.count(Verdict::NotDiscriminating), 1);
    draws(&figure);
}

#[test]
fn what_restates_the_fit_of_a_disk_is_not_judged() {
    let figure = (x25m_2010::PUBLICATION.compute)(&ModelKnobs::AS_IS).expect("computed");
    assert_eq!(figure.count(Verdict::Fitted), figure.rows.len());
    draws(&figure);
}

/// Longest reads need whole files and time slices; that they can fail does not.
#[test]
fn rates_of_the_arrays_restate_their_fit_and_longest_reads_are_judged() {
    let figure = streams_2010::figure_of(64, &ModelKnobs::AS_IS).expect("computed");
    can_fail(&figure);
    for row in &figure.rows {
        let is_rate = row.what.contains("KB/s") || row.what.contains("gain");
        let judged = row.verdict.is_evidence() || row.verdict == Verdict::NotDiscriminating;
        assert!(judged != is_rate, "{}", row.what);
    }
    assert_eq!(
        row(&figure, "EVA: longest read, 512 over 128"),
        Verdict::NotDiscriminating
    );
    draws(&figure);
}

#[test]
fn of_a_fitted_boot_only_the_larger_windows_are_judged() {
    let figure = (hit_ratio_2010::PUBLICATION.compute)(&ModelKnobs::AS_IS).expect("computed");
    can_fail(&figure);
    assert_eq!(row(&figure, "boot, 128 KiB window: I/Os"), Verdict::Fitted);
    assert!(row(&figure, "console, 128 to 1024").is_evidence());
    assert!(row(&figure, "session, 128 KiB window: used").is_evidence());
    draws(&figure);
}

/// A fifth of the time: the counters are scaled up, shares and means are not.
#[test]
fn windows_after_thrashing_have_no_mark() {
    let figure = thrash_2010::figure_of(10, &ModelKnobs::AS_IS).expect("computed");
    can_fail(&figure);
    assert_eq!(
        row(&figure, "windows after thrashing, pages behind the mark"),
        Verdict::Exact
    );
    assert_eq!(
        row(&figure, "pages evicted before use and read again"),
        Verdict::Ours
    );
    draws(&figure);
}

/// A tenth of the file: whatever follows from the rules holds at any size.
#[test]
fn each_window_of_the_original_mechanism_costs_one_miss() {
    let figure = ext2_2000::figure_of(2_560, &ModelKnobs::AS_IS).expect("computed");
    can_fail(&figure);
    // 16, 64 and 256 pages, and 16 with DMA; windows of one page are no read-ahead.
    assert_eq!(figure.count(Verdict::Exact), 4);
    assert_eq!(
        row(&figure, "fig. 1: misses with 1 pages"),
        Verdict::NotDiscriminating
    );
    assert_eq!(
        row(&figure, "fig. 7: waits for the queue, modified"),
        Verdict::Holds
    );
    draws(&figure);
}

#[test]
fn of_the_cloud_volume_one_rate_is_predicted_and_the_rest_restates_it() {
    let figure = (oci_2017::PUBLICATION.compute)(&ModelKnobs::AS_IS).expect("computed");
    can_fail(&figure);
    assert!(row(&figure, "128 KiB of read-ahead, MB/s").is_evidence());
    assert_eq!(row(&figure, "4 MiB of read-ahead, MB/s"), Verdict::Fitted);
    draws(&figure);
}

#[test]
fn the_same_figure_twice_is_the_same_to_the_last_digit() {
    let figure = || (oci_2017::PUBLICATION.compute)(&ModelKnobs::AS_IS);
    assert_eq!(
        figure().expect("simulated").rows,
        figure().expect("simulated").rows
    );
}

/// A knob that turns nothing would say that nothing is sensitive to it.
#[test]
fn halving_the_ring_of_the_cloud_volume_changes_what_is_simulated() {
    let as_is = (oci_2017::PUBLICATION.compute)(&ModelKnobs::AS_IS).expect("simulated");
    for parameter in oci_2017::PUBLICATION.parameters.iter().filter(|p| p.turns) {
        let turned = ModelKnobs::times(parameter.name, 0.5);
        let turned = (oci_2017::PUBLICATION.compute)(&turned).expect("simulated");
        assert_ne!(as_is.rows, turned.rows, "{}", parameter.name);
    }
    let turned = sensitivity::of(&oci_2017::PUBLICATION, &as_is).expect("simulated");
    assert_eq!(turned.len(), 6);
}

#[test]
fn publications_are_found_by_their_names_and_say_what_they_show() {
    for publication in ALL {
        assert_eq!(find(publication.name).expect("known").len(), 1);
        assert!(publication.about.len() > 40, "{}", publication.name);
    }
    assert_eq!(find("all").expect("known").len(), ALL.len());
    assert!(find("figure").is_err());
}

/// The numbers that turn in the program are those of the pages in the tree, and nothing else is.
#[test]
fn each_publication_with_numbers_that_turn_has_its_page_of_sensitivity() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/reproduce");
    for publication in ALL {
        let name = publication.name;
        let page = std::fs::read_to_string(folder.join(format!("{name}-sensitivity.md")));
        let page = page.unwrap_or_default();
        let numbers = publication.parameters.iter().filter(|number| number.turns);
        let headings: Vec<String> = numbers
            .map(|number| {
                format!(
                    "## {}: {} ({})",
                    number.name,
                    number.value,
                    number.origin.text()
                )
            })
            .collect();
        let kept: Vec<&str> = page
            .lines()
            .filter(|line| line.starts_with("## "))
            .collect();
        assert_eq!(kept, headings, "{name}");
        let (halved, doubled) = ("\n* halved: ", "\n* doubled: ");
        assert_eq!(page.matches(halved).count(), headings.len(), "{name}");
        assert_eq!(page.matches(doubled).count(), headings.len(), "{name}");
    }
}
