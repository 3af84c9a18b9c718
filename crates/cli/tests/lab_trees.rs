//! Programs that go through trees, over the real kernel in virtual time, beside one who knows the list beforehand.
//!
//! Needs the guest's kernel (`make lab`) and `mkfs.ext4`.

mod support;

use std::fs;

use ahead_harness::predict::trees::TreeCell;
use ahead_harness::programs::results::ProgramResults;

use support::{Place, stderr, stdout};

/// Who knows the list reads the inodes in their order and the data in the order of its places, and is faster than
/// every program that finds out one name after another; what the list of programs says of the tree is true.
#[test]
fn one_who_knows_the_list_is_faster_than_every_program_that_reads_all_of_a_tree() {
    let place = Place::new();
    let json = place.path().join("results");
    let mut command = place.ahead(&["lab", "programs", "--list", "trees", "--percent", "3"]);
    command.args(["--data", "small", "--disk", "hdd", "--json"]);
    let output = command.arg(&json).env_remove("AHEAD_PRELOAD").output();
    let output = output.expect("ahead starts");
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    let read = fs::read(json.join("hdd.json")).expect("results");
    let found: ProgramResults = serde_json::from_slice(&read).expect("results");
    assert_eq!(found.rows.len(), 9, "{text}");
    for row in &found.rows {
        let name = &row.name;
        let (plain, _) = row
            .runs()
            .unwrap_or_else(|| panic!("{name} was left out: {text}"));
        let ceiling = row.ceiling_speed().expect("each has one").value;
        // Metadata alone lies in one place, and a program that reads two trees reads twice as much.
        let (speed_min, megabytes) = match name.as_str() {
            "tree-stat-small" => (0.9, 0..1),
            "tree-head-small" => (1.5, 1..8),
            "tree-diff-small" => (1.5, 9..13),
            _ => (1.5, 4..7),
        };
        assert!(ceiling > speed_min, "{name}: {ceiling}\n{text}");
        let read = plain[0].device_bytes / 1_000_000;
        assert!(megabytes.contains(&read), "{name}: {read} MB\n{text}");
    }
}

/// The simulator places inodes, folders and files as the kernel does, reads them as the kernel does, and its helper
/// goes ahead of the program as the library's: what that takes is predicted within a tenth.
#[test]
fn the_simulator_predicts_programs_in_a_tree_within_a_tenth() {
    let place = Place::new();
    let json = place.path().join("cells.json");
    let mut command = place.ahead(&["lab", "predict", "--tree", "small", "--percent", "10"]);
    command.args(["--disk", "hdd,ssd,cloud", "--json"]);
    let output = command.arg(&json).env_remove("AHEAD_PRELOAD").output();
    let output = output.expect("ahead starts");
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    let read = fs::read(&json).expect("results");
    let cells: Vec<TreeCell> = serde_json::from_slice(&read).expect("cells");
    assert_eq!(cells.len(), 3 * 3 * 2, "{text}");
    for cell in &cells {
        let permille = cell.difference_permille();
        assert!(permille.abs() <= 100, "{cell:?}\n{text}");
    }
    for [plain, helped] in cells.as_chunks().0 {
        // That trees are on makes all the difference, in both.
        assert!(helped.measured_ns * 3 < plain.measured_ns * 2, "{text}");
    }
}
