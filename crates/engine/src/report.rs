//! The account of a run: what every process of it wrote, word by word, into one shared file.
//!
//! The interposed library writes (it maps the file and stores 64-bit words), `ahead run` reads the
//! same bytes with [`decode`], also after a process died in the middle of everything. Words are
//! native-endian; a reader of another version says so instead of guessing.
//!
//! ```text
//! header            HEADER_WORDS words
//! file records      FILES_MAX  x RECORD_WORDS   one per (device, inode), shared by all processes
//! decision records  EVENTS_MAX x EVENT_WORDS    a ring, newest overwrites oldest
//! ```

use ahead_policy::device::DeviceEstimate;
use ahead_policy::reason::{Pattern, Reason};

use crate::estimates;
use crate::tree_report::{self, FilesAhead, TreeReport};

/// First word of the file: "ahead" and the layout's version.
pub const MAGIC: u64 = 0x6168_6561_6400_0005;
/// Words in the header.
pub const HEADER_WORDS: usize = 64;
/// Words in the record of one file.
pub const RECORD_WORDS: usize = 64;
/// Words in the record of one decision.
pub const EVENT_WORDS: usize = 8;
/// Files that have a record; more are counted in [`header::FILES_BEYOND`].
pub const FILES_MAX: usize = 1024;
/// Decisions that are kept.
pub const EVENTS_MAX: usize = 8192;
/// Devices that have a record; further ones are not reported.
pub const DEVICES_MAX: usize = 8;
/// Words in the record of a device.
pub const DEVICE_WORDS: usize = 4;
/// Size of the whole file in bytes.
pub const FILE_BYTES: usize =
    (HEADER_WORDS + FILES_MAX * RECORD_WORDS + EVENTS_MAX * EVENT_WORDS) * 8;
/// Bytes of path that a record keeps; longer ones lose their beginning.
pub const PATH_BYTES: usize = (RECORD_WORDS - record::PATH) * 8;

/// Word numbers inside the header.
pub mod header {
    /// [`super::MAGIC`].
    pub const MAGIC: usize = 0;
    /// Processes that mapped the file.
    pub const PROCESSES: usize = 1;
    /// Decisions ever written; the ring holds the newest.
    pub const EVENTS: usize = 2;
    /// Files that found no record.
    pub const FILES_BEYOND: usize = 3;
    /// Calls of `mmap` on regular files: their faults cannot be seen.
    pub const MAPPINGS: usize = 4;
    /// Files that have a record.
    pub const FILES: usize = 5;
    /// Calls that asked the kernel for pages.
    pub const CALLS: usize = 7;
    /// Pages of all windows asked for and not yet reached, largest seen in one process.
    pub const UNREAD_PAGES_MAX: usize = 8;
    /// First of [`WORDS`](crate::tree_report::WORDS) words: what was done for trees.
    pub const TREES: usize = 9;
    /// First of [`super::Aside::COUNT`] words: how often the library stepped aside, by reason.
    pub const ASIDES: usize = 16;
    /// First of [`super::DEVICES_MAX`] times [`super::DEVICE_WORDS`] words: what was learned of devices.
    pub const DEVICES: usize = 32;
}

/// Word numbers inside a device's record.
pub mod device {
    /// Device number plus 1; 0 is free.
    pub const NUMBER: usize = 0;
    /// [Estimate](crate::estimates::to_word) with which the first process began.
    pub const FIRST: usize = 1;
    /// The newest estimate.
    pub const NEWEST: usize = 2;
}

