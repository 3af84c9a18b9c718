//! The named patterns of the conformance test: every trigger, size rule and hint of the facts, from
//! more than one side.
//!
//! A pattern that was generated and showed a difference once belongs here, with literal numbers.

use ahead_policy::kernel::Advice;

use super::pattern::{Operation, PAGE, Pattern};

/// All of them.
pub fn all() -> Vec<Pattern> {
    let mut patterns = sequential();
    patterns.extend(unaligned());
    patterns.extend(descriptors());
    patterns.extend(backward_and_strided());
    patterns.extend(interleaved());
    patterns.extend(random_and_mixed());
    patterns.extend(partly_cached());
    patterns.extend(ends_of_files());
    patterns.extend(hints());
    patterns.extend(will_need());
    patterns.extend(mapped());
    patterns.extend(mapped_with_advice());
    patterns.extend(windows());
    patterns
}

/// Reads of 1 page to 8 MiB, one behind the other.
fn sequential() -> Vec<Pattern> {
    let mut patterns: Vec<_> = [1_u64, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 64, 100, 256, 320, 321]
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
    patterns.push(Pattern::new("reads that shrink").read_sizes(&[256, 128, 64, 32, 16, 8, 4, 2, 1, 1]));
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
            Pattern::new(&format!("{streams} streams of single pages"))
                .in_turns(&places, 1, 1, 24)
        })
        .collect();
    patterns.push(Pattern::new("2 streams of 4 pages").in_turns(&[(0, 0), (0, 1000)], 4, 4, 40));
    patterns.push(
        Pattern::new("3 streams of 16 pages").in_turns(&[(0, 10), (0, 1000), (0, 2222)], 16, 16, 20),
    );
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
        Pattern::new("the same page again and again").reads(77, 1, 0, 10).reads(78, 1, 1, 10),
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
        Pattern::new("a small read, then 8 MiB").read_pages(0, 0, 1).read_pages(0, 1, 2048),
    ]
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
        island(Pattern::new("pages 5 to 14 are cached, a reader comes behind them"), 5, 10)
            .read_pages(0, 15, 2)
            .read_pages(0, 17, 2)
            .reads(26, 2, 2, 20),
        island(Pattern::new("pages 100 to 139 are cached, more than a window"), 100, 40)
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
        Pattern::new("a second pass over a cached file").reads(0, 8, 8, 40).reads(0, 8, 8, 50),
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
        file("a read across the end", 100 * PAGE + 17).read_pages(0, 90, 64).read_pages(0, 98, 8),
        file("a read of the last page", 4000 * PAGE).read_pages(0, 3999, 1).reads(3990, 1, 1, 12),
        file("a read behind the end", 10 * PAGE).read_pages(0, 10, 4).read_pages(0, 9, 4),
        file("backward from the end", 777 * PAGE + 5).reads_backward(774, 4, 4, 40),
        file("every 16 pages up to the end", 300 * PAGE).reads(0, 2, 16, 20),
    ]
}

/// `posix_fadvise` NORMAL, SEQUENTIAL and RANDOM.
fn hints() -> Vec<Pattern> {
    let told = |name: &str, advice| Pattern::new(name).advise(0, advice);
    vec![
        told("told sequential, reads of 1 page", Advice::Sequential).reads(0, 1, 1, 200),
        told("told sequential, reads of 16 pages", Advice::Sequential).reads(0, 16, 16, 40),
        told("told sequential, reads of 256 pages", Advice::Sequential).reads(0, 256, 256, 4),
        told("told random, reads of 1 page", Advice::Random).reads(0, 1, 1, 20),
        told("told random, reads of 4, 4 and 400 pages", Advice::Random).read_sizes(&[4, 4, 400]),
        told("told random, reads of 8 MiB", Advice::Random).reads(0, 2048, 2048, 2),
        told("told random, places all over", Advice::Random).reads(9, 3, 97, 30),
        told("told random, then normal", Advice::Random)
            .reads(0, 4, 4, 5)
            .advise(0, Advice::Normal)
            .reads(20, 4, 4, 30),
        told("told sequential, then normal", Advice::Sequential)
            .reads(0, 4, 4, 10)
            .advise(0, Advice::Normal)
            .reads(40, 4, 4, 40),
        told("told sequential, then random", Advice::Sequential)
            .reads(0, 4, 4, 10)
            .advise(0, Advice::Random)
            .reads(40, 4, 4, 40),
        Pattern::new("told random in the middle: old marks still count")
            .reads(0, 4, 4, 5)
            .advise(0, Advice::Random)
            .reads(20, 4, 4, 30),
        Pattern::new("the device changes, the descriptor is told normal")
            .reads(0, 4, 4, 5)
            .then(Operation::SetReadAheadKb(512))
            .reads(20, 4, 4, 10)
            .advise(0, Advice::Normal)
            .reads(60, 4, 4, 60),
        Pattern::new("the device changes, the file is opened again")
            .reads(0, 4, 4, 5)
            .then(Operation::SetReadAheadKb(16))
            .open()
            .read_from(1, 0, 4, 40),
    ]
}

