//! Generated lives under every algorithm of `kernel` and `literature`: whatever happens, the
//! promises of [`life`] hold, and nothing panics, wraps or runs away.

#[path = "support/life.rs"]
mod life;
#[path = "support/page_cache.rs"]
mod page_cache;

use ahead_replicas::kernel::{Advice, Fault};
use life::{Place, Step, bytes, every_algorithm};
use proptest::prelude::*;

/// Pages that matter: small files' pages, and any.
fn page() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..300_u64, 4 => 0..5000_u64, 1 => 0..1_u64 << 51]
}

fn advice() -> impl Strategy<Value = Advice> {
    prop_oneof![
        Just(Advice::Normal),
        Just(Advice::Sequential),
        Just(Advice::Random),
    ]
}

fn fault() -> impl Strategy<Value = Fault> {
    let area = (0..200_u64, 0..5000_u64);
    (
        page(),
        area,
        advice(),
        any::<bool>(),
        prop::bool::weighted(0.1),
    )
        .prop_map(|(page, (below, above), advice, executable, huge)| Fault {
            page,
            area_start: page.saturating_sub(below),
            area_end: page + above,
            advice,
            executable,
            huge,
        })
}

fn step() -> impl Strategy<Value = Step> {
    let unaligned = 0..4096_u64;
    let length = prop_oneof![8 => 1..40_000_u64, 1 => 0..3_000_000_u64];
    prop_oneof![
        8 => (page(), unaligned, length)
            .prop_map(|(page, within, bytes)| Step::Read { start: page * 4096 + within, bytes }),
        3 => fault().prop_map(Step::Fault),
        1 => (0..1000_u64).prop_map(Step::NeighboursMapped),
        1 => advice().prop_map(Step::Advise),
        1 => (page(), 0..2000_u64).prop_map(|(start, pages)| Step::WillNeed { start, pages }),
        2 => (page(), 0..3000_u64).prop_map(|(start, pages)| Step::Evict { start, pages }),
        1 => (page(), 0..40_u64).prop_map(|(start, pages)| Step::Cached { start, pages }),
        1 => any::<bool>().prop_map(Step::Congested),
        1 => (0..4000_u64).prop_map(Step::Reclaimable),
        1 => (0..100_000_u64).prop_map(Step::OthersRead),
        1 => Just(Step::Reopen),
    ]
}

/// So many equal reads in a row, which generated steps alone would rarely make.
fn run() -> impl Strategy<Value = Vec<Step>> {
    (page(), 1..9_u64, -9..18_i64, 2..40_u64).prop_map(|(start, pages, stride, count)| {
        let mut page = start;
        let mut steps = Vec::new();
        for _ in 0..count {
            steps.push(Step::Read {
                start: bytes(page),
                bytes: bytes(pages),
            });
            page = page.saturating_add_signed(stride);
        }
        steps
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let piece = prop_oneof![3 => step().prop_map(|step| vec![step]), 1 => run()];
    prop::collection::vec(piece, 1..30).prop_map(|pieces| pieces.concat())
}

fn place() -> impl Strategy<Value = Place> {
    let file_bytes = prop_oneof![
        2 => 0..bytes(300),
        4 => 0..bytes(5000),
        1 => Just(i64::MAX.unsigned_abs()),
    ];
    let limit = prop_oneof![1 => Just(0), 2 => 1..40_u64, 2 => Just(32), 1 => 1..2049_u64];
    let slots = prop_oneof![2 => Just(None), 1 => (1..200_usize).prop_map(Some)];
    (file_bytes, limit, 1..2000_u64, 0..10_u8, slots).prop_map(
        |(file_bytes, limit, io_pages, folio_order_max, slots)| Place {
            file_bytes,
            limit,
            io_pages,
            folio_order_max,
            slots,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_life_keeps_the_promises(place in place(), steps in steps()) {
        every_algorithm(&place, &steps);
    }

    #[test]
    fn a_limit_of_zero_reads_nothing_ahead(place in place(), steps in steps()) {
        every_algorithm(&Place { limit: 0, ..place }, &steps);
    }
}
