//! What a scan read while nobody told of it.
//!
//! Before a file is watched, and after it was left, only what misses is told. Without the reads between, a scan would look like
//! two, of which one has stopped, and runs of such a file would not be believed to go on.

use ahead_observer::observation::Observation;
use ahead_units::ByteRange;

/// Windows of the kernel that a scan reads between two misses at most: the one that it is in, and the one that was read ahead.
const WINDOWS_UNTOLD: u64 = 2;

/// What `reader` read after `newest`, its newest access that was told, up to `miss`, where the kernel reads ahead of a scan by itself:
/// the marker at which it does so lies in a window that it has read in one piece. Accesses are taken to be as long as that one. `None`:
/// nothing is known of what was read there.
#[must_use]
pub(crate) fn untold(reader: u32, newest: ByteRange, miss: &Observation) -> Option<Observation> {
    let length = newest.len().get();
    let window = miss.window?.bytes().get();
    let bytes = miss.first.start.get().checked_sub(newest.end.get())?;
    let count = bytes.checked_div(length)?;
    let is_scan = !miss.is_early && !miss.is_mapped && reader == miss.process;
    let is_near = count > 0 && bytes <= window.saturating_mul(WINDOWS_UNTOLD);
    (is_scan && is_near).then(|| Observation {
        first: ByteRange::of(newest.end, newest.len()),
        step: i64::try_from(length).unwrap_or(i64::MAX),
        count: u32::try_from(count).unwrap_or(u32::MAX),
        ..*miss
    })
}

#[cfg(test)]
mod tests {
    use ahead_observer::observation::{FactKind, FileKey};
    use ahead_units::{PageCount, PageRange, Timestamp};

    use super::*;

    fn miss(page: u64) -> Observation {
        Observation {
            kind: FactKind::Miss,
            time: Timestamp::new(1),
            file: FileKey {
                device: 1,
                inode: 1,
            },
            generation: None,
            file_pages: PageCount::new(4096),
            first: PageRange::new(page, page + 1).into(),
            step: 0,
            count: 1,
            waited_ns: 0,
            process: 7,
            thread: 7,
            programs: 0,
            descriptor: None,
            is_mapped: false,
            advised_random: false,
            is_early: false,
            window: Some(PageCount::new(32)),
        }
    }

    fn starts(newest: ByteRange, miss: &Observation) -> Option<Vec<u64>> {
        let untold = untold(7, newest, miss)?;
        let starts = untold.accesses().map(|read| read.pages().start.get());
        Some(starts.collect())
    }

    #[test]
    fn between_two_misses_of_a_scan_all_was_read() {
        let newest = ByteRange::default();
        assert_eq!(starts(newest, &miss(4)), None, "nothing was told");
        let newest = miss(0).first;
        assert_eq!(starts(newest, &miss(4)), Some(vec![1, 2, 3]));
        assert_eq!(starts(newest, &miss(1)), None, "none between them");
        assert_eq!(starts(newest, &miss(0)), None);
        assert!(starts(newest, &miss(65)).is_some());
        assert_eq!(starts(newest, &miss(66)), None, "farther than two windows");
        let longer = PageRange::new(4, 8).into();
        assert_eq!(starts(longer, &miss(18)), Some(vec![8, 12]), "16 KiB each");
    }

    #[test]
    fn a_miss_that_is_no_marker_says_nothing_about_what_was_read() {
        let newest = miss(0).first;
        let early = Observation {
            is_early: true,
            ..miss(4)
        };
        let mapped = Observation {
            is_mapped: true,
            ..miss(4)
        };
        let other = Observation {
            process: 8,
            ..miss(4)
        };
        let unseen = Observation {
            window: None,
            ..miss(4)
        };
        for miss in [early, mapped, other, unseen] {
            assert_eq!(starts(newest, &miss), None, "{miss:?}");
        }
    }
}