/// Word numbers inside a file's record.
pub mod record {
    /// 0 free, 1 being claimed, 2 ready.
    pub const STATE: usize = 0;
    /// Device number.
    pub const DEVICE: usize = 1;
    /// Inode number.
    pub const INODE: usize = 2;
    /// [`ahead_policy::reason::Pattern`] code.
    pub const PATTERN: usize = 3;
    /// Largest window in pages.
    pub const WINDOW: usize = 4;
    /// Reads.
    pub const ACCESSES: usize = 5;
    /// Pages read.
    pub const PAGES: usize = 6;
    /// Pages asked for.
    pub const PREFETCHED: usize = 7;
    /// Prefetched pages that were read later.
    pub const USEFUL: usize = 8;
    /// Prefetched pages that were read while still on their way.
    pub const LATE: usize = 9;
    /// Prefetched pages that were given up without being read.
    pub const WASTED: usize = 10;
    /// Prefetched pages that were evicted before being read.
    pub const THRASHED: usize = 11;
    /// Reads that waited for the device.
    pub const WAITS: usize = 12;
    /// Reads of prefetched pages that did not wait.
    pub const WAITS_AVOIDED: usize = 13;
    /// [`ahead_policy::reason::Reason`] code of the newest decision.
    pub const REASON: usize = 14;
    /// Bits of [`super::flags`].
    pub const FLAGS: usize = 15;
    /// When the file was made, in nanoseconds; 0: not known.
    pub const BIRTH: usize = 16;
    /// How many files had a record before this one.
    pub const NUMBER: usize = 17;
    /// First word of the path, padded with zero bytes.
    pub const PATH: usize = 24;
}

/// Bits of a file record's flags word.
pub mod flags {
    /// The program mapped the file: its faults are not in the account.
    pub const MAPPED: u64 = 1;
    /// The program gave advice of its own.
    pub const PROGRAM_ADVISES: u64 = 2;
    /// The file was opened with `O_DIRECT`: there is no cache to fill.
    pub const DIRECT: u64 = 4;
}

/// Word numbers inside a decision's record.
pub mod event {
    /// Number of the decision, from 1; 0 while it is being written.
    pub const SEQUENCE: usize = 0;
    /// Number of the file's record in the low half, process id in the high half.
    pub const FILE_AND_PROCESS: usize = 1;
    /// In the place of a file's record: the decision is about many files, and the words from [`START`] to [`REASON`]
    /// are those of [`FilesAhead`](crate::tree_report::FilesAhead).
    pub const MANY_FILES: u32 = u32::MAX - 1;
    /// First page asked for.
    pub const START: usize = 2;
    /// Pages asked for in each range.
    pub const LENGTH: usize = 3;
    /// Distance of the ranges' starts, as a two's complement number of bytes.
    pub const PERIOD: usize = 4;
    /// How many ranges.
    pub const COUNT: usize = 5;
    /// Pattern code in the low byte, reason code above it.
    pub const REASON: usize = 6;
    /// Nanoseconds on the monotonic clock.
    pub const TIME_NS: usize = 7;
}

/// Why the library left a descriptor, a call or a whole process alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Aside {
    /// The descriptor is no regular file.
    NoFile,
    /// The file's file system reads from no device.
    NoDevice,
    /// The file was opened with `O_DIRECT`.
    Direct,
    /// The program gives advice of its own about the descriptor.
    ProgramAdvises,
    /// The process forbids itself system calls from now on.
    SandboxAnnounced,
    /// The process was started under a filter of system calls that may not let ours pass.
    SandboxInherited,
    /// An invariant of ours was found broken.
    BrokenInvariant,
    /// The kernel refused our requests again and again.
    RefusedTooOften,
    /// There was no address space for our tables.
    NoAddressSpace,
    /// All suitable places of a table were in use.
    TableFull,
    /// What is read is not in the page cache afterwards, although the file was opened without `O_DIRECT`.
    Uncached,
}

impl Aside {
    /// How many reasons there are.
    pub const COUNT: usize = Self::ALL.len();

    /// All reasons, in the order of their codes.
    pub const ALL: [Self; 11] = [
        Self::NoFile,
        Self::NoDevice,
        Self::Direct,
        Self::ProgramAdvises,
        Self::SandboxAnnounced,
        Self::SandboxInherited,
        Self::BrokenInvariant,
        Self::RefusedTooOften,
        Self::NoAddressSpace,
        Self::TableFull,
        Self::Uncached,
    ];

    /// The word for machines.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoFile => "no_file",
            Self::NoDevice => "no_device",
            Self::Direct => "direct",
            Self::ProgramAdvises => "program_advises",
            Self::SandboxAnnounced => "sandbox_announced",
            Self::SandboxInherited => "sandbox_inherited",
            Self::BrokenInvariant => "broken_invariant",
            Self::RefusedTooOften => "refused_too_often",
            Self::NoAddressSpace => "no_address_space",
            Self::TableFull => "table_full",
            Self::Uncached => "uncached",
        }
    }

    /// The reason's place in [`Self::ALL`].
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }
}

