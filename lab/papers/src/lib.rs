//! Published figures, reproduced: one file per publication.
//!
//! Each file gives the set-up as the authors gave it, what they printed, and what the simulator
//! says of it. The bounds within which a shape is said to hold are written beside the figure and
//! follow from what the publication claims; where a bound or a set-up was chosen after a first
//! look, the notes say so. Machines and disks are those of the publication as far as they are
//! known; every substitute is named in the notes.
#![forbid(unsafe_code)]

pub mod ara_2006;
pub mod dead_ahead_2017;
pub mod disk_table_2010;
pub mod ext2_2000;
mod figure;
pub mod hit_ratio_2010;
pub mod oci_2017;
pub mod streams_2010;
pub mod thrash_2010;
pub mod x25m_2010;

pub use figure::{Figure, ReproduceError};

/// How a figure is computed.
pub type Compute = fn() -> Result<Figure, ReproduceError>;

/// Every figure, in the order of its publication.
pub const ALL: &[(&str, Compute)] = &[
    ("ext2-2000", ext2_2000::figure),
    ("ara-2006", ara_2006::figure),
    ("disk-table-2010", disk_table_2010::figure),
    ("x25m-2010", x25m_2010::figure),
    ("streams-2010", streams_2010::figure),
    ("hit-ratio-2010", hit_ratio_2010::figure),
    ("thrash-2010", thrash_2010::figure),
    ("dead-ahead-2017", dead_ahead_2017::figure),
    ("oci-2017", oci_2017::figure),
];

/// The figures called `name`, which may be `all`.
///
/// # Errors
/// [`ReproduceError::Unknown`].
pub fn find(name: &str) -> Result<Vec<(&'static str, Compute)>, ReproduceError> {
    let found: Vec<_> = ALL
        .iter()
        .filter(|(known, _)| name == "all" || name == *known)
        .copied()
        .collect();
    if found.is_empty() {
        let known: Vec<&str> = ALL.iter().map(|(known, _)| *known).collect();
        return Err(ReproduceError::Unknown {
            name: name.to_owned(),
            known: known.join(", "),
        });
    }
    Ok(found)
}
