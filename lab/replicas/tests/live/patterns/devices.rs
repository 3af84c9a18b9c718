//! Settings of the device that bound a window.

use ahead_replicas::kernel::Advice;

use crate::live::pattern::{PAGE, Pattern};

/// All of them.
pub fn all() -> Vec<Pattern> {
    let mut patterns = windows();
    patterns.extend(largest_requests());
    patterns
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
            window("mapped all over")
                .map(0..4096)
                .touch(0, [700, 60, 61, 2500, 30, 705, 4095]),
            window("area told sequential")
                .map(0..4096)
                .advise_area(0, Advice::Sequential)
                .touch(0, 5..150),
            window("told sequential")
                .advise(0, Advice::Sequential)
                .reads(0, 4, 4, 100),
            window("told random")
                .advise(0, Advice::Random)
                .reads(0, 7, 7, 10),
        ]);
    }
    patterns
}

/// Other largest requests of the device.
fn largest_requests() -> Vec<Pattern> {
    let mut patterns = Vec::new();
    for kib in [4, 64, 100, 128, 512] {
        let device = |name: &str| {
            Pattern::new(&format!("{name}, requests up to {kib} KiB")).max_sectors_kb(kib)
        };
        patterns.extend([
            device("reads of 100 pages").reads(0, 100, 100, 12),
            device("reads of 8 MiB").reads(0, 2048, 2048, 2),
            device("a random read of 400 pages")
                .read_pages(0, 1000, 400)
                .read_pages(0, 1400, 400),
            device("will need 2000 pages")
                .will_need(0, 2000 * PAGE)
                .reads(0, 64, 64, 20),
            device("told random, 900 pages")
                .advise(0, Advice::Random)
                .reads(0, 900, 900, 2),
        ]);
    }
    patterns
}