/// `posix_fadvise` WILLNEED, `madvise` WILLNEED and `readahead(2)`.
fn will_need() -> Vec<Pattern> {
    vec![
        Pattern::new("will need 8 pages, then reads them")
            .will_need(0, 8 * PAGE)
            .reads(0, 1, 1, 30),
        Pattern::new("will need 1000 pages: no more than the device's largest request")
            .will_need(0, 1000 * PAGE)
            .reads(0, 16, 16, 40),
        Pattern::new("will need everything").will_need(0, 0).reads(300, 4, 4, 30),
        Pattern::new("will need parts of pages").will_need(4095, 2).will_need(40_000, 5000),
        Pattern::new("will need what is partly cached")
            .reads(10, 4, 4, 4)
            .will_need(0, 64 * PAGE)
            .reads(0, 4, 4, 30),
        Pattern::new("will need across the end")
            .file_bytes(100 * PAGE + 1)
            .will_need(90 * PAGE, 64 * PAGE)
            .will_need(101 * PAGE, PAGE)
            .reads(80, 4, 4, 6),
        Pattern::new("will need with a window larger than the largest request")
            .read_ahead_kb(8192)
            .will_need(0, 3000 * PAGE),
        Pattern::new("readahead of 100 pages, then reads").read_ahead(0, 100 * PAGE).reads(0, 4, 4, 40),
        Pattern::new("readahead of 16 MiB").read_ahead(10 * PAGE, 16 << 20),
        Pattern::new("readahead of nothing").read_ahead(10 * PAGE, 0).reads(10, 1, 1, 5),
        Pattern::new("readahead in the middle of a stream")
            .reads(0, 4, 4, 4)
            .read_ahead(16 * PAGE, 64 * PAGE)
            .reads(16, 4, 4, 40),
        Pattern::new("a window of 0 and will need").read_ahead_kb(0).will_need(0, 64 * PAGE).reads(0, 4, 4, 20),
        Pattern::new("an area is needed, then touched")
            .map(0..2000)
            .then(Operation::WillNeedArea { area: 0, pages: 100..150 })
            .touch(0, 90..160),
    ]
}

/// Faults on mapped pages.
fn mapped() -> Vec<Pattern> {
    let scattered = |count: u64| (0..count).map(|number| (number * 1_237 + 11) % 4000);
    vec![
        Pattern::new("mapped, forward").map(0..4096).touch(0, 0..300),
        Pattern::new("mapped, forward from the middle").map(0..4096).touch(0, 1000..1200),
        Pattern::new("mapped, backward").map(0..4096).touch(0, (500..900).rev()),
        Pattern::new("mapped, every third page").map(0..4096).touch(0, (0..400).step_by(3)),
        Pattern::new("mapped, every 16 pages").map(0..4096).touch(0, (0..2000).step_by(16)),
        Pattern::new("mapped, every 33 pages").map(0..4096).touch(0, (5..4000).step_by(33)),
        Pattern::new("mapped, random").map(0..4096).touch(0, scattered(60)),
        Pattern::new("mapped, so many misses that reading around ends")
            .file_bytes(16_000 * PAGE)
            .map(0..16_000)
            .touch(0, (0..130).map(|number| 40 + number * 97))
            .touch(0, 14_000..14_100),
        Pattern::new("mapped, faults at 100, 108, 107, 500 and 83")
            .map(0..4096)
            .touch(0, [100, 108, 107, 500, 83]),
        Pattern::new("mapped, a part from page 100").map(100..300).touch(0, 100..300),
        Pattern::new("mapped, the last pages")
            .file_bytes(100 * PAGE + 1)
            .map(0..101)
            .touch(0, [100, 99, 50, 0]),
        Pattern::new("mapped, a page just behind what was read around")
            .map(0..4096)
            .touch(0, [100, 116, 132, 148, 164]),
        Pattern::new("mapped and read in turns").map(0..4096).and(|mut pattern| {
            for number in 0..40 {
                pattern = pattern.read_pages(0, number * 3, 3).touch(0, [2000 + number * 5]);
            }
            pattern
        }),
        Pattern::new("read, then mapped behind it")
            .reads(0, 4, 4, 10)
            .map(0..4096)
            .touch(0, 30..200),
        Pattern::new("mapped, then read behind it")
            .map(0..4096)
            .touch(0, 0..50)
            .reads(50, 4, 4, 30),
        Pattern::new("mapped, everything cached by single pages")
            .open()
            .advise(1, Advice::Random)
            .read_pages(1, 0, 200)
            .map(0..4096)
            .touch(0, 0..260),
        Pattern::new("mapped twice").map(0..2000).map(0..2000).touch(0, 0..64).touch(1, 0..160),
        Pattern::new("mapped as a program is, forward")
            .map_executable(0..4096)
            .touch(0, 0..200),
        Pattern::new("mapped as a program is, all over")
            .map_executable(40..4000)
            .touch(0, [45, 300, 290, 1000, 3999, 41, 2000]),
    ]
}

