//! Parameter sets of drives that existed.
//!
//! The six validated extractions published with DiskSim give zones, seek tables, head switch,
//! overheads, buffer, and the skew of the outermost zone; skew is a time (a change of heads), so
//! the other zones have the same share of a track. Where a figure is not published, the set says so.
//! The interface is the one of each drive's family; it is never the limit of these drives.

use super::{BufferModel, DriveModel, SeekCurve, Zone};
use crate::order::ServiceOrder;

const MB_PER_S: u64 = 1_000_000;

/// Zones from last cylinders and sectors per track; skews are those of the first zone.
fn zones(table: &[(u64, u64)], track_skew: u64, cylinder_skew: u64) -> Vec<Zone> {
    let outer = table.first().map_or(1, |&(_, sectors)| sectors);
    let share = |skew: u64, sectors: u64| (skew * sectors + outer / 2) / outer;
    table
        .iter()
        .map(|&(last_cylinder, track_sectors)| Zone {
            last_cylinder,
            track_sectors,
            track_skew: share(track_skew, track_sectors),
            cylinder_skew: share(cylinder_skew, track_sectors),
        })
        .collect()
}

/// `count` zones of equal width over `cylinders`, from `outer` to `inner` sectors per track.
fn even_zones(count: u64, cylinders: u64, outer: u64, inner: u64) -> Vec<(u64, u64)> {
    (0..count)
        .map(|zone| {
            let sectors = outer - (outer - inner) * zone / (count - 1);
            (cylinders * (zone + 1) / count - 1, sectors)
        })
        .collect()
}

fn table(points: &[(u64, u64)]) -> SeekCurve {
    SeekCurve::Table {
        points: points.to_vec(),
    }
}

const fn buffer(
    segments: u64,
    segment_sectors: u64,
    read_ahead_sectors: u64,
) -> Option<BufferModel> {
    Some(BufferModel {
        segments,
        segment_sectors,
        read_ahead_sectors,
    })
}

/// IBM DNES-309170W (Ultrastar 9ES), 9 GB. The raw seek table's outlier at 10 cylinders is left out.
pub(crate) fn ibm_dnes() -> DriveModel {
    let zone_table = [
        (377, 390),
        (1_263, 374),
        (2_247, 364),
        (3_466, 351),
        (4_503, 338),
        (5_526, 325),
        (7_044, 312),
        (8_761, 286),
        (9_815, 273),
        (10_682, 260),
        (11_473, 247),
    ];
    DriveModel {
        rotation_rpm: 7_200,
        surfaces: 5,
        head_switch_us: 62,
        miss_overhead_us: 252,
        hit_overhead_us: 82,
        interface_bytes_per_s: 80 * MB_PER_S,
        cpu_ns_per_sector: 0,
        order: ServiceOrder::C_LOOK,
        buffer: buffer(7, 511, 511),
        seek: table(&[
            (1, 1_060),
            (2, 1_480),
            (5, 1_630),
            (20, 2_000),
            (50, 2_510),
            (100, 2_620),
            (200, 3_780),
            (400, 4_120),
            (700, 4_580),
            (1_000, 4_960),
            (1_500, 5_470),
            (2_000, 5_890),
            (3_000, 7_080),
            (4_000, 7_700),
            (5_000, 7_830),
            (6_000, 9_070),
            (8_000, 10_440),
            (10_000, 11_810),
            (11_377, 12_850),
        ]),
        zones: zones(&zone_table, 58, 101),
    }
}

/// Quantum Atlas III QM39100, 9 GB.
pub(crate) fn atlas_iii() -> DriveModel {
    let zone_table = [
        (615, 256),
        (1_823, 252),
        (3_375, 240),
        (4_143, 238),
        (5_199, 224),
        (5_975, 208),
        (6_583, 196),
        (7_343, 182),
        (8_056, 168),
    ];
    DriveModel {
        rotation_rpm: 7_200,
        surfaces: 10,
        head_switch_us: 999,
        miss_overhead_us: 0,
        hit_overhead_us: 374,
        interface_bytes_per_s: 40 * MB_PER_S,
        cpu_ns_per_sector: 0,
        order: ServiceOrder::C_LOOK,
        buffer: buffer(6, 64, 64),
        seek: table(&[
            (1, 1_660),
            (2, 1_760),
            (5, 1_990),
            (10, 2_350),
            (20, 2_550),
            (50, 3_170),
            (100, 3_520),
            (200, 3_920),
            (400, 4_790),
            (700, 5_570),
            (1_000, 6_090),
            (1_500, 6_970),
            (2_000, 7_640),
            (3_000, 8_900),
            (4_000, 10_160),
            (5_000, 11_590),
            (6_000, 12_850),
            (7_998, 15_360),
        ]),
        zones: zones(&zone_table, 75, 86),
    }
}

