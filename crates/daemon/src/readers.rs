//! Whose reads are left alone: those of processes that run under `ahead run`, which see more than can be seen from
//! outside.

use std::fs;
use std::num::NonZeroUsize;

use ahead_units::Timestamp;
use lru::LruCache;

/// What is known of a process is asked again after so long: it may have become another program.
const KNOWN_NS: u64 = 1_000_000_000;

/// Processes that are remembered.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// The name of the library that `ahead run` loads into a program.
const LIBRARY: &[u8] = b"libahead_preload";

/// What is known of the processes that read.
#[derive(Debug)]
pub(crate) struct Readers {
    known: LruCache<u32, (Timestamp, bool)>,
}

impl Readers {
    pub(crate) fn new() -> Self {
        Self {
            known: LruCache::new(REMEMBERED),
        }
    }

    /// Whether `process` is left alone.
    pub(crate) fn is_left_alone(&mut self, process: u32, now: Timestamp) -> bool {
        if let Some((asked, answer)) = self.known.get(&process)
            && now.since(*asked) < KNOWN_NS
        {
            return *answer;
        }
        let answer =
            is_under_run(&fs::read(format!("/proc/{process}/environ")).unwrap_or_default());
        self.known.put(process, (now, answer));
        answer
    }
}

/// Whether a process with this environment was started with the library.
fn is_under_run(environment: &[u8]) -> bool {
    environment
        .split(|byte| *byte == 0)
        .filter_map(|entry| entry.strip_prefix(b"LD_PRELOAD="))
        .any(|value| value.windows(LIBRARY.len()).any(|part| part == LIBRARY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_the_library_is_known_by_its_environment() {
        let environment = b"A=1\0LD_PRELOAD=/x.so:/usr/lib/ahead/libahead_preload.so\0B=2\0";
        assert!(is_under_run(environment));
        assert!(!is_under_run(b"NOTE=libahead_preload\0LD_PRELOAD=/x.so\0"));
        assert!(!is_under_run(b""));
    }
}
