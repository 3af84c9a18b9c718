//! The ring through which a run's accesses travel to whoever keeps them: its layout, and what its
//! slots mean.
//!
//! The interposed library writes from every thread of every process, `ahead run --record` reads.
//! A writer never waits: it takes slots if any are free and counts what it drops if not.
//!
//! ```text
//! header   HEADER_WORDS words   next slot to take, next slot to read, what was dropped
//! slots    SLOTS x SLOT_WORDS   slot n of the run lies at n modulo SLOTS
//! ```
//!
//! A writer takes slots by moving [`header::TAKEN`] on, fills their words, and publishes each by
//! storing its number plus one in [`slot::SEQUENCE`]. The reader reads up to the first slot that
//! is not published and then moves [`header::READ`] on, which gives the slots back. A process that
//! dies between the two leaves a slot that is never published; the reader passes over it when the
//! ring is full or the run has ended.
//!
//! Words are native-endian; both sides are of one build, which [`MAGIC`] checks.

/// First word of the file: "ahead", and the layout's version.
pub const MAGIC: u64 = 0x6168_6561_6400_1001;
/// Words in the header.
pub const HEADER_WORDS: usize = 64;
/// Words in a slot: a cache line.
pub const SLOT_WORDS: usize = 8;
/// Slots: at a million reads a second, a tenth of a second for the reader to be away.
pub const SLOTS: u64 = SLOT_COUNT as u64;
const SLOT_COUNT: usize = 1 << 17;
/// Size of the file in bytes.
pub const FILE_BYTES: usize = (HEADER_WORDS + SLOT_COUNT * SLOT_WORDS) * 8;
/// Bytes of a name in one slot that continues it.
pub const NAME_SLOT_BYTES: usize = (SLOT_WORDS - 2) * 8;
/// The longest name.
pub const NAME_BYTES_MAX: usize = 4096;

/// Word numbers inside the header, each in a cache line of its own.
pub mod header {
    /// [`super::MAGIC`].
    pub const MAGIC: usize = 0;
    /// Number of the slot that is taken next.
    pub const TAKEN: usize = 8;
    /// Number of the slot that is read next.
    pub const READ: usize = 16;
    /// Records that found the ring full.
    pub const DROPPED: usize = 24;
}

/// Word numbers inside a slot.
pub mod slot {
    /// The slot's number plus one, stored last.
    pub const SEQUENCE: usize = 0;
    /// Kind in the low byte, a detail above it, then process and thread with 24 bits each.
    pub const WHO: usize = 1;
    /// Device number.
    pub const DEVICE: usize = 2;
    /// Inode number.
    pub const INODE: usize = 3;
    /// First byte.
    pub const OFFSET: usize = 4;
    /// How many bytes.
    pub const LENGTH: usize = 5;
    /// Nanoseconds on the monotonic clock.
    pub const AT_NS: usize = 6;
    /// Nanoseconds that it took; [`super::UNKNOWN`] where that was not measured.
    pub const DURATION_NS: usize = 7;
}

/// A duration that was not measured.
pub const UNKNOWN: u64 = u64::MAX;

/// What a slot tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Bytes were read.
    Read = 1,
    /// The file was mapped.
    Map = 2,
    /// A descriptor was seen for the first time.
    Open = 3,
    /// A descriptor that was seen is closed.
    Close = 4,
    /// The program gave advice: the detail is the value of `posix_fadvise`.
    Advise = 5,
    /// The policy asked for a range: pattern and reason are the low bytes of the duration.
    Prefetch = 6,
    /// The name of a file: the length is that of the name, the offset the file's size. Slots of
    /// [`Kind::NameBytes`] follow.
    Name = 7,
    /// Bytes of a name, in all words behind [`slot::WHO`].
    NameBytes = 8,
}

impl Kind {
    /// The kind with this number.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::Read,
            2 => Self::Map,
            3 => Self::Open,
            4 => Self::Close,
            5 => Self::Advise,
            6 => Self::Prefetch,
            7 => Self::Name,
            8 => Self::NameBytes,
            _ => return None,
        })
    }
}

/// Who did what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    /// What.
    pub kind: Kind,
    /// More of it, by kind.
    pub detail: u8,
    /// The process; Linux has no more than 2^22.
    pub process: u32,
    /// The thread.
    pub thread: u32,
}

/// Numbers of processes are cut to these bits.
const NUMBER_MASK: u32 = (1 << 24) - 1;

impl Who {
    /// As a word.
    #[must_use]
    pub const fn to_word(self) -> u64 {
        self.kind as u64
            | (self.detail as u64) << 8
            | ((self.process & NUMBER_MASK) as u64) << 16
            | ((self.thread & NUMBER_MASK) as u64) << 40
    }

    /// From a word; `None` when no writer stored it.
    #[must_use]
    pub fn from_word(word: u64) -> Option<Self> {
        let [kind, detail, ..] = word.to_le_bytes();
        let number = |shift: u32| u32::try_from(word >> shift & u64::from(NUMBER_MASK)).ok();
        Some(Self {
            kind: Kind::from_code(kind)?,
            detail,
            process: number(16)?,
            thread: number(40)?,
        })
    }
}

/// Where slot `number` of the run begins, in words of the file.
#[must_use]
pub fn slot_word(number: u64) -> usize {
    let slot = usize::try_from(number % SLOTS).unwrap_or(0);
    HEADER_WORDS + slot * SLOT_WORDS
}

/// Slots that a name of `bytes` bytes takes after the one that announces it.
#[must_use]
pub const fn name_slots(bytes: usize) -> usize {
    bytes.div_ceil(NAME_SLOT_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_did_what_fits_a_word() {
        let who = Who {
            kind: Kind::Advise,
            detail: 3,
            process: 4_194_303,
            thread: 4_194_302,
        };
        assert_eq!(Who::from_word(who.to_word()), Some(who));
        assert_eq!(Who::from_word(0), None);
    }

    #[test]
    fn the_last_slot_ends_with_the_file() {
        assert_eq!((slot_word(SLOTS - 1) + SLOT_WORDS) * 8, FILE_BYTES);
        assert_eq!(slot_word(SLOTS), HEADER_WORDS);
    }

    #[test]
    fn every_kind_is_read_back() {
        for code in 0..=u8::MAX {
            if let Some(kind) = Kind::from_code(code) {
                assert_eq!(kind as u8, code);
            }
        }
    }
}
