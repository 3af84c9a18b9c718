use super::*;
use crate::device::DeviceEstimate;
use crate::knobs::Knobs;

fn moment(contested: bool) -> Moment {
    Moment {
        knobs: Knobs::default(),
        device: DeviceEstimate::ARM,
        file_pages: PageCount::new(1 << 24),
        threshold: PageCount::new(131_072 / 8),
        available: PageCount::new(65_536),
        contested,
    }
}

#[test]
fn debug_one8() {
    let mut file = FileStreams::default();
    let mut streams = [Stream::default(); 64];
    for round in 0..40u64 {
        let mut cov = 0;
        let mut none = 0;
        for s in 0..64u64 {
            let start = s * 16384 + round * 16;
            let len = if file.is_crowded() { 64 } else { 4 };
            let out = file.on_access(
                &mut streams[..len],
                PageRange::new(start, start + 16),
                || moment(true),
            );
            cov += out.covered as u32;
            none += out.stream.is_none() as u32;
        }
        let mut k = [0; 5];
        for s in &streams {
            k[s.shape as usize] += 1;
        }
        std::eprintln!(
            "round {round} covered {cov} none {none} shapes {k:?} debt {} rounds {}",
            file.debt,
            file.rounds_seen
        );
    }
}
#[test]
fn debug_sparse() {
    let mut file = FileStreams::default();
    let mut streams = [Stream::default(); 4];
    let mut x = 12345u64;
    for page in 0..4000u64 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        if (x >> 20) % 10 >= 6 {
            continue;
        }
        let out = file.on_access(&mut streams, PageRange::new(page, page + 1), || {
            moment(true)
        });
        if out.decision.prefetch.count > 0 {
            let s: std::vec::Vec<_> = streams
                .iter()
                .map(|s| (s.shape, s.next, s.period, s.regular, s.hits))
                .collect();
            std::eprintln!("sp {page} {:?} {:?} {s:?}", out.stream, out.decision);
        }
    }
}
