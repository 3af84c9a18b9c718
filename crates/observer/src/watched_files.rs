//! Which files are watched, as the programs look it up: a hash of their keys, and an array that says for most other
//! files at once that they are not.
//!
//! Each read from memory of any file pays for the look, so it has to be cheap: a place of the array is found by the number of
//! the inode alone, and has how many watched files share it. Files of other devices with the same number go on to
//! the hash.

use std::collections::HashSet;

use ahead_units::Timestamp;
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::observation::FileKey;
use crate::quiet::Quiet;

/// `FILTER_BITS` of the programs: the array has two to the power of it places.
const FILTER_BITS: u32 = 14;

/// `SPREAD` and `SPREAD_AGAIN` of the programs.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
const SPREAD_AGAIN: u64 = 0xD134_2543_DE82_EF95;

/// Bytes of `struct run`, the value of a watched file. All zero: nothing was told of it.
const RUN_BYTES: usize = 56;

/// The watched files, and their maps.
#[derive(Debug)]
pub(crate) struct WatchedFiles {
    runs: MapHandle,
    filter: MapHandle,
    quiet: MapHandle,
    ignored: MapHandle,
    files: HashSet<FileKey>,
}

impl WatchedFiles {
    /// None, in the maps of the programs by their names, as they were made.
    ///
    /// # Errors
    /// Those of `map`.
    pub(crate) fn new<E>(map: impl Fn(&str) -> Result<MapHandle, E>) -> Result<Self, E> {
        Ok(Self {
            runs: map("watched")?,
            filter: map("filter")?,
            quiet: map("quiet")?,
            ignored: map("ignored")?,
            files: HashSet::new(),
        })
    }

    /// Adds `file`, all of whose accesses wake; what the programs had not told of it yet is left out, if it was there.
    pub(crate) fn add(&mut self, file: FileKey) -> Result<(), libbpf_rs::Error> {
        let is_new = self.files.insert(file);
        if !is_new {
            self.set_quiet(file, &Quiet::default());
        }
        // First the filter: a file that is in the hash alone is not found.
        let added = self.write_filter(place_of(file)).and_then(|()| {
            self.runs
                .update(&file.to_bytes(), &[0; RUN_BYTES], MapFlags::ANY)
        });
        if added.is_err() && is_new {
            self.remove(file);
        }
        added
    }

    /// It may not have been there.
    pub(crate) fn remove(&mut self, file: FileKey) {
        self.set_quiet(file, &Quiet::default());
        if self.files.remove(&file) {
            let _ = self.runs.delete(&file.to_bytes());
            // Where this fails, its place sends reads on to the hash, which knows.
            let _ = self.write_filter(place_of(file));
        }
    }

    /// For `file` whoever listens is woken if nothing has woken it for `quiet.pause`, and for nothing in `quiet.settled`. Nothing happens to
    /// one that is not watched.
    pub(crate) fn set_quiet(&self, file: FileKey, quiet: &Quiet) {
        if !self.files.contains(&file) {
            return;
        }
        // Where this fails, it is woken as before.
        let _ = if *quiet == Quiet::default() {
            self.quiet.delete(&file.to_bytes())
        } else {
            let value = quiet.to_bytes();
            self.quiet.update(&file.to_bytes(), &value, MapFlags::ANY)
        };
    }

    /// Misses of `file` by `process` are not told before `until`, while it is not watched.
    pub(crate) fn ignore(&self, file: FileKey, process: u32, until: Timestamp) {
        // As that of a file, with the process where nothing is.
        let mut key = file.to_bytes();
        key[12..].copy_from_slice(&process.to_ne_bytes());
        let until = until.get().to_ne_bytes();
        // Where this fails, they are told.
        let _ = self.ignored.update(&key, &until, MapFlags::ANY);
    }

    fn write_filter(&self, place: u32) -> Result<(), libbpf_rs::Error> {
        let here = self.files.iter().filter(|file| place_of(**file) == place);
        let count = u32::try_from(here.count()).unwrap_or(u32::MAX);
        self.filter
            .update(&place.to_ne_bytes(), &count.to_ne_bytes(), MapFlags::ANY)
    }
}

fn place_of(file: FileKey) -> u32 {
    let spread = file.inode.wrapping_mul(SPREAD);
    let spread = (spread ^ spread >> 32).wrapping_mul(SPREAD_AGAIN);
    u32::try_from(spread >> (u64::BITS - FILTER_BITS)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::WATCHED_MAX;

    /// File systems number files one after another, or in steps.
    #[test]
    fn files_between_watched_ones_are_seldom_taken_for_them() {
        for step in [1, 2, 8, 32, 64, 256] {
            let file = |number: u64| FileKey {
                device: 1,
                inode: 5000 + number * step,
            };
            let watched = u64::try_from(WATCHED_MAX / 2).unwrap();
            let places: HashSet<_> = (0..watched).map(|one| place_of(file(one * 2))).collect();
            let between = (0..watched).map(|one| place_of(file(one * 2 + 1)));
            let taken = between.filter(|place| places.contains(place)).count();
            assert!(taken * 5 < WATCHED_MAX / 2, "{taken}, in steps of {step}");
        }
    }
}
