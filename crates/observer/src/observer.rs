//! The programs: found out which of them this kernel can have, loaded, attached, drained.
//!
//! A program whose tracepoint this kernel does not have is left out, and what is lost is said. They end with this
//! process: nothing is pinned.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use libbpf_rs::btf::{Btf, BtfType};
use libbpf_rs::{
    Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, PrintLevel, RingBuffer,
};
use libbpf_rs::{RingBufferBuilder, set_print};

use ahead_units::Timestamp;

use crate::observation::{FileKey, Observation};
use crate::quiet::Quiet;
use crate::watched_files::WatchedFiles;

/// The compiled programs, where the loader can read them in place.
#[repr(align(8))]
struct Aligned<T: ?Sized>(T);

static ALIGNED: &Aligned<[u8]> =
    &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/observer.bpf.o")));
pub(crate) static PROGRAMS: &[u8] = &ALIGNED.0;

/// Files that are watched at most; `WATCHED_MAX` of the programs.
pub const WATCHED_MAX: usize = 4096;

/// One of the places in the kernel that are watched: the program on its tracepoint, and the one on the function that has
/// the tracepoint in newer kernels.
struct Place {
    program: &'static str,
    tracepoint: &'static str,
    function: &'static str,
    set: Set,
    lost: &'static str,
}

/// When a program is attached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Set {
    Misses,
    Accesses,
}

/// The name of the program on a function is that of the one on the tracepoint with this behind it.
const ON_FUNCTION: &str = "_function";

const ALL: [Place; 7] = [
    Place {
        program: "on_sync_readahead",
        tracepoint: "page_cache_sync_ra",
        function: "page_cache_sync_ra",
        set: Set::Misses,
        lost: "reads that miss",
    },
    Place {
        program: "on_async_readahead",
        tracepoint: "page_cache_async_ra",
        function: "page_cache_async_ra",
        set: Set::Misses,
        lost: "readers that began before the daemon",
    },
    Place {
        program: "on_ordered_readahead",
        tracepoint: "page_cache_ra_order",
        function: "page_cache_ra_order",
        set: Set::Misses,
        lost: "page faults that miss",
    },
    Place {
        program: "on_fault",
        tracepoint: "mm_filemap_fault",
        function: "filemap_fault",
        set: Set::Misses,
        lost: "page faults",
    },
    Place {
        program: "on_map",
        tracepoint: "mm_filemap_map_pages",
        function: "filemap_map_pages",
        set: Set::Accesses,
        lost: "page faults of cached pages",
    },
    Place {
        program: "on_read",
        tracepoint: "mm_filemap_get_pages",
        function: "filemap_read",
        set: Set::Accesses,
        lost: "reads of files that are watched",
    },
    Place {
        program: "on_switch",
        tracepoint: "sched_switch",
        function: "",
        set: Set::Accesses,
        lost: "how long readers wait",
    },
];

/// How a place is watched on the kernel that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    Tracepoint,
    Function,
}

/// The best that a kernel has, which describes the types and functions that `is_there` knows. A tracepoint is where
/// the fact is known exactly, and holds its meaning; a function may be inlined, or change.
fn choose(place: &Place, is_there: impl Fn(&str) -> bool) -> Option<Probe> {
    if is_there(&format!("btf_trace_{}", place.tracepoint)) {
        Some(Probe::Tracepoint)
    } else if !place.function.is_empty() && is_there(place.function) {
        Some(Probe::Function)
    } else {
        None
    }
}

/// What can be had where nothing can be observed.
pub const WORKS: &str = "`ahead run` works here, for one program, and `ahead device recommend` finds the best window of a device";

/// Why nothing can be observed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObserverError {
    /// The kernel does not describe itself.
    #[error(
        "this kernel has no description of itself (/sys/kernel/btf/vmlinux): it was built without CONFIG_DEBUG_INFO_BTF; {WORKS}"
    )]
    NoBtf,
    /// The programs are refused.
    #[error(
        "cannot watch the page cache: {0}; that needs root or CAP_BPF and CAP_PERFMON, and no lockdown for confidentiality; {WORKS}"
    )]
    Refused(libbpf_rs::Error),
    /// Neither the tracepoint nor the function is there.
    #[error(
        "this kernel has nothing by which reads that miss can be seen: it is older than 5.18; {WORKS}"
    )]
    NoReadahead,
}

/// The programs, loaded and attached.
pub struct KernelObserver {
    object: Object,
    watched: WatchedFiles,
    overruns: MapHandle,
    ring: RingBuffer<'static>,
    arrived: Rc<RefCell<Vec<Observation>>>,
    _misses: Vec<Link>,
    accesses: Vec<Link>,
    /// How often they were attached.
    attachments: u32,
    lost: Vec<&'static str>,
    functions: Vec<&'static str>,
    /// The programs of this kernel.
    here: Vec<(String, Set)>,
}

