//! Whole drives: rates and times that the literature gives or that follow from it.

use super::*;
use ahead_units::{ByteLength, ByteOffset};

use crate::mechanism::Mechanism;

fn request(offset: u64, length: u64) -> Request {
    Request {
        id: 0,
        offset: ByteOffset::new(offset),
        length: ByteLength::new(length),
    }
}

/// Bytes per second of one synchronous reader over `bytes` from `start` in requests of `length`,
/// each sent `think_ns` after the one before came back.
fn rate(model: DriveModel, start: u64, bytes: u64, length: u64, think_ns: u64) -> u64 {
    let mut drive = Drive::with_line(model);
    let mut now_ns = 0;
    let mut first_ns = 0;
    let count = bytes / length;
    for index in 0..=count {
        drive.submit(now_ns, request(start + index * length, length));
        let done = drive.finish_one().expect("it was sent");
        now_ns = done.completed_at.get() + think_ns;
        if index == 0 {
            first_ns = now_ns;
        }
    }
    u64::try_from(u128::from(count * length) * 1_000_000_000 / u128::from(now_ns - first_ns))
        .expect("a rate")
}

fn bytes(model: &DriveModel) -> u64 {
    Geometry::new(model).sectors() * SECTOR_BYTES
}

/// The published sizes in sectors. Zones count spare tracks too, so they may come out larger: the
/// Barracuda by 4.6 %.
#[test]
fn zones_add_up_to_about_the_size_of_the_drive() {
    let sizes = [
        (sets::ibm_dnes(), 17_916_240),
        (sets::atlas_iii(), 17_783_250),
        (sets::atlas_10k(), 17_938_986),
        (sets::barracuda_st32171(), 4_110_000),
        (sets::cheetah_9lp(), 17_783_240),
        (sets::atlas_10k_v(), 585_937_499),
        (sets::diamondmax(), 80_293_248),
        (sets::barracuda_7200_11(), 1_953_525_168),
    ];
    for (model, sectors) in sizes {
        let ours = Geometry::new(&model).sectors();
        let percent = ours.abs_diff(sectors) * 100 / sectors;
        assert!(percent <= 4, "{ours} for {sectors} sectors");
    }
}

/// The sustained rates that follow from tracks and track skew: outermost and innermost zone, in
/// units of 0.1 MB/s. A change of cylinders costs a little more than a change of heads.
#[test]
fn each_drive_sustains_its_rates_outside_and_inside() {
    let drives = [
        ("ibm-dnes", sets::ibm_dnes(), 209, 132),
        ("atlas-iii", sets::atlas_iii(), 122, 80),
        ("atlas-10k", sets::atlas_10k(), 240, 164),
        ("barracuda", sets::barracuda_st32171(), 95, 61),
        ("cheetah-9lp", sets::cheetah_9lp(), 158, 94),
    ];
    for (name, model, outer, inner) in drives {
        let length = 1 << 20;
        let at_end = bytes(&model) - 12 * length;
        for (start, expected) in [(0, outer), (at_end, inner)] {
            let rate = rate(model.clone(), start, 10 * length, length, 0);
            let wanted = expected * 100_000;
            let permille = rate.abs_diff(wanted) * 1_000 / wanted;
            assert!(
                permille <= 20,
                "{name}: {rate} for {wanted} bytes/s ({permille} ‰)"
            );
        }
    }
}

#[test]
fn without_a_buffer_a_small_reader_gets_one_page_per_revolution() {
    let model = DriveModel {
        buffer: None,
        ..sets::ibm_dnes()
    };
    // Inside the first track, so that no skew comes in between.
    let rate = rate(model, 0, 40 * 4096, 4096, 0);
    // The next page has just been missed: a revolution of 8.333 ms, and the page itself, which is 8
    // of 390 sectors. Without the latter it would be 0.4915 MB/s.
    let ns = 8_333_333 * (390 + 8) / 390;
    assert!(rate.abs_diff(4_096_000_000_000 / ns) < 10, "{rate} bytes/s");
    assert!(rate.abs_diff(491_520) * 40 < 491_520, "{rate} bytes/s");
}

