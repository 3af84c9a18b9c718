//! Faults on mapped pages.

use ahead_replicas::kernel::Advice;

use crate::live::pattern::{Operation, PAGE, Pattern, Protection};

/// All of them.
pub fn all() -> Vec<Pattern> {
    let mut patterns = mapped();
    patterns.extend(mapped_with_advice());
    patterns.extend(written());
    patterns.extend(huge());
    patterns
}

/// Faults on mapped pages.
fn mapped() -> Vec<Pattern> {
    let scattered = |count: u64| (0..count).map(|number| (number * 1_237 + 11) % 4000);
    vec![
        Pattern::new("mapped, forward")
            .map(0..4096)
            .touch(0, 0..300),
        Pattern::new("mapped, forward from the middle")
            .map(0..4096)
            .touch(0, 1000..1200),
        Pattern::new("mapped, backward")
            .map(0..4096)
            .touch(0, (500..900).rev()),
        Pattern::new("mapped, every third page")
            .map(0..4096)
            .touch(0, (0..400).step_by(3)),
        Pattern::new("mapped, every 16 pages")
            .map(0..4096)
            .touch(0, (0..2000).step_by(16)),
        Pattern::new("mapped, every 33 pages")
            .map(0..4096)
            .touch(0, (5..4000).step_by(33)),
        Pattern::new("mapped, random")
            .map(0..4096)
            .touch(0, scattered(60)),
        Pattern::new("mapped, so many misses that reading around ends")
            .file_bytes(16_000 * PAGE)
            .map(0..16_000)
            .touch(0, (0..130).map(|number| 40 + number * 97))
            .touch(0, 14_000..14_100),
        Pattern::new("mapped, faults at 100, 108, 107, 500 and 83")
            .map(0..4096)
            .touch(0, [100, 108, 107, 500, 83]),
        Pattern::new("mapped, a part from page 100")
            .map(100..300)
            .touch(0, 100..300),
        Pattern::new("mapped, the last pages")
            .file_bytes(100 * PAGE + 1)
            .map(0..101)
            .touch(0, [100, 99, 50, 0]),
        Pattern::new("mapped, a page just behind what was read around")
            .map(0..4096)
            .touch(0, [100, 116, 132, 148, 164]),
        Pattern::new("mapped and read in turns")
            .map(0..4096)
            .and(|mut pattern| {
                for number in 0..40 {
                    pattern = pattern
                        .read_pages(0, number * 3, 3)
                        .touch(0, [2000 + number * 5]);
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
        Pattern::new("mapped twice")
            .map(0..2000)
            .map(0..2000)
            .touch(0, 0..64)
            .touch(1, 0..160),
        Pattern::new("mapped as a program is, forward")
            .map_as(0..4096, Protection::ReadExecute)
            .touch(0, 0..200),
        Pattern::new("mapped as a program is, all over")
            .map_as(40..4000, Protection::ReadExecute)
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
        told(
            "area told random over pages that were read ahead",
            Advice::Normal,
        )
        .touch(0, 0..20)
        .advise_area(0, Advice::Random)
        .touch(0, 20..100),
        told(
            "area told sequential, descriptor told random",
            Advice::Sequential,
        )
        .advise(0, Advice::Random)
        .touch(0, 0..100),
        told("area as it is, descriptor told sequential", Advice::Normal)
            .advise(0, Advice::Sequential)
            .touch(0, 0..200),
        Pattern::new("a program's area told random")
            .map_as(0..4096, Protection::ReadExecute)
            .advise_area(0, Advice::Random)
            .touch(0, [45, 300, 290, 1000, 46, 47, 48]),
        Pattern::new("a program's area told sequential")
            .map_as(0..4096, Protection::ReadExecute)
            .advise_area(0, Advice::Sequential)
            .touch(0, 0..100),
    ]
}

/// Writes to private areas, whose faults map nothing around them.
fn written() -> Vec<Pattern> {
    let writable = |name: &str, pages: u64| {
        Pattern::new(name)
            .file_bytes(pages * PAGE)
            .map_as(0..pages, Protection::ReadWrite)
    };
    vec![
        writable("written, forward", 4096).write(0, 0..200),
        writable("written, backward", 4096).write(0, (300..400).rev()),
        writable("written, so many misses that reading around ends", 16_000)
            .write(0, (0..105).map(|number| 40 + number * 97))
            .write(0, 14_000..14_010)
            .reads(14_020, 1, 1, 5)
            .write(0, 14_020..14_030)
            .write(0, 15_000..15_010),
        writable("written, misses all over, then through marks", 4096)
            .write(0, [1000, 2000, 3000, 500, 1500, 3500, 200, 700])
            .write(0, 2500..2560),
        writable("written and touched in turns", 4096).and(|mut pattern| {
            for number in 0..40 {
                pattern = pattern
                    .write(0, [number * 7])
                    .touch(0, [number * 7 + 1, 2000 + number]);
            }
            pattern
        }),
        writable("written, area told random", 4096)
            .advise_area(0, Advice::Random)
            .write(0, [1, 2, 3, 700, 701]),
        writable("written, area told sequential", 4096)
            .advise_area(0, Advice::Sequential)
            .write(0, 0..100),
    ]
}

/// Areas told to use huge pages.
fn huge() -> Vec<Pattern> {
    let told = |name: &str| {
        Pattern::new(name)
            .map(0..4096)
            .then(Operation::AdviseAreaHuge { area: 0 })
    };
    vec![
        told("huge pages, forward").touch(0, (0..4096).step_by(100)),
        told("huge pages, backward").touch(0, (0..4096).rev().step_by(200)),
        told("huge pages, told random")
            .advise_area(0, Advice::Random)
            .touch(0, [5, 600, 601, 4000, 3000]),
        told("huge pages, window 0")
            .read_ahead_kb(0)
            .touch(0, [5, 600, 601, 4000, 3000]),
        told("huge pages where some are cached")
            .reads(700, 4, 4, 4)
            .touch(0, (0..4096).step_by(150)),
        Pattern::new("huge pages in a file of 700 pages")
            .file_bytes(700 * PAGE)
            .map(0..700)
            .then(Operation::AdviseAreaHuge { area: 0 })
            .touch(0, [0, 100, 511, 512, 699]),
        told("huge pages, then reads")
            .touch(0, [0, 1])
            .reads(900, 8, 8, 40),
    ]
}
