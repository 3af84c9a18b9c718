//! The order of age: lists of folios, linked through the pages.
//!
//! A folio is known here by its slot: the number of a block of eight links and a place in it. The
//! chunk holds the blocks of its pages, a block knows its owner, and blocks exist only where a
//! folio begins, so a lone page costs eight links. What a list means is the caller's business.

/// Links of a block.
pub(super) const BLOCK_PAGES: u32 = 8;

/// The block that does not exist.
pub(super) const NO_BLOCK: u32 = u32::MAX;

/// No slot: the end of a list.
const END: u32 = u32::MAX;

/// How many lists there are; two or four are used.
pub(super) const LISTS: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Link {
    younger: u32,
    older: u32,
}

const NO_LINK: Link = Link {
    younger: END,
    older: END,
};

#[derive(Clone, Copy, Debug)]
struct List {
    youngest: u32,
    oldest: u32,
    pages: u64,
    folios: u64,
}

/// All lists, and the links of all cached pages.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    lists: [List; LISTS],
    links: Vec<Link>,
    /// Of each block, who asked for it.
    owners: Vec<u32>,
    free: Vec<u32>,
}

impl Lists {
    pub(super) const fn new() -> Self {
        let empty = List {
            youngest: END,
            oldest: END,
            pages: 0,
            folios: 0,
        };
        Self {
            lists: [empty; LISTS],
            links: Vec::new(),
            owners: Vec::new(),
            free: Vec::new(),
        }
    }

    /// A block for `owner`, any number that helps to find the folio again.
    pub(super) fn add_block(&mut self, owner: u32) -> u32 {
        if let Some(block) = self.free.pop() {
            self.owners[block as usize] = owner;
            return block;
        }
        let block = u32::try_from(self.owners.len()).expect("more blocks than cached pages");
        assert!(
            block < NO_BLOCK / BLOCK_PAGES,
            "more than 2^32 cached pages"
        );
        self.owners.push(owner);
        self.links
            .resize(self.links.len() + BLOCK_PAGES as usize, NO_LINK);
        block
    }

    /// Gives back a block of which no link is on a list.
    pub(super) fn remove_block(&mut self, block: u32) {
        self.free.push(block);
    }

    /// Owner of the block that `slot` is in, and the place in it.
    pub(super) fn owner(&self, slot: u32) -> (u32, u32) {
        (
            self.owners[(slot / BLOCK_PAGES) as usize],
            slot % BLOCK_PAGES,
        )
    }

    /// Pages on `list`.
    pub(super) const fn pages(&self, list: usize) -> u64 {
        self.lists[list].pages
    }

    /// Folios on `list`.
    pub(super) const fn folios(&self, list: usize) -> u64 {
        self.lists[list].folios
    }

    /// The folio at the old end.
    pub(super) fn oldest(&self, list: usize) -> Option<u32> {
        let slot = self.lists[list].oldest;
        (slot != END).then_some(slot)
    }

    /// Puts a folio of `pages` pages, which is on no list, at the young end.
    #[inline]
    pub(super) fn push_young(&mut self, list: usize, slot: u32, pages: u64) {
        let list = &mut self.lists[list];
        let older = list.youngest;
        self.links[slot as usize] = Link {
            younger: END,
            older,
        };
        if older == END {
            list.oldest = slot;
        } else {
            self.links[older as usize].younger = slot;
        }
        list.youngest = slot;
        list.pages += pages;
        list.folios += 1;
    }

    /// Takes a folio of `pages` pages off the list it is on.
    #[inline]
    pub(super) fn unlink(&mut self, list: usize, slot: u32, pages: u64) {
        let Link { younger, older } = self.links[slot as usize];
        let list = &mut self.lists[list];
        if younger == END {
            list.youngest = older;
        } else {
            self.links[younger as usize].older = older;
        }
        if older == END {
            list.oldest = younger;
        } else {
            self.links[older as usize].younger = younger;
        }
        list.pages -= pages;
        list.folios -= 1;
    }
}
