//! The pages of published figures in docs/results/reproduce are those that this program writes. Without
//! optimisation that is minutes for each publication, so only the quick ones are compared then.

mod support;

use std::fs;
use std::path::Path;

use support::{Place, stderr, stdout};

/// `make test` runs this with optimisation.
const NAMES: &[&str] = if cfg!(debug_assertions) {
    &["disk-table-2010", "hit-ratio-2010"]
} else {
    &["all"]
};

/// `ahead reproduce NAME --out docs/results/reproduce` writes them again.
#[test]
fn the_pages_in_the_tree_are_what_the_command_writes() {
    let place = Place::new();
    let fresh = place.path().join("reproduce");
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/reproduce");
    for name in NAMES {
        let output = place.output(&["reproduce", name, "--out", fresh.to_str().expect("text")]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let mut compared = 0;
    for entry in fs::read_dir(&fresh).expect("written") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_string_lossy();
        // Pictures of pixels are for people, and not kept.
        if name.ends_with(".png") {
            continue;
        }
        let read = |folder: &Path| fs::read_to_string(folder.join(&*name)).unwrap_or_default();
        assert!(
            read(&fresh) == read(&kept),
            "{name}: written anew it differs"
        );
        compared += 1;
    }
    assert!(compared >= 2 * NAMES.len(), "{compared}");
}

fn kept(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/reproduce");
    let text = fs::read_to_string(folder.join(name)).unwrap_or_default();
    // Lines are cut anywhere.
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An answer to a charge whose row has left its page would be a claim.
#[test]
fn what_answers_the_charges_stands_on_the_page_that_is_named() {
    assert!(rows_that_stand("charges.md") >= 18);
}

/// The same of what is said to be reached.
#[test]
fn what_is_reached_stands_on_the_page_that_is_named() {
    assert!(rows_that_stand("asked.md") >= 12);
}

/// Rows of `name`, in “ ” behind their page; each has to be there.
fn rows_that_stand(name: &str) -> usize {
    let text = kept(name);
    let (mut page, mut found) = (String::new(), 0);
    for part in text.split('“') {
        if let Some((row, _)) = part.split_once('”') {
            assert!(kept(&page).contains(row), "{page}: {row}");
            found += 1;
        }
        if let Some((_, name)) = part.rsplit_once("](") {
            name.split(')')
                .next()
                .unwrap_or_default()
                .clone_into(&mut page);
        }
    }
    found
}

/// Each line of a page can be read without scrolling, also what the program prints.
#[test]
fn nothing_is_wider_than_a_screen() {
    let text = stdout(&Place::new().output(&["reproduce", "disk-table-2010"]));
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    assert!(
        text.contains("10 of 10 rows that could fail and were not fitted hold"),
        "{text}"
    );
}

#[test]
fn the_list_says_what_each_figure_shows() {
    let text = stdout(&Place::new().output(&["reproduce", "list"]));
    for part in [
        "ext2-2000",
        "s390-2010",
        "what it shows",
        "free",
        "to the digit",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let json = stdout(&Place::new().output(&["reproduce", "list", "--json"]));
    let list: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(list[0]["name"], "ext2-2000");
    assert_eq!(list[0]["free_numbers"], 7);
}
