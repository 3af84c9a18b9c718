//! Whose rules of adaptive read-ahead, and what can be set about them.

use crate::kernel::Learned;
use crate::replica::Values;

/// Whose rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AraRelease {
    /// The combined patch of 6 June 2006.
    V15,
    /// V15 and the six updates of 25 June 2006: no hits by default, a slow start of *context*,
    /// another window for *backward*.
    June,
    /// 15 November 2006: rule 4 asks for the page next to the one visited last, instead of hits.
    V16,
}

impl AraRelease {
    /// The lowest ratio that selects adaptive read-ahead; above 0 and below it: stock.
    #[must_use]
    pub const fn ratio_min(self) -> u64 {
        match self {
            Self::V15 => 10,
            Self::June | Self::V16 => 2,
        }
    }

    /// What a device starts with. A host that runs V16 gives its device this.
    #[must_use]
    pub const fn learned(self) -> Learned {
        Learned {
            expect_bytes: 128 << 10,
            thrash_bytes: match self {
                Self::V15 | Self::June => 128 << 10,
                Self::V16 => 1 << 20,
            },
        }
    }
}

/// What an administrator, a device or a file sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AraKnobs {
    /// `readahead_ratio`: percent of the thrashing threshold to use. 0: no read-ahead. Below
    /// [`AraRelease::ratio_min`]: stock logic. Too high, and readers evict each other's pages when
    /// their number changes; too low, and memory lies idle.
    pub ratio: u64,
    /// `readahead_hit_rate`: pages that may be read ahead for one page used. Below 16; V15 takes 0
    /// as 1.
    pub hit_rate: u64,
    /// Largest chunk of the device, in pages.
    pub pages_max: u64,
    /// `initial_ra_kb` in pages: the first window that the device recommends.
    pub pages_first: u64,
    /// Chunks have marks.
    pub look_ahead: bool,
    /// Hits are counted. Without, every mark counts as deserved.
    pub hit_feedback: bool,
    /// The file is read by nfsd, V16: a miss is read as it is; afterwards, if the page before is
    /// cached and the page behind the request is not, *context* is tried from the end of the
    /// request. Page 0 is still *initial*.
    pub nfsd: bool,
}

impl AraKnobs {
    /// The defaults of a release.
    #[must_use]
    pub const fn of(release: AraRelease) -> Self {
        Self {
            ratio: 50,
            hit_rate: 1,
            pages_max: 256,
            pages_first: match release {
                AraRelease::V15 | AraRelease::June => 32,
                AraRelease::V16 => 16,
            },
            look_ahead: true,
            hit_feedback: matches!(release, AraRelease::V15),
            nfsd: false,
        }
    }

    /// These, with what was written in their place.
    pub(super) fn with(self, values: &Values<'_>) -> Self {
        Self {
            ratio: values.number("ratio"),
            hit_rate: values.number("hit_rate"),
            pages_max: values.ra_pages(),
            ..self
        }
    }
}
