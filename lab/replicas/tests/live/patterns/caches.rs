//! What is in the cache when the reader comes, and where the file ends.

use ahead_replicas::kernel::Advice;

use crate::live::pattern::{PAGE, Pattern};

/// All of them.
pub fn all() -> Vec<Pattern> {
    let mut patterns = partly_cached();
    patterns.extend(ends_of_files());
    patterns
}

/// Holes and islands: what is in the cache when the reader comes.
fn partly_cached() -> Vec<Pattern> {
    // Descriptor 1 puts single pages into the cache as they are asked for.
    let island = |pattern: Pattern, start: u64, pages: u64| {
        pattern
            .open()
            .advise(1, Advice::Random)
            .read_pages(1, start, pages)
    };
    let after_a_pass = |name: &str, evicted: std::ops::Range<u64>| {
        Pattern::new(name)
            .reads(0, 16, 16, 16)
            .evict(evicted)
            .open()
            .read_from(1, 0, 4, 60)
    };
    vec![
        island(Pattern::new("page 20 is cached"), 20, 1).reads(0, 4, 4, 30),
        island(Pattern::new("pages 8 to 23 are cached"), 8, 16).reads(0, 4, 4, 30),
        island(Pattern::new("10 leading pages are cached"), 0, 10).reads(10, 2, 2, 30),
        island(
            Pattern::new("pages 5 to 14 are cached, a reader comes behind them"),
            5,
            10,
        )
        .read_pages(0, 15, 2)
        .read_pages(0, 17, 2)
        .reads(26, 2, 2, 20),
        island(
            Pattern::new("pages 100 to 139 are cached, more than a window"),
            100,
            40,
        )
        .reads(140, 1, 1, 60),
        island(Pattern::new("an island inside a read of 256 pages"), 100, 7).reads(0, 256, 256, 3),
        Pattern::new("every eighth page is cached").and(|pattern| {
            let pattern = pattern.open().advise(1, Advice::Random);
            let pattern = (0..32).fold(pattern, |pattern, number| {
                pattern.read_pages(1, 3 + number * 8, 1)
            });
            pattern.reads(0, 4, 4, 60)
        }),
        Pattern::new("every second page is cached").and(|pattern| {
            let pattern = pattern.open().advise(1, Advice::Random);
            let pattern = (0..64).fold(pattern, |pattern, number| {
                pattern.read_pages(1, number * 2, 1)
            });
            pattern.reads(0, 1, 1, 128)
        }),
        after_a_pass("a hole of 20 pages, after a pass", 10..30),
        after_a_pass("a hole of a page, after a pass", 50..51),
        after_a_pass("a hole of 128 pages, after a pass", 64..192),
        Pattern::new("what is read ahead is evicted before use")
            .reads(0, 4, 4, 6)
            .evict(24..200)
            .reads(24, 4, 4, 6)
            .evict(50..200)
            .reads(48, 4, 4, 20),
        Pattern::new("everything is evicted, the descriptor stays")
            .reads(0, 4, 4, 20)
            .evict(0..4096)
            .reads(80, 4, 4, 20)
            .evict(0..4096)
            .reads(0, 4, 4, 20),
        Pattern::new("a second pass over a cached file")
            .reads(0, 8, 8, 40)
            .reads(0, 8, 8, 50),
    ]
}

/// At and across the end of the file, and small files.
fn ends_of_files() -> Vec<Pattern> {
    let file = |name: &str, bytes: u64| Pattern::new(name).file_bytes(bytes);
    vec![
        file("an empty file", 0).reads(0, 4, 4, 2),
        file("a file of one byte", 1).reads(0, 1, 1, 2),
        file("a file of one page", PAGE).reads(0, 4, 4, 2),
        file("a file of 3 pages, by single pages", 3 * PAGE).reads(0, 1, 1, 4),
        file("a file of 25 pages, by 9", 25 * PAGE).reads(0, 9, 9, 4),
        file("a file of 25 pages and a byte, by 4", 25 * PAGE + 1).reads(0, 4, 4, 8),
        file("a file of 33 pages, by 4", 33 * PAGE).reads(0, 4, 4, 10),
        file("a file of 100 pages, by single pages", 100 * PAGE).reads(0, 1, 1, 102),
        file("a file of 999 pages less a byte, by 64", 999 * PAGE - 1).reads(0, 64, 64, 17),
        file("a file of 999 pages, one read of 8 MiB", 999 * PAGE).reads(0, 2048, 0, 2),
        file("a file of 512 pages, one read of exactly that", 512 * PAGE).reads(0, 512, 512, 2),
        file("a read across the end", 100 * PAGE + 17)
            .read_pages(0, 90, 64)
            .read_pages(0, 98, 8),
        file("a read of the last page", 4000 * PAGE)
            .read_pages(0, 3999, 1)
            .reads(3990, 1, 1, 12),
        file("a read behind the end", 10 * PAGE)
            .read_pages(0, 10, 4)
            .read_pages(0, 9, 4),
        file("backward from the end", 777 * PAGE + 5).reads_backward(774, 4, 4, 40),
        file("every 16 pages up to the end", 300 * PAGE).reads(0, 2, 16, 20),
    ]
}
