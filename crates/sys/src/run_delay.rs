//! `/proc/thread-self/schedstat` - how long this thread could have run and had no processor.
//!
//! A read that took long may have waited for a device, or for its turn: only this tells them apart. Read without a call of
//! the C library, as it is read inside other programs.

use std::path::Path;

use crate::small_file::{SmallPath, number};

/// Nanoseconds that the calling thread was ready to run and did not, since it began; `None` where the kernel does not count
/// them. `proc` is `/proc`.
#[must_use]
pub fn of_this_thread(proc: &Path) -> Option<u64> {
    let mut path = SmallPath::below(proc);
    path.push(b"/thread-self/schedstat");
    // Time on processors, time without, turns.
    path.read()
        .ok()?
        .split(|byte| *byte == b' ')
        .nth(1)
        .and_then(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("thread-self")).unwrap();
        std::fs::write(root.path().join("thread-self/schedstat"), text).unwrap();
        of_this_thread(root.path())
    }

    #[test]
    fn the_second_number_is_the_time_without_a_processor() {
        assert_eq!(read("332002215 868282 33\n"), Some(868_282));
        for text in ["", "1\n", "1 -2 3\n", "1  2 3\n"] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn this_kernel_counts_it() {
        assert!(of_this_thread(Path::new("/proc")).is_some());
    }
}
