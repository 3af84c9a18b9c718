//! The patches of `kernel/patches`, and the core in the first of them.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The files of the core, which one patch of the series makes below `mm`.
pub const CORE_FILES: [&str; 2] = ["readahead_core.c", "readahead_core.h"];

/// The folder `kernel` of this tree.
#[must_use]
pub fn kernel_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Names and texts of the series, in order.
///
/// # Errors
/// The folder or one of its files cannot be read.
pub fn read() -> io::Result<Vec<(String, String)>> {
    let mut patches = Vec::new();
    for entry in fs::read_dir(kernel_folder().join("patches"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".patch") {
            let text = fs::read_to_string(kernel_folder().join("patches").join(&name))?;
            patches.push((name, text));
        }
    }
    patches.sort();
    Ok(patches)
}

/// Where in `patch` the hunk stands that makes the file `path`: from `@@` to behind its last line.
fn hunk(patch: &str, path: &str) -> Option<std::ops::Range<usize>> {
    let head = format!("\n--- /dev/null\n+++ b/{path}\n");
    let begin = patch.find(&head)? + head.len();
    let lines = patch[begin..].split_inclusive('\n');
    let is_inside = |line: &&str| line.starts_with("@@ -0,0 ") || line.starts_with('+');
    let length = lines.take_while(is_inside).map(str::len).sum::<usize>();
    Some(begin..begin + length)
}

/// What `patch` puts into the file `path`, if it makes it.
#[must_use]
pub fn made_by(patch: &str, path: &str) -> Option<String> {
    let lines = patch[hunk(patch, path)?].split_inclusive('\n').skip(1);
    Some(lines.filter_map(|line| line.strip_prefix('+')).collect())
}

/// `patch` with `content` for the file `path`, if it makes it.
#[must_use]
pub fn with_content(patch: &str, path: &str, content: &str) -> Option<String> {
    let hunk = hunk(patch, path)?;
    let mut fresh = format!("@@ -0,0 +1,{} @@\n", content.lines().count());
    for line in content.lines() {
        let _ = writeln!(fresh, "+{line}");
    }
    Some([&patch[..hunk.start], &fresh, &patch[hunk.end..]].concat())
}

/// Puts the core as it is in `kernel/core` into the series. Says which patches were written.
///
/// # Errors
/// A file cannot be read or written.
pub fn refresh() -> io::Result<Vec<String>> {
    let mut written = Vec::new();
    for (name, patch) in read()? {
        let mut fresh = patch.clone();
        for file in CORE_FILES {
            let content = fs::read_to_string(kernel_folder().join("core").join(file))?;
            if let Some(with) = with_content(&fresh, &format!("mm/{file}"), &content) {
                fresh = with;
            }
        }
        if fresh != patch {
            fs::write(kernel_folder().join("patches").join(&name), fresh)?;
            written.push(name);
        }
    }
    Ok(written)
}
