//! Writes of programs, and what the world does when pages reach the disk: see [`dirty`](super::dirty).

use ahead_replicas::kernel::{PageState, ReadAhead};
use ahead_units::PAGE_BYTES;

use super::events::Event;
use super::observer::{Work, WorldObserver};
use super::state::World;
use super::task::{Flow, WriteWalk, at};
use super::walk::single;
use crate::queue::Done;
use ahead_replicas::page_cache::FileId;

impl<A: ReadAhead + Clone, O: WorldObserver> World<A, O> {
    /// Takes a write further: to its end, to a wait, or to the moment when something else is due; by
    /// one page at least.
    pub(super) fn write_on(&mut self, task: u32, walk: &mut WriteWalk) -> Flow {
        let process = self.tasks[at(task)].process;
        let file = walk.file;
        while walk.page < walk.end_page {
            if self.kernel.write_back.is_over_limit() {
                return Flow::WriteBack;
            }
            let page = walk.page;
            let costs = self.kernel.costs;
            let mut cost_ns = costs.page_lookup_ns + costs.page_copy_ns;
            match self.kernel.cache.state(file, page) {
                PageState::InFlight => return Flow::Page(file, page),
                PageState::Absent => {
                    self.kernel.put_in_flight(self.now_ns, file, &single(page));
                    cost_ns += costs.page_insert_ns;
                }
                PageState::Valid => {}
                // Written whole, so that what was to be read does not matter.
                PageState::Stale => self.kernel.stale -= 1,
            }
            self.kernel.cache.set_dirty(file, page);
            self.kernel.cache.access(file, page);
            self.kernel.write_back.add(self.now_ns, file, page);
            self.charge(Work::System, process, cost_ns);
            walk.page += 1;
            if self.now_ns >= self.horizon_ns {
                break;
            }
        }
        if self.kernel.write_back.is_over_background() {
            self.kernel.submit_dirty(self.now_ns);
        }
        self.announce_look();
        Flow::Go
    }

    /// Files that have been dirty for long are looked for, as long as anything is dirty.
    fn announce_look(&mut self) {
        if let Some(next_ns) = self.kernel.write_back.next_look_ns(self.now_ns) {
            self.events.push(next_ns, Event::LookForDirty);
        }
    }

    /// It is time to look.
    pub(super) fn look_for_dirty(&mut self) {
        self.kernel.write_back.look(self.now_ns);
        self.kernel.submit_dirty(self.now_ns);
        self.announce_look();
    }

    /// Whether a writer has to wait; then it is among those that [`Self::on_written`] names.
    pub(super) fn waits_for_write_back(&mut self, task: u32) -> bool {
        self.kernel.submit_dirty(self.now_ns);
        let waits = self.kernel.write_back.is_over_limit();
        if waits {
            self.kernel.write_back.wait(task);
        }
        waits
    }

    /// Pages have reached the disk: who need not wait any more.
    pub(super) fn on_written(&mut self, done: &Done) -> Vec<u32> {
        let kernel = &mut self.kernel;
        for page in kernel.write_back.on_written(done) {
            kernel.cache.set_written(done.file, page);
        }
        kernel.submit_dirty(self.now_ns);
        kernel.write_back.take_waiters()
    }

    /// The pages of a write: the first, and the one behind the last; none beyond the end of the file.
    pub(super) fn written_pages(&self, file: FileId, offset: u64, length: u64) -> (u64, u64) {
        let end = offset
            .saturating_add(length)
            .min(self.kernel.files.bytes(file));
        let first = offset / PAGE_BYTES;
        (first, end.div_ceil(PAGE_BYTES).max(first))
    }
}
