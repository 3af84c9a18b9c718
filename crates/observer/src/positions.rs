//! Reads told by system calls alone, from where descriptors stand in their files: for kernels that take no programs, and for
//! who may not load any.
//!
//! `/proc/PID/fdinfo/N` says where the next `read` of a descriptor begins. A descriptor that has moved was read in between,
//! by as much as `rchar` in `/proc/PID/io` has grown; one that has moved farther was set elsewhere. Only processes for
//! which a device has delivered are looked at often. What is told this way is late, in pieces, and without what stands
//! nowhere: positioned reads, page faults, waits.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ahead_units::{ByteLength, ByteOffset, ByteRange, PAGE_BYTES, PageCount, Timestamp};
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags};

use crate::observation::{FactKind, FileKey, Observation};

/// All processes are looked at this often: two small files of each. More often costs a busy machine a share of a
/// processor; less often, and readers have ended before they are noticed.
const ALL_NS: u64 = 1_000_000_000;

/// A process for which no device delivered, and whose descriptors stood still, for so long is not looked at often any more.
const QUIET_NS: u64 = 5_000_000_000;

/// Descriptors of one process that are followed, and processes.
const DESCRIPTORS_MAX: usize = 256;
const PROCESSES_MAX: usize = 64;

/// A move is told as so many reads. Windows are two requests of two reads, so what is requested lasts twice as long as what
/// was read between two looks.
const PARTS: u64 = 2;

/// Position and account are read one after the other: a descriptor may have moved so much farther than is accounted.
const UNACCOUNTED: u64 = 1 << 20;

/// What cannot be told this way.
pub const LOST: [&str; 4] = [
    "page faults",
    "positioned reads (pread, io_uring)",
    "readers that end within a second",
    "how long readers wait",
];

/// A descriptor that is followed.
#[derive(Clone, Copy, Debug)]
struct Followed {
    file: FileKey,
    position: u64,
}

/// A process that is looked at.
#[derive(Debug, Default)]
struct Known {
    /// Bytes that devices delivered for it, when all were looked at last.
    read_bytes: u64,
    /// Bytes that its reads returned.
    returned: u64,
    /// When it was last seen to read.
    active: Option<Timestamp>,
    descriptors: BTreeMap<i32, Followed>,
}

/// What `/proc/PID/io` says.
#[derive(Clone, Copy, Debug)]
struct ReadAccount {
    returned: u64,
    read_bytes: u64,
}

/// The descriptors of all processes but one.
#[derive(Debug)]
pub struct PositionObserver {
    proc: PathBuf,
    left_out: u32,
    known: BTreeMap<u32, Known>,
    looked_at_all: Option<Timestamp>,
    /// The process that was followed last.
    followed: u32,
}

impl PositionObserver {
    /// Of the processes in `proc` but `left_out`, this one.
    #[must_use]
    pub fn new(proc: &Path, left_out: u32) -> Self {
        Self {
            proc: proc.to_owned(),
            left_out,
            known: BTreeMap::new(),
            looked_at_all: None,
            followed: 0,
        }
    }

    /// Looks at `now`, and appends what was read since the last look.
    pub fn look(&mut self, now: Timestamp, facts: &mut Vec<Observation>) {
        let is_due = |looked: Timestamp| now.since(looked) >= ALL_NS;
        if self.looked_at_all.is_none_or(is_due) {
            self.looked_at_all = Some(now);
            self.look_at_all(now);
        }
        let active = self
            .known
            .iter()
            .filter(|(_, known)| known.active.is_some());
        let active: Vec<u32> = active.map(|(&process, _)| process).collect();
        for process in next_of(&active, self.followed) {
            self.follow(process, now, facts);
            self.followed = process;
        }
    }

    /// Finds the processes for which devices deliver, and their descriptors.
    fn look_at_all(&mut self, now: Timestamp) {
        let Ok(entries) = fs::read_dir(&self.proc) else {
            return;
        };
        let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let mut known = std::mem::take(&mut self.known);
        for process in numbers {
            let Some(account) = self.account(process) else {
                continue;
            };
            if process == self.left_out {
                continue;
            }
            let mut one = known.remove(&process).unwrap_or_else(|| Known {
                read_bytes: account.read_bytes,
                returned: account.returned,
                ..Known::default()
            });
            if account.read_bytes > one.read_bytes {
                one.read_bytes = account.read_bytes;
                one.active = Some(now);
            }
            one.active = one.active.filter(|&active| now.since(active) < QUIET_NS);
            if one.active.is_some() {
                self.find_descriptors(process, &mut one);
            } else {
                one.descriptors.clear();
                one.returned = account.returned;
            }
            self.known.insert(process, one);
        }
    }