/// Quantum Atlas 10K, 9 GB.
pub(crate) fn atlas_10k() -> DriveModel {
    let zone_table = [
        (1_264, 334),
        (4_608, 324),
        (5_448, 306),
        (5_864, 302),
        (6_280, 293),
        (7_120, 288),
        (7_536, 280),
        (7_952, 270),
        (8_376, 262),
        (8_792, 255),
        (9_208, 246),
        (9_624, 237),
        (10_041, 229),
    ];
    DriveModel {
        rotation_rpm: 10_025,
        surfaces: 6,
        head_switch_us: 176,
        miss_overhead_us: 0,
        hit_overhead_us: 184,
        interface_bytes_per_s: 80 * MB_PER_S,
        cpu_ns_per_sector: 0,
        order: ServiceOrder::C_LOOK,
        buffer: buffer(10, 374, 354),
        seek: table(&[
            (1, 1_250),
            (5, 1_360),
            (10, 1_530),
            (50, 1_860),
            (100, 2_010),
            (200, 2_650),
            (400, 3_150),
            (1_000, 3_820),
            (2_000, 4_840),
            (4_000, 6_230),
            (6_000, 7_530),
            (8_000, 8_950),
            (10_021, 10_830),
        ]),
        zones: zones(&zone_table, 63, 113),
    }
}

/// Seagate Barracuda ST32171W, 2 GB.
pub(crate) fn barracuda_st32171() -> DriveModel {
    let zone_table = [
        (1_127, 186),
        (2_352, 185),
        (2_761, 177),
        (3_098, 170),
        (3_387, 163),
        (3_700, 157),
        (4_013, 148),
        (4_326, 141),
        (4_615, 135),
        (4_928, 126),
        (5_171, 119),
    ];
    DriveModel {
        rotation_rpm: 7_200,
        surfaces: 5,
        head_switch_us: 100,
        miss_overhead_us: 613,
        hit_overhead_us: 82,
        interface_bytes_per_s: 40 * MB_PER_S,
        cpu_ns_per_sector: 0,
        order: ServiceOrder::C_LOOK,
        buffer: buffer(3, 281, 281),
        seek: table(&[
            (1, 1_940),
            (5, 2_180),
            (10, 2_350),
            (50, 3_770),
            (100, 4_160),
            (200, 5_310),
            (400, 5_710),
            (1_000, 8_110),
            (2_000, 10_090),
            (3_000, 12_470),
            (4_000, 14_620),
            (4_986, 16_680),
        ]),
        zones: zones(&zone_table, 37, 52),
    }
}

/// Seagate Cheetah 9LP, 9 GB. Its zones are not published, only the ends of their range: ten of
/// equal width between. Skew falls from 97 to 87 sectors, which is what its sustained rates ask
/// for. The number of segments is not published: three fit into 1 MB.
pub(crate) fn cheetah_9lp() -> DriveModel {
    let even = even_zones(10, 6_962, 254, 167);
    let zones = (0..)
        .zip(even)
        .map(|(zone, (last_cylinder, track_sectors))| Zone {
            last_cylinder,
            track_sectors,
            track_skew: 97 - 10 * zone / 9,
            cylinder_skew: 133 - 14 * zone / 9,
        });
    DriveModel {
        rotation_rpm: 10_045,
        surfaces: 12,
        head_switch_us: 30,
        miss_overhead_us: 284,
        hit_overhead_us: 66,
        interface_bytes_per_s: 80 * MB_PER_S,
        cpu_ns_per_sector: 0,
        order: ServiceOrder::C_LOOK,
        buffer: buffer(3, 561, 561),
        seek: table(&[
            (1, 830),
            (5, 1_270),
            (10, 1_450),
            (50, 1_800),
            (100, 2_150),
            (200, 2_520),
            (400, 3_050),
            (1_000, 4_120),
            (2_000, 5_280),
            (4_000, 7_420),
            (6_000, 9_700),
            (6_894, 10_630),
        ]),
        zones: zones.collect(),
    }
}

