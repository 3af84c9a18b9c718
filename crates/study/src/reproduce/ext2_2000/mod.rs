//! "Addressing Large Sequential Read Performance in Linux's Ext2 Filesystem" (O'Connor and Tracy,
//! about 2000): its seven figures, and what its authors left open.
//!
//! Linux 2.2 on a Pentium III with 128 MB and an IDE disk of 10 GB. *mmapit* maps a file of 100 MB
//! (25 600 pages) and copies every byte. A new system call says how many pages `n` a missing page
//! shall bring (the *original* mechanism); the authors then let read-ahead start on hits too, and
//! drop requests instead of waiting for a place in the queue (the *modified* one).
//!
//! * [`cells`]: the machine, and every run
//! * [`figures`]: figures 1 to 7
//! * [`open_questions`]: window sizes between the powers of two, the period `P`, an external sort,
//!   and why 64 to 128 pages were best
//! * [`following_period`]: a `P` that follows the queue
//! * [`charts`]: what all pictures have in common
//!
//! Two numbers of the paper contradict the kernel it names: a queue of 128 requests, of which the
//! authors measured "more like 260" before anybody waited, and more than 7000 waits. Linux 2.2.1 has
//! 64 places and merges 30 pages into each, so it takes 1900 pages before anybody waits. 260 pages
//! in 128 requests are two pages in each, so the machine here has 128 places of two pages; the queue
//! of 2.2.1 stands beside it where it makes a difference.

mod cells;
mod charts;
mod figures;
mod following_period;
mod open_questions;

use super::{Figure, ReproduceError};

/// Pages of *mmapit*'s file.
const FILE_PAGES: u64 = 25_600;

/// The figure.
///
/// # Errors
/// [`ReproduceError`].
pub fn figure() -> Result<Figure, ReproduceError> {
    figure_of(FILE_PAGES)
}

/// The same with a file of `pages` pages: statements about the whole file hold for 25 600 only.
///
/// # Errors
/// [`ReproduceError`].
pub fn figure_of(pages: u64) -> Result<Figure, ReproduceError> {
    let mut figure = Figure {
        name: "ext2-2000",
        title: "mmapit under the read-ahead of Linux 2.2, original and modified".to_owned(),
        source: "O'Connor and Tracy, \"Addressing Large Sequential Read Performance in Linux's \
                 Ext2 Filesystem\", University of Wisconsin, about 2000"
            .to_owned(),
        ..Figure::default()
    };
    let runs = cells::Runs::new(pages)?;
    figures::add(&mut figure, &runs)?;
    open_questions::add(&mut figure, &runs)?;
    Ok(figure)
}