/// Faults on areas with `madvise`.
fn mapped_with_advice() -> Vec<Pattern> {
    let told = |name: &str, advice| Pattern::new(name).map(0..4096).advise_area(0, advice);
    vec![
        told("area told sequential, forward", Advice::Sequential).touch(0, 0..300),
        told("area told sequential, backward", Advice::Sequential).touch(0, (300..500).rev()),
        told("area told sequential, every 40 pages", Advice::Sequential)
            .touch(0, (7..3000).step_by(40)),
        told("area told random, forward", Advice::Random).touch(0, 0..60),
        told("area told random, all over", Advice::Random)
            .touch(0, (0..40).map(|number| (number * 1_237 + 11) % 4000)),
        told("area told random, then normal", Advice::Random)
            .touch(0, 0..20)
            .advise_area(0, Advice::Normal)
            .touch(0, 20..120),
        told("area told random over pages that were read ahead", Advice::Normal)
            .touch(0, 0..20)
            .advise_area(0, Advice::Random)
            .touch(0, 20..100),
        told("area told sequential, descriptor told random", Advice::Sequential)
            .advise(0, Advice::Random)
            .touch(0, 0..100),
        told("area as it is, descriptor told sequential", Advice::Normal)
            .advise(0, Advice::Sequential)
            .touch(0, 0..200),
        Pattern::new("a program's area told random")
            .map_executable(0..4096)
            .advise_area(0, Advice::Random)
            .touch(0, [45, 300, 290, 1000, 46, 47, 48]),
        Pattern::new("a program's area told sequential")
            .map_executable(0..4096)
            .advise_area(0, Advice::Sequential)
            .touch(0, 0..100),
    ]
}

/// Other windows of the device.
fn windows() -> Vec<Pattern> {
    let mut patterns = Vec::new();
    for kib in [0, 4, 16, 100, 128, 1024, 8192] {
        let window = |name: &str| Pattern::new(&format!("{name}, {kib} KiB")).read_ahead_kb(kib);
        patterns.extend([
            window("single pages").reads(0, 1, 1, 120),
            window("reads of 4 pages").reads(0, 4, 4, 100),
            window("reads of 100 pages").reads(0, 100, 100, 12),
            window("two reads of 8 MiB").reads(0, 2048, 2048, 2),
            window("2 streams").in_turns(&[(0, 3), (0, 2003)], 2, 2, 60),
            window("every 5 pages").reads(0, 1, 5, 40),
            window("mapped forward").map(0..4096).touch(0, 0..150),
            window("mapped all over").map(0..4096).touch(0, [700, 60, 61, 2500, 30, 705, 4095]),
            window("area told sequential").map(0..4096).advise_area(0, Advice::Sequential).touch(0, 5..150),
            window("told sequential").advise(0, Advice::Sequential).reads(0, 4, 4, 100),
            window("told random").advise(0, Advice::Random).reads(0, 7, 7, 10),
        ]);
    }
    patterns
}
