//! A disk model measured as a device is, in virtual time: what a measurement would find if the device were
//! exactly so.

use std::io;

use ahead_device::measurement::plan::{self, MeasureBounds};
use ahead_device::measurement::statistics::StepResult;
use ahead_device::measurement::step::{self, ReadAnswer, RequestReader, StepError};
use ahead_disk_model::{Completion, Disk, DiskModel, Request, TimeScale};
use ahead_units::{ByteLength, ByteOffset, Timestamp};

/// A modelled disk that answers requests, and its clock.
pub struct VirtualDisk {
    disk: Disk,
    now: Timestamp,
}

impl VirtualDisk {
    /// An idle disk at moment 0.
    #[must_use]
    pub fn new(model: &DiskModel, size_bytes: u64) -> Self {
        Self {
            disk: Disk::new(model, ByteLength::new(size_bytes), TimeScale::REAL),
            now: Timestamp::new(0),
        }
    }
}

impl RequestReader for VirtualDisk {
    fn now_ns(&self) -> u64 {
        self.now.get()
    }

    fn prepare(&mut self, _depth: u32, _request_bytes: u64) -> io::Result<()> {
        Ok(())
    }

    fn submit(&mut self, offset: u64, bytes: u64, tag: u32) -> io::Result<()> {
        // The length comes back in the id, as the answer says how much was read.
        let request = Request {
            id: bytes << 32 | u64::from(tag),
            offset: ByteOffset::new(offset),
            length: ByteLength::new(bytes),
        };
        self.disk.submit(self.now, request);
        Ok(())
    }

    fn wait(&mut self, answers: &mut Vec<ReadAnswer>) -> io::Result<()> {
        let mut completions: Vec<Completion> = Vec::new();
        while completions.is_empty() {
            let next = self.disk.next_event();
            self.now = next.ok_or(io::ErrorKind::TimedOut)?.max(self.now);
            self.disk.advance(self.now, &mut completions);
        }
        answers.extend(completions.into_iter().map(|done| ReadAnswer {
            tag: u32::try_from(done.id & 0xFFFF_FFFF).unwrap_or(0),
            at_ns: done.completed_at.get(),
            bytes: Ok(done.id >> 32),
        }));
        Ok(())
    }
}

/// Runs all steps on `model`.
///
/// # Errors
/// The model stopped answering: it is broken.
pub fn measure(model: &DiskModel, bounds: &MeasureBounds) -> Result<Vec<StepResult>, StepError> {
    let mut disk = VirtualDisk::new(model, bounds.size_bytes);
    let steps = plan::steps(bounds);
    (1..)
        .zip(&steps)
        .map(|(seed, one)| step::run(&mut disk, one, seed, &|| false))
        .collect()
}
