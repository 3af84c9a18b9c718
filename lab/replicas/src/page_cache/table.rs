//! Where the chunks are: found by file and number, stored side by side.
//!
//! Only chunks with a cached page exist, so a huge file costs what is cached of it. The chunk found
//! last is tried first: most questions are about the neighbourhood of the previous one. The hash is
//! fixed, and no answer depends on its order.

use std::cell::Cell;

use hashbrown::HashTable;

use super::chunk::{Chunk, FileId};
use super::lists::NO_BLOCK;

/// The number of a chunk that no file has: pages end at 2^64, chunks 64 times earlier.
const NUMBER_OF_NONE: u64 = u64::MAX;

/// All chunks, by place (an index that stays while the chunk exists).
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    chunks: Vec<Chunk>,
    /// Of each chunk, the [blocks](super::lists) with the links of its pages, eight pages each.
    /// Apart from the chunks, because a page that is only looked at needs none.
    pub(super) blocks: Vec<[u32; 8]>,
    free: Vec<u32>,
    index: HashTable<u32>,
    newest: Cell<u32>,
}

impl Table {
    /// The place of a chunk; `None` if none of its pages is cached.
    #[inline]
    pub(super) fn find(&self, file: FileId, number: u64) -> Option<u32> {
        let newest = self.newest.get();
        if let Some(chunk) = self.chunks.get(newest as usize)
            && chunk.number == number
            && chunk.file == file
        {
            return Some(newest);
        }
        self.find_elsewhere(file, number)
    }

    #[inline(never)]
    fn find_elsewhere(&self, file: FileId, number: u64) -> Option<u32> {
        let place = *self.index.find(hash(file, number), |&place| {
            let chunk = self.chunk(place);
            chunk.number == number && chunk.file == file
        })?;
        self.newest.set(place);
        Some(place)
    }

    /// The place of a chunk, which is made if needed.
    pub(super) fn find_or_add(&mut self, file: FileId, number: u64) -> u32 {
        if let Some(place) = self.find(file, number) {
            return place;
        }
        let chunk = Chunk {
            number,
            file,
            ..Chunk::default()
        };
        let place = if let Some(place) = self.free.pop() {
            self.chunks[place as usize] = chunk;
            place
        } else {
            let place = u32::try_from(self.chunks.len()).expect("more than 2^38 pages cached");
            self.chunks.push(chunk);
            self.blocks.push([NO_BLOCK; 8]);
            place
        };
        let chunks = &self.chunks;
        self.index
            .insert_unique(hash(file, number), place, |&place| {
                hash_of(&chunks[place as usize])
            });
        self.newest.set(place);
        place
    }

    /// Gives a chunk without pages back.
    pub(super) fn remove(&mut self, place: u32) {
        debug_assert_eq!(self.chunk(place).present, 0);
        let hash = hash_of(self.chunk(place));
        match self.index.find_entry(hash, |&other| other == place) {
            Ok(entry) => drop(entry.remove()),
            Err(_) => unreachable!("a chunk is in the index as long as it has pages"),
        }
        self.chunk_mut(place).number = NUMBER_OF_NONE;
        self.free.push(place);
    }

    #[inline]
    pub(super) fn chunk(&self, place: u32) -> &Chunk {
        &self.chunks[place as usize]
    }

    #[inline]
    pub(super) fn chunk_mut(&mut self, place: u32) -> &mut Chunk {
        &mut self.chunks[place as usize]
    }

    /// How many chunks have a cached page.
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    /// The chunks of `file` numbered `[first, end)`, in ascending order of number. For ranges that
    /// may have many more numbers than there are chunks.
    pub(super) fn chunks_in(&self, file: FileId, first: u64, end: u64) -> Vec<(u64, u32)> {
        let mut found: Vec<(u64, u32)> = self
            .index
            .iter()
            .map(|&place| (self.chunk(place), place))
            .filter(|(chunk, _)| chunk.file == file && (first..end).contains(&chunk.number))
            .map(|(chunk, place)| (chunk.number, place))
            .collect();
        found.sort_unstable();
        found
    }
}

fn hash_of(chunk: &Chunk) -> u64 {
    hash(chunk.file, chunk.number)
}

/// Multiplies, so that high bits depend on all, and folds them down, so that strides of a power of
/// two spread. The factors are 2^64 over the golden ratio, and the one that `FxHash` uses.
fn hash(file: FileId, number: u64) -> u64 {
    let product = u64::from(file.0)
        .wrapping_mul(0x517c_c1b7_2722_0a95)
        .wrapping_add(number)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 32
}
