//! The account that all processes of one `ahead run` write into: a mapped file of 64-bit words.
//!
//! The layout and its reader are [`ahead_engine::report`]. Words are only added to or overwritten
//! with atomics, so a process that dies at any moment leaves an account that can be read.

use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicU64, Ordering};

use ahead_engine::report::{
    DEVICE_WORDS, DEVICES_MAX, EVENT_WORDS, EVENTS_MAX, FILE_BYTES, FILES_MAX, HEADER_WORDS, MAGIC,
    PATH_BYTES, RECORD_WORDS, device, event, header, record,
};
use ahead_engine::tally::Tally;
use ahead_engine::tree_report::FilesAhead;
use ahead_policy::decision::Decision;
use ahead_sys::scratch::Scratch;

use crate::identity::InodeId;

/// The mapped account.
pub(crate) struct Shared {
    words: &'static [AtomicU64],
}

/// A file's record in the account, by place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordPlace(u32);

impl RecordPlace {
    /// The form that fits a word: 0 is none.
    pub(crate) fn to_word(place: Option<Self>) -> u32 {
        place.map_or(0, |place| place.0 + 1)
    }

    /// Back from a word.
    pub(crate) fn from_word(word: u32) -> Option<Self> {
        word.checked_sub(1).map(Self)
    }
}

/// Records that are looked at for one file. Fewer, and some of the first thousand files have none; more, and each of the files
/// beyond them costs more, as all of these are looked at then.
const PROBES: usize = 64;

/// Where the record of a file may be, in order: by its hash, so that a file for which there is none costs no look at all of them.
fn places_of(id: InodeId) -> impl Iterator<Item = RecordPlace> {
    let first = id.hash();
    (0..PROBES).filter_map(move |probe| {
        let place = u32::try_from((first + probe) % FILES_MAX);
        place.ok().map(RecordPlace)
    })
}

impl Shared {
    /// Maps the file at `path`; `None` when it cannot be used.
    pub(crate) fn open(path: &CStr) -> Option<Self> {
        let shared = Self {
            words: map_words(path, FILE_BYTES)?,
        };
        shared.header(header::MAGIC).store(MAGIC, Ordering::Relaxed);
        shared
            .header(header::PROCESSES)
            .fetch_add(1, Ordering::Relaxed);
        Some(shared)
    }

    fn word(&self, place: usize) -> &AtomicU64 {
        &self.words[place]
    }

