//! `--record`: the accesses of every process of the run, kept as a trace.
//!
//! The library puts records into a ring in shared memory, as [`ahead_engine::recording`] describes,
//! and drops what does not fit: a program is never held up. A thread here reads the ring and
//! writes the trace, in the format that the file's name asks for, CSV if none. What was dropped is
//! reported at the end.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ahead_engine::recording::{
    FILE_BYTES, Kind, NAME_BYTES_MAX, SLOT_WORDS, SLOTS, UNKNOWN, Who, header, name_slots, slot,
    slot_word,
};
use ahead_trace::{
    Access, Decided, FileAdvice, FileNames, FileRef, Format, Objects, Operation,
    RecordingNameError, WriteError, Writer, create,
};

use super::account::{AccountError, shared_file};

/// Time between two looks at an empty ring: a fiftieth of what fills it at a million reads a
/// second.
const LOOK_INTERVAL: Duration = Duration::from_millis(2);
/// A slot that is not published for so long belongs to a process that died.
const STALLED: Duration = Duration::from_millis(200);
/// What was read is in the file after this time, also if nothing more comes.
const FLUSH_INTERVAL: Duration = Duration::from_millis(500);
/// Slots that are read together.
const BATCH_SLOTS: u64 = 4096;
const SLOT_BYTES: usize = SLOT_WORDS * 8;

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// No place for the ring.
    #[error(transparent)]
    Ring(#[from] AccountError),
    /// The trace cannot be written.
    #[error("cannot record to {0}; name a writable file with --record")]
    Write(#[from] WriteError),
    /// Its name.
    #[error("--record: {0}")]
    Name(#[from] RecordingNameError),
    /// The ring cannot be read.
    #[error("cannot read what the run recorded: {0}")]
    Read(#[from] io::Error),
    /// The thread that writes broke.
    #[error("the recording broke off")]
    Broken,
}

/// What became of the records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Records in the trace.
    pub records: u64,
    /// Records that found the ring full.
    pub dropped: u64,
    /// Records of processes that died while they wrote.
    pub lost: u64,
}

/// A recording that goes on.
pub struct Recording {
    ring: PathBuf,
    stop: Sender<()>,
    thread: JoinHandle<Result<Recorded, RecordError>>,
}

impl Recording {
    /// Makes the ring and the trace file, and begins to listen.
    ///
    /// # Errors
    /// One of them cannot be made.
    pub fn start(path: &Path) -> Result<Self, RecordError> {
        let format = Format::of_recording(path)?;
        let writer_path = path.to_path_buf();
        let ring = shared_file(FILE_BYTES as u64)?;
        let ring_path = ring.path().to_path_buf();
        // Looked at here, so that a mistake is reported before CMD starts.
        drop(create(path, format, Objects::default())?);
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(move || {
            let writer = create(&writer_path, format, Objects::default())?;
            let mut listener = Listener::new(ring.as_file().try_clone()?, writer);
            listener.listen(&stopped)
        });
        Ok(Self {
            ring: ring_path,
            stop,
            thread,
        })
    }

    /// Where the library finds the ring.
    #[must_use]
    pub fn ring(&self) -> &Path {
        &self.ring
    }

    /// Writes what is left and closes the trace.
    ///
    /// # Errors
    /// The trace could not be written to its end.
    pub fn finish(self) -> Result<Recorded, RecordError> {
        let _ = self.stop.send(());
        self.thread.join().map_err(|_| RecordError::Broken)?
    }
}

/// A name on its way.
struct Naming {
    device: u64,
    inode: u64,
    size: u64,
    length: usize,
    slots_left: usize,
    bytes: Vec<u8>,
}

/// The reader of the ring.
struct Listener {
    ring: File,
    writer: Box<dyn Writer>,
    files: FileNames,
    known: HashMap<(u64, u64), FileRef>,
    naming: Option<Naming>,
    start_ns: u64,
    /// Number of the slot that is read next.
    read: u64,
    stalled: Option<(u64, Instant)>,
    recorded: Recorded,
}

impl Listener {
    fn new(ring: File, writer: Box<dyn Writer>) -> Self {
        Self {
            ring,
            writer,
            files: FileNames::default(),
            known: HashMap::new(),
            naming: None,
            start_ns: monotonic_ns(),
            read: 0,
            stalled: None,
            recorded: Recorded::default(),
        }
    }

    fn listen(&mut self, stopped: &Receiver<()>) -> Result<Recorded, RecordError> {
        let mut flushed = Instant::now();
        loop {
            let wait = stopped.recv_timeout(LOOK_INTERVAL);
            let has_ended = !matches!(wait, Err(RecvTimeoutError::Timeout));
            self.drain(has_ended)?;
            if has_ended {
                break;
            }
            if flushed.elapsed() >= FLUSH_INTERVAL {
                self.writer.flush()?;
                flushed = Instant::now();
            }
        }
        self.writer.finish(&self.files)?;
        self.recorded.dropped = self.header_word(header::DROPPED)?;
        Ok(self.recorded)
    }

    fn header_word(&self, word: usize) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.ring.read_exact_at(&mut bytes, word as u64 * 8)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    /// Reads all that is published. After the end, what is not published will never be.
    fn drain(&mut self, has_ended: bool) -> Result<(), RecordError> {
        let taken = self.header_word(header::TAKEN)?;
        let mut buffer = Vec::new();
        while self.read < taken {
            let until_wrap = SLOTS - self.read % SLOTS;
            let count = (taken - self.read).min(BATCH_SLOTS).min(until_wrap);
            self.load(count, &mut buffer)?;
            let published = (self.read..)
                .zip(buffer.as_chunks::<SLOT_BYTES>().0)
                .take_while(|(number, slot)| word(slot, slot::SEQUENCE) == number + 1)
                .count() as u64;
            if published == 0 {
                if !has_ended && !self.has_stalled() {
                    return Ok(());
                }
                self.recorded.lost += 1;
                self.naming = None;
                self.pass(1)?;
                continue;
            }
            // Once more: what is published now was complete before this reading began.
            self.load(published, &mut buffer)?;
            for slot in buffer.as_chunks::<SLOT_BYTES>().0 {
                self.take_in(slot)?;
            }
            self.pass(published)?;
        }
        Ok(())
    }

    fn load(&self, count: u64, buffer: &mut Vec<u8>) -> io::Result<()> {
        let slots = usize::try_from(count).map_err(io::Error::other)?;
        buffer.resize(slots * SLOT_BYTES, 0);
        let at = slot_word(self.read) as u64 * 8;
        self.ring.read_exact_at(buffer, at)
    }

    /// Gives slots back to the writers.
    fn pass(&mut self, count: u64) -> io::Result<()> {
        self.read += count;
        self.stalled = None;
        let at = header::READ as u64 * 8;
        self.ring.write_all_at(&self.read.to_ne_bytes(), at)
    }

    fn has_stalled(&mut self) -> bool {
        let now = Instant::now();
        match self.stalled {
            Some((number, since)) if number == self.read => now - since >= STALLED,
            _ => {
                self.stalled = Some((self.read, now));
                false
            }
        }
    }

    fn take_in(&mut self, slot: &[u8; SLOT_BYTES]) -> Result<(), RecordError> {
        let Some(who) = Who::from_word(word(slot, slot::WHO)) else {
            return Ok(());
        };
        let (device, inode) = (word(slot, slot::DEVICE), word(slot, slot::INODE));
        match who.kind {
            Kind::Name => {
                let length = usize::try_from(word(slot, slot::LENGTH)).unwrap_or(usize::MAX);
                let length = length.min(NAME_BYTES_MAX);
                self.naming = Some(Naming {
                    device,
                    inode,
                    size: word(slot, slot::OFFSET),
                    length,
                    slots_left: name_slots(length),
                    bytes: Vec::with_capacity(length),
                });
            }
            Kind::NameBytes => self.take_name(&slot[slot::DEVICE * 8..]),
            _ => {
                let file = self.file(device, inode);
                if let Some(access) = self.access(who, slot, file) {
                    self.writer.write(&access, &self.files)?;
                    self.recorded.records += 1;
                }
            }
        }
        Ok(())
    }

    fn take_name(&mut self, bytes: &[u8]) {
        let Some(mut naming) = self.naming.take() else {
            return;
        };
        naming.bytes.extend_from_slice(bytes);
        naming.slots_left = naming.slots_left.saturating_sub(1);
        if naming.slots_left > 0 {
            self.naming = Some(naming);
            return;
        }
        naming.bytes.truncate(naming.length);
        if let Ok(file) = self.files.named(&naming.bytes) {
            self.files.set_size(file, naming.size);
            self.known.insert((naming.device, naming.inode), file);
        }
    }

    /// The file with this number; one whose name was dropped is called by its number.
    fn file(&mut self, device: u64, inode: u64) -> FileRef {
        if let Some(file) = self.known.get(&(device, inode)) {
            return *file;
        }
        let name = format!("inode:{device}:{inode}");
        let file = self.files.named(name.as_bytes()).unwrap_or_default();
        self.known.insert((device, inode), file);
        file
    }

    fn access(&self, who: Who, slot: &[u8; SLOT_BYTES], file: FileRef) -> Option<Access> {
        let duration_ns = word(slot, slot::DURATION_NS);
        let [pattern, reason, ..] = duration_ns.to_le_bytes();
        let operation = match who.kind {
            Kind::Read => Operation::Read,
            Kind::Map => Operation::Fault,
            Kind::Open => Operation::Open,
            Kind::Close => Operation::Close,
            Kind::Prefetch => Operation::Prefetch(Decided { pattern, reason }),
            Kind::Advise => Operation::Advise(advice(who.detail)?),
            Kind::Name | Kind::NameBytes => return None,
        };
        let is_measured = duration_ns != UNKNOWN && who.kind != Kind::Prefetch;
        Some(Access {
            at_ns: word(slot, slot::AT_NS).saturating_sub(self.start_ns),
            process: who.process,
            thread: who.thread,
            file,
            operation,
            offset: word(slot, slot::OFFSET),
            length: word(slot, slot::LENGTH),
            duration_ns: is_measured.then_some(duration_ns),
        })
    }
}

fn word(slot: &[u8; SLOT_BYTES], place: usize) -> u64 {
    let (words, _) = slot.as_chunks::<8>();
    words
        .get(place)
        .map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

/// The values of `posix_fadvise`, which are the same on every machine that we run on.
const fn advice(value: u8) -> Option<FileAdvice> {
    Some(match value {
        0 => FileAdvice::Normal,
        1 => FileAdvice::Random,
        2 => FileAdvice::Sequential,
        3 => FileAdvice::WillNeed,
        4 => FileAdvice::DontNeed,
        _ => return None,
    })
}

fn monotonic_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ahead_trace::{OpenOptions, Reader, open};

    /// What a writer in the library does, step by step.
    struct Pen(File);

    impl Pen {
        fn put_word(&self, place: usize, value: u64) {
            self.0
                .write_all_at(&value.to_ne_bytes(), place as u64 * 8)
                .expect("it fits");
        }

        fn put(&self, number: u64, kind: Kind, words: [u64; 6]) {
            let who = Who {
                kind,
                detail: 0,
                process: 5,
                thread: 6,
            };
            let begin = slot_word(number);
            self.put_word(begin + slot::WHO, who.to_word());
            for (place, value) in words.into_iter().enumerate() {
                self.put_word(begin + slot::DEVICE + place, value);
            }
            self.put_word(begin + slot::SEQUENCE, number + 1);
            self.put_word(header::TAKEN, number + 1);
        }
    }

    fn listener(folder: &Path) -> (Pen, Listener, PathBuf) {
        let ring = tempfile::tempfile_in(folder).expect("a file");
        ring.set_len(FILE_BYTES as u64).expect("it fits");
        let path = folder.join("t.csv");
        let writer = create(&path, Format::Csv, Objects::default()).expect("a trace");
        let pen = Pen(ring.try_clone().expect("a copy"));
        let mut listener = Listener::new(ring, writer);
        listener.start_ns = 1000;
        (pen, listener, path)
    }

    fn name_words(name: &[u8]) -> [u64; 6] {
        let mut bytes = [0; 48];
        bytes[..name.len()].copy_from_slice(name);
        let mut words = [0; 6];
        for (word, eight) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_ne_bytes(*eight);
        }
        words
    }

    fn read(path: &Path) -> (Vec<Access>, Vec<String>) {
        let mut reader = open(path, &OpenOptions::default()).expect("a trace");
        let accesses: Vec<_> = reader
            .by_ref()
            .map(|access| access.expect("sound"))
            .collect();
        let files = reader.files();
        let names = files
            .iter()
            .map(|file| String::from_utf8_lossy(&files.name(file)).into_owned());
        (accesses, names.collect())
    }

    #[test]
    fn names_reads_and_decisions_become_a_trace() {
        let folder = tempfile::tempdir().expect("a folder");
        let (pen, mut listener, path) = listener(folder.path());
        pen.put(0, Kind::Name, [1, 2, 9999, 5, 0, 0]);
        pen.put(1, Kind::NameBytes, name_words(b"/a, b"));
        pen.put(2, Kind::Read, [1, 2, 4096, 512, 1500, 70]);
        pen.put(3, Kind::Prefetch, [1, 2, 8192, 4096, 1600, 0x0201]);
        pen.put(4, Kind::Read, [7, 8, 0, 1, 1700, UNKNOWN]);
        let (_stop, stopped) = channel();
        drop(_stop);
        let recorded = listener.listen(&stopped).expect("written");
        assert_eq!((recorded.records, recorded.lost), (3, 0));
        let (accesses, names) = read(&path);
        assert_eq!(names, ["/a, b", "inode:7:8"]);
        assert_eq!(
            (accesses[0].at_ns, accesses[0].duration_ns),
            (500, Some(70))
        );
        assert_eq!((accesses[0].process, accesses[0].thread), (5, 6));
        let decided = Decided {
            pattern: 1,
            reason: 2,
        };
        assert_eq!(accesses[1].operation, Operation::Prefetch(decided));
        assert_eq!(accesses[2].duration_ns, None);
    }

    #[test]
    fn a_process_that_died_while_it_wrote_loses_its_own_record_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let (pen, mut listener, path) = listener(folder.path());
        pen.put(0, Kind::Read, [1, 2, 0, 1, 1500, 1]);
        // Slot 1 was taken and never published.
        pen.put(2, Kind::Read, [1, 2, 8, 1, 1500, 1]);
        listener.drain(false).expect("readable");
        assert_eq!(listener.read, 1, "it may still be published");
        listener.drain(true).expect("readable");
        listener.writer.finish(&listener.files).expect("written");
        assert_eq!((listener.recorded.records, listener.recorded.lost), (2, 1));
        assert_eq!(read(&path).0.len(), 2);
    }

    #[test]
    fn the_ring_goes_round() {
        let folder = tempfile::tempdir().expect("a folder");
        let (pen, mut listener, _path) = listener(folder.path());
        listener.read = SLOTS - 2;
        for number in SLOTS - 2..SLOTS + 3 {
            pen.put(number, Kind::Read, [1, 2, number, 1, 1500, 1]);
        }
        listener.drain(false).expect("readable");
        assert_eq!(listener.recorded.records, 5);
        assert_eq!(listener.header_word(header::READ).ok(), Some(SLOTS + 3));
    }
}
