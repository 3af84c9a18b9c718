//! What the programs in the kernel tell, decoded. Pure.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

use ahead_units::{ByteLength, ByteOffset, ByteRange, PageCount, Timestamp};

/// A file as the page cache knows it: its superblock's device, and its inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileKey {
    /// The number of the device as `stat` gives it, but for btrfs, whose files have numbers of their own.
    pub device: u64,
    /// Number of the inode.
    pub inode: u64,
}

/// Bytes of a key in the maps of the programs.
pub(crate) const KEY_BYTES: usize = 16;

/// The kernel keeps major << 20 | minor.
const MINOR_BITS: u32 = 20;

impl FileKey {
    /// The file that `facts` are of.
    #[must_use]
    pub fn of(facts: &Metadata) -> Self {
        Self {
            device: facts.dev(),
            inode: facts.ino(),
        }
    }

    fn new(device: u32, inode: u64) -> Self {
        let (major, minor) = (device >> MINOR_BITS, device & ((1 << MINOR_BITS) - 1));
        Self {
            device: rustix::fs::makedev(major, minor),
            inode,
        }
    }

    /// As the programs keep it.
    pub(crate) fn to_bytes(self) -> [u8; KEY_BYTES] {
        let major = rustix::fs::major(self.device);
        let minor = rustix::fs::minor(self.device);
        let mut bytes = [0; KEY_BYTES];
        bytes[..8].copy_from_slice(&self.inode.to_ne_bytes());
        bytes[8..12].copy_from_slice(&(major << MINOR_BITS | minor).to_ne_bytes());
        bytes
    }
}

/// What kind of fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactKind {
    /// A file that is not watched had to be fetched from its device.
    Miss,
    /// Accesses to a watched file.
    Accesses,
    /// An access that was told before has waited.
    Wait,
}

/// One fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// What kind.
    pub kind: FactKind,
    /// When, on the clock CLOCK_MONOTONIC.
    pub time: Timestamp,
    /// Of which file.
    pub file: FileKey,
    /// Which of the files that had this inode one after another; `None`: not known, or the file system does not count.
    pub generation: Option<u32>,
    /// Length of the file.
    pub file_pages: PageCount,
    /// The first of `count` accesses, whole pages.
    pub first: ByteRange,
    /// Bytes from the start of one access to that of the next.
    pub step: i64,
    /// How many accesses, at least 1.
    pub count: u32,
    /// How long the last of them waited for a device; 0: it did not, or that is not known yet.
    pub waited_ns: u64,
    /// The process.
    pub process: u32,
    /// The thread.
    pub thread: u32,
    /// Programs that the process has executed: another number is another program.
    pub programs: u32,
    /// Number of the descriptor in the process, where the call had one.
    pub descriptor: Option<i32>,
    /// Page faults of a mapping.
    pub is_mapped: bool,
    /// The program said RANDOM about the open file.
    pub advised_random: bool,
    /// Told before the kernel waits for the device.
    pub is_early: bool,
    /// Window of the open file, where it was seen.
    pub window: Option<PageCount>,
}

impl Observation {
    /// The accesses, in their order.
    pub fn accesses(&self) -> impl Iterator<Item = ByteRange> + use<> {
        let Self {
            first, step, count, ..
        } = *self;
        (0..i64::from(count)).map_while(move |place| {
            let moved = place.checked_mul(step)?;
            let start = first.start.get().checked_add_signed(moved)?;
            Some(ByteRange::of(ByteOffset::new(start), first.len()))
        })
    }

    /// Reads one record; `None` where it is none.
    #[must_use]
    pub fn decode(record: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u64::from_ne_bytes(record.get(at..at + 8)?.try_into().ok()?));
        let half = |at: usize| Some(u32::from_ne_bytes(record.get(at..at + 4)?.try_into().ok()?));
        let kind = match half(layout::KIND)? {
            layout::MISS => FactKind::Miss,
            layout::ACCESSES => FactKind::Accesses,
            layout::WAIT => FactKind::Wait,
            _ => return None,
        };
        let flags = half(layout::FLAGS)?;
        let is = |flag: u32| flags & flag != 0;
        let start = ByteOffset::new(word(layout::START)?);
        let first = ByteRange::of(start, ByteLength::new(word(layout::LENGTH)?));
        let window = PageCount::new(half(layout::RA_PAGES)?.into());
        Some(Self {
            kind,
            time: Timestamp::new(word(layout::TIME_NS)?),
            file: FileKey::new(half(layout::DEVICE)?, word(layout::INODE)?),
            generation: Some(half(layout::GENERATION)?).filter(|generation| *generation != 0),
            file_pages: PageCount::holding(ByteLength::new(word(layout::FILE_BYTES)?)),
            first,
            step: word(layout::STEP)?.cast_signed(),
            count: half(layout::COUNT)?.max(1),
            waited_ns: word(layout::WAITED_NS)?,
            process: half(layout::PROCESS)?,
            thread: half(layout::THREAD)?,
            programs: half(layout::PROGRAMS)?,
            descriptor: Some(half(layout::DESCRIPTOR)?.cast_signed()).filter(|number| *number >= 0),
            is_mapped: is(layout::MAPPED),
            advised_random: is(layout::ADVISED_RANDOM),
            is_early: is(layout::EARLY),
            window: is(layout::WINDOW_KNOWN).then_some(window),
        })
    }
}

