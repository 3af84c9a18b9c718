//! Independent work on all processors, with results in the order of the work.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Does `work` for every item, on as many threads as there are processors, and hands each result
/// to `done` as soon as it is there (in any order, one at a time). `done` answers whether to go on;
/// after a `false` no further item is begun.
pub fn for_each<I: Sync, R: Send>(
    items: &[I],
    work: impl Fn(&I) -> R + Sync,
    done: impl FnMut(usize, R) -> bool + Send,
) {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let next = AtomicUsize::new(0);
    let done = Mutex::new(done);
    thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else {
                        return;
                    };
                    let result = work(item);
                    // A poisoned lock means that `done` panicked: the scope passes that on.
                    let Ok(mut done) = done.lock() else { return };
                    if !done(index, result) {
                        next.store(items.len(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
}

/// The results of `work` for every item, in the order of the items.
pub fn map<I: Sync, R: Send>(items: &[I], work: impl Fn(&I) -> R + Sync) -> Vec<R> {
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    for_each(items, work, |index, result| {
        results[index] = Some(result);
        true
    });
    results.into_iter().flatten().collect()
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
