//! Independent work on all processors: the two shapes of it that are needed here, over `rayon`.

use std::sync::Mutex;

use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};

/// Does `work` for every item, and hands each result to `done` as soon as it is there (in any order,
/// one at a time). `done` answers whether to go on; after a `false` no further item is begun.
pub fn for_each<I: Sync, R: Send>(
    items: &[I],
    work: impl Fn(&I) -> R + Sync,
    done: impl FnMut(usize, R) -> bool + Send,
) {
    let done = Mutex::new(done);
    // The answer is where it stopped, which nothing here asks for.
    let _: Option<()> =
        items
            .par_iter()
            .enumerate()
            .with_max_len(1)
            .try_for_each(|(index, item)| {
                let result = work(item);
                // A poisoned lock means that `done` panicked, which rayon passes on.
                let mut done = done.lock().ok()?;
                done(index, result).then_some(())
            });
}

/// The results of `work` for every item, in the order of the items.
pub fn map<I: Sync, R: Send>(items: &[I], work: impl Fn(&I) -> R + Sync) -> Vec<R> {
    // An item is a run of seconds: it is never worth keeping two together.
    items.par_iter().with_max_len(1).map(&work).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_work() {
        let items: Vec<u64> = (0..100).collect();
        let squares = map(&items, |item| item * item);
        assert!(
            squares
                .iter()
                .enumerate()
                .all(|(i, s)| *s == (i * i) as u64)
        );
    }

    #[test]
    fn who_says_stop_is_heard() {
        let items: Vec<u64> = (0..1000).collect();
        let mut seen = 0;
        for_each(
            &items,
            |item| *item,
            |_, _| {
                seen += 1;
                seen < 5
            },
        );
        // Others may have begun one more each.
        assert!(seen < 1000, "{seen}");
    }
}
