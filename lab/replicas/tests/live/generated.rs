//! Patterns made by chance from a seed: what nobody thought of naming.
//!
//! Mixtures of everything a program can do, kept close together so that the parts meet: short files,
//! a few places that are returned to, reads that go on where one ended. The seed is the name.

use std::ops::Range;

use ahead_replicas::kernel::Advice;

use super::pattern::{Operation, PAGE, Pattern, Protection};

/// The variable that asks for other seeds.
pub const SEEDS: &str = "AHEAD_SEEDS";

/// Rounds of one pattern; each is one operation or a handful.
const ROUNDS: u32 = 40;

/// Descriptors and areas are taken from what is there up to here.
const OPEN_MAX: usize = 4;

/// The patterns of `seeds`, or of those that the environment asks for.
pub fn patterns(seeds: Range<u64>) -> Vec<Pattern> {
    let seeds = std::env::var(SEEDS).map_or(seeds, |text| {
        let ends = text.split_once("..");
        let ends = ends.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
        ends.unwrap_or_else(|| panic!("{SEEDS}={text}: write 5000..6500"))
    });
    seeds.map(pattern).collect()
}

/// The pattern of `seed`.
pub fn pattern(seed: u64) -> Pattern {
    let mut maker = Maker {
        generator: fastrand::Rng::with_seed(seed),
        file_pages: 0,
        files: 1,
        areas: Vec::new(),
        place: 0,
    };
    maker.file_pages = maker.one_of(&[1, 5, 16, 33, 64, 100, 512, 1000, 3000, 6000]);
    let tail = maker.one_of(&[0, 0, 1, 4095]);
    let mut pattern = Pattern::new(&format!("generated {seed}"))
        .read_ahead_kb(maker.one_of(&[128, 128, 128, 0, 4, 12, 16, 64, 100, 256, 1024, 8192]))
        .max_sectors_kb(maker.one_of(&[1280, 1280, 64, 100, 512]))
        .file_bytes(maker.file_pages * PAGE - tail);
    for _ in 0..ROUNDS {
        pattern = maker.round(pattern);
    }
    pattern
}

struct MadeArea {
    pages: Range<u64>,
    protection: Protection,
}

struct Maker {
    generator: fastrand::Rng,
    file_pages: u64,
    files: usize,
    areas: Vec<MadeArea>,
    /// Where the last operation ended, in pages.
    place: u64,
}

impl Maker {
    fn draw(&mut self, limit: u64) -> u64 {
        self.generator.u64(..limit.max(1))
    }

    fn one_of(&mut self, values: &[u64]) -> u64 {
        let limit = values.len() as u64;
        values[usize::try_from(self.draw(limit)).expect("an index")]
    }

    fn index(&mut self, count: usize) -> usize {
        usize::try_from(self.draw(count as u64)).expect("an index")
    }

    /// Behind the last operation, near it, or anywhere; sometimes at or behind the end.
    fn somewhere(&mut self) -> u64 {
        let place = self.place;
        match self.draw(8) {
            0..=3 => place,
            4 => place + self.draw(40),
            5 => place.saturating_sub(self.draw(80)),
            6 => self.file_pages.saturating_sub(self.draw(20)),
            _ => self.draw(self.file_pages),
        }
    }

    fn pages(&mut self) -> u64 {
        self.one_of(&[1, 1, 1, 2, 3, 4, 4, 7, 8, 16, 31, 32, 33, 64, 200, 400])
    }

    fn advice(&mut self) -> Advice {
        match self.draw(3) {
            0 => Advice::Normal,
            1 => Advice::Sequential,
            _ => Advice::Random,
        }
    }

    fn round(&mut self, pattern: Pattern) -> Pattern {
        match self.draw(24) {
            0 if self.files < OPEN_MAX => {
                self.files += 1;
                pattern.open()
            }
            1 => {
                let file = self.index(self.files);
                let advice = self.advice();
                pattern.advise(file, advice)
            }
            2 if self.areas.len() < OPEN_MAX => self.map(pattern),
            3 if !self.areas.is_empty() => {
                let area = self.index(self.areas.len());
                if self.draw(6) == 0 {
                    return pattern.then(Operation::AdviseAreaHuge { area });
                }
                let advice = self.advice();
                pattern.advise_area(area, advice)
            }
            4 => self.need(pattern),
            5 => self.evict(pattern),
            6 => {
                let kib = self.one_of(&[0, 4, 32, 128, 512, 4096]);
                pattern.then(Operation::SetReadAheadKb(kib))
            }
            7..=12 if !self.areas.is_empty() => self.touch(pattern),
            _ => self.read(pattern),
        }
    }

    fn map(&mut self, pattern: Pattern) -> Pattern {
        let start = self.draw(self.file_pages);
        let start = if self.draw(2) == 0 { 0 } else { start };
        let length = 1 + self.draw(self.file_pages - start);
        let end = if self.draw(2) == 0 {
            self.file_pages
        } else {
            start + length
        };
        let protection = match self.draw(5) {
            0 => Protection::ReadExecute,
            1 => Protection::ReadWrite,
            _ => Protection::Read,
        };
        self.areas.push(MadeArea {
            pages: start..end,
            protection,
        });
        let file = self.index(self.files);
        pattern.then(Operation::Map {
            file,
            pages: start..end,
            protection,
        })
    }

    fn need(&mut self, pattern: Pattern) -> Pattern {
        let start = self.somewhere();
        let pages = self.pages();
        match self.draw(3) {
            0 if !self.areas.is_empty() => {
                let area = self.index(self.areas.len());
                let inside = self.areas[area].pages.clone();
                let start = start.clamp(inside.start, inside.end - 1);
                let end = (start + pages).min(inside.end);
                pattern.then(Operation::WillNeedArea {
                    area,
                    pages: start..end,
                })
            }
            1 => pattern.read_ahead(start * PAGE, pages * PAGE),
            _ => pattern.will_need(start * PAGE + 100, pages * PAGE),
        }
    }

    fn evict(&mut self, pattern: Pattern) -> Pattern {
        let start = self.somewhere().min(self.file_pages - 1);
        let pages = 2 * self.pages();
        let end = (start + pages).min(self.file_pages);
        pattern.evict(start..end)
    }

    fn touch(&mut self, mut pattern: Pattern) -> Pattern {
        let area = self.index(self.areas.len());
        let inside = self.areas[area].pages.clone();
        let step = self.one_of(&[1, 1, 1, 2, 5, 17]);
        let first = self.somewhere();
        let is_backward = self.draw(4) == 0;
        let is_written = self.areas[area].protection == Protection::ReadWrite && self.draw(3) > 0;
        for number in 0..1 + self.draw(40) {
            let page = if is_backward {
                first.saturating_sub(number * step)
            } else {
                first + number * step
            };
            if inside.contains(&page) {
                pattern = if is_written {
                    pattern.write(area, [page])
                } else {
                    pattern.touch(area, [page])
                };
                self.place = page + 1;
            }
        }
        pattern
    }

    fn read(&mut self, mut pattern: Pattern) -> Pattern {
        let file = self.index(self.files);
        let pages = self.pages();
        let step = match self.draw(4) {
            0 => pages + self.draw(9),
            _ => pages,
        };
        let first = self.somewhere();
        let (shift, longer) = match self.draw(4) {
            0 => (self.draw(PAGE), self.draw(PAGE)),
            _ => (0, 0),
        };
        for number in 0..1 + self.draw(8) {
            let start = first + number * step;
            pattern = pattern.read_bytes(file, start * PAGE + shift, pages * PAGE + longer);
            self.place = start + pages;
        }
        pattern
    }
}
