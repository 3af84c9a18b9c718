//! "Read Ahead, Dead Ahead" (2017): a window of 32 MiB as a blessing and as a curse.
//!
//! The article quotes a report of 2010. Eight threads each read a file of 80 GB and load it into a
//! database, on four processors, RHEL 5 (Linux 2.6.18), `/dev/md0`. With read-ahead of 128 KiB the
//! disks deliver 39.3 MiB/s, processors are 37 % user, 49 % waiting, 13 % idle. With 32 MiB it is
//! 90.0 MiB/s, 97 % user, nothing waiting. The author warns that under random load every window
//! that is not needed costs 32 MiB.
//!
//! From the report follows what the program does with each MiB: 4 processors × 97 % at 90 MiB/s are
//! 43 ms, 4 × 37 % at 39.3 MiB/s are 38; 40 here. The array is not described. Disks of 2010, striped
//! by md in chunks of 64 KiB, are assumed, and five of them, because five deliver 39.3 MiB/s at 128
//! KiB. What is loaded is written to the same array, sequentially, to a file of each thread (`loaders`): 20 of
//! 90 MiB, which the second pair of rates gives. Files are 80 GB apart; of each 768 MiB are read, so that write-back
//! runs for most of the time.
//!
//! So rates and user times restate what the model was given. What is judged is what the processors do
//! meanwhile, as `sar` printed it in whole percents, what is written under 128 KiB, that eight threads were the
//! best number, and the warning (`random`). The null model is the same window on both sides, or a rate that
//! does not depend on the number of threads.
//!
//! The warning, taken literally, is that every random read of 128 KiB becomes a read-ahead of 32 MiB, and
//! that latency goes through the roof. The author gives no figures, so what is read is our reading: at
//! least half of 32 MiB for each read, and twice the time at the median and at 99 of 100. Eight programs
//! read 128 KiB in one call each. The other loads are ours: single pages at random places; 128 KiB at a random
//! place, fetched in steps of 16 KiB as stdio and databases do, which looks sequential for eight calls;
//! touches of a mapping, where the kernel of 2.6.18 reads a whole window around every fault.

mod array;
mod loaders;
mod random;

use crate::figure::{Figure, ModelKnobs, Publication, ReproduceError};
use array::PARAMETERS;

/// What the command line knows of it.
pub const PUBLICATION: Publication = Publication {
    name: "dead-ahead-2017",
    about: "eight loaders on an array at 128 KiB and 32 MiB, and the warning about random reads, literally",
    parameters: PARAMETERS,
    compute: figure,
};

fn figure(knobs: &ModelKnobs) -> Result<Figure, ReproduceError> {
    let mut figure = Figure {
        name: "dead-ahead-2017",
        title: "Eight readers on an array, and random load, at 128 KiB and 32 MiB".to_owned(),
        source: "Read Ahead, Dead Ahead (2017), quoting a report of 2010".to_owned(),
        parameters: PARAMETERS,
        ..Figure::default()
    };
    loaders::blessing(&mut figure, knobs)?;
    loaders::number_of_loaders(&mut figure, knobs)?;
    random::warning(&mut figure, knobs)?;
    random::curse(&mut figure, knobs)?;
    figure.notes.push(
        "md0 is assumed: 5 disks of 2010 (with 4 the first rate was lower than published), striped in chunks of 64 KiB; 40 ms of processor time for \
         each MiB follow from the report"
            .to_owned(),
    );
    figure.notes.push(
        "Where the database lies and how it is written is not said: sequentially, on the same array, a file for \
         each loader. Written back as Linux 2.6.18 does: from a tenth of memory on, after 30 s, and writers \
         wait at 40 percent; a write takes the disk as long as a read of the same place."
            .to_owned(),
    );
    figure.notes.push(
        "adaptive runs over linux-6.18 with 128 KiB on the same machine; mapped files are the \
         kernel's alone there"
            .to_owned(),
    );
    Ok(figure)
}