    /// The words from this one on.
    pub(crate) fn words_from(&self, place: usize) -> &'static [AtomicU64] {
        self.words.get(place..).unwrap_or_default()
    }

    /// A word of the header.
    pub(crate) fn header(&self, place: usize) -> &AtomicU64 {
        self.word(place)
    }

    fn record(&self, place: RecordPlace, word: usize) -> &AtomicU64 {
        let place = usize::try_from(place.0).unwrap_or(0).min(FILES_MAX - 1);
        self.word(HEADER_WORDS + place * RECORD_WORDS + word)
    }

    /// The record of one file, claimed if there is none yet. The path is asked from the kernel.
    pub(crate) fn claim(&self, fd: c_int, id: InodeId) -> Option<RecordPlace> {
        let order = Ordering::Relaxed;
        let facts = [
            (record::DEVICE, id.device),
            (record::INODE, id.inode),
            (record::BIRTH, id.birth_ns),
        ];
        for place in places_of(id) {
            let word = |word| self.record(place, word);
            let state = word(record::STATE);
            let claimed = match state.load(Ordering::Acquire) {
                0 => state.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire),
                taken => Err(taken),
            };
            match claimed {
                Ok(_) => {
                    for (at, fact) in facts {
                        word(at).store(fact, order);
                    }
                    let number = self.header(header::FILES).fetch_add(1, order);
                    word(record::NUMBER).store(number, order);
                    self.write_path(place, fd);
                    state.store(2, Ordering::Release);
                    return Some(place);
                }
                Err(2)
                    if facts
                        .iter()
                        .all(|(at, fact)| word(*at).load(order) == *fact) =>
                {
                    return Some(place);
                }
                Err(_) => {}
            }
        }
        self.header(header::FILES_BEYOND)
            .fetch_add(1, Ordering::Relaxed);
        None
    }

    fn write_path(&self, place: RecordPlace, fd: c_int) {
        let Ok(mut path) = Scratch::new() else {
            return;
        };
        let length = path_of(fd, &mut path[..]);
        // The end of a long path says more than its beginning; one zero byte stays at the end.
        let path = &path[length.saturating_sub(PATH_BYTES - 1)..length];
        for (word, bytes) in path.chunks(8).enumerate() {
            let mut eight = [0; 8];
            eight[..bytes.len()].copy_from_slice(bytes);
            self.record(place, record::PATH + word)
                .store(u64::from_ne_bytes(eight), Ordering::Relaxed);
        }
    }

    /// Adds to a file's account.
    pub(crate) fn add(&self, place: RecordPlace, tally: &Tally, wasted: u64, window: u64) {
        let add = |word, value: u64| {
            if value > 0 {
                self.record(place, word).fetch_add(value, Ordering::Relaxed);
            }
        };
        add(record::ACCESSES, tally.accesses);
        add(record::PAGES, tally.pages);
        add(record::PREFETCHED, tally.prefetched);
        add(record::USEFUL, tally.useful);
        add(record::LATE, tally.late);
        add(record::WASTED, wasted);
        add(record::THRASHED, tally.thrashed);
        add(record::WAITS, tally.waits);
        add(record::WAITS_AVOIDED, tally.waits_avoided());
        self.record(place, record::WINDOW)
            .fetch_max(window, Ordering::Relaxed);
    }

    /// Says what the newest decision saw.
    pub(crate) fn set_pattern(&self, place: RecordPlace, pattern: u8, reason: u8) {
        self.record(place, record::PATTERN)
            .store(u64::from(pattern), Ordering::Relaxed);
        self.record(place, record::REASON)
            .store(u64::from(reason), Ordering::Relaxed);
    }

    /// Says what is believed of a device, in the word of an estimate.
    pub(crate) fn note_device(&self, number: u64, estimate: u64) {
        let wanted = number.wrapping_add(1);
        for place in 0..DEVICES_MAX {
            let word = |word| self.header(header::DEVICES + place * DEVICE_WORDS + word);
            let order = Ordering::Relaxed;
            match word(device::NUMBER).compare_exchange(0, wanted, order, order) {
                Ok(_) => word(device::FIRST).store(estimate, order),
                Err(taken) if taken != wanted => continue,
                Err(_) => {}
            }
            word(device::NEWEST).store(estimate, order);
            return;
        }
    }

    /// Sets bits of a file's flags.
    pub(crate) fn flag(&self, place: RecordPlace, bits: u64) {
        self.record(place, record::FLAGS)
            .fetch_or(bits, Ordering::Relaxed);
    }

    /// Keeps one decision for `--explain`.
    pub(crate) fn note(
        &self,
        place: Option<RecordPlace>,
        decision: &Decision,
        time_ns: u64,
        process: u32,
    ) {
        let prefetch = decision.prefetch;
        let pages = prefetch.first.pages();
        let why = u64::from(decision.pattern.code()) | u64::from(decision.reason.code()) << 8;
        let words = [
            pages.start.get(),
            pages.len().get(),
            u64::from_ne_bytes(prefetch.period.to_ne_bytes()),
            u64::from(prefetch.count),
            why,
        ];
        let file = place.map_or(u32::MAX, |place| place.0);
        self.put_event(file, words, time_ns, process);
    }

    /// Keeps one batch of files for `--explain`.
    pub(crate) fn note_files(&self, files: &FilesAhead, time_ns: u64, process: u32) {
        self.put_event(event::MANY_FILES, files.words(), time_ns, process);
    }

    /// `words`: those from `event::START` on.
    fn put_event(&self, file: u32, words: [u64; 5], time_ns: u64, process: u32) {
        let number = self.header(header::EVENTS).fetch_add(1, Ordering::Relaxed) + 1;
        let ring = HEADER_WORDS + FILES_MAX * RECORD_WORDS;
        let slot = usize::try_from(number).unwrap_or(0) % EVENTS_MAX;
        let word = |word: usize| self.word(ring + slot * EVENT_WORDS + word);
        word(event::SEQUENCE).store(0, Ordering::Release);
        let both = u64::from(file) | u64::from(process) << 32;
        word(event::FILE_AND_PROCESS).store(both, Ordering::Relaxed);
        for (at, value) in (event::START..).zip(words) {
            word(at).store(value, Ordering::Relaxed);
        }
        word(event::TIME_NS).store(time_ns, Ordering::Relaxed);
        word(event::SEQUENCE).store(number, Ordering::Release);
    }
}

