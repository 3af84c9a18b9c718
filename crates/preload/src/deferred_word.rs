//! A deferred fact in one word, for the mailbox of a busy place.

use ahead_engine::adviser::{Answer, CallsMade};
use ahead_engine::host::Deferred;
use ahead_policy::adaptive::StreamId;
use ahead_units::{ByteLength, ByteOffset, ByteRange, PageCount, PageRange};

const PRESENT: u64 = 1 << 63;
const IS_ANSWER: u64 = 1 << 62;

/// An access by its bytes: where it begins (39 bits, 512 GiB) and how many they are (22 bits, 4 MiB).
const IS_BYTES: u64 = 1 << 61;
const LENGTH_BITS: u32 = 22;

/// A deferred fact in one word. An access: its bytes where they fit, else its first page (45 bits) and how
/// many pages they are (16 bits). An answer: the pages that calls were made for (32 bits), the stream (16 bits), what it was (8 bits).
pub(crate) fn pack(deferred: Deferred) -> u64 {
    match deferred {
        Deferred::Access(bytes) => {
            let (start, length) = (bytes.start.get(), bytes.len().get());
            if start < IS_BYTES >> LENGTH_BITS && length < 1 << LENGTH_BITS {
                return PRESENT | IS_BYTES | start << LENGTH_BITS | length;
            }
            let access = bytes.pages();
            let length = access.len().get().clamp(1, 0xffff);
            PRESENT | (access.start.get() & ((1 << 45) - 1)) << 16 | length
        }
        Deferred::Answer(stream, CallsMade { answer, pages }) => {
            let code = match answer {
                Answer::Unknown => 0,
                Answer::OnItsWay => 1,
                Answer::WasCached => 2,
                Answer::Refused => 3,
                Answer::NotHere => 4,
            };
            let pages = pages.get().min(u64::from(u32::MAX));
            PRESENT | IS_ANSWER | pages << 24 | u64::from(stream.to_bits()) << 8 | code
        }
    }
}

pub(crate) fn unpack(word: u64) -> Option<Deferred> {
    if word & PRESENT == 0 {
        return None;
    }
    if word & IS_ANSWER == 0 {
        if word & IS_BYTES != 0 {
            let start = (word & (IS_BYTES - 1)) >> LENGTH_BITS;
            let length = word & ((1 << LENGTH_BITS) - 1);
            let bytes = ByteRange::of(ByteOffset::new(start), ByteLength::new(length));
            return Some(Deferred::Access(bytes));
        }
        let start = word >> 16 & ((1 << 45) - 1);
        let pages = PageRange::new(start, start + (word & 0xffff));
        return Some(Deferred::Access(pages.into()));
    }
    let answer = match word & 0xff {
        1 => Answer::OnItsWay,
        2 => Answer::WasCached,
        3 => Answer::Refused,
        4 => Answer::NotHere,
        _ => Answer::Unknown,
    };
    let stream = StreamId::from_bits(u16::try_from(word >> 8 & 0xffff).unwrap_or(0));
    let pages = PageCount::new(word >> 24 & u64::from(u32::MAX));
    Some(Deferred::Answer(stream, CallsMade { answer, pages }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deferred_accesses_keep_their_bytes_where_these_fit() {
        let of = |start, length| {
            let bytes = ByteRange::of(ByteOffset::new(start), ByteLength::new(length));
            unpack(pack(Deferred::Access(bytes)))
        };
        let bytes = |start, length| {
            let bytes = ByteRange::of(ByteOffset::new(start), ByteLength::new(length));
            Some(Deferred::Access(bytes))
        };
        assert_eq!(of(2_401_159, 800_385), bytes(2_401_159, 800_385));
        let last = (1 << 39) - 1;
        assert_eq!(of(last, (1 << 22) - 1), bytes(last, (1 << 22) - 1));
        // Beyond, whole pages.
        assert_eq!(of(1 << 39, 5), bytes(1 << 39, 4096));
        assert_eq!(of(4097, 1 << 22), bytes(4096, (1 << 22) + 4096));
    }
}
