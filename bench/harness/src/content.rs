//! Bytes that prove their place: each word of a file is a function of the file and its offset.
//!
//! A reader that got a page from elsewhere, an old page or zeroes notices by looking at two words.

use ahead_workload::random::mix;

/// Bytes in one word of content.
pub const WORD_BYTES: u64 = 8;
/// The distance at which a reader looks: the first and the last word of every so many bytes.
pub const PAGE_BYTES: u64 = 4096;

/// The word of file `file` that starts at `offset`, a multiple of eight.
#[must_use]
pub const fn word(file: u32, offset: u64) -> u64 {
    // A multiplication per word keeps writing as fast as memory; the mix separates the files.
    let base = mix(file as u64);
    let value = (base ^ offset).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    value ^ (value >> 29)
}

/// Fills `buffer` with the content of `file` from `offset`, a multiple of eight.
pub fn fill(buffer: &mut [u8], file: u32, offset: u64) {
    let mut at = offset;
    for chunk in buffer.chunks_mut(8) {
        let bytes = word(file, at).to_le_bytes();
        let (used, _) = bytes.split_at(chunk.len());
        chunk.copy_from_slice(used);
        at += WORD_BYTES;
    }
}

/// Byte position of the first wrong word among those looked at; `None` when all are right.
///
/// `bytes` were read from `file` at `offset`. Looks at the first and the last whole word of every
/// page's length from there.
#[must_use]
pub fn first_mismatch(bytes: &[u8], file: u32, offset: u64) -> Option<u64> {
    const PAGE: usize = 4096;
    let mut at = offset.next_multiple_of(WORD_BYTES);
    let begun = usize::try_from(at - offset).unwrap_or(0);
    for page in bytes.get(begun..).unwrap_or_default().chunks(PAGE) {
        if let Some(first) = page.first_chunk::<8>()
            && u64::from_le_bytes(*first) != word(file, at)
        {
            return Some(at);
        }
        let words = page.len() / 8;
        if words > 1 {
            let last = (words - 1) * 8;
            let last_at = at + u64::try_from(last).unwrap_or(0);
            if let Some(found) = page.get(last..).and_then(|tail| tail.first_chunk::<8>())
                && u64::from_le_bytes(*found) != word(file, last_at)
            {
                return Some(last_at);
            }
        }
        at += PAGE_BYTES;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_filled_is_right_at_its_place_and_wrong_elsewhere() {
        let mut buffer = vec![0; 10_000];
        fill(&mut buffer, 3, 8192);
        assert_eq!(first_mismatch(&buffer, 3, 8192), None);
        assert_eq!(first_mismatch(&buffer, 3, 4096), Some(4096));
        assert_eq!(first_mismatch(&buffer, 4, 8192), Some(8192));
    }

    /// A generated reader asked for 133 KiB less some bytes, again and again: "wrong bytes at offset
    /// 1533797".
    #[test]
    fn bytes_from_the_middle_of_a_word_are_looked_at_from_the_next_one() {
        let mut buffer = vec![0; 4096];
        fill(&mut buffer, 0, 1_533_792);
        assert_eq!(first_mismatch(&buffer[5..], 0, 1_533_797), None);
        assert_eq!(first_mismatch(&buffer[5..9], 0, 1_533_797), None);
        assert_eq!(first_mismatch(&buffer[5..], 1, 1_533_797), Some(1_533_800));
    }

    #[test]
    fn a_page_of_zeroes_is_found_where_it_begins() {
        let mut buffer = vec![0; 3 * 4096];
        fill(&mut buffer, 0, 0);
        buffer[4096..8192].fill(0);
        assert_eq!(first_mismatch(&buffer, 0, 0), Some(4096));
    }

    #[test]
    fn a_page_whose_tail_is_old_is_found_at_the_tail() {
        let mut buffer = vec![0; 4096];
        fill(&mut buffer, 0, 0);
        buffer[4088..].fill(0);
        assert_eq!(first_mismatch(&buffer, 0, 0), Some(4088));
    }
}