/// Maps the first `bytes` bytes of the file at `path`, for good, shared with other processes.
/// `None` when it cannot be used.
pub(crate) fn map_words(path: &CStr, bytes: usize) -> Option<&'static [AtomicU64]> {
    // SAFETY: a C string and plain flags.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_openat,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW,
        )
    };
    let fd = c_int::try_from(fd).ok().filter(|fd| *fd >= 0)?;
    let words = map_descriptor(fd, bytes);
    // SAFETY: ours, opened above; the mapping stays. The raw call keeps our hook out of it.
    unsafe { libc::syscall(libc::SYS_close, fd) };
    words
}

fn map_descriptor(fd: c_int, bytes: usize) -> Option<&'static [AtomicU64]> {
    // A shorter file would end the program with SIGBUS at the first word behind its end.
    // SAFETY: asks for the length of a file we opened.
    let length = unsafe { libc::syscall(libc::SYS_lseek, fd, 0, libc::SEEK_END) };
    if usize::try_from(length).ok()? < bytes {
        return None;
    }
    // SAFETY: a fresh shared mapping at an address of the kernel's choice.
    let address = unsafe {
        libc::syscall(
            libc::SYS_mmap,
            0_usize,
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            fd,
            // The seventh argument travels on the stack, where only its own width is written.
            0_usize,
        )
    };
    if address == -1 {
        return None;
    }
    let address = usize::from_ne_bytes(address.to_ne_bytes());
    let address = std::ptr::with_exposed_provenance::<AtomicU64>(address);
    // SAFETY: mapped above, page-aligned, `bytes` long, never unmapped; any bits are a valid
    // atomic.
    Some(unsafe { std::slice::from_raw_parts(address, bytes / 8) })
}

/// Asks the kernel for the path of `fd`. Returns its length; 0 when there is none.
pub(crate) fn path_of(fd: c_int, path: &mut [u8]) -> usize {
    let mut link = [0_u8; 32];
    let mut at = b"/proc/self/fd/".len();
    link[..at].copy_from_slice(b"/proc/self/fd/");
    let mut digits = [0_u8; 10];
    let mut count = 0;
    let mut rest = fd.unsigned_abs();
    loop {
        digits[count] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        count += 1;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    for digit in digits[..count].iter().rev() {
        link[at] = *digit;
        at += 1;
    }
    // SAFETY: a C string on the stack and a buffer of the length given.
    let length = unsafe {
        libc::syscall(
            libc::SYS_readlinkat,
            libc::AT_FDCWD,
            link.as_ptr(),
            path.as_mut_ptr(),
            path.len(),
        )
    };
    usize::try_from(length).unwrap_or(0).min(path.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Shared {
        let words = (0..FILE_BYTES / 8).map(|_| AtomicU64::new(0));
        let words = Box::leak(words.collect::<Vec<_>>().into_boxed_slice());
        Shared { words }
    }

    /// Each of the files behind the first 1024 cost a look at all their records: 12 us.
    #[test]
    fn a_file_without_a_record_costs_a_look_at_a_few_and_the_others_keep_theirs() {
        let account = empty();
        let id = |inode| InodeId {
            device: 64,
            inode,
            birth_ns: 1,
        };
        let claim = |inode| account.claim(-1, id(inode));
        let places: Vec<_> = (0..3000).map(claim).collect();
        let claimed = places.iter().flatten().count();
        assert!(claimed * 100 > FILES_MAX * 98, "{claimed} records");
        let files = account.header(header::FILES).load(Ordering::Relaxed);
        let beyond = account.header(header::FILES_BEYOND).load(Ordering::Relaxed);
        assert_eq!((files, files + beyond), (claimed as u64, 3000));
        for (inode, place) in (0..).zip(&places).filter(|(_, place)| place.is_some()) {
            assert_eq!(claim(inode), *place);
        }
        assert!((0..3000).all(|inode| places_of(id(inode)).count() == PROBES));
    }

    #[test]
    fn a_file_with_the_inode_of_a_deleted_one_has_a_record_of_its_own() {
        let account = empty();
        let [deleted, later] = [1, 2].map(|birth_ns| InodeId {
            device: 64,
            inode: 100,
            birth_ns,
        });
        assert_ne!(account.claim(-1, deleted), account.claim(-1, later));
        assert_eq!(account.claim(-1, later), account.claim(-1, later));
    }
}
