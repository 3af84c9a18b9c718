//! Errors as they are counted, without measuring anything.

use super::*;
use crate::results::tests::record;

fn cell(disk: &str, measured: &[u64], simulated_mb_s: u64) -> PredictedCell {
    PredictedCell {
        disk: disk.to_owned(),
        scenario: "seq64k".parse().unwrap(),
        arm: "stock:128".parse().unwrap(),
        measured: measured
            .iter()
            .map(|&mb_s| record("seq64k", "stock:128", 0, mb_s))
            .collect(),
        simulated: Simulated {
            useful_bytes: simulated_mb_s * 1_000_000,
            elapsed_ns: 1_000_000_000,
            ..Simulated::default()
        },
    }
}

fn predictions() -> Predictions {
    Predictions {
        version: VERSION,
        began: String::new(),
        machine: MachineFacts::default(),
        seed: 1,
        limits: Limits {
            bytes: 1,
            milliseconds: 1,
        },
        disks: Vec::new(),
        cells: vec![
            cell("hdd", &[90, 100, 500], 102),
            cell("ssd", &[1000], 900),
            cell("ssd", &[1000], 1050),
        ],
    }
}

#[test]
fn an_error_is_against_the_median_of_the_runs() {
    let predictions = predictions();
    let errors: Vec<String> = predictions
        .cells
        .iter()
        .map(|cell| format!("{:+.3}", cell.error()))
        .collect();
    assert_eq!(errors, ["+0.020", "-0.100", "+0.050"]);
    let errors = predictions.errors();
    assert!((errors.median - 0.05).abs() < 1e-9);
    assert!((errors.worst - 0.1).abs() < 1e-9);
    let library = Errors::of(&predictions.cells, |arm| matches!(arm, Arm::Run { .. }));
    assert_eq!(library, Errors::default());
}

#[test]
fn every_cell_is_in_the_table_and_the_picture_can_be_drawn() {
    let predictions = predictions();
    let page = render_page(&predictions);
    assert!(
        page.contains("3 cells; absolute error: median 5.0 %, largest 10.0 %"),
        "{page}"
    );
    assert!(page.contains("-10.0"), "{page}");
    let svg = render_picture(&predictions).to_svg().unwrap();
    assert!(svg.contains("largest 10.0 %"));
}

#[test]
fn a_calibration_is_the_middle_of_each_figure() {
    let one = |call_ns, way_ns| Calibration {
        call_ns,
        way_ns,
        ..Calibration::default()
    };
    let middle = Calibration::median(&[one(1, 60), one(900, 70), one(3, 5_000)]);
    assert_eq!((middle.call_ns, middle.way_ns), (3, 70));
}
