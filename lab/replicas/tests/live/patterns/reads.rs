//! Reads of a file that is not cached: their sizes, their places, and who else reads.

use crate::live::pattern::{PAGE, Pattern};

/// All of them.
pub fn all() -> Vec<Pattern> {
    let mut patterns = sequential();
    patterns.extend(unaligned());
    patterns.extend(descriptors());
    patterns.extend(backward_and_strided());
    patterns.extend(interleaved());
    patterns.extend(random_and_mixed());
    patterns
}

/// Reads of 1 page to 8 MiB, one behind the other.
fn sequential() -> Vec<Pattern> {
    let mut patterns: Vec<_> = [
        1_u64, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 64, 100, 256, 320, 321,
    ]
    .into_iter()
    .map(|pages| {
        let count = (512 / pages).clamp(4, 80);
        Pattern::new(&format!("sequential reads of {pages} pages")).reads(0, pages, pages, count)
    })
    .collect();
    patterns.push(Pattern::new("two reads of 8 MiB").reads(0, 2048, 2048, 2));
    patterns.push(Pattern::new("sequential reads from page 1").reads(1, 4, 4, 40));
    patterns.push(Pattern::new("sequential reads from page 1000").reads(1000, 4, 4, 40));
    patterns.push(Pattern::new("sequential reads of 1 page from page 7").reads(7, 1, 1, 100));
    patterns.push(Pattern::new("reads that grow").read_sizes(&[1, 2, 4, 8, 16, 32, 64, 128, 256]));
    patterns
        .push(Pattern::new("reads that shrink").read_sizes(&[256, 128, 64, 32, 16, 8, 4, 2, 1, 1]));
    patterns
}

/// Reads that do not begin or end with a page.
fn unaligned() -> Vec<Pattern> {
    let bytes_in_a_row = |name: &str, start: u64, bytes: u64, count: u64| {
        (0..count).fold(Pattern::new(name), |pattern, number| {
            pattern.read_bytes(0, start + number * bytes, bytes)
        })
    };
    vec![
        bytes_in_a_row("sequential reads of 1000 bytes", 0, 1000, 300),
        bytes_in_a_row("sequential reads of 1 byte across a page", 4090, 1, 20),
        bytes_in_a_row("sequential reads of 5000 bytes", 0, 5000, 200),
        bytes_in_a_row("page-sized reads from byte 10240", 10_240, PAGE, 100),
        bytes_in_a_row("reads of 64 KiB from byte 100", 100, 64 << 10, 40),
        bytes_in_a_row("reads of 1 MiB and a byte", 0, (1 << 20) + 1, 8),
        Pattern::new("1000-byte reads at 0, 1000, 4000 and 5000")
            .read_bytes(0, 0, 1000)
            .read_bytes(0, 1000, 1000)
            .read_bytes(0, 4000, 1000)
            .read_bytes(0, 5000, 1000),
        Pattern::new("a read of nothing, then of a page")
            .read_bytes(0, 0, 0)
            .read_pages(0, 0, 1)
            .read_pages(0, 1, 1),
    ]
}

/// What a descriptor remembers, and what another one of the same file does not.
fn descriptors() -> Vec<Pattern> {
    vec![
        Pattern::new("a file read half, opened again, read on")
            .reads(0, 4, 4, 16)
            .open()
            .read_from(1, 64, 4, 16),
        Pattern::new("a file read, opened again, read from the start")
            .reads(0, 4, 4, 16)
            .open()
            .read_from(1, 0, 4, 32),
        Pattern::new("two descriptors in turn, one place")
            .open()
            .in_turns(&[(0, 0), (1, 0)], 4, 4, 24),
        Pattern::new("two descriptors in turn, two places")
            .open()
            .in_turns(&[(0, 0), (1, 2000)], 4, 4, 24),
        Pattern::new("two descriptors in turn, one ahead of the other by a window")
            .open()
            .in_turns(&[(0, 0), (1, 32)], 2, 2, 60),
        Pattern::new("the first read goes to the middle").reads(2000, 1, 1, 40),
        Pattern::new("the first read of 8 pages goes to the middle").reads(2001, 8, 8, 20),
    ]
}