impl std::fmt::Display for Aside {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::NoFile => "not a regular file",
            Self::NoDevice => "on a file system without a device",
            Self::Direct => "opened with O_DIRECT",
            Self::ProgramAdvises => "the program gives its own advice",
            Self::SandboxAnnounced => "the program entered a sandbox",
            Self::SandboxInherited => "started inside an unknown sandbox",
            Self::BrokenInvariant => "a mistake in ahead's library: please report it",
            Self::RefusedTooOften => "the kernel refused too often",
            Self::NoAddressSpace => "no address space for the library's tables",
            Self::TableFull => "the library's tables were full",
            Self::Uncached => "what is read bypasses the page cache",
        })
    }
}

/// Why an account could not be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The file is shorter than the layout.
    #[error("the account has {found} bytes instead of {FILE_BYTES}: it was cut off")]
    Short {
        /// Bytes found.
        found: usize,
    },
    /// Another version wrote it.
    #[error(
        "the account was written by another version of ahead: use library and program of one build"
    )]
    OtherVersion,
}

/// What is known about one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileReport {
    /// Path at the time of the first read; only its end when it was long.
    pub path: String,
    /// How its reads follow each other.
    pub pattern: Pattern,
    /// Largest window, in pages.
    pub window_pages: u64,
    /// Reads.
    pub accesses: u64,
    /// Pages read.
    pub pages: u64,
    /// Pages that calls were made for.
    pub prefetched: u64,
    /// Prefetched pages read later.
    pub useful: u64,
    /// Prefetched pages read while still on their way.
    pub late: u64,
    /// Prefetched pages never read.
    pub wasted: u64,
    /// Prefetched pages evicted before use.
    pub thrashed: u64,
    /// Reads that waited.
    pub waits: u64,
    /// Reads inside a window that did not wait.
    pub waits_avoided: u64,
    /// Why the newest decision was taken.
    pub reason: Reason,
    /// The program mapped the file.
    pub mapped: bool,
    /// The program gave its own advice.
    pub program_advises: bool,
    /// The file was opened with `O_DIRECT`.
    pub direct: bool,
}

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Number of the decision, from 1.
    pub sequence: u64,
    /// Process that decided.
    pub process: u32,
    /// Nanoseconds on the monotonic clock.
    pub time_ns: u64,
    /// What was asked for.
    pub asked: Requested,
}

/// What a decision asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requested {
    /// Pages of one file.
    Pages(PagesAsked),
    /// Files that a program will come to.
    Files(FilesAhead),
}

/// Pages that were asked for of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagesAsked {
    /// Index into [`Report::files`], if the file has a record.
    pub file: Option<usize>,
    /// First page.
    pub start: u64,
    /// Pages in each range.
    pub length: u64,
    /// Distance of the ranges' starts in bytes, negative towards the file's start.
    pub period: i64,
    /// How many ranges.
    pub count: u64,
    /// The stream's pattern.
    pub pattern: Pattern,
    /// Why.
    pub reason: Reason,
}

/// What was learned of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LearnedDevice {
    /// Its number, as `st_dev` of its files.
    pub number: u64,
    /// With what the first process began.
    pub first: DeviceEstimate,
    /// The newest estimate.
    pub newest: DeviceEstimate,
}

/// The whole account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Processes that the library was active in.
    pub processes: u64,
    /// One entry per file that was read, in the order of first reads.
    pub files: Vec<FileReport>,
    /// Files that found no place in the table.
    pub files_beyond: u64,
    /// Calls of `mmap` on regular files.
    pub mappings: u64,
    /// How often the library stepped aside, in the order of [`Aside::ALL`].
    pub asides: [u64; Aside::COUNT],
    /// Calls that asked the kernel for pages.
    pub calls: u64,
    /// Largest number of pages asked for and not yet reached, in one process.
    pub unread_pages_max: u64,
    /// What was done for programs that go through folders.
    pub trees: TreeReport,
    /// The devices that files lay on, in the order in which they were met.
    pub devices: Vec<LearnedDevice>,
    /// The newest decisions, oldest first.
    pub events: Vec<Event>,
}

