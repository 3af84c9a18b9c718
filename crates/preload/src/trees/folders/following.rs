//! What comes after a folder on a walk through the tree, and how far a program went among the folders of one.

use ahead_policy::file_order::order::{ListingOrder, ORDERS};
use ahead_policy::file_order::scores::{Fit, ReachedRanks};

use super::{FOLDERS, Folders, index};

/// What comes after a folder on a walk through the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trees) enum Following {
    Folder(usize),
    /// A folder of `parent` that was not listed: the one with this rank in the order of the walk.
    Unlisted {
        parent: usize,
        rank: u32,
    },
}

impl Folders {
    /// The program comes to `folder`, for the first time in this round: how that fits the orders of the folders of the
    /// one above. `None`: it came here before, it is the first one there, or the one above is not known.
    pub(in crate::trees) fn come_to(&mut self, folder: usize, round: u32) -> Option<[Fit; ORDERS]> {
        let known = &mut self.folders[folder];
        if std::mem::replace(&mut known.came_round, round) == round {
            return None;
        }
        let parent = index(known.parent.checked_sub(1)?);
        let ranks = self.ranks(index(self.folders[folder].entry));
        let parent = &mut self.folders[parent];
        let is_first = std::mem::replace(&mut parent.reached_round, round) != round;
        if is_first {
            parent.reached = ReachedRanks::new();
        }
        let fits = parent.reached.on_visit(ranks);
        // A round may begin anywhere.
        (!is_first).then_some(fits)
    }

    /// What a walk in `order` that goes into the depth comes to after the files of `folder`: what lies
    /// below, then what is behind it in its own folder, and so on. What was visited in this round is left out.
    pub(in crate::trees) fn following(
        &self,
        folder: usize,
        order: ListingOrder,
        round: u32,
    ) -> Option<Following> {
        self.following_from(folder, order, 0, round)
    }

    /// The same from the folder of `folder` with rank `from` on.
    fn following_from(
        &self,
        folder: usize,
        order: ListingOrder,
        from: u32,
        round: u32,
    ) -> Option<Following> {
        let mut at = folder;
        if let Some(found) = self.next_unvisited(at, order, from, round) {
            return Some(found);
        }
        // As deep as paths go.
        for _ in 0..64 {
            let parent = index(self.folders[at].parent.checked_sub(1)?);
            let own = self.ranks(index(self.folders[at].entry)).of(order);
            if let Some(found) = self.next_unvisited(parent, order, own + 1, round) {
                return Some(found);
            }
            at = parent;
        }
        None
    }

    /// The next folders after `folder` that were not listed, of all that are known: their entries. Fills `found` up
    /// to its end; returns how many there are.
    pub(in crate::trees) fn unlisted_after(
        &self,
        folder: usize,
        order: ListingOrder,
        round: u32,
        found: &mut [usize],
    ) -> usize {
        let mut count = 0;
        let mut next = self.following(folder, order, round);
        for _ in 0..FOLDERS {
            next = match next {
                Some(Following::Folder(known)) => self.following(known, order, round),
                Some(Following::Unlisted { parent, rank }) => {
                    let (Some(place), Some(entry)) =
                        (found.get_mut(count), self.subfolder(parent, order, rank))
                    else {
                        break;
                    };
                    *place = entry;
                    count += 1;
                    self.following_from(parent, order, rank + 1, round)
                }
                None => break,
            };
        }
        count
    }

    /// Number of the folder that an entry lies in.
    pub(in crate::trees) fn folder_of(&self, entry: usize) -> usize {
        index(self.entries[entry].folder)
    }

    fn next_unvisited(
        &self,
        parent: usize,
        order: ListingOrder,
        from: u32,
        round: u32,
    ) -> Option<Following> {
        for rank in from..self.folders[parent].folders {
            let entry = &self.entries[self.subfolder(parent, order, rank)?];
            if entry.round == round || entry.is_barred {
                continue;
            }
            return Some(match entry.child.checked_sub(1) {
                Some(child) if self.folders[index(child)].round == round => continue,
                Some(child) if self.folders[index(child)].is_listed => {
                    Following::Folder(index(child))
                }
                _ => Following::Unlisted { parent, rank },
            });
        }
        None
    }
}