    fn find_descriptors(&self, process: u32, known: &mut Known) {
        let Ok(entries) = fs::read_dir(self.proc.join(format!("{process}/fd"))) else {
            return;
        };
        let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let before = std::mem::take(&mut known.descriptors);
        for number in numbers.take(DESCRIPTORS_MAX) {
            if let Some((file, _)) = self.file(process, number)
                && let Some(position) = self.position(process, number)
            {
                let new = Followed { file, position };
                let old = before.get(&number).copied();
                let followed = old.filter(|old| old.file == file).unwrap_or(new);
                known.descriptors.insert(number, followed);
            }
        }
    }

    /// What was read through the descriptors of `process` since the last look.
    fn follow(&mut self, process: u32, now: Timestamp, facts: &mut Vec<Observation>) {
        let Some(mut known) = self.known.remove(&process) else {
            return;
        };
        let Some(account) = self.account(process) else {
            return;
        };
        let returned = account.returned.saturating_sub(known.returned);
        known.returned = account.returned;
        known.descriptors.retain(|&number, followed| {
            let Some(position) = self.position(process, number) else {
                return false;
            };
            let before = std::mem::replace(&mut followed.position, position);
            if position == before {
                return true;
            }
            // The number may stand for another file by now.
            let found = self.file(process, number);
            let Some((_, file_pages)) = found.filter(|(file, _)| *file == followed.file) else {
                return false;
            };
            known.active = Some(now);
            if position.abs_diff(before) <= returned.saturating_add(UNACCOUNTED) {
                let (first, step, count) = reads_of(before, position);
                facts.push(Observation {
                    kind: FactKind::Miss,
                    time: now,
                    file: followed.file,
                    generation: None,
                    file_pages,
                    first,
                    step,
                    count,
                    waited_ns: 0,
                    process,
                    thread: process,
                    programs: 0,
                    descriptor: Some(number),
                    is_mapped: false,
                    advised_random: false,
                    is_early: true,
                    window: None,
                });
            }
            true
        });
        self.known.insert(process, known);
    }

    fn account(&self, process: u32) -> Option<ReadAccount> {
        let text = fs::read_to_string(self.proc.join(format!("{process}/io"))).ok()?;
        Some(ReadAccount {
            returned: field(&text, "rchar:")?.parse().ok()?,
            read_bytes: field(&text, "read_bytes:")?.parse().ok()?,
        })
    }

    /// Where a descriptor stands that can be read from.
    fn position(&self, process: u32, number: i32) -> Option<u64> {
        let path = self.proc.join(format!("{process}/fdinfo/{number}"));
        let text = fs::read_to_string(path).ok()?;
        let flags = u32::from_str_radix(field(&text, "flags:")?, 8).ok()?;
        let is_write_only = flags & rustix::fs::OFlags::WRONLY.bits() != 0;
        let position = field(&text, "pos:")?.parse().ok()?;
        (!is_write_only).then_some(position)
    }

    /// The regular file that a descriptor stands for, and its length. A server is not asked.
    fn file(&self, process: u32, number: i32) -> Option<(FileKey, PageCount)> {
        let path = self.proc.join(format!("{process}/fd/{number}"));
        let flags = AtFlags::STATX_DONT_SYNC;
        let found = rustix::fs::statx(CWD, path, flags, StatxFlags::BASIC_STATS).ok()?;
        let kind = FileType::from_raw_mode(found.stx_mode.into());
        let device = rustix::fs::makedev(found.stx_dev_major, found.stx_dev_minor);
        let inode = found.stx_ino;
        let pages = PageCount::holding(ByteLength::new(found.stx_size));
        // What has no device is in memory, or a server's.
        let has_device = found.stx_dev_major != 0;
        (kind == FileType::RegularFile && has_device).then_some((FileKey { device, inode }, pages))
    }
}

/// Those of `active`, in their order, that are followed now, as the last one was `before`: all of them, or in turn where there are many.
fn next_of(active: &[u32], before: u32) -> Vec<u32> {
    let begin = active.partition_point(|process| *process <= before);
    let (first, rest) = active.split_at(begin);
    let turn = rest.iter().chain(first).copied();
    turn.take(PROCESSES_MAX).collect()
}

/// The reads between two positions: [`PARTS`] of whole pages, one where less was read. Backward, a position is the end of
/// what was read last. The first, the step to the next, and how many.
fn reads_of(before: u64, after: u64) -> (ByteRange, i64, u32) {
    let moved = before.abs_diff(after);
    let length = (moved / PARTS / PAGE_BYTES * PAGE_BYTES).max(PAGE_BYTES.min(moved));
    let count = (moved / length.max(1)).max(1);
    let (start, step) = if after > before {
        (before, length.cast_signed())
    } else {
        (before - length, -length.cast_signed())
    };
    let first = ByteRange::of(ByteOffset::new(start), ByteLength::new(length));
    (first, step, u32::try_from(count).unwrap_or(1))
}

