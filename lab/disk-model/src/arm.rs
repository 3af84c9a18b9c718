//! One arm over one spinning surface: one request at a time, and getting there costs more than
//! reading.
//!
//! What a request costs, from where the last one ended (the head):
//!
//! * **contiguous**: transfer only; the track buffer already has what follows.
//! * **a gap ahead** that passes under the head sooner than a seek would take: the gap, at media
//!   rate, plus transfer.
//! * **anything else**: seek + half a turn + transfer, where
//!   `seek = min + (max - min) · sqrt(distance / capacity)`.
//!
//! Which waiting request is next is the [`ServiceOrder`], in `serial`.

use serde::{Deserialize, Serialize};

use crate::limits::{ModelError, within, within_rate, within_us};
use crate::mechanism::Request;
use crate::order::ServiceOrder;
use crate::serial::{Serial, Served, Service};
use crate::time_scale::TimeScale;

/// A rotating disk with one arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ArmModel {
    /// Bytes per second that pass under the head.
    pub media_bytes_per_s: u64,
    /// Shortest seek, in microseconds.
    pub seek_us_min: u64,
    /// Full-stroke seek, in microseconds. Between the two a seek grows with the square root of its
    /// distance, because the arm accelerates for half of the way and brakes for the rest.
    pub seek_us_max: u64,
    /// Revolutions per minute. Every positioning is charged half a turn, the mean, instead of the
    /// true angle: the mean over many requests is the same, and a run can be repeated exactly.
    pub rotation_rpm: u64,
    /// Order of service.
    pub order: ServiceOrder,
}

impl ArmModel {
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        within_rate("media_bytes_per_s", self.media_bytes_per_s)?;
        within_us("seek_us_max", self.seek_us_max)?;
        let expected = "at most seek_us_max";
        within(
            "seek_us_min",
            self.seek_us_min,
            0,
            self.seek_us_max,
            expected,
        )?;
        within(
            "rotation_rpm",
            self.rotation_rpm,
            1,
            1_000_000,
            "from 1 to 1000000",
        )?;
        self.order.check()
    }
}

/// The state of the mechanism.
#[derive(Clone, Debug)]
pub struct ArmMechanism {
    model: ArmModel,
    scale: TimeScale,
    capacity_bytes: u64,
    half_turn_ns: u64,
    /// Where the last request ended, in bytes.
    head: u64,
}

/// What it takes to bring the head to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Positioning {
    ns: u64,
    is_seek: bool,
}

impl Service for ArmMechanism {
    fn serve(&mut self, _start_ns: u64, request: &Request) -> Served {
        let offset = request.offset.get();
        let positioning = self.positioning(offset);
        let transfer_ns = self
            .scale
            .time_for(request.length.get(), self.model.media_bytes_per_s);
        self.head = offset.saturating_add(request.length.get());
        Served {
            ns: positioning.ns.saturating_add(transfer_ns),
            is_seek: positioning.is_seek,
        }
    }

    fn head(&self) -> u64 {
        self.head
    }
}

impl ArmMechanism {
    /// An idle arm at offset 0.
    fn new(model: ArmModel, capacity_bytes: u64, scale: TimeScale) -> Self {
        Self {
            half_turn_ns: scale.time_for(30, model.rotation_rpm),
            model,
            scale,
            capacity_bytes: capacity_bytes.max(1),
            head: 0,
        }
    }

    /// An idle arm with its waiting requests.
    pub(crate) fn with_line(
        model: ArmModel,
        capacity_bytes: u64,
        scale: TimeScale,
    ) -> Serial<Self> {
        let order = model.order;
        let arm = Self::new(model, capacity_bytes, scale);
        Serial::new(arm, order, |real_ns| scale.apply(real_ns))
    }

    fn positioning(&self, offset: u64) -> Positioning {
        let distance = offset.abs_diff(self.head);
        if distance == 0 {
            return Positioning {
                ns: 0,
                is_seek: false,
            };
        }
        let seek_ns = self.seek_ns(distance).saturating_add(self.half_turn_ns);
        if offset > self.head {
            let passing_ns = self.scale.time_for(distance, self.model.media_bytes_per_s);
            if passing_ns < seek_ns {
                return Positioning {
                    ns: passing_ns,
                    is_seek: false,
                };
            }
        }
        Positioning {
            ns: seek_ns,
            is_seek: true,
        }
    }

    fn seek_ns(&self, distance: u64) -> u64 {
        // sqrt(distance / capacity) as a fraction of 2^16, in whole numbers.
        let share =
            (u128::from(distance.min(self.capacity_bytes)) << 32) / u128::from(self.capacity_bytes);
        let root = u64::try_from(share.isqrt()).unwrap_or(1 << 16);
        let span_ns = (self.model.seek_us_max - self.model.seek_us_min).saturating_mul(1_000);
        let real_ns = self.model.seek_us_min.saturating_mul(1_000) + ((span_ns * root) >> 16);
        self.scale.apply(real_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DiskModel;

    const GIB: u64 = 1 << 30;

    fn hdd() -> ArmMechanism {
        let DiskModel::Arm(model) = DiskModel::hdd().with_order(ServiceOrder::Fifo) else {
            unreachable!("the hdd preset has an arm")
        };
        ArmMechanism::new(model, 8 * GIB, TimeScale::REAL)
    }

    #[test]
    fn a_contiguous_request_costs_its_transfer_only() {
        let arm = hdd();
        assert_eq!(
            arm.positioning(0),
            Positioning {
                ns: 0,
                is_seek: false
            }
        );
    }

    #[test]
    fn a_small_gap_ahead_is_passed_and_the_same_gap_behind_is_a_seek() {
        let mut arm = hdd();
        arm.head = GIB;
        let ahead = arm.positioning(GIB + 100_000);
        assert_eq!(
            ahead,
            Positioning {
                ns: 1_000_000,
                is_seek: false
            }
        );
        let behind = arm.positioning(GIB - 100_000);
        assert!(behind.is_seek);
        assert!(behind.ns > 1_500_000 + 4_166_666);
    }

    #[test]
    fn a_full_stroke_takes_the_longest_seek_and_half_a_turn() {
        let arm = hdd();
        let far = arm.positioning(8 * GIB);
        assert_eq!(
            far,
            Positioning {
                ns: 6_200_000 + 4_166_667,
                is_seek: true
            }
        );
    }
}
