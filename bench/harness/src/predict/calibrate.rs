//! What reads cost on this machine, measured where no read-ahead takes part.
//!
//! * **Calls and copies**: the bench's own reader on a file in memory, in small and in large reads,
//!   and on a mapping of it. The difference between the sizes is the call, the rest is the page.
//! * **The way**: reads at random places, one at a time, of one page and of 1 MiB, from a file that
//!   the kernel was told not to read ahead in. What they take beyond the time of the model is the
//!   way to the emulated disk and back: block layer, loop device, FUSE, server, wake-ups; and, for
//!   each page, a place in the cache and the server's copy. Direct reads would be some 50 µs too
//!   fast: their memory is always the same, and warm.
//! * **Asking**: `readahead(2)` of few and of many pages: what the call takes for a request, and
//!   for putting a page into the cache.
//!
//! Single values on a busy machine are sometimes far too long and never too short: of each kind
//! the middle of many is taken.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use ahead_disk_model::{Disk, DiskModel, Request, TimeScale};
use ahead_sys::extent_map::first_physical_offset;
use ahead_sys::readahead::readahead;
use ahead_sys::shared_counter::SharedCounter;
use ahead_units::{ByteLength, ByteOffset, Timestamp};
use ahead_workload::random::below;
use ahead_workload::{Preset, Workload, presets};
use rustix::fs::Advice;
use serde::{Deserialize, Serialize};

use super::cells::{PredictError, middle, whole_ns};
use crate::assignment::{Assignment, Mode, Source, Sources};
use crate::content;
use crate::execute::Bench;
use crate::read_error::{ReadError, io_error};
use crate::reader;
use crate::results::approximate;

const MIB: u64 = 1 << 20;
const PAGE: u64 = 4096;
/// What is read from memory: as much as is on its way at most, so that it is as warm as what a disk
/// has just delivered.
const WARM_BYTES: u64 = 16 * MIB;
const WARM_MILLISECONDS: u64 = 120;
/// So often the short measurements are done.
const ROUNDS: u32 = 5;
/// Where the reads of asking begin, and where those of the way do.
const ASK_OFFSET: u64 = 64 * MIB;
const WAY_OFFSET: u64 = 128 * MIB;

/// Costs in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibration {
    /// A read call with what the reader does around it, without pages.
    pub call_ns: u64,
    /// Finding a page in the cache and copying it.
    pub page_ns: u64,
    /// The reader's look at the bytes of a page.
    pub check_ns: u64,
    /// A touch of a mapped page.
    pub touch_ns: u64,
    /// A fault that maps what is around it, 16 pages.
    pub fault_ns: u64,
    /// Putting a page (or a larger folio) into the cache.
    pub insert_ns: u64,
    /// Handing a request to the block layer.
    pub request_ns: u64,
    /// A read of one page that has to come, beyond the model's time, the call and the copy.
    pub way_ns: u64,
    /// What each further page adds to it.
    pub way_page_ns: u64,
}

impl Calibration {
    /// The middle of each figure.
    #[must_use]
    pub fn median(all: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> u64| middle(all.iter().map(figure));
        Self {
            call_ns: of(|one| one.call_ns),
            page_ns: of(|one| one.page_ns),
            check_ns: of(|one| one.check_ns),
            touch_ns: of(|one| one.touch_ns),
            fault_ns: of(|one| one.fault_ns),
            insert_ns: of(|one| one.insert_ns),
            request_ns: of(|one| one.request_ns),
            way_ns: of(|one| one.way_ns),
            way_page_ns: of(|one| one.way_page_ns),
        }
    }
}

/// Measures everything once, on the main file of the bench's disk.
pub(super) fn calibrate(bench: &Bench<'_>, model: &DiskModel) -> Result<Calibration, PredictError> {
    let sources = bench.dataset.of_preset(preset("seq4k")?, false);
    let Some(Sources::Listed(sources)) = sources else {
        return Err(ReadError::Empty.into());
    };
    let source = sources.into_iter().next().ok_or(ReadError::Empty)?;
    let machine =
        |what: &'static str| move |source| crate::error::BenchError::Machine { what, source };
    bench
        .target
        .queue
        .set_read_ahead_kb(1024)
        .map_err(machine("cannot set read_ahead_kb"))?;
    rustix::fs::sync();
    ahead_sys::drop_caches::drop_caches(std::path::Path::new("/proc"))
        .map_err(machine("cannot drop the page cache"))?;
    let mut costs = Calibration::default();
    calls_and_copies(bench, &source, &mut costs)?;
    let capacity_bytes = bench.target.emulated_bytes().unwrap_or(u64::MAX);
    the_way(model, capacity_bytes, bench.plan.seed, &source, &mut costs)?;
    asking(&source, &mut costs)?;
    Ok(costs)
}

fn preset(name: &str) -> Result<&'static Preset, ReadError> {
    presets::find(name).ok_or(ReadError::Empty)
}

/// `call_ns`, `page_ns`, `check_ns`, `touch_ns`, `fault_ns`.
fn calls_and_copies(
    bench: &Bench<'_>,
    source: &Source,
    costs: &mut Calibration,
) -> Result<(), PredictError> {
    let warm = Source {
        bytes: WARM_BYTES.min(source.bytes),
        ..source.clone()
    };
    let pages_ns = |name: &str, repeat: bool| -> Result<u64, ReadError> {
        let workload = &preset(name)?.workload;
        let one = || page_of(bench, &warm, workload, repeat);
        // The first brings the file into memory.
        one()?;
        let all: Result<Vec<u64>, ReadError> = (0..ROUNDS).map(|_| one()).collect();
        Ok(middle(all?))
    };
    let small = pages_ns("seq4k", true)?;
    let large = pages_ns("seq2m", true)?;
    let mut bytes = vec![0; 2 << 20];
    content::fill(&mut bytes, source.id, 0);
    costs.check_ns = middle((0..64).map(|_| {
        let start = Instant::now();
        std::hint::black_box(content::first_mismatch(&bytes, source.id, 0));
        since(start) / 512
    }));
    costs.page_ns = large.saturating_sub(costs.check_ns);
    costs.call_ns = small.saturating_sub(large);
    costs.touch_ns = pages_ns("mseq", true)?;
    let fresh = pages_ns("mseq", false)?;
    costs.fault_ns = fresh.saturating_sub(costs.touch_ns) * 16;
    Ok(())
}

