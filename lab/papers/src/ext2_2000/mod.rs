//! "Addressing Large Sequential Read Performance in Linux's Ext2 Filesystem" (O'Connor and Tracy,
//! about 2000): its seven figures, and what its authors left open.
//!
//! Linux 2.2 on a Pentium III with 128 MB and an IDE disk of 10 GB. *mmapit* maps a file of 100 MB
//! (25 600 pages) and copies every byte. A new system call says how many pages `n` a missing page
//! shall bring (the *original* mechanism); the authors then let read-ahead start on hits too, and
//! drop requests instead of waiting for a place in the queue (the *modified* one).
//!
//! * `cells`: the machine, and every run
//! * `figures`: figures 1 to 5
//! * `waits`: figures 6 and 7
//! * `open_questions`: window sizes between the powers of two, the period `P`, an external sort,
//!   and why 64 to 128 pages were best
//! * `other_models`: a drive without read-ahead of its own, and the indirect blocks of ext2
//! * `following_period`: a `P` that follows the queue
//! * `charts`: what all pictures have in common
//!
//! Two numbers of the paper contradict the kernel it names: a queue of 128 requests, of which the
//! authors measured "more like 260" before anybody waited, and more than 7000 waits. Linux 2.2.1
//! has 64 places and merges 30 pages into each, so it takes 1900 pages before anybody waits. 260
//! pages in 128 requests are two pages in each, so the machine here has 128 places of two pages;
//! the queue of 2.2.1 stands beside it where it makes a difference.

mod cells;
mod charts;
mod figures;
mod following_period;
mod open_questions;
mod other_models;
mod today;
mod waits;

use crate::figure::{Figure, ModelKnobs, Publication, ReproduceError};

/// Pages of *mmapit*'s file.
const FILE_PAGES: u64 = 25_600;

/// What is modelled how.
const NOTES: [&str; 6] = [
    "Chosen after a first look: the inner end of the disk (the outer end was tried first; some rows \
     get better, others worse), figure 6 in two rows (256 pages, and 512 and more), and that waits \
     for the queue count refusals.",
    "Disk: the authors' 10 GB Fireball is not described anywhere; an IBM DNES of the same year, \
     size and speed stands for it, with the file at its inner end, where it gives 13 MB/s as \
     theirs gave NTFS. PIO takes 0.15 ms of processor for each sector (derived from figure 3).",
    "Queue: 128 places of two pages, which \"more like 260\" pages in 128 requests imply; the \
     sources of 2.2.1 have 64 places of 30 pages, and stand beside it in figure 7.",
    "Times as getrusage gave them: interrupts count as system time while a program runs and as \
     idle time otherwise.",
    "Waits for the queue are counted as 2.2 would sleep: once for each request that finds it \
     full.",
    "The adaptive period tries again when half of what the last attempt got into the queue has \
     been used; it has no number to choose.",
];

/// What the command line knows of it.
pub const PUBLICATION: Publication = Publication {
    name: "ext2-2000",
    about: "a mapped file of 100 MB under the read-ahead of Linux 2.2, as it was and modified: seven figures",
    parameters: cells::PARAMETERS,
    compute: figure,
};

fn figure(knobs: &ModelKnobs) -> Result<Figure, ReproduceError> {
    figure_of(FILE_PAGES, knobs)
}

/// The same with a file of `pages` pages: statements about the whole file hold for 25 600 only.
///
/// # Errors
/// [`ReproduceError`].
pub fn figure_of(pages: u64, knobs: &ModelKnobs) -> Result<Figure, ReproduceError> {
    let mut figure = Figure {
        name: "ext2-2000",
        title: "mmapit under the read-ahead of Linux 2.2, original and modified".to_owned(),
        source: "O'Connor and Tracy, \"Addressing Large Sequential Read Performance in Linux's \
                 Ext2 Filesystem\", University of Wisconsin, about 2000"
            .to_owned(),
        parameters: cells::PARAMETERS,
        notes: NOTES.map(str::to_owned).to_vec(),
        ..Figure::default()
    };
    let runs = cells::Runs::new(pages, knobs)?;
    figures::add(&mut figure, &runs, knobs)?;
    waits::add(&mut figure, &runs);
    other_models::add(&mut figure, pages, knobs)?;
    open_questions::add(&mut figure, &runs, knobs)?;
    today::add(&mut figure, &runs, knobs)?;
    Ok(figure)
}
