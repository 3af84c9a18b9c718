//! The kernel's own account of its read-ahead: tracepoints, recorded in a buffer of our own.
//!
//! A tracing instance has its own buffer, events and filters, and disturbs nobody else's tracing.
//! It goes with the [`Recorder`]; one that a killed test left behind goes when the next one starts.
//! tracefs is mounted without a mount point: what nobody can see needs no cleaning up.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use ahead_replicas::kernel::{Call, CallState};
use ahead_sys::block_queue::DeviceNumber;

use super::event::Event;
use super::machine::DetachedMount;

/// What is recorded. The first four exist since 6.18, the others for longer.
const READ_AHEAD_EVENTS: [&str; 4] = [
    "readahead/page_cache_sync_ra",
    "readahead/page_cache_async_ra",
    "readahead/page_cache_ra_order",
    "readahead/page_cache_ra_unbounded",
];
const CACHE_EVENTS: [&str; 2] = [
    "filemap/mm_filemap_add_to_page_cache",
    "filemap/mm_filemap_delete_from_page_cache",
];

/// Enough for the pages of the largest pattern, with a wide margin; loss is noticed.
const BUFFER_KIB_PER_CPU: u32 = 16_384;

const NAME: &str = "ahead-conform-";

/// What stands between two operations. In front of it comes the name of the kernel's function, or its
/// address where the kernel does not know its own names.
const MARKER: &str = "operation";

/// A tracing instance that watches the files of one file system.
#[derive(Debug)]
pub struct Recorder {
    // Dropped after the instance: the folder is reached through it.
    _tracefs: DetachedMount,
    folder: PathBuf,
    /// What is written here stands between the events. Closed before the instance can go.
    marker: Option<File>,
    has_calls: bool,
}

impl Recorder {
    /// Makes the instance, for the file system on `device`. Needs root and a kernel with event
    /// tracing.
    pub fn new(device: DeviceNumber) -> io::Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let tracefs = DetachedMount::new("tracefs", &[])?;
        let instances = tracefs.path("instances");
        remove_orphans(&instances)?;
        let serial = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = instances.join(format!("{NAME}{}-{serial}", process::id()));
        fs::create_dir(&folder)?;
        let has_calls = folder.join("events").join(READ_AHEAD_EVENTS[0]).is_dir();
        let marker = File::options()
            .write(true)
            .open(folder.join("trace_marker"))?;
        let recorder = Self {
            _tracefs: tracefs,
            folder,
            marker: Some(marker),
            has_calls,
        };
        recorder.set("tracing_on", "0")?;
        // One clock for all processors, so that lines are in order when the thread moves.
        recorder.set("trace_clock", "global")?;
        recorder.set("buffer_size_kb", &BUFFER_KIB_PER_CPU.to_string())?;
        // Once, because the kernel waits for all processors when a filter changes. Its own form of
        // a device number, not that of stat(2).
        let number = (u64::from(device.major) << 20) | u64::from(device.minor);
        for event in recorder.events() {
            recorder.set(
                &format!("events/{event}/filter"),
                &format!("s_dev == {number}"),
            )?;
            recorder.set(&format!("events/{event}/enable"), "1")?;
        }
        Ok(recorder)
    }

    /// Whether this kernel shows the calls inside the read-ahead code (6.18 and later), not only
    /// the pages that come and go.
    pub fn has_calls(&self) -> bool {
        self.has_calls
    }

    fn set(&self, name: &str, value: &str) -> io::Result<()> {
        fs::write(self.folder.join(name), value)
            .map_err(|error| io::Error::new(error.kind(), format!("{name} = {value}: {error}")))
    }

    fn events(&self) -> impl Iterator<Item = &'static str> {
        let calls = if self.has_calls {
            &READ_AHEAD_EVENTS[..]
        } else {
            &[]
        };
        calls.iter().chain(&CACHE_EVENTS).copied()
    }

    /// Starts recording.
    pub fn start(&self) -> io::Result<()> {
        self.set("trace", "")?;
        self.set("tracing_on", "1")
    }

    /// From here on events belong to the next operation.
    pub fn next_operation(&self) -> io::Result<()> {
        let mut marker = self.marker.as_ref().ok_or(io::ErrorKind::NotFound)?;
        marker.write_all(MARKER.as_bytes())
    }

    /// Stops recording. One list of the events of file `inode` per operation begun, in order; what
    /// came before the first is left out. An error if the buffer was too small or a line cannot be
    /// read.
    pub fn stop(&self, inode: u64) -> io::Result<Vec<Vec<Event>>> {
        self.set("tracing_on", "0")?;
        for cpu in fs::read_dir(self.folder.join("per_cpu"))? {
            let stats = fs::read_to_string(cpu?.path().join("stats"))?;
            let lost = |line: &str| {
                let (name, count) = line.split_once(": ")?;
                (matches!(name, "overrun" | "dropped events") && count.trim() != "0").then_some(())
            };
            if stats.lines().find_map(lost).is_some() {
                return Err(io::Error::other(format!("events were lost: {stats}")));
            }
        }
        parse(&fs::read_to_string(self.folder.join("trace"))?, inode)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.set("tracing_on", "0");
        drop(self.marker.take());
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Removes instances whose process has ended without doing so.
fn remove_orphans(instances: &Path) -> io::Result<()> {
    for entry in fs::read_dir(instances)? {
        let entry = entry?;
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(NAME))
            .and_then(|rest| rest.split_once('-'))
            .map(|(pid, _)| pid.to_owned());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            // Another test may have been faster.
            let _ = fs::remove_dir(entry.path());
        }
    }
    Ok(())
}

