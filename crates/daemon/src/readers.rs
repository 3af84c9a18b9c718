//! Whose reads are left alone: those of processes that run under `ahead run`, which see more than can be seen from
//! outside, and those that the owner of the machine does not mean.

use std::fs;
use std::num::NonZeroUsize;
use std::os::unix::fs::MetadataExt as _;

use ahead_observer::observation::Observation;

use crate::recent::Recent;

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
    /// Its user.
    pub(crate) owner: Option<u32>,
}

/// What is known of the processes that read.
#[derive(Debug)]
pub(crate) struct Readers {
    /// By the number of the process and of the program in it, whose name and control groups can change.
    known: Recent<(u32, u32), Reader>,
}

impl Readers {
    pub(crate) fn new() -> Self {
        Self {
            known: Recent::new(REMEMBERED),
        }
    }

    /// Who did what `fact` tells.
    pub(crate) fn get(&mut self, fact: &Observation) -> &Reader {
        let program = (fact.process, fact.programs);
        self.known.get(program, fact.time, || look(fact.process))
    }
}

/// What is not there, as the process has ended, is not known.
fn look(process: u32) -> Reader {
    let owner = fs::metadata(format!("/proc/{process}")).map(|facts| facts.uid());
    Reader {
        has_library: is_under_run(&file(process, "environ")),
        name: name(process),
        cgroups: groups(&file(process, "cgroup")),
        owner: owner.ok(),
    }
}

fn file(process: u32, name: &str) -> Vec<u8> {
    fs::read(format!("/proc/{process}/{name}")).unwrap_or_default()
}

fn name(process: u32) -> Option<String> {
    let comm = file(process, "comm");
    let name = String::from_utf8_lossy(&comm).trim_end().to_owned();
    Some(name).filter(|name| !name.is_empty())
}

/// `4:memory:/a`, and `0::/a` for the unified hierarchy.
fn groups(text: &[u8]) -> Vec<String> {
    let group = |line: &str| Some(line.splitn(3, ':').nth(2)?.to_owned());
    String::from_utf8_lossy(text)
        .lines()
        .filter_map(group)
        .collect()
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
        let text = b"5:memory,cpu:/a:b\n0::/system.slice/x.service\n";
        assert_eq!(groups(text), ["/a:b", "/system.slice/x.service"]);
    }
}
