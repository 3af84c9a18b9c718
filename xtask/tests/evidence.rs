//! Every steering constant has a table that was made around its value, and the page about all of
//! them says what the tables say.

use xtask::cargo::root;
use xtask::evidence;

#[test]
fn every_steering_constant_was_swept_around_the_value_it_has() {
    let without = evidence::without_table().expect("tables");
    assert!(
        without.is_empty(),
        "cargo run -p xtask -- evidence {}",
        without.join(" ")
    );
}

#[test]
fn the_page_about_evidence_says_what_the_tables_say() {
    let path = root().join("docs/results/evidence/README.md");
    let page = std::fs::read_to_string(path).expect("the page");
    assert_eq!(page, evidence::index().expect("tables"));
}