/// The value of the line that begins with `name`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// A small `/proc` with one process, 7, whose descriptor 3 stands in a file of 16 MiB.
    struct SmallProc {
        root: tempfile::TempDir,
        file: FileKey,
        observer: PositionObserver,
        now: u64,
    }

    impl SmallProc {
        fn new() -> Self {
            let root = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
            let data = root.path().join("data");
            fs::File::create(&data).unwrap().set_len(16 << 20).unwrap();
            let facts = fs::metadata(&data).unwrap();
            for folder in ["7/fd", "7/fdinfo"] {
                fs::create_dir_all(root.path().join(folder)).unwrap();
            }
            symlink(&data, root.path().join("7/fd/3")).unwrap();
            let observer = PositionObserver::new(root.path(), 9);
            let file = FileKey::of(&facts);
            let mut made = Self {
                root,
                file,
                observer,
                now: SECOND,
            };
            made.at(0, 0);
            made.look();
            made
        }

        /// The descriptor stands there, and so much was returned by reads, all of it by a device.
        fn at(&self, position: u64, returned: u64) {
            let process = self.root.path().join("7");
            let text = format!("rchar: {returned}\nsyscr: 9\nread_bytes: {returned}\n");
            fs::write(process.join("io"), text).unwrap();
            let text = format!("pos:\t{position}\nflags:\t0100000\nmnt_id:\t29\n");
            fs::write(process.join("fdinfo/3"), text).unwrap();
        }

        fn look(&mut self) -> Vec<Observation> {
            let mut facts = Vec::new();
            self.now += SECOND;
            self.observer.look(Timestamp::new(self.now), &mut facts);
            facts
        }
    }

    /// Byte ranges, in MiB.
    fn mib(fact: &Observation) -> Vec<(u64, u64)> {
        let range = |one: ByteRange| (one.start.get() >> 20, one.end.get() >> 20);
        fact.accesses().map(range).collect()
    }

    #[test]
    fn a_descriptor_that_has_moved_was_read_in_between() {
        let mut small = SmallProc::new();
        small.at(2 << 20, 2 << 20);
        assert_eq!(small.look(), [], "it stood there when it was found");
        small.at(6 << 20, 6 << 20);
        let [fact] = small.look().try_into().unwrap();
        assert_eq!(mib(&fact), [(2, 4), (4, 6)]);
        assert_eq!(
            (fact.file, fact.process, fact.descriptor),
            (small.file, 7, Some(3))
        );
        assert_eq!(fact.file_pages, PageCount::new(4096));
        // Backward, as `tac` does it.
        small.at(2 << 20, 10 << 20);
        let [fact] = small.look().try_into().unwrap();
        assert_eq!(mib(&fact), [(4, 6), (2, 4)]);
        assert_eq!(small.look(), [], "it stands still");
    }

    #[test]
    fn a_descriptor_that_was_set_elsewhere_was_not_read_in_between() {
        let mut small = SmallProc::new();
        small.at(0, 1);
        small.look();
        small.at(12 << 20, 2);
        assert_eq!(small.look(), []);
        small.at((12 << 20) + 8192, 8194);
        let [fact] = small.look().try_into().unwrap();
        assert_eq!((fact.count, fact.first.start.get()), (2, 12 << 20));
    }

    #[test]
    fn what_is_read_from_memory_is_not_followed() {
        let mut small = SmallProc::new();
        let process = small.root.path().join("7");
        for number in 1..9_u64 {
            small.at(number << 20, number << 20);
            let text = format!("rchar: {}\nread_bytes: 0\n", number << 20);
            fs::write(process.join("io"), text).unwrap();
            assert_eq!(small.look(), []);
        }
    }

    #[test]
    fn a_number_that_stands_for_another_file_now_is_not_followed() {
        let mut small = SmallProc::new();
        small.at(0, 1 << 20);
        small.look();
        let other = small.root.path().join("other");
        fs::write(&other, "b").unwrap();
        let link = small.root.path().join("7/fd/3");
        fs::remove_file(&link).unwrap();
        symlink(&other, &link).unwrap();
        small.at(4 << 20, 5 << 20);
        let facts = small.look();
        assert!(
            facts.iter().all(|fact| fact.file != small.file),
            "{facts:?}"
        );
    }

    /// The 64 with the lowest numbers were followed, and others never.
    #[test]
    fn of_many_processes_all_are_followed_in_turn() {
        let active: Vec<u32> = (100..200).collect();
        let (mut before, mut seen) = (0, std::collections::BTreeSet::new());
        for _ in 0..2 {
            let next = next_of(&active, before);
            assert_eq!(next.len(), PROCESSES_MAX);
            before = *next.last().unwrap();
            seen.extend(next);
        }
        assert_eq!(seen.len(), active.len());
        assert_eq!(next_of(&[7, 9], 8), [9, 7]);
        assert_eq!(next_of(&[], 8), []);
    }

    #[test]
    fn a_move_of_less_than_a_page_is_one_read() {
        let reads = |before, after| {
            let (first, step, count) = reads_of(before, after);
            (first.start.get(), first.len().get(), step, count)
        };
        assert_eq!(reads(100, 200), (100, 100, 100, 1));
        assert_eq!(reads(9000, 8000), (8000, 1000, -1000, 1));
        assert_eq!(reads(0, 8192), (0, 4096, 4096, 2));
    }
}
