//! What a world refuses.

/// A world that cannot be made, or that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// A file has no place.
    #[error("file {file} needs the disk up to byte {needed}, and it has {capacity}")]
    DiskFull {
        /// Its number.
        file: usize,
        /// First byte behind its end.
        needed: u64,
        /// Bytes of the disk.
        capacity: u64,
    },
    /// A job names what it does not have.
    #[error("{what} {number} does not exist")]
    Unknown {
        /// File, slot, mapped area or task.
        what: &'static str,
        /// The number given.
        number: u32,
    },
    /// Tasks wait for each other.
    #[error("{tasks} tasks wait for what will never happen")]
    Stuck {
        /// How many.
        tasks: usize,
    },
}