/// What the text of a `trace` file says about `inode`.
fn parse(text: &str, inode: u64) -> io::Result<Vec<Vec<Event>>> {
    // Two forms: ino=1f and ino 1f.
    let names = [format!(" ino={inode:x} "), format!(" ino {inode:x} ")];
    let is_other =
        |line: &str| line.contains(" ino") && !names.iter().any(|name| line.contains(name));
    let mut operations: Vec<Vec<Event>> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if line
            .strip_suffix(MARKER)
            .is_some_and(|start| start.ends_with(": "))
        {
            operations.push(Vec::new());
        } else if is_other(line) {
            continue;
        } else if let Some(operation) = operations.last_mut() {
            let event = event(line)
                .ok_or_else(|| io::Error::other(format!("not a line of ours: {line}")))?;
            operation.push(event);
        }
    }
    Ok(operations)
}

/// One line: process, processor, flags and time, then `: name: details`.
fn event(line: &str) -> Option<Event> {
    let details = |name: &str| {
        line.split_once(&format!(": {name}: "))
            .map(|(_, rest)| rest)
    };
    if let Some(text) = details("page_cache_sync_ra") {
        Some(Event::Call(Call::Sync(call_state(text)?)))
    } else if let Some(text) = details("page_cache_async_ra") {
        Some(Event::Call(Call::Async(call_state(text)?)))
    } else if let Some(text) = details("page_cache_ra_order") {
        Some(Event::Call(Call::Order {
            index: value(text, "index")?,
            order: value(text, "order")?,
            size: value(text, "size")?,
            async_size: value(text, "async_size")?,
        }))
    } else if let Some(text) = details("page_cache_ra_unbounded") {
        Some(Event::Call(Call::Unbounded {
            index: value(text, "index")?,
            pages: value(text, "nr_to_read")?,
            look_ahead: value(text, "lookahead_size")?,
        }))
    } else if let Some(text) = details("mm_filemap_add_to_page_cache") {
        let (index, order) = folio(text)?;
        Some(Event::Added { index, order })
    } else if let Some(text) = details("mm_filemap_delete_from_page_cache") {
        let (index, order) = folio(text)?;
        Some(Event::Removed { index, order })
    } else {
        None
    }
}

fn call_state(text: &str) -> Option<CallState> {
    Some(CallState {
        index: value(text, "index")?,
        request: value(text, "req_count")?,
        order: value(text, "order")?,
        size: value(text, "size")?,
        async_size: value(text, "async_size")?,
        ra_pages: value(text, "ra_pages")?,
        mmap_miss: value(text, "mmap_miss")?,
        prev_pos: value(text, "prev_pos")?,
    })
}

fn folio(text: &str) -> Option<(u64, u8)> {
    Some((value::<u64>(text, "ofs")? / 4096, value(text, "order")?))
}

fn value<T: std::str::FromStr>(text: &str, key: &str) -> Option<T> {
    let mut fields = text.split_ascii_whitespace();
    fields.find_map(|field| field.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
}

#[test]
fn lines_of_the_kernel_are_read_field_by_field() {
    let text = "\
# tracer: nop
#
 live kernel: x-812 [001] ..... 1: page_cache_ra_unbounded: dev=7:0 ino=c index=9 nr_to_read=1 lookahead_size=0
 live kernel: x-812 [001] ..... 2: tracing_mark_write: operation
 live kernel: x-812 [001] ..... 3: page_cache_sync_ra: dev=7:0 ino=c index=0 req_count=4 order=0 size=0 async_size=0 ra_pages=32 mmap_miss=0 prev_pos=-1
 live kernel: x-812 [000] ..... 4: page_cache_ra_order: dev=7:0 ino=c index=0 order=0 size=8 async_size=4 ra_pages=32
 live kernel: x-812 [000] ..... 5: mm_filemap_add_to_page_cache: dev 7:0 ino c pfn=0x1 ofs=8192 order=1
 live kernel: x-812 [000] ..... 5: mm_filemap_add_to_page_cache: dev 7:0 ino cc pfn=0x1 ofs=0 order=1
 live kernel: x-812 [000] ..... 6: 0x600c073d: operation
 live kernel: x-812 [000] ..... 7: page_cache_ra_unbounded: dev=7:0 ino=c index=9 nr_to_read=1 lookahead_size=0
";
    let operations = parse(text, 0xc).unwrap();
    assert_eq!(
        operations,
        [
            vec![
                Event::Call(Call::Sync(CallState {
                    index: 0,
                    request: 4,
                    order: 0,
                    size: 0,
                    async_size: 0,
                    ra_pages: 32,
                    mmap_miss: 0,
                    prev_pos: -1,
                })),
                Event::Call(Call::Order {
                    index: 0,
                    order: 0,
                    size: 8,
                    async_size: 4,
                }),
                Event::Added { index: 2, order: 1 },
            ],
            vec![Event::Call(Call::Unbounded {
                index: 9,
                pages: 1,
                look_ahead: 0,
            })],
        ]
    );
    let strange =
        " x-1 [000] ..... 2: tracing_mark_write: operation\n x-1 [000] ..... 3: other: a=1\n";
    assert!(parse(strange, 0xc).is_err());
}
