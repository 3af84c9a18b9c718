//! What a program says about its reads beforehand.

use ahead_replicas::kernel::Advice;

use crate::live::pattern::{Operation, PAGE, Pattern};

/// All of them.
pub fn all() -> Vec<Pattern> {
    let mut patterns = hints();
    patterns.extend(will_need());
    patterns
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
        Pattern::new("will need everything")
            .will_need(0, 0)
            .reads(300, 4, 4, 30),
        Pattern::new("will need parts of pages")
            .will_need(4095, 2)
            .will_need(40_000, 5000),
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
        Pattern::new("readahead of 100 pages, then reads")
            .read_ahead(0, 100 * PAGE)
            .reads(0, 4, 4, 40),
        Pattern::new("readahead of 16 MiB").read_ahead(10 * PAGE, 16 << 20),
        Pattern::new("readahead of nothing")
            .read_ahead(10 * PAGE, 0)
            .reads(10, 1, 1, 5),
        Pattern::new("readahead in the middle of a stream")
            .reads(0, 4, 4, 4)
            .read_ahead(16 * PAGE, 64 * PAGE)
            .reads(16, 4, 4, 40),
        Pattern::new("a window of 0 and will need")
            .read_ahead_kb(0)
            .will_need(0, 64 * PAGE)
            .reads(0, 4, 4, 20),
        Pattern::new("an area is needed, then touched")
            .map(0..2000)
            .then(Operation::WillNeedArea {
                area: 0,
                pages: 100..150,
            })
            .touch(0, 90..160),
    ]
}
