//! Running means, of waits.

/// The newest counts for one part in so many.
const PARTS: u64 = 4;

/// `mean` with one more, `newest`. 0: nothing is known.
pub(crate) const fn mean_with(mean: u64, newest: u64) -> u64 {
    match mean {
        0 => newest,
        mean => mean - mean / PARTS + newest / PARTS,
    }
}
