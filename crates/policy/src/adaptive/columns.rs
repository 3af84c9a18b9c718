//! Columns: rows of a stride each of which begins where the first element of the last one ended.
//!
//! So a matrix is read tile by tile, and a picture strip by strip. Its lines are one behind the other in the file, and a stride goes down a column.
//! What one column asks for lies beside what the next one does, in a page that both touch or in a request that could have been the same: asked for
//! one column at a time a tile of eight takes eight times as many requests. So elements are asked for as wide as some columns are, twice as many
//! each time; the columns that this covers find all of their elements asked for.
//!
//! A band is what lies side by side: as many columns as fit in a period, until one has ended and the next one was seen to begin where it ended.
//! From then on a whole band is asked for at once, and the next one before it is over.

/// Columns of a band. All zero: each is asked for by itself, and nothing is known of their band.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Columns {
    /// Columns that the newest wide elements are as wide as.
    together: u8,
    /// How many of them have begun.
    come: u8,
    /// As many as `together`, of the elements that were asked for of the next row; 0: none were.
    next: u8,
    /// Columns of the band before the one that is read, up to 255.
    before: u8,
    /// Columns of a band where the next one begins behind it; 0: that is not known.
    of_band: u8,
}

impl Columns {
    /// Columns that an element of the row that is read is asked for with, if it was not yet: its own, and those behind it.
    pub(super) fn left(&self) -> u8 {
        self.rest().saturating_add(1)
    }

    /// Whether the row that is read is the last one of which elements were asked for.
    pub(super) fn are_over(&self) -> bool {
        self.rest() == 0
    }

    /// Columns of the band before the one that is read.
    pub(super) fn before(&self) -> u8 {
        self.before
    }

    /// Columns before the first one of the band that is read, of the band before it, if that is where it was expected.
    pub(super) fn before_this_band(&self) -> Option<u8> {
        (self.before == 0).then(|| self.of_band.checked_sub(1))?
    }

    /// Columns behind the one that is read of which elements were asked for with it.
    pub(super) fn rest(&self) -> u8 {
        self.together.saturating_sub(self.come)
    }

    /// Whether the next ones may be asked for: before the last of these is over, or when half of them have come and it is known what follows.
    pub(super) fn are_next_due(&self) -> bool {
        match self.of_band {
            0 => self.are_over(),
            _ => self.come >= self.together / 2,
        }
    }

    /// Whether the column behind the next `passed` ones is the first one of the next band.
    pub(super) fn is_band_over_after(&self, passed: u8) -> bool {
        let behind = u16::from(self.before) + u16::from(passed) + 1;
        self.of_band > 0 && behind >= u16::from(self.of_band)
    }

    /// Columns of its band before the one behind the next `passed` ones.
    pub(super) fn before_after(&self, passed: u8) -> u64 {
        if self.is_band_over_after(passed) {
            0
        } else {
            u64::from(self.before) + u64::from(passed) + 1
        }
    }

    /// Columns that elements of the next row were asked for with, if some were.
    pub(super) fn asked_of_next(&self) -> Option<u8> {
        (self.next > 0).then_some(self.next)
    }

    /// Columns that the elements of one are asked for with that has `before` of its band before it, where `most` fit in a band, memory has
    /// space for `affordable`, and `cheap` cost an element less than to be positioned for.
    pub(super) fn wanted(&self, before: u64, most: u64, affordable: u64, cheap: u64) -> u8 {
        let together = self.together.max(1);
        let (columns, wanted) = match self.of_band {
            0 => {
                let fourfold = together.saturating_mul(4);
                let is_cheap = u64::from(fourfold) <= cheap;
                let doubled = together.saturating_mul(2);
                (most, if is_cheap { fourfold } else { doubled })
            }
            columns => (columns.into(), u8::MAX),
        };
        let left = columns.saturating_sub(before).min(affordable);
        wanted.min(u8::try_from(left).unwrap_or(u8::MAX)).max(1)
    }

    /// Elements of the column that is read were asked for, of which none has come, as wide as so many columns.
    pub(super) fn begin(&mut self, columns: u8) {
        (self.together, self.come, self.next) = (columns, 1, 0);
    }

    /// Elements of the next row were asked for, as wide as so many columns.
    pub(super) fn on_next_asked(&mut self, columns: u8) {
        self.next = columns;
    }

    /// The next column begins. Whether all of its elements were asked for.
    pub(super) fn on_next(&mut self) -> bool {
        self.before = u8::try_from(self.before_after(0)).unwrap_or(u8::MAX);
        if !self.are_over() {
            self.come += 1;
            return true;
        }
        if self.next > 0 {
            self.begin(self.next);
        }
        false
    }

    /// A row begins that is no column of this band: the first one of the next, which `follows` it, or one elsewhere. Returns the columns that
    /// were asked for in vain, beside the one that was read.
    pub(super) fn on_band(&mut self, follows: bool) -> u8 {
        let lost = self.rest();
        // All that was asked for was read: the next band has as many.
        let together = if lost == 0 {
            self.before.saturating_add(1)
        } else {
            self.come
        };
        let of_band = if follows {
            self.before.checked_add(1).unwrap_or(0)
        } else {
            0
        };
        *self = Self {
            together,
            come: together,
            of_band,
            ..Self::default()
        };
        lost
    }
}