/// Reads the bytes of a shared file.
pub fn decode(bytes: &[u8]) -> Result<Report, DecodeError> {
    if bytes.len() < FILE_BYTES {
        return Err(DecodeError::Short { found: bytes.len() });
    }
    let words: Vec<u64> = bytes
        .chunks_exact(8)
        .map(|word| u64::from_ne_bytes(word.try_into().expect("chunks of eight")))
        .collect();
    match words[header::MAGIC] {
        MAGIC => {}
        // Nothing was preloaded into anything: an account of nothing.
        0 => return Ok(Report::default()),
        _ => return Err(DecodeError::OtherVersion),
    }
    let records = &words[HEADER_WORDS..][..FILES_MAX * RECORD_WORDS];
    let mut places = [None; FILES_MAX];
    let mut ready: Vec<(usize, &[u64])> = records
        .chunks_exact(RECORD_WORDS)
        .enumerate()
        .filter(|(_, record)| record[record::STATE] == 2)
        .collect();
    ready.sort_by_key(|(_, record)| record[record::NUMBER]);
    for (file, (place, _)) in ready.iter().enumerate() {
        places[*place] = Some(file);
    }
    let files = ready.iter().map(|(_, record)| file_report(record));
    let files = files.collect();
    let ring = &words[HEADER_WORDS + FILES_MAX * RECORD_WORDS..][..EVENTS_MAX * EVENT_WORDS];
    let mut events: Vec<Event> = ring
        .chunks_exact(EVENT_WORDS)
        .filter_map(|words| decode_event(words, &places))
        .collect();
    events.sort_by_key(|event| event.sequence);
    Ok(Report {
        processes: words[header::PROCESSES],
        files,
        files_beyond: words[header::FILES_BEYOND],
        mappings: words[header::MAPPINGS],
        asides: std::array::from_fn(|code| words[header::ASIDES + code]),
        calls: words[header::CALLS],
        unread_pages_max: words[header::UNREAD_PAGES_MAX],
        trees: TreeReport::from_words(&words[header::TREES..][..tree_report::WORDS]),
        devices: words[header::DEVICES..]
            .chunks_exact(DEVICE_WORDS)
            .take(DEVICES_MAX)
            .filter_map(decode_device)
            .collect(),
        events,
    })
}

fn code<T: Default>(word: u64, from_code: impl Fn(u8) -> Option<T>) -> T {
    u8::try_from(word & 0xff)
        .ok()
        .and_then(from_code)
        .unwrap_or_default()
}

fn file_report(words: &[u64]) -> FileReport {
    let path: Vec<u8> = words[record::PATH..]
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .take_while(|byte| *byte != 0)
        .collect();
    FileReport {
        path: String::from_utf8_lossy(&path).into_owned(),
        pattern: code(words[record::PATTERN], Pattern::from_code),
        window_pages: words[record::WINDOW],
        accesses: words[record::ACCESSES],
        pages: words[record::PAGES],
        prefetched: words[record::PREFETCHED],
        useful: words[record::USEFUL],
        late: words[record::LATE],
        wasted: words[record::WASTED],
        thrashed: words[record::THRASHED],
        waits: words[record::WAITS],
        waits_avoided: words[record::WAITS_AVOIDED],
        reason: code(words[record::REASON], Reason::from_code),
        mapped: words[record::FLAGS] & flags::MAPPED != 0,
        program_advises: words[record::FLAGS] & flags::PROGRAM_ADVISES != 0,
        direct: words[record::FLAGS] & flags::DIRECT != 0,
    }
}

fn decode_device(words: &[u64]) -> Option<LearnedDevice> {
    Some(LearnedDevice {
        number: words[device::NUMBER].checked_sub(1)?,
        first: estimates::from_word(words[device::FIRST])?,
        newest: estimates::from_word(words[device::NEWEST])?,
    })
}