impl fmt::Debug for KernelObserver {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("KernelObserver")
            .field("is_attached", &!self.accesses.is_empty())
            .field("lost", &self.lost)
            .finish_non_exhaustive()
    }
}

impl KernelObserver {
    /// Loads the programs and attaches those that find misses.
    ///
    /// # Errors
    /// [`ObserverError`]; nothing is attached then.
    pub fn start() -> Result<Self, ObserverError> {
        // What the loader prints is in the errors too.
        set_print(None::<(PrintLevel, fn(PrintLevel, String))>);
        let kernel = Btf::from_vmlinux().map_err(|_| ObserverError::NoBtf)?;
        let is_there = |name: &str| kernel.type_by_name::<BtfType<'_>>(name).is_some();
        let (mut here, mut lost, mut functions) = (Vec::new(), Vec::new(), Vec::new());
        for place in &ALL {
            match choose(place, is_there) {
                Some(Probe::Tracepoint) => here.push((place.program.to_owned(), place.set)),
                Some(Probe::Function) => {
                    here.push((format!("{}{ON_FUNCTION}", place.program), place.set));
                    functions.push(place.function);
                }
                None => lost.push(place.lost),
            }
        }
        if lost.contains(&ALL[0].lost) {
            return Err(ObserverError::NoReadahead);
        }
        let mut open = ObjectBuilder::default()
            .open_memory(PROGRAMS)
            .map_err(ObserverError::Refused)?;
        for mut program in open.progs_mut() {
            let name = program.name().to_owned();
            program.set_autoload(here.iter().any(|(one, _)| name == one.as_str()));
        }
        let object = open.load().map_err(ObserverError::Refused)?;
        let map = |name: &str| {
            let mut maps = object.maps();
            let found = maps.find(|map| map.name() == name).expect("a map of ours");
            MapHandle::try_from(&found).map_err(ObserverError::Refused)
        };
        let watched = WatchedFiles::new(map)?;
        let overruns = map("overruns")?;
        let arrived = Rc::new(RefCell::new(Vec::new()));
        let records = map("records")?;
        let mut ring = RingBufferBuilder::new();
        let sink = Rc::clone(&arrived);
        ring.add(&records, move |record| {
            sink.borrow_mut().extend(Observation::decode(record));
            0
        })
        .map_err(ObserverError::Refused)?;
        let ring = ring.build().map_err(ObserverError::Refused)?;
        let misses = attach(&object, Set::Misses, &here)?;
        Ok(Self {
            watched,
            overruns,
            ring,
            arrived,
            _misses: misses,
            accesses: Vec::new(),
            attachments: 0,
            lost,
            functions,
            here,
            object,
        })
    }

    /// What this kernel cannot tell.
    #[must_use]
    pub fn lost(&self) -> &[&'static str] {
        &self.lost
    }

    /// The functions of the kernel that are watched where it has no tracepoint.
    #[must_use]
    pub fn functions(&self) -> &[&'static str] {
        &self.functions
    }

    /// Nothing is told of the process with this number from now on: the daemon's own.
    ///
    /// # Errors
    /// The kernel's.
    pub fn leave_out(&self, process: u32) -> Result<(), libbpf_rs::Error> {
        self.set_variable(".bss", process)
    }

    /// Sets the variable that the programs have alone in this section.
    fn set_variable(&self, section: &str, value: u32) -> Result<(), libbpf_rs::Error> {
        let mut maps = self.object.maps();
        // The name of the object may stand in front.
        let variable = maps.find(|map| map.name().to_string_lossy().ends_with(section));
        let variable = variable.expect("a variable of ours");
        variable.update(&0_u32.to_ne_bytes(), &value.to_ne_bytes(), MapFlags::ANY)
    }

    /// Nothing is told any more of files of up to 128 KiB that the kernel brings whole by itself, as they are read from their start.
    ///
    /// # Errors
    /// The kernel's.
    pub fn leave_small(&self) -> Result<(), libbpf_rs::Error> {
        self.set_variable(".bss.small", 1)
    }

    /// Accesses to `file` are told from now on. Attaches what that needs, if this is the first.
    ///
    /// # Errors
    /// The kernel's: the file is not watched.
    pub fn watch(&mut self, file: FileKey) -> Result<(), ObserverError> {
        // First all that tells: faults that miss, told without those between them, would look like a stride.
        if self.accesses.is_empty() {
            self.attachments = self.attachments.wrapping_add(1);
            self.set_variable(".bss.attached", self.attachments)
                .map_err(ObserverError::Refused)?;
            self.accesses = attach(&self.object, Set::Accesses, &self.here)?;
        }
        self.watched.add(file).map_err(ObserverError::Refused)
    }

    /// Accesses to `file` are not told any more, its next miss is, unless it is [small](Self::leave_small) or [ignored](Self::ignore).
    pub fn forget(&mut self, file: FileKey) {
        self.watched.remove(file);
    }