/// The buffer reads on while the host thinks: a small reader gets the rate of the surface.
#[test]
fn with_a_buffer_a_small_reader_gets_the_rate_of_the_surface() {
    let length = 4096;
    let small = rate(sets::ibm_dnes(), 0, 4 << 20, length, 10_000);
    let large = rate(sets::ibm_dnes(), 0, 4 << 20, 1 << 20, 0);
    assert!(
        small.abs_diff(large) * 50 < large,
        "{small} and {large} bytes/s"
    );
}

/// A reader slower than the surface never waits for it: hit overhead and interface only.
#[test]
fn a_slow_reader_is_served_from_the_buffer() {
    let mut drive = Drive::with_line(sets::ibm_dnes());
    let mut now_ns = 0;
    for page in 0..200 {
        drive.submit(now_ns, request(page * 4096, 4096));
        let done = drive.finish_one().expect("it was sent");
        let took_ns = done.completed_at.since(done.arrived_at);
        if page > 0 {
            // 0.082 ms, and 4096 bytes at 80 MB/s
            assert_eq!(took_ns, 82_000 + 51_200, "page {page}");
        }
        now_ns = done.completed_at.get() + 5_000_000;
    }
    assert_eq!(drive.seeks(), 0);
}

/// The drive reads on up to its limit and waits there.
#[test]
fn the_drive_stops_reading_on_at_its_limit() {
    let mut drive = Drive::new(sets::ibm_dnes());
    drive.serve(0, &request(0, 4096));
    drive.catch_up(1_000_000_000);
    assert_eq!(drive.at, 8 + 511);
    assert!(drive.read_ahead.is_none());
}

/// Random pages over the whole drive: overhead, mean seek, half a turn.
#[test]
fn a_random_page_takes_a_mean_seek_and_half_a_turn() {
    // (drive, mean seek in µs as published, half a turn in µs)
    let drives = [
        (sets::ibm_dnes(), 7_200, 4_167),
        (sets::atlas_iii(), 8_300, 4_167),
        (sets::atlas_10k(), 5_600, 2_993),
        (sets::barracuda_st32171(), 9_300, 4_167),
        (sets::cheetah_9lp(), 5_500, 2_987),
        (sets::diamondmax(), 9_400, 4_167),
    ];
    for (model, seek_us, half_turn_us) in drives {
        let pages = bytes(&model) / 4096;
        let overhead_us = model.miss_overhead_us;
        let mut drive = Drive::with_line(model);
        let (mut now_ns, mut mixed) = (0, 1_u64);
        let count = 4_000;
        for _ in 0..count {
            // A linear congruential sequence (Knuth), upper bits.
            mixed = mixed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            drive.submit(now_ns, request((mixed >> 20) % pages * 4096, 4096));
            now_ns = drive.finish_one().expect("it was sent").completed_at.get();
        }
        let mean_us = now_ns / count / 1_000;
        let wanted_us = overhead_us + seek_us + half_turn_us;
        let percent = mean_us.abs_diff(wanted_us) * 100 / wanted_us;
        assert!(percent <= 5, "{mean_us} for {wanted_us} µs");
    }
}

#[test]
fn two_streams_keep_their_segments() {
    let mut drive = Drive::with_line(sets::ibm_dnes());
    let mut now_ns = 0;
    for page in 0..20 {
        for stream in 0..2 {
            drive.submit(now_ns, request((stream << 32) + page * 4096, 4096));
            let done = drive.finish_one().expect("it was sent");
            now_ns = done.completed_at.get() + 20_000_000;
        }
    }
    // Each stream misses once in 511 sectors; the rest was read on while the host was thinking.
    assert!(drive.seeks() <= 4, "{} seeks", drive.seeks());
}

#[test]
fn programmed_io_costs_the_host_and_not_the_drive() {
    let [dma, pio] = [sets::fireball(), sets::fireball_pio()].map(|model| {
        let cpu_ns = model.cpu_ns_per_sector * 8;
        (cpu_ns, rate(model, 0, 1 << 20, 4096, 0))
    });
    assert_eq!((dma.0, pio.0), (0, 1_200_000));
    assert_eq!(dma.1, pio.1);
}
