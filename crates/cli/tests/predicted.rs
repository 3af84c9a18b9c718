//! What is kept of predictions under pressure: the page is what this program says of what guests measured, and a guest
//! measures the same again. Needs the kernel of `ahead lab build`.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{Place, stderr, stdout};

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/predicted")
}

/// Median, largest and number over 2 % of a rule's errors, as the second table has them.
fn errors(page: &str, rule: &str, arms: &str) -> (f64, f64, u64) {
    let cells = |line: &str| -> Vec<String> {
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    let found = page
        .lines()
        .map(cells)
        .find(|row| row.len() == 7 && row[0] == rule && row[1] == "all" && row[2] == arms)
        .unwrap_or_else(|| panic!("{rule} {arms}: {page}"));
    let number = |text: &str| -> f64 { text.trim_end_matches(" %").parse().expect("a number") };
    let over = found[6].parse().expect("a number");
    (number(&found[4]), number(&found[5]), over)
}

/// `ahead lab predict --measured docs/results/predicted/pressure …` writes it again, without a guest.
#[test]
fn under_pressure_the_rule_of_a_group_is_right_and_just_as_much_as_is_needed_is_not() {
    let measured = kept().join("pressure");
    let output = Place::new().output(&[
        "lab",
        "predict",
        "--disk",
        "hdd,ssd,cloud",
        "--measured",
        measured.to_str().expect("text"),
        "--reclaim",
        "two-lists,watermarks,group",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let page = stdout(&output);
    let text = fs::read_to_string(kept().join("pressure.txt")).unwrap_or_default();
    assert!(page == text, "written anew it differs:\n{page}");
    let (_, before, _) = errors(&page, "two-lists", "stock");
    let (median, after, _) = errors(&page, "group", "stock");
    assert!(before > 40.0, "{before}: nothing was to be mended");
    assert!(median < 0.1 && after < 13.0, "{median}, {after}");
    let (_, library, _) = errors(&page, "group", "run");
    assert!(library < 2.5, "{library}");
}

/// What the page is made of is what the kernel does: one place, measured again.
#[test]
fn a_guest_measures_under_pressure_what_is_kept() {
    let place = Place::new();
    let folder = place.path().join("measured");
    let mut command = place.ahead(&["lab", "predict", "--disk", "hdd", "--measured"]);
    command.arg(&folder);
    command.args(["--pattern", "sep64@64m", "--arm", "stock:512"]);
    command.env_remove("AHEAD_PRELOAD");
    let output = command.output().expect("ahead starts");
    assert!(output.status.success(), "{}", stderr(&output));
    let time_for_a_mib = |folder: &Path| -> f64 {
        let text = fs::read(folder.join("hdd.json")).expect("results");
        let results: Value = serde_json::from_slice(&text).expect("JSON");
        let runs = results["runs"].as_array().expect("runs");
        let is_it = |run: &&Value| run["scenario"] == "sep64@64m" && run["arm"] == "stock:512";
        let run = runs.iter().find(is_it).expect("the cell");
        let number = |name: &str| run[name].as_f64().expect("a number");
        number("elapsed_ns") / number("useful_bytes") * f64::from(1 << 20)
    };
    let (now, then) = (
        time_for_a_mib(&folder),
        time_for_a_mib(&kept().join("pressure")),
    );
    assert!(
        (now / then - 1.0).abs() < 0.02,
        "{now} and {then} ns for a MiB"
    );
}