/// Nanoseconds for each page that the bench's reader takes from memory.
fn page_of(
    bench: &Bench<'_>,
    source: &Source,
    workload: &Workload,
    repeat: bool,
) -> Result<u64, ReadError> {
    let path = &source.path;
    let (_counter, file) =
        SharedCounter::anonymous().map_err(io_error("cannot count reads of", path))?;
    let assignment = Assignment {
        workload: workload.clone(),
        mode: Mode::Plain,
        sources: Sources::Listed(vec![source.clone()]),
        seed: bench.plan.seed,
        bytes_max: None,
        milliseconds_max: Some(WARM_MILLISECONDS),
        sleeps: false,
        repeat,
        members_file: None,
        counter: format!("/proc/self/fd/{}", file.as_raw_fd()).into(),
        answer: bench.folder.join("calibration.json"),
    };
    let measured = reader::read(&assignment)?;
    let pages = measured.useful_bytes / PAGE;
    Ok(measured.elapsed_ns / pages.max(1))
}

/// `way_ns`, `way_page_ns`. Needs the costs of calls and copies.
fn the_way(
    model: &DiskModel,
    capacity_bytes: u64,
    seed: u64,
    source: &Source,
    costs: &mut Calibration,
) -> Result<(), ReadError> {
    let failed = |what| io_error(what, &source.path);
    let file = File::open(&source.path).map_err(failed("cannot open"))?;
    rustix::fs::fadvise(&file, 0, None, Advice::Random)
        .map_err(|errno| failed("cannot advise on")(errno.into()))?;
    let place = first_physical_offset(&file)
        .map_err(failed("cannot find the place of"))?
        .unwrap_or(0);
    let slots = (source.bytes.saturating_sub(WAY_OFFSET) / MIB).max(1);
    let mut buffer = vec![0; 1 << 20];
    let mut disk = Disk::new(model, ByteLength::new(capacity_bytes), TimeScale::REAL);
    // Moments of the model's clock; long enough between two reads for every gate to be open.
    let mut now_ns = 0;
    let mut beyond = |pages: u64, places: std::ops::Range<u64>| -> Result<u64, ReadError> {
        let mut excess = Vec::new();
        for number in places {
            let offset = WAY_OFFSET + below(seed, number, slots) * MIB;
            let length = usize::try_from(pages * PAGE).unwrap_or(usize::MAX);
            let bytes = buffer.get_mut(..length).ok_or(ReadError::Empty)?;
            let start = Instant::now();
            file.read_exact_at(bytes, offset)
                .map_err(failed("cannot read"))?;
            let took_ns = since(start);
            now_ns += 1_000_000_000;
            let modelled_ns = served_ns(&mut disk, now_ns, place + offset, pages * PAGE);
            let known_ns = modelled_ns + costs.call_ns + pages * costs.page_ns;
            excess.push(took_ns.saturating_sub(known_ns));
        }
        Ok(middle(excess))
    };
    let page_ns = beyond(1, 0..64)?;
    let large_ns = beyond(MIB / PAGE, 64..96)?;
    costs.way_page_ns = large_ns.saturating_sub(page_ns) / (MIB / PAGE - 1);
    costs.way_ns = page_ns;
    Ok(())
}

/// How long the model takes for one read of an idle disk.
fn served_ns(disk: &mut Disk, now_ns: u64, offset: u64, length: u64) -> u64 {
    let request = Request {
        id: 0,
        offset: ByteOffset::new(offset),
        length: ByteLength::new(length),
    };
    disk.submit(Timestamp::new(now_ns), request);
    let mut done = Vec::new();
    while let Some(due) = disk.next_event() {
        disk.advance(due, &mut done);
    }
    done.last()
        .map_or(0, |done| done.completed_at.get().saturating_sub(now_ns))
}

/// `insert_ns`, `request_ns`.
fn asking(source: &Source, costs: &mut Calibration) -> Result<(), ReadError> {
    let failed = |what| io_error(what, &source.path);
    let file = File::open(&source.path).map_err(failed("cannot open"))?;
    let mut offset = ASK_OFFSET;
    let mut byte = [0];
    let mut ask = |pages: u64, count: u32| -> Result<u64, ReadError> {
        let mut took = Vec::new();
        for _ in 0..count {
            let bytes = pages * PAGE;
            let start = Instant::now();
            readahead(&file, offset, bytes).map_err(failed("cannot read ahead in"))?;
            took.push(since(start));
            // The next call finds an idle queue.
            file.read_at(&mut byte, offset + bytes - 1)
                .map_err(failed("cannot read"))?;
            offset += bytes + 16 * PAGE;
        }
        Ok(middle(took))
    };
    let few = ask(4, 48)?;
    let many = ask(128, 24)?;
    costs.insert_ns = many.saturating_sub(few) / 124;
    costs.request_ns = few.saturating_sub(4 * costs.insert_ns);
    Ok(())
}

fn since(start: Instant) -> u64 {
    whole_ns(approximate(
        u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX),
    ))
}
