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

use crate::observation::{FileKey, Observation};

/// The compiled programs, where the loader can read them in place.
#[repr(align(8))]
struct Aligned<T: ?Sized>(T);

static ALIGNED: &Aligned<[u8]> =
    &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/observer.bpf.o")));
pub(crate) static PROGRAMS: &[u8] = &ALIGNED.0;

/// Files that are watched at most; `WATCHED_MAX` of the programs.
pub const WATCHED_MAX: usize = 4096;

/// Bytes of `struct run`, the value of a watched file. All zero: nothing was told of it.
const RUN_BYTES: usize = 48;

/// A program, its tracepoint, when it is attached, and what is lost without it.
struct Program {
    name: &'static str,
    tracepoint: &'static str,
    set: Set,
    lost: &'static str,
}

/// When a program is attached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Set {
    Misses,
    Accesses,
}

const ALL: [Program; 7] = [
    Program {
        name: "on_sync_readahead",
        tracepoint: "page_cache_sync_ra",
        set: Set::Misses,
        lost: "reads that miss",
    },
    Program {
        name: "on_async_readahead",
        tracepoint: "page_cache_async_ra",
        set: Set::Misses,
        lost: "readers that began before the daemon",
    },
    Program {
        name: "on_ordered_readahead",
        tracepoint: "page_cache_ra_order",
        set: Set::Misses,
        lost: "page faults that miss",
    },
    Program {
        name: "on_fault",
        tracepoint: "mm_filemap_fault",
        set: Set::Misses,
        lost: "page faults",
    },
    Program {
        name: "on_map",
        tracepoint: "mm_filemap_map_pages",
        set: Set::Accesses,
        lost: "page faults of cached pages",
    },
    Program {
        name: "on_read",
        tracepoint: "mm_filemap_get_pages",
        set: Set::Accesses,
        lost: "reads of files that are watched",
    },
    Program {
        name: "on_switch",
        tracepoint: "sched_switch",
        set: Set::Accesses,
        lost: "how long readers wait",
    },
];

/// Why nothing can be observed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObserverError {
    /// The kernel does not describe itself.
    #[error(
        "this kernel has no description of itself (/sys/kernel/btf/vmlinux): it was built without CONFIG_DEBUG_INFO_BTF"
    )]
    NoBtf,
    /// The programs are refused.
    #[error(
        "cannot watch the page cache: {0}; that needs root or CAP_BPF and CAP_PERFMON, and no lockdown for confidentiality. `ahead run` works without, for one program"
    )]
    Refused(libbpf_rs::Error),
    /// None of the tracepoints is there.
    #[error("this kernel has none of the tracepoints of read-ahead ({0}): it is older than 6.15")]
    NoTracepoints(String),
}

/// The programs, loaded and attached.
pub struct KernelObserver {
    object: Object,
    watched: MapHandle,
    overruns: MapHandle,
    ring: RingBuffer<'static>,
    arrived: Rc<RefCell<Vec<Observation>>>,
    _misses: Vec<Link>,
    accesses: Vec<Link>,
    lost: Vec<&'static str>,
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
        let is_there = |program: &Program| {
            let name = format!("btf_trace_{}", program.tracepoint);
            kernel.type_by_name::<BtfType<'_>>(&name).is_some()
        };
        let (here, missing): (Vec<_>, Vec<_>) = ALL.iter().partition(|one| is_there(one));
        if here.iter().all(|one| one.name != "on_sync_readahead") {
            let names: Vec<_> = missing.iter().map(|one| one.tracepoint).collect();
            return Err(ObserverError::NoTracepoints(names.join(", ")));
        }
        let mut open = ObjectBuilder::default()
            .open_memory(PROGRAMS)
            .map_err(ObserverError::Refused)?;
        for mut program in open.progs_mut() {
            let name = program.name().to_owned();
            program.set_autoload(here.iter().any(|one| name == one.name));
        }
        let object = open.load().map_err(ObserverError::Refused)?;
        let map = |name: &str| {
            let mut maps = object.maps();
            let found = maps.find(|map| map.name() == name).expect("a map of ours");
            MapHandle::try_from(&found).map_err(ObserverError::Refused)
        };
        let (watched, overruns) = (map("watched")?, map("overruns")?);
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
            lost: missing.iter().map(|one| one.lost).collect(),
            object,
        })
    }

    /// What this kernel has no tracepoint for.
    #[must_use]
    pub fn lost(&self) -> &[&'static str] {
        &self.lost
    }

    /// Nothing is told of the process with this number from now on: the daemon's own.
    ///
    /// # Errors
    /// The kernel's.
    pub fn leave_out(&self, process: u32) -> Result<(), libbpf_rs::Error> {
        let mut maps = self.object.maps();
        let variables = maps.find(|map| map.name().to_string_lossy().ends_with(".bss"));
        let variables = variables.expect("a variable of ours");
        variables.update(&0_u32.to_ne_bytes(), &process.to_ne_bytes(), MapFlags::ANY)
    }

    /// Accesses to `file` are told from now on. Attaches what that needs, if this is the first.
    ///
    /// # Errors
    /// The kernel's: the file is not watched.
    pub fn watch(&mut self, file: FileKey) -> Result<(), ObserverError> {
        // First all that tells: faults that miss, told without those between them, would look like a stride.
        if self.accesses.is_empty() {
            let all: Vec<_> = ALL.iter().collect();
            self.accesses = attach(&self.object, Set::Accesses, &all)?;
        }
        self.watched
            .update(&file.to_bytes(), &[0; RUN_BYTES], MapFlags::ANY)
            .map_err(ObserverError::Refused)
    }

    /// Accesses to `file` are not told any more, its next miss is.
    pub fn forget(&self, file: FileKey) {
        // It may not have been watched.
        let _ = self.watched.delete(&file.to_bytes());
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

    /// Waits until something was told, or for `timeout`, and appends all that was told to `observations`.
    ///
    /// # Errors
    /// The kernel's. A signal ends the wait without one.
    pub fn wait(
        &self,
        timeout: Duration,
        observations: &mut Vec<Observation>,
    ) -> Result<(), libbpf_rs::Error> {
        let polled = self.ring.poll(timeout);
        observations.append(&mut self.arrived.borrow_mut());
        match polled {
            Err(error) if error.kind() == libbpf_rs::ErrorKind::Interrupted => Ok(()),
            polled => polled,
        }
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

fn attach(object: &Object, set: Set, here: &[&Program]) -> Result<Vec<Link>, ObserverError> {
    let wanted = |name: &std::ffi::OsStr| here.iter().any(|one| one.set == set && name == one.name);
    object
        .progs_mut()
        .filter(|program| wanted(program.name()) && program.autoload())
        .map(|program| program.attach().map_err(ObserverError::Refused))
        .collect()
}