/// Offsets, kinds and flags of `bpf/record.h`.
mod layout {
    pub(super) const TIME_NS: usize = 0;
    pub(super) const INODE: usize = 8;
    pub(super) const START: usize = 16;
    pub(super) const LENGTH: usize = 24;
    pub(super) const STEP: usize = 32;
    pub(super) const WAITED_NS: usize = 40;
    pub(super) const FILE_BYTES: usize = 48;
    pub(super) const KIND: usize = 56;
    pub(super) const FLAGS: usize = 60;
    pub(super) const COUNT: usize = 64;
    pub(super) const DEVICE: usize = 68;
    pub(super) const PROCESS: usize = 72;
    pub(super) const THREAD: usize = 76;
    pub(super) const DESCRIPTOR: usize = 80;
    pub(super) const RA_PAGES: usize = 84;
    pub(super) const PROGRAMS: usize = 88;
    pub(super) const GENERATION: usize = 92;

    pub(super) const MISS: u32 = 1;
    pub(super) const ACCESSES: u32 = 2;
    pub(super) const WAIT: u32 = 3;

    pub(super) const MAPPED: u32 = 1;
    pub(super) const ADVISED_RANDOM: u32 = 2;
    pub(super) const EARLY: u32 = 4;
    pub(super) const WINDOW_KNOWN: u32 = 8;
}

#[cfg(test)]
mod tests {
    use libbpf_rs::btf::types::{Enum, Struct};
    use libbpf_rs::btf::{Btf, BtfType};

    use super::*;
    use crate::observer::PROGRAMS;

    /// What the header says and what is decoded here are one layout: the compiler's own account of the header is
    /// in the object.
    #[test]
    fn the_layout_is_that_of_the_header() {
        let btf = Btf::from_raw("observer", PROGRAMS).unwrap().unwrap();
        let record: Struct<'_> = btf.type_by_name("record").unwrap();
        let here = [
            ("time_ns", layout::TIME_NS),
            ("inode", layout::INODE),
            ("start", layout::START),
            ("length", layout::LENGTH),
            ("step", layout::STEP),
            ("waited_ns", layout::WAITED_NS),
            ("file_bytes", layout::FILE_BYTES),
            ("kind", layout::KIND),
            ("flags", layout::FLAGS),
            ("count", layout::COUNT),
            ("device", layout::DEVICE),
            ("process", layout::PROCESS),
            ("thread", layout::THREAD),
            ("descriptor", layout::DESCRIPTOR),
            ("ra_pages", layout::RA_PAGES),
            ("programs", layout::PROGRAMS),
            ("generation", layout::GENERATION),
        ];
        let there: Vec<(String, usize)> = record
            .iter()
            .map(|member| {
                let libbpf_rs::btf::types::MemberAttr::Normal { offset } = member.attr else {
                    panic!("a bit field");
                };
                let name = member.name.unwrap().to_str().unwrap().to_owned();
                (name, offset as usize / 8)
            })
            .collect();
        let here: Vec<_> = here.map(|(name, at)| (name.to_owned(), at)).into();
        assert_eq!(there, here);
        let values = |name: &str| -> Vec<i64> {
            let found: BtfType<'_> = btf.type_by_name(name).unwrap();
            let found = Enum::try_from(found).unwrap();
            found.iter().map(|one| one.value).collect()
        };
        assert_eq!(values("record_kind"), [1, 2, 3]);
        assert_eq!(values("record_flag"), [1, 2, 4, 8]);
    }

    const BYTES: usize = 96;

    fn record(kind: u32) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[layout::KIND..][..4].copy_from_slice(&kind.to_ne_bytes());
        bytes[layout::START..][..8].copy_from_slice(&(1_u64 << 20).to_ne_bytes());
        bytes[layout::LENGTH..][..8].copy_from_slice(&(64_u64 << 10).to_ne_bytes());
        bytes[layout::STEP..][..8].copy_from_slice(&(-(64_i64 << 10)).to_ne_bytes());
        bytes[layout::COUNT..][..4].copy_from_slice(&3_u32.to_ne_bytes());
        bytes[layout::DEVICE..][..4].copy_from_slice(&(7_u32 << 20 | 3).to_ne_bytes());
        bytes[layout::DESCRIPTOR..][..4].copy_from_slice(&(-1_i32).to_ne_bytes());
        bytes
    }

    #[test]
    fn a_backward_run_is_its_accesses_in_order() {
        let run = Observation::decode(&record(layout::ACCESSES)).unwrap();
        let starts: Vec<_> = run.accesses().map(|one| one.start.get() >> 16).collect();
        assert_eq!(starts, [16, 15, 14]);
        assert_eq!(run.file.device, rustix::fs::makedev(7, 3));
        assert_eq!(run.descriptor, None);
    }

    #[test]
    fn what_is_cut_or_of_another_kind_is_no_record() {
        assert_eq!(Observation::decode(&record(9)), None);
        assert_eq!(Observation::decode(&record(layout::MISS)[..91]), None);
    }

    #[test]
    fn a_key_is_the_same_there_and_back() {
        let key = FileKey::new(8 << 20 | 17, 99);
        let bytes = key.to_bytes();
        assert_eq!(bytes[..8], 99_u64.to_ne_bytes());
        assert_eq!(bytes[8..12], (8_u32 << 20 | 17).to_ne_bytes());
    }
}
