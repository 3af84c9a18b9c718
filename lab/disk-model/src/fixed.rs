//! A disk of two numbers: every request takes an access time, and its bytes at a rate.
//!
//! Where a request lies does not matter, and requests are served one at a time in order of arrival.
//! It is the disk of arithmetic: "8 ms and 100 MB/s" on the back of an envelope. With
//! `contiguous_is_free` a request that begins where the last one ended pays for its bytes only.

use serde::{Deserialize, Serialize};

use crate::limits::{ModelError, within_rate, within_us};
use crate::mechanism::Request;
use crate::order::ServiceOrder;
use crate::serial::{Serial, Served, Service};
use crate::time_scale::TimeScale;

/// A disk of two numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FixedModel {
    /// Microseconds that every request takes before its bytes come.
    pub access_us: u64,
    /// Bytes per second.
    pub bytes_per_s: u64,
    /// Whether a request that begins where the last one ended is spared the access time.
    #[serde(default)]
    pub contiguous_is_free: bool,
}

impl FixedModel {
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        within_us("access_us", self.access_us)?;
        within_rate("bytes_per_s", self.bytes_per_s)
    }
}

/// The state of the mechanism.
#[derive(Clone, Debug)]
pub struct Fixed {
    model: FixedModel,
    /// Where the last request ended; `None` before the first.
    head: Option<u64>,
}

impl Fixed {
    /// An idle disk with its waiting requests. Runs in model time.
    pub(crate) fn with_line(model: FixedModel) -> Serial<Self> {
        Serial::new(Self { model, head: None }, ServiceOrder::Fifo, |real_ns| {
            real_ns
        })
    }
}

impl Service for Fixed {
    fn serve(&mut self, _start_ns: u64, request: &Request) -> Served {
        let offset = request.offset.get();
        let is_free = self.model.contiguous_is_free && self.head == Some(offset);
        let access_ns = if is_free {
            0
        } else {
            self.model.access_us.saturating_mul(1_000)
        };
        let length = request.length.get();
        let transfer_ns = TimeScale::REAL.time_for(length, self.model.bytes_per_s);
        self.head = Some(offset.saturating_add(length));
        Served {
            ns: access_ns.saturating_add(transfer_ns),
            is_seek: !is_free,
        }
    }

    fn head(&self) -> u64 {
        self.head.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DiskModel;
    use ahead_units::{ByteLength, ByteOffset};

    fn theory() -> FixedModel {
        let DiskModel::Fixed(model) = DiskModel::theory() else {
            unreachable!("the theory preset has two numbers")
        };
        model
    }

    fn took_ns(model: FixedModel, offsets: [u64; 2], length: u64) -> [u64; 2] {
        let mut fixed = Fixed { model, head: None };
        offsets.map(|offset| {
            let request = Request {
                id: 0,
                offset: ByteOffset::new(offset),
                length: ByteLength::new(length),
            };
            fixed.serve(0, &request).ns
        })
    }

    /// The table of the mail "512KB default readahead size" (2010): KiB per request, milliseconds
    /// and KiB/s with two decimals, as printed.
    #[test]
    fn the_table_of_2010_comes_out_to_the_last_digit() {
        let table = [
            (4, 804, 49_757),
            (8, 808, 99_033),
            (16, 816, 196_169),
            (32, 831, 384_962),
            (64, 862, 742_029),
            (128, 925, 1_383_784),
            (256, 1_050, 2_438_095),
            (512, 1_300, 3_938_462),
            (1024, 1_800, 5_688_889),
            (2048, 2_800, 7_314_286),
            (4096, 4_800, 8_533_333),
        ];
        for (kib, ms, rate) in table {
            let [ns, _] = took_ns(theory(), [0, 0], kib << 10);
            // The table rounds 8.625 to 8.62, as C does: half to even.
            let rounded_ms = if ns % 10_000 == 5_000 && (ns / 10_000) % 2 == 0 {
                ns / 10_000
            } else {
                (ns + 5_000) / 10_000
            };
            assert_eq!(rounded_ms, ms, "{kib} KiB took {ns} ns");
            let rounded_rate = (kib * 100_000_000_000 + ns / 2) / ns;
            assert_eq!(rounded_rate, rate, "{kib} KiB in {ns} ns");
        }
    }

    #[test]
    fn the_next_bytes_cost_an_access_too_unless_they_are_free() {
        let length = 1 << 20;
        assert_eq!(took_ns(theory(), [0, length], length), [18_000_000; 2]);
        let free = FixedModel {
            contiguous_is_free: true,
            ..theory()
        };
        assert_eq!(
            took_ns(free.clone(), [0, length], length),
            [18_000_000, 10_000_000]
        );
        assert_eq!(took_ns(free, [0, 0], length), [18_000_000; 2]);
    }
}
