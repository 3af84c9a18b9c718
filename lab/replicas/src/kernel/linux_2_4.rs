//! Linux 2.4: the `read()` of 2.2 with longer blocks, and mappings that can be advised.
//!
//! `read()` is [`super::linux_2_2`] with the switches of
//! [`Release::Linux2_4`](super::linux_2_2::OldRelease::Linux2_4): blocks up to 32 pages, one page
//! more needed per read, a missing page does not make the blocks shorter, and a partial last page
//! is never read ahead.
//!
//! **Faults.** A missing page brings its aligned cluster, cut at the end of the mapped area; in an
//! area advised RANDOM it comes alone. An area advised SEQUENTIAL reads ahead as well, whether the page
//! was cached or not. Let `W` be the longest block, rounded up to whole clusters. The area's
//! `vm_raend` begins `W` pages behind its start. When the page that lies `W / 2` before `vm_raend`
//! is touched, the `W` pages from *area start + `vm_raend`* on are queued, and `vm_raend` moves on
//! by `W`. So the start of the area is counted twice: an area that does not begin at page 0 of its
//! file reads the wrong pages. That is how 2.4.27 is.
//!
//! What is left out: pages two windows behind are unmapped, which makes them easier to reclaim;
//! and the next window is queued after the page at hand was waited for, here before. A program
//! with several areas of one file has a `vm_raend` in each; here the area touched last has one.
//!
//! `readahead(2)` is cut at half of the inactive and free pages.
//!
//! Source: 2.4.27, mm/filemap.c.

use super::linux_2_2::{self, Linux2_2, OldSettings, read_cluster};
use super::{Advice, Class, Fault, Host, PageState, Read, ReadAhead, Window};
use crate::replica::Replica;

/// The name of it.
pub const REPLICAS: &[Replica<Linux2_4>] = &[Replica::new(
    "linux-2.4",
    2001,
    "Linux 2.4",
    &linux_2_2::keys(&OldSettings::LINUX_2_4),
    |values| Linux2_4::new(OldSettings::LINUX_2_4.with(values)),
)
.before_fault_around()];

/// The mapped area that was touched last and advised SEQUENTIAL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Area {
    start: u64,
    end: u64,
    /// `vm_raend`.
    ra_end: u64,
}

/// The state of one open file.
#[derive(Clone, Copy, Debug)]
pub struct Linux2_4 {
    reads: Linux2_2,
    area: Option<Area>,
}

impl Linux2_4 {
    /// A file just opened; usually with [`OldSettings::LINUX_2_4`].
    #[must_use]
    pub const fn new(settings: OldSettings) -> Self {
        Self {
            reads: Linux2_2::new(settings),
            area: None,
        }
    }

    /// The part for `read()`.
    #[must_use]
    pub const fn reads(&self) -> &Linux2_2 {
        &self.reads
    }

    /// A touch of a page in an area advised SEQUENTIAL.
    fn read_area_ahead<H: Host>(&mut self, host: &mut H, fault: &Fault) {
        let OldSettings {
            ahead_max, cluster, ..
        } = *self.reads.settings();
        let cluster = cluster.max(1);
        let window = ahead_max.next_multiple_of(cluster);
        let mut area = self
            .area
            .filter(|area| (area.start, area.end) == (fault.area_start, fault.area_end))
            .unwrap_or(Area {
                start: fault.area_start,
                end: fault.area_end,
                ra_end: fault.area_start + window,
            });
        if window > 0 && fault.page + window / 2 == area.ra_end {
            let start = area.start + area.ra_end;
            for number in 0..window / cluster {
                let page = start + number * cluster;
                if page >= area.end {
                    break;
                }
                read_cluster(host, page, cluster, area.end);
            }
            area.ra_end += window;
        }
        self.area = Some(area);
    }
}

impl ReadAhead for Linux2_4 {
    fn on_read<H: Host>(&mut self, host: &mut H, read: &Read) {
        self.reads.on_read(host, read);
    }

    fn on_page<H: Host>(&mut self, host: &mut H, read: &Read, page: u64) {
        self.reads.on_page(host, read, page);
    }

    fn on_fault<H: Host>(&mut self, host: &mut H, fault: &Fault) {
        if host.state(fault.page) == PageState::Absent && fault.advice != Advice::Random {
            let cluster = self.reads.settings().cluster;
            read_cluster(host, fault.page, cluster, fault.area_end);
        }
        if fault.advice == Advice::Sequential {
            self.read_area_ahead(host, fault);
        }
    }

    fn on_will_need<H: Host>(&mut self, host: &mut H, start: u64, pages: u64) {
        host.start(&Window {
            start,
            pages: pages.min(host.reclaimable_pages() / 2),
            class: Class::Advice,
            ..Window::default()
        });
    }
}
