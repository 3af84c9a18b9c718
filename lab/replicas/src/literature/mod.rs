//! Window controllers from papers and from well-known programs, in the shape of
//! [`crate::kernel`]: one file each, its source at the head.
//!
//! They were made for caches of their own: a storage controller, a database, a mounted object
//! store. Here each is the state of one open file over the kernel's page cache. What a request
//! wants is always asked for in one piece; the controllers differ in what they add. A fault is a
//! request of one page.

pub mod amp;
pub mod competitive;
pub mod degree;
pub mod majority_trend;
pub mod mountpoint;
pub mod one_block;
pub mod rocksdb;
pub mod sarc;

use crate::kernel::{Class, Host, PageState, Read, Window};

/// Asks for what is left of `read` from the absent page `page` on, and `more` pages behind it.
fn ask<H: Host>(host: &mut H, read: &Read, page: u64, more: u64) -> u64 {
    let class = if more > 0 {
        Class::Initial
    } else {
        Class::Random
    };
    let pages = read.pages_from(page).saturating_add(more);
    start(host, page, pages, class)
}

fn start<H: Host>(host: &mut H, start: u64, pages: u64, class: Class) -> u64 {
    if pages == 0 {
        return 0;
    }
    host.start(&Window {
        start,
        pages,
        class,
        ..Window::default()
    })
}

fn is_absent<H: Host>(host: &H, page: u64) -> bool {
    host.state(page) == PageState::Absent
}

/// Separates requests that go on where the last one ended from others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Run {
    /// Byte behind the last request.
    end: u64,
    /// Requests in a row that went on, the first not counted.
    steps: u32,
}

impl Run {
    /// Takes in `read`; true if it goes on where the last one ended, or begins the file.
    fn goes_on(&mut self, read: &Read) -> bool {
        let goes_on = read.start == self.end;
        self.steps = if goes_on {
            self.steps.saturating_add(1)
        } else {
            0
        };
        self.end = read.end;
        goes_on
    }
}

/// Implements the faults of a controller as requests of one page.
macro_rules! faults_are_reads {
    () => {
        fn on_fault<H: $crate::kernel::Host>(
            &mut self,
            host: &mut H,
            fault: &$crate::kernel::Fault,
        ) {
            let read = $crate::kernel::Read::of_pages(fault.page, 1);
            self.on_read(host, &read);
            self.on_page(host, &read, fault.page);
        }
    };
}
use faults_are_reads;
