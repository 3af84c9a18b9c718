//! One-block look-ahead: the page behind each page that is read.
//!
//! The oldest of all, and the yardstick of the field. Three forms: the next page is fetched on
//! every access, only when the access missed, or when a page that was itself prefetched is read
//! for the first time ("tagged"), which needs half as many looks as the first and hits as well.
//!
//! Source: A. J. Smith, "Sequentiality and prefetching in database systems", ACM TODS 3(3), 1978;
//! "Cache memories", ACM Computing Surveys 14(3), 1982 (the tagged form).

use crate::kernel::{Class, Host, Read, ReadAhead};

use super::{ask, faults_are_reads, is_absent, start};
use crate::replica::{Key, Replica};

/// The name of it.
pub const REPLICAS: &[Replica<OneBlock>] = &[Replica::new(
    "obl",
    1978,
    "one block look-ahead: always, miss, tagged",
    &[Key::word("when", &["tagged", "always", "miss"])],
    |values| {
        OneBlock::new(match values.word("when") {
            "always" => When::Always,
            "miss" => When::OnMiss,
            _ => When::Tagged,
        })
    },
)];

/// When the next page is fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// On every access.
    Always,
    /// When the access missed.
    OnMiss,
    /// On a miss, and on the first access to a prefetched page.
    #[default]
    Tagged,
}

/// One open file.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneBlock {
    when: When,
}

impl OneBlock {
    /// A file whose next pages are fetched `when`.
    #[must_use]
    pub const fn new(when: When) -> Self {
        Self { when }
    }
}

impl ReadAhead for OneBlock {
    fn on_page<H: Host>(&mut self, host: &mut H, read: &Read, page: u64) {
        let missed = is_absent(host, page);
        if missed {
            ask(host, read, page, 0);
        }
        let tagged = host.is_marked(page);
        if tagged {
            host.clear_mark(page);
        }
        let wanted = match self.when {
            When::Always => true,
            When::OnMiss => missed,
            When::Tagged => missed || tagged,
        };
        // Pages of the request itself are on their way already.
        let next = page + 1;
        if wanted && next >= read.end_page() && is_absent(host, next) {
            let started = start(host, next, 1, Class::Subsequent);
            if started > 0 && self.when == When::Tagged {
                host.set_mark(next);
            }
        } else if missed && self.when == When::Tagged && page + 1 < read.end_page() {
            // The request came in one piece: its last page is where the next one is fetched.
            host.set_mark(read.end_page() - 1);
        }
    }

    faults_are_reads!();
}
