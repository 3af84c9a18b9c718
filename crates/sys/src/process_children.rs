//! `/proc/PID/task/TID/children` - which processes a process has started.
//!
//! See `man 5 proc_tid_children`. Each thread has its own; a kernel without CONFIG_PROC_CHILDREN has none.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// Threads that are looked at. Who has more mostly starts processes by the first ones.
const THREADS_MAX: usize = 16;

/// So much of a list is read: some five hundred processes.
const LIST_BYTES_MAX: u64 = 4096;

/// The processes that `pid` has started and that have not been waited for, of each thread in the order in which they were started; of many
/// the first ones. `NotFound` when it has ended. `proc_root` is normally `/proc`.
pub fn children_of(proc_root: &Path, pid: i32) -> io::Result<Vec<u32>> {
    let threads = fs::read_dir(proc_root.join(format!("{pid}/task")))?;
    let mut found = Vec::new();
    for thread in threads.take(THREADS_MAX) {
        let mut text = String::new();
        let list = File::open(thread?.path().join("children"));
        // A thread may end meanwhile.
        if let Ok(list) = list {
            list.take(LIST_BYTES_MAX).read_to_string(&mut text)?;
        }
        // The last number of a list that was cut may be a part of one.
        let whole = text.rfind(' ').map_or("", |end| &text[..end]);
        found.extend(whole.split(' ').filter_map(|word| word.parse::<u32>().ok()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_all_threads_are_listed() {
        let root = tempfile::tempdir().unwrap();
        for (thread, list) in [("7", "8 9 "), ("10", ""), ("11", "12 ")] {
            let folder = root.path().join("7/task").join(thread);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("children"), list).unwrap();
        }
        // It has ended by now.
        fs::create_dir(root.path().join("7/task/13")).unwrap();
        let mut found = children_of(root.path(), 7).unwrap();
        found.sort_unstable();
        assert_eq!(found, [8, 9, 12]);
        let gone = children_of(root.path(), 8).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_child_of_this_test_is_listed() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = std::process::id().cast_signed();
        let found = children_of(Path::new("/proc"), pid).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.contains(&child.id()), "{found:?}");
    }
}
