//! The manual pages and completions in the tree are those that this program makes.
//! `make generate` writes them again.

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use support::{Place, stdout};

fn in_tree(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(folder)
}

fn contents(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    entries
        .map(|entry| {
            let entry = entry.expect("an entry");
            let text = std::fs::read_to_string(entry.path()).expect("text");
            (entry.file_name().to_string_lossy().into_owned(), text)
        })
        .collect()
}

#[test]
fn the_manual_pages_are_current() {
    let place = Place::new();
    let fresh = place.path().join("man");
    let output = place.output(&["man", "--dir", fresh.to_str().expect("text")]);
    assert!(output.status.success());
    let (fresh, kept) = (contents(&fresh), contents(&in_tree("docs/man")));
    assert!(fresh.keys().eq(kept.keys()), "run `make generate`");
    for (name, text) in fresh {
        assert_eq!(kept[&name], text, "{name}: run `make generate`");
    }
}

#[test]
fn the_completions_are_current() {
    let place = Place::new();
    for (shell, file) in [
        ("bash", "ahead.bash"),
        ("zsh", "_ahead"),
        ("fish", "ahead.fish"),
    ] {
        let kept = std::fs::read_to_string(in_tree("completions").join(file)).expect(file);
        assert_eq!(
            kept,
            stdout(&place.output(&["completions", shell])),
            "run `make generate`"
        );
    }
}
