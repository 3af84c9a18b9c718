//! Published figures, reproduced: one file per publication.
//!
//! Each file gives the set-up as the authors gave it, what they printed, and what the simulator
//! says of it. Each judged row has a null model beside it, and bounds from the publication's own
//! spread (`ahead_study::verdict` says how that is judged); where a set-up was chosen after a first
//! look, the notes say so. Machines and disks are those of the publication as far as they are
//! known; every number that it does not give is one of the figure's parameters.
#![forbid(unsafe_code)]

pub mod ara_2006;
pub mod dead_ahead_2017;
pub mod disk_table_2010;
pub mod ext2_2000;
mod figure;
pub mod hit_ratio_2010;
pub mod oci_2017;
pub mod page;
pub mod s390_2010;
pub mod sensitivity;
pub mod streams_2010;
pub mod thrash_2010;
pub mod x25m_2010;

pub use figure::{Figure, ModelKnobs, Parameter, ParameterOrigin, Publication, ReproduceError};

/// Every publication, in the order of appearance.
pub const ALL: &[Publication] = &[
    ext2_2000::PUBLICATION,
    ara_2006::PUBLICATION,
    disk_table_2010::PUBLICATION,
    x25m_2010::PUBLICATION,
    streams_2010::PUBLICATION,
    s390_2010::PUBLICATION,
    hit_ratio_2010::PUBLICATION,
    thrash_2010::PUBLICATION,
    dead_ahead_2017::PUBLICATION,
    oci_2017::PUBLICATION,
];

/// The publications called `name`, which may be `all`.
///
/// # Errors
/// [`ReproduceError::Unknown`].
pub fn find(name: &str) -> Result<Vec<Publication>, ReproduceError> {
    let found: Vec<_> = ALL
        .iter()
        .filter(|known| name == "all" || name == known.name)
        .copied()
        .collect();
    if found.is_empty() {
        let known: Vec<&str> = ALL.iter().map(|known| known.name).collect();
        return Err(ReproduceError::Unknown {
            name: name.to_owned(),
            known: known.join(", "),
        });
    }
    Ok(found)
}
