//! Whose reads are left alone: those of processes that run under `ahead run`, which see more than can be seen from
//! outside, and those that the owner of the machine does not mean.

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

/// A process that reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    /// It has the library, which looks after it.
    pub(crate) has_library: bool,
    /// Its name.
    pub(crate) name: Option<String>,
    /// Its control groups.
    pub(crate) cgroups: Vec<String>,
}

/// What is known of the processes that read.
#[derive(Debug)]
pub(crate) struct Readers {
    known: LruCache<u32, (Timestamp, Reader)>,
}

impl Readers {
    pub(crate) fn new() -> Self {
        Self {
            known: LruCache::new(REMEMBERED),
        }
    }

    /// The process with this number.
    pub(crate) fn get(&mut self, process: u32, now: Timestamp) -> &Reader {
        let is_fresh = |(asked, _): &(Timestamp, Reader)| now.since(*asked) < KNOWN_NS;
        if !self.known.peek(&process).is_some_and(is_fresh) {
            self.known.put(process, (now, look(process)));
        }
        &self
            .known
            .get_or_insert(process, || (now, Reader::default()))
            .1
    }
}

/// What is not there, as the process has ended, is not known.
fn look(process: u32) -> Reader {
    let file = |name: &str| fs::read(format!("/proc/{process}/{name}")).unwrap_or_default();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let name = text(file("comm")).trim_end().to_owned();
    Reader {
        has_library: is_under_run(&file("environ")),
        name: Some(name).filter(|name| !name.is_empty()),
        cgroups: groups(&text(file("cgroup"))),
    }
}

/// `4:memory:/a`, and `0::/a` for the unified hierarchy.
fn groups(text: &str) -> Vec<String> {
    let group = |line: &str| Some(line.splitn(3, ':').nth(2)?.to_owned());
    text.lines().filter_map(group).collect()
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

    #[test]
    fn groups_of_both_hierarchies_are_paths() {
        let text = "5:memory,cpu:/a:b\n0::/system.slice/x.service\n";
        assert_eq!(groups(text), ["/a:b", "/system.slice/x.service"]);
    }

    #[test]
    fn this_test_is_a_reader_with_a_name() {
        let mut readers = Readers::new();
        let reader = readers.get(std::process::id(), Timestamp::new(1));
        assert!(reader.name.is_some() && !reader.has_library);
    }
}