/// Maxtor Atlas 10K V, 300 GB. Its zones and skews are not published: one zone of the mean track,
/// and skews that just cover a change of heads and a seek over one cylinder. Its buffer is
/// published as 2048 segments of 128 sectors with 512 read ahead: 512 segments of 512.
pub(crate) fn atlas_10k_v() -> DriveModel {
    DriveModel {
        rotation_rpm: 10_001,
        surfaces: 8,
        head_switch_us: 116,
        miss_overhead_us: 0,
        hit_overhead_us: 102,
        interface_bytes_per_s: 320 * MB_PER_S,
        cpu_ns_per_sector: 0,
        order: ServiceOrder::C_LOOK,
        buffer: buffer(512, 512, 512),
        seek: table(&[
            (1, 530),
            (2, 660),
            (28, 1_110),
            (80, 1_290),
            (160, 1_390),
            (420, 1_700),
            (940, 1_850),
            (3_000, 2_250),
            (5_600, 2_890),
            (8_200, 3_260),
            (18_000, 4_250),
            (44_000, 6_310),
            (70_000, 8_310),
            (80_000, 9_570),
        ]),
        zones: zones(&[(80_511, 909)], 18, 81),
    }
}

/// HP 97560, the drive of the literature of the 1990s (Ruemmler and Wilkes). Skews cover its track
/// switch of 1.6 ms and a seek over one cylinder; 128 KB of buffer are recalled, not published.
pub(crate) fn hp_97560() -> DriveModel {
    DriveModel {
        rotation_rpm: 4_002,
        surfaces: 19,
        head_switch_us: 1_600,
        miss_overhead_us: 2_200,
        hit_overhead_us: 2_200,
        interface_bytes_per_s: 10 * MB_PER_S,
        cpu_ns_per_sector: 0,
        order: ServiceOrder::C_LOOK,
        buffer: buffer(1, 256, 256),
        seek: SeekCurve::Hpl {
            short_cylinders_max: 383,
            short_us: 3_240,
            root_us: 400,
            long_us: 8_000,
            cylinder_us: 8,
        },
        zones: zones(&[(1_961, 72)], 8, 18),
    }
}

/// The Quantum Fireball of the ext2 paper (2000): 10 GB, 7200 rpm, IDE. Its own data are not
/// published; the IBM DNES is of the same year, size and speed, and the only such set that sustains
/// the paper's 12.5 MB/s everywhere. UDMA/66; 1900 KiB of buffer as in the drive's boot log.
pub(crate) fn fireball() -> DriveModel {
    DriveModel {
        interface_bytes_per_s: 66 * MB_PER_S,
        buffer: buffer(7, 542, 511),
        ..ibm_dnes()
    }
}

/// The same with DMA switched off: 0.15 ms of processor for every sector.
pub(crate) fn fireball_pio() -> DriveModel {
    DriveModel {
        cpu_ns_per_sector: 150_000,
        ..fireball()
    }
}

/// Maxtor DiamondMax Plus 8, 40 GB, 7200 rpm, 2 MB. Its seek and media rates are not published:
/// 0.9 / 9.4 / 20 ms and 58 to 30 MB/s are orders of magnitude, to be treated as free. Changing
/// heads takes about a millisecond, as in drives around it.
pub(crate) fn diamondmax() -> DriveModel {
    DriveModel {
        rotation_rpm: 7_200,
        surfaces: 2,
        head_switch_us: 900,
        miss_overhead_us: 250,
        hit_overhead_us: 80,
        interface_bytes_per_s: 133 * MB_PER_S,
        cpu_ns_per_sector: 0,
        order: ServiceOrder::C_LOOK,
        buffer: buffer(8, 512, 512),
        seek: SeekCurve::Lee {
            us_min: 900,
            us_mean: 9_400,
            us_max: 20_000,
        },
        zones: zones(&even_zones(16, 56_072, 944, 488), 118, 140),
    }
}

/// Seagate Barracuda 7200.11, 1 TB: 8.5 ms mean seek and 105 MB/s sustained at the outside (Wu);
/// shortest and longest seek, the ratio of outside to inside and the skews are assumed.
pub(crate) fn barracuda_7200_11() -> DriveModel {
    DriveModel {
        rotation_rpm: 7_200,
        surfaces: 8,
        head_switch_us: 800,
        miss_overhead_us: 100,
        hit_overhead_us: 50,
        interface_bytes_per_s: 300 * MB_PER_S,
        cpu_ns_per_sector: 0,
        order: ServiceOrder::C_LOOK,
        buffer: buffer(16, 2_048, 1_024),
        seek: SeekCurve::Lee {
            us_min: 800,
            us_mean: 8_500,
            us_max: 18_000,
        },
        zones: zones(&even_zones(20, 169_000, 1_930, 960), 240, 280),
    }
}
