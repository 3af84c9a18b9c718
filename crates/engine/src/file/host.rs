//! What a host says of one file beside its reads, and asks of it.

use ahead_policy::adaptive::Stream;
use ahead_units::{Advice, PageCount, PageRange, Timestamp};

use super::around::Around;
use super::{FileState, Many, table};
use crate::adviser::CallsMade;
use crate::device::LongRead;
use crate::devices::DevicePlace;
use crate::filling::FilledRead;

impl FileState {
    /// The program said through a descriptor of the file how it is going to read it. What it says about random
    /// reads is the host's business: it does not tell of reads that are left to the program.
    pub fn on_advice(&mut self, advice: Advice) {
        self.is_sequential = advice == Advice::Sequential;
    }

    /// Whether lengths of its runs are known.
    #[must_use]
    pub fn knows_runs(&self) -> bool {
        self.streams.knows_runs()
    }

    /// The device that the file lies on.
    #[must_use]
    pub fn device(&self) -> DevicePlace {
        self.device
    }

    /// Of the newest read, the pages that calls were made for and that were not read before; `None` where it was of none of these. Only
    /// right after the read it is that of the reader who asks: others go on reading the file.
    #[must_use]
    pub fn served(&self) -> Option<PageCount> {
        self.served
    }

    /// Whether the program said SEQUENTIAL last.
    #[must_use]
    pub fn is_sequential(&self) -> bool {
        self.is_sequential
    }

    /// It is copied inside the kernel from now on, without reads.
    pub fn on_copied(&mut self) {
        self.is_copied = true;
    }

    /// The kernel's window of its open file, where the host sees it: it is not that of the device after advice of the program, or
    /// when that of the device was changed since.
    pub fn set_kernel_window(&mut self, window: PageCount) {
        self.kernel_window = Some(window);
    }

    /// Whether the kernel's window of its open file is that of the device, as far as that is known.
    #[must_use]
    pub fn has_window_of_device(&self) -> bool {
        self.kernel_window.is_none() && !self.is_sequential
    }

    /// The file has so many pages now.
    pub fn set_file_pages(&mut self, file_pages: PageCount) {
        self.file_pages = file_pages;
    }

    /// Pages whose reads by the stream in this place change nothing that is asked for: between the newest read and the marker.
    /// A host that hears of reads late need not be told of these before others are; it does hear of the end of the file.
    #[must_use]
    pub fn settled(&mut self, many: Many<'_>, place: u8) -> Option<PageRange> {
        let stream = table(&mut self.few, many).get(usize::from(place))?;
        let pages = stream.settled()?;
        let last = self.file_pages.get().saturating_sub(1);
        let range = PageRange::new(pages.start.get(), pages.end.get().min(last));
        (range.start < range.end).then_some(range)
    }

    /// Whether the file has windows that are not read any more, as it seems: it was closed at least
    /// `closed_ns` ago, or has neither asked nor waited for `open_ns`.
    #[must_use]
    pub fn is_idle(&self, now: Timestamp, closed_ns: u64, open_ns: u64) -> bool {
        let quiet_ns = now.since(self.active);
        quiet_ns >= open_ns || self.closed && quiet_ns >= closed_ns
    }

    /// Whether the file has more streams than its small table holds. The host then copies the
    /// small table with [`Self::move_to_many`] and lends the larger one with every call.
    #[must_use]
    pub fn wants_many(&self) -> bool {
        self.streams.is_crowded()
    }

    /// Copies the small table to the front of `many`.
    pub fn move_to_many(&mut self, many: &mut [Stream]) {
        for (place, stream) in many.iter_mut().zip(self.few) {
            *place = stream;
        }
    }

    /// Of the newest read, what it is to the file, if that may be filled in. As of
    /// [`FileState::served`].
    #[must_use]
    pub fn filled_read(&self) -> Option<FilledRead> {
        self.filled.filled_read()
    }

    /// What the newest read is to what the kernel asks for at once. As of [`FileState::served`].
    #[must_use]
    pub fn long_read(&self) -> LongRead {
        self.long_reads.newest()
    }

    /// Whether the file could be filled in if there is more memory than is known, which is to be looked at once.
    pub(crate) fn takes_look_at_memory(&mut self) -> bool {
        self.filled.takes_look_at_memory()
    }

    /// Of the request for `pages` to fill it in this is what came; its calls have held up the reader for so long.
    pub(crate) fn on_filled_in(
        &self,
        pages: PageRange,
        asked: CallsMade,
        held_ns: u64,
        around: &Around<'_>,
    ) {
        self.filled.on_answer(pages, asked, held_ns, around);
    }
}