fn decode_event(words: &[u64], places: &[Option<usize>; FILES_MAX]) -> Option<Event> {
    if words[event::SEQUENCE] == 0 {
        return None;
    }
    let both = words[event::FILE_AND_PROCESS];
    let place = u32::try_from(both & 0xffff_ffff).ok()?;
    let asked = if place == event::MANY_FILES {
        let words = words[event::START..=event::REASON].try_into().ok()?;
        Requested::Files(FilesAhead::from_words(words))
    } else {
        Requested::Pages(PagesAsked {
            file: places.get(usize::try_from(place).ok()?).copied().flatten(),
            start: words[event::START],
            length: words[event::LENGTH],
            period: i64::from_ne_bytes(words[event::PERIOD].to_ne_bytes()),
            count: words[event::COUNT],
            pattern: code(words[event::REASON], Pattern::from_code),
            reason: code(words[event::REASON] >> 8, Reason::from_code),
        })
    };
    Some(Event {
        sequence: words[event::SEQUENCE],
        process: u32::try_from(both >> 32).ok()?,
        time_ns: words[event::TIME_NS],
        asked,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> Vec<u64> {
        let mut words = vec![0; FILE_BYTES / 8];
        words[header::MAGIC] = MAGIC;
        words
    }

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn a_file_nobody_wrote_to_is_an_account_of_nothing() {
        assert_eq!(decode(&vec![0; FILE_BYTES]), Ok(Report::default()));
    }

    #[test]
    fn the_code_of_a_reason_is_its_place_in_the_list() {
        for (place, aside) in Aside::ALL.iter().enumerate() {
            assert_eq!(usize::from(aside.code()), place, "{aside}");
        }
    }

    #[test]
    fn a_short_file_and_a_foreign_one_are_refused() {
        assert_eq!(decode(&[0; 8]), Err(DecodeError::Short { found: 8 }));
        let mut words = account();
        words[0] = 7;
        assert_eq!(decode(&bytes(&words)), Err(DecodeError::OtherVersion));
    }

    #[test]
    fn a_decision_finds_its_file_although_earlier_records_are_not_ready() {
        let mut words = account();
        words[HEADER_WORDS + record::STATE] = 1;
        let second = HEADER_WORDS + RECORD_WORDS;
        words[second + record::STATE] = 2;
        words[second + record::PATTERN] = 2;
        words[second + record::PATH] = u64::from_ne_bytes(*b"/a/path\0");
        let ring = HEADER_WORDS + FILES_MAX * RECORD_WORDS;
        words[ring + event::SEQUENCE] = 1;
        words[ring + event::FILE_AND_PROCESS] = 1 | 77 << 32;
        words[ring + event::PERIOD] = u64::MAX;
        words[ring + event::REASON] = 2 | 3 << 8;
        let report = decode(&bytes(&words)).unwrap();
        assert_eq!(report.files[0].path, "/a/path");
        let Requested::Pages(asked) = &report.events[0].asked else {
            panic!("{report:?}");
        };
        assert_eq!(asked.file, Some(0));
        assert_eq!(report.events[0].process, 77);
        assert_eq!(asked.period, -1);
        assert_eq!(asked.pattern, Pattern::Backward);
        assert_eq!(asked.reason, Reason::MarkerCrossed);
    }

    #[test]
    fn reasons_for_stepping_aside_are_read_back() {
        let mut words = account();
        words[header::ASIDES + usize::from(Aside::Direct.code())] = 5;
        let report = decode(&bytes(&words)).unwrap();
        assert_eq!(report.asides[usize::from(Aside::Direct.code())], 5);
        assert_eq!(report.asides.iter().sum::<u64>(), 5);
    }

    #[test]
    fn devices_are_read_back_and_damaged_ones_left_out() {
        let mut words = account();
        let second = header::DEVICES + DEVICE_WORDS;
        for (at, number) in [(header::DEVICES, 0), (second, 8)] {
            words[at + device::NUMBER] = number + 1;
            words[at + device::FIRST] = estimates::to_word(DeviceEstimate::FLASH);
            words[at + device::NEWEST] = estimates::to_word(DeviceEstimate::ARM);
        }
        words[header::DEVICES + device::FIRST] = 0;
        let learned = LearnedDevice {
            number: 8,
            first: DeviceEstimate::FLASH,
            newest: DeviceEstimate::ARM,
        };
        assert_eq!(decode(&bytes(&words)).unwrap().devices, [learned]);
    }

    #[test]
    fn codes_of_a_later_version_read_as_unknown() {
        let mut words = account();
        words[HEADER_WORDS + record::STATE] = 2;
        words[HEADER_WORDS + record::PATTERN] = 250;
        assert_eq!(
            decode(&bytes(&words)).unwrap().files[0].pattern,
            Pattern::Unknown
        );
    }
}