    /// Accesses to `file`, which is watched, end [`wait`](Self::wait) only where `quiet` has it: the others are told with the next
    /// that do, or at its timeout. By default, as when it was watched first, each ends it.
    pub fn set_quiet(&self, file: FileKey, quiet: &Quiet) {
        self.watched.set_quiet(file, quiet);
    }

    /// Nothing is told of what `process` reads of `file` before `until`, unless it is watched.
    pub fn ignore(&self, file: FileKey, process: u32, until: Timestamp) {
        self.watched.ignore(file, process, until);
    }

    /// Detaches what tells of accesses: no file is watched any more.
    pub fn rest(&mut self) {
        self.accesses.clear();
    }

    /// Whether what tells of accesses is attached.
    #[must_use]
    pub fn is_attached(&self) -> bool {
        !self.accesses.is_empty()
    }

    /// Waits until there is news, or for `timeout`, and appends all that was told to `observations`. No news is what an access has
    /// waited, and what [`Quiet`] has.
    ///
    /// # Errors
    /// The kernel's. A signal ends the wait without one.
    pub fn wait(
        &self,
        timeout: Duration,
        observations: &mut Vec<Observation>,
    ) -> Result<(), libbpf_rs::Error> {
        match self.ring.poll(timeout) {
            Err(error) if error.kind() == libbpf_rs::ErrorKind::Interrupted => {}
            polled => polled?,
        }
        // What was no news is not polled for.
        self.drain(observations)
    }

    /// Appends what was told to `observations`, without waiting.
    ///
    /// # Errors
    /// The kernel's.
    pub fn drain(&self, observations: &mut Vec<Observation>) -> Result<(), libbpf_rs::Error> {
        let consumed = self.ring.consume();
        observations.append(&mut self.arrived.borrow_mut());
        consumed
    }

    /// Facts that were lost since the start, as they found the ring full.
    #[must_use]
    pub fn overruns(&self) -> u64 {
        let counts = self
            .overruns
            .lookup_percpu(&0_u32.to_ne_bytes(), MapFlags::ANY);
        let counts = counts.ok().flatten().unwrap_or_default();
        let number = |bytes: &Vec<u8>| Some(u64::from_ne_bytes(bytes.get(..8)?.try_into().ok()?));
        counts.iter().filter_map(number).sum()
    }
}

fn attach(object: &Object, set: Set, here: &[(String, Set)]) -> Result<Vec<Link>, ObserverError> {
    let wanted = |name: &std::ffi::OsStr| {
        here.iter()
            .any(|(one, of)| *of == set && name == one.as_str())
    };
    object
        .progs_mut()
        .filter(|program| wanted(program.name()))
        .map(|program| program.attach().map_err(ObserverError::Refused))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(there: &[&str]) -> Vec<Option<Probe>> {
        let places = ALL.iter();
        places
            .map(|place| choose(place, |name| there.contains(&name)))
            .collect()
    }

    const FUNCTIONS: [&str; 6] = [
        "page_cache_sync_ra",
        "page_cache_async_ra",
        "page_cache_ra_order",
        "filemap_fault",
        "filemap_map_pages",
        "filemap_read",
    ];

    /// As 6.1, 6.12 and 6.18 have them.
    #[test]
    fn a_tracepoint_is_taken_where_there_is_one_and_a_function_otherwise() {
        use Probe::{Function as F, Tracepoint as T};
        let mut there = FUNCTIONS.to_vec();
        there.push("btf_trace_sched_switch");
        assert_eq!(chosen(&there), [F, F, F, F, F, F, T].map(Some));
        there.extend([
            "btf_trace_mm_filemap_fault",
            "btf_trace_mm_filemap_map_pages",
            "btf_trace_mm_filemap_get_pages",
        ]);
        assert_eq!(chosen(&there), [F, F, F, T, T, T, T].map(Some));
        there.extend([
            "btf_trace_page_cache_sync_ra",
            "btf_trace_page_cache_async_ra",
            "btf_trace_page_cache_ra_order",
        ]);
        assert_eq!(chosen(&there), [Some(T); 7]);
    }

    #[test]
    fn what_a_kernel_has_neither_way_is_lost() {
        assert_eq!(chosen(&["filemap_read"])[0], None);
    }

    /// The programs are found by their names.
    #[test]
    fn every_place_has_its_programs() {
        let open = ObjectBuilder::default().open_memory(PROGRAMS).unwrap();
        let names: Vec<_> = open.progs().map(|one| one.name().to_owned()).collect();
        let is_there = |name: &str| names.iter().any(|one| one == name);
        for place in &ALL {
            assert!(is_there(place.program), "{}", place.program);
            let on_function = format!("{}{ON_FUNCTION}", place.program);
            assert_eq!(is_there(&on_function), !place.function.is_empty());
        }
    }
}
