//! Whose reads are left alone: those of processes that run under `ahead run`, which see more than can be seen from
//! outside, and those that the owner of the machine does not mean.

use std::fs::{self, File};
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::os::unix::fs::MetadataExt as _;
use std::rc::Rc;

use ahead_observer::observation::Observation;

use crate::aside::Aside;
use crate::recent::Recent;

/// Processes that are remembered.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// So much of an environment is looked at. `prctl(PR_SET_MM_MAP)` makes one of any size, of which no more is read into memory here;
/// `execve` takes 128 KiB in one string.
const ENVIRONMENT_BYTES_MAX: u64 = 256 << 10;

/// The name of the library that `ahead run` loads into a program.
const LIBRARY: &[u8] = b"libahead_preload";

/// A process that reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    /// It has the library, which looks after it. `None`: its environment could not be read yet.
    has_library: Option<bool>,
    /// Its name.
    pub(crate) name: Option<String>,
    /// Its control groups.
    pub(crate) cgroups: Vec<String>,
    /// Its user.
    pub(crate) owner: Option<u32>,
}

impl Reader {
    /// Whether it has the library, or nothing may be asked of it that would say so.
    pub(crate) fn is_left_alone(&self) -> bool {
        self.has_library != Some(false)
    }
}

/// What is known of the processes that read.
#[derive(Debug)]
pub(crate) struct Readers {
    aside: Rc<Aside>,
    /// By the number of the process and of the program in it, whose name and control groups can change.
    known: Recent<(u32, u32), Reader>,
}

impl Readers {
    pub(crate) fn new(aside: &Rc<Aside>) -> Self {
        Self {
            aside: Rc::clone(aside),
            known: Recent::new(REMEMBERED),
        }
    }

    /// Whose process did what `fact` tells, as far as that is known.
    pub(crate) fn user(&self, fact: &Observation) -> Option<u32> {
        self.known.peek(&(fact.process, fact.programs))?.owner
    }

    /// Who did what `fact` tells.
    pub(crate) fn get(&mut self, fact: &Observation) -> &Reader {
        let program = (fact.process, fact.programs);
        let is_whole = |reader: &Reader| reader.has_library.is_some();
        if !self.known.peek(&program).is_none_or(is_whole) && !self.aside.waits_for(fact.process) {
            // By now it may say.
            self.known.forget(&program);
        }
        let look = || look(&self.aside, fact.process);
        self.known.get(program, fact.time, look)
    }
}

/// What is not there, as the process has ended, is not known.
fn look(aside: &Aside, process: u32) -> Reader {
    let owner = fs::metadata(format!("/proc/{process}")).map(|facts| facts.uid());
    let is_helped = move || {
        let opened = File::open(format!("/proc/{process}/environ"));
        let environment = opened.and_then(environment).unwrap_or_default();
        is_under_run(&environment)
    };
    Reader {
        has_library: aside.ask(process, is_helped),
        name: name(process),
        cgroups: groups(&file(process, "cgroup")),
        owner: owner.ok(),
    }
}

/// As much of it as is looked at.
fn environment(environ: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    (environ.take(ENVIRONMENT_BYTES_MAX)).read_to_end(&mut bytes)?;
    Ok(bytes)
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

    /// A process with an environment of 64 GiB, by `prctl(PR_SET_MM_MAP)`, filled the memory of the machine.
    #[test]
    fn of_an_environment_without_end_a_part_is_read() {
        let read = environment(io::repeat(b'A')).unwrap();
        assert_eq!(read.len() as u64, ENVIRONMENT_BYTES_MAX);
    }

    #[test]
    fn groups_of_both_hierarchies_are_paths() {
        let text = b"5:memory,cpu:/a:b\n0::/system.slice/x.service\n";
        assert_eq!(groups(text), ["/a:b", "/system.slice/x.service"]);
    }
}
