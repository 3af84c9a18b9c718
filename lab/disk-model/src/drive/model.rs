//! What a mechanical drive is made of. Data only, at real speed; the parameter sets are in
//! [`sets`](super::sets).

use serde::{Deserialize, Serialize};

use super::seek::SeekCurve;
use crate::limits::{ModelError, within, within_rate, within_us};
use crate::order::ServiceOrder;

/// Bytes in a sector.
pub const SECTOR_BYTES: u64 = 512;

/// A mechanical drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DriveModel {
    /// Revolutions per minute.
    pub rotation_rpm: u64,
    /// Surfaces with a head each; one head works at a time.
    pub surfaces: u64,
    /// Microseconds to change from one surface to the next.
    pub head_switch_us: u64,
    /// Microseconds before the arm starts to move for a request.
    pub miss_overhead_us: u64,
    /// Microseconds before the buffer starts to answer a request.
    pub hit_overhead_us: u64,
    /// Bytes per second between drive and host.
    pub interface_bytes_per_s: u64,
    /// Nanoseconds of the host's processor for each sector that comes: what programmed I/O takes.
    /// 0 for DMA. The drive does not wait for it.
    #[serde(default)]
    pub cpu_ns_per_sector: u64,
    /// ServiceOrder of service.
    pub order: ServiceOrder,
    /// The buffer inside the drive; without one nothing is read ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<BufferModel>,
    /// Seek time over distance.
    pub seek: SeekCurve,
    /// From the outermost cylinder, where the first sector is, inwards.
    pub zones: Vec<Zone>,
}

/// Neighbouring cylinders with tracks of the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Zone {
    /// Its last cylinder, counted from the outermost of the drive, 0.
    pub last_cylinder: u64,
    /// Sectors of a track.
    pub track_sectors: u64,
    /// Sectors by which a track begins later than the one before it on its cylinder.
    pub track_skew: u64,
    /// Sectors by which a cylinder's first track begins later than the last of the one before.
    pub cylinder_skew: u64,
}

/// The buffer inside a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BufferModel {
    /// Streams that it can hold.
    pub segments: u64,
    /// Sectors of each.
    pub segment_sectors: u64,
    /// Sectors that the drive reads on behind a request when nothing else is to do.
    pub read_ahead_sectors: u64,
}

impl DriveModel {
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        within(
            "rotation_rpm",
            self.rotation_rpm,
            1,
            1_000_000,
            "from 1 to 1000000",
        )?;
        within("surfaces", self.surfaces, 1, 256, "from 1 to 256")?;
        within_us("head_switch_us", self.head_switch_us)?;
        within_us("miss_overhead_us", self.miss_overhead_us)?;
        within_us("hit_overhead_us", self.hit_overhead_us)?;
        within_rate("interface_bytes_per_s", self.interface_bytes_per_s)?;
        within(
            "cpu_ns_per_sector",
            self.cpu_ns_per_sector,
            0,
            1 << 30,
            "at most a second",
        )?;
        self.order.check()?;
        self.seek.check()?;
        if let Some(buffer) = &self.buffer {
            within(
                "buffer.segments",
                buffer.segments,
                1,
                1 << 16,
                "from 1 to 65536",
            )?;
            let (segment, ahead) = (buffer.segment_sectors, buffer.read_ahead_sectors);
            within(
                "buffer.segment_sectors",
                segment,
                1,
                1 << 24,
                "from 1 to 2^24",
            )?;
            let expected = "at most segment_sectors";
            within("buffer.read_ahead_sectors", ahead, 0, segment, expected)?;
        }
        let mut first = 0;
        for zone in &self.zones {
            let expected = "ascending, below 2^24";
            within(
                "zones.last_cylinder",
                zone.last_cylinder,
                first,
                (1 << 24) - 1,
                expected,
            )?;
            let expected = "from 1 to 2^20";
            within(
                "zones.track_sectors",
                zone.track_sectors,
                1,
                1 << 20,
                expected,
            )?;
            let below = zone.track_sectors - 1;
            within(
                "zones.track_skew",
                zone.track_skew,
                0,
                below,
                "less than a track",
            )?;
            within(
                "zones.cylinder_skew",
                zone.cylinder_skew,
                0,
                below,
                "less than a track",
            )?;
            first = zone.last_cylinder + 1;
        }
        if self.zones.is_empty() {
            return Err(ModelError::Figure {
                field: "zones",
                expected: "a list of at least one zone",
            });
        }
        Ok(())
    }
}