fn backward_and_strided() -> Vec<Pattern> {
    let mut patterns = vec![
        Pattern::new("single pages backward").reads_backward(600, 1, 1, 120),
        Pattern::new("reads of 4 pages backward").reads_backward(600, 4, 4, 60),
        Pattern::new("reads of 64 pages backward").reads_backward(2048, 64, 64, 16),
        Pattern::new("backward to the start of the file, then forward")
            .reads_backward(40, 2, 2, 21)
            .reads(0, 2, 2, 60),
    ];
    for step in [2, 3, 4, 5, 8, 16, 31, 32, 33, 64] {
        let name = format!("single pages, every {step} pages");
        patterns.push(Pattern::new(&name).reads(0, 1, step, 40));
    }
    for (pages, step) in [(2, 3), (4, 5), (4, 8), (8, 24), (16, 64), (3, 17)] {
        let name = format!("reads of {pages} pages, every {step} pages");
        patterns.push(Pattern::new(&name).reads(5, pages, step, 40));
    }
    patterns
}

/// Two to nine sequential readers of one descriptor, in turn.
fn interleaved() -> Vec<Pattern> {
    let mut patterns: Vec<_> = (2..=9)
        .map(|streams| {
            let places: Vec<_> = (0..streams).map(|number| (0, number * 400)).collect();
            Pattern::new(&format!("{streams} streams of single pages")).in_turns(&places, 1, 1, 24)
        })
        .collect();
    patterns.push(Pattern::new("2 streams of 4 pages").in_turns(&[(0, 0), (0, 1000)], 4, 4, 40));
    patterns.push(Pattern::new("3 streams of 16 pages").in_turns(
        &[(0, 10), (0, 1000), (0, 2222)],
        16,
        16,
        20,
    ));
    patterns.push(
        Pattern::new("2 streams, forward and backward").and(|mut pattern| {
            for number in 0..60 {
                pattern = pattern
                    .read_pages(0, 100 + number, 1)
                    .read_pages(0, 2000 - number, 1);
            }
            pattern
        }),
    );
    patterns
}

fn random_and_mixed() -> Vec<Pattern> {
    let random = |name: &str, pages: u64| {
        (0..60).fold(Pattern::new(name), |pattern, number| {
            // A permutation of places; no two neighbours in a row.
            pattern.read_pages(0, (number * 1_237 + 11) % 4000, pages)
        })
    };
    vec![
        random("random single pages", 1),
        random("random reads of 4 pages", 4),
        random("random reads of 48 pages", 48),
        Pattern::new("random, then sequential")
            .read_pages(0, 3000, 1)
            .read_pages(0, 500, 2)
            .read_pages(0, 1700, 3)
            .reads(502, 2, 2, 40),
        Pattern::new("sequential with a jump to the end every 8 reads").and(|mut pattern| {
            for number in 0..80 {
                pattern = pattern.read_pages(0, number * 2, 2);
                if number % 8 == 7 {
                    pattern = pattern.read_pages(0, 4000 - number, 1);
                }
            }
            pattern
        }),
        Pattern::new("3 pages, far away 2, back for 3, 2 and 2")
            .read_pages(0, 500, 3)
            .read_pages(0, 900, 2)
            .read_pages(0, 503, 3)
            .read_pages(0, 506, 2)
            .reads(508, 2, 2, 20),
        Pattern::new("the same page again and again")
            .reads(77, 1, 0, 10)
            .reads(78, 1, 1, 10),
        Pattern::new("each page twice").and(|mut pattern| {
            for page in 0..60 {
                pattern = pattern.read_pages(0, page, 1).read_pages(0, page, 1);
            }
            pattern
        }),
        Pattern::new("sequential with overlaps").reads(0, 4, 3, 60),
        Pattern::new("8 pages read backward inside blocks that go forward").and(|mut pattern| {
            for block in 0..20 {
                for page in (0..8).rev() {
                    pattern = pattern.read_pages(0, block * 8 + page, 1);
                }
            }
            pattern
        }),
        Pattern::new("a small read, then 8 MiB")
            .read_pages(0, 0, 1)
            .read_pages(0, 1, 2048),
    ]
}
