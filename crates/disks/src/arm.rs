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
//! Which waiting request is next is the [`Order`]. The next one starts at the moment the previous
//! one ended, however late the caller is with asking: errors of the caller's clock do not add up.

use ahead_policy::units::Timestamp;

use crate::disk::{Completion, Request};
use crate::model::{ArmModel, Order};
use crate::time_scale::TimeScale;

/// The state of the mechanism. Moments are nanoseconds on the caller's clock.
#[derive(Clone, Debug)]
pub struct Arm {
    model: ArmModel,
    scale: TimeScale,
    capacity_bytes: u64,
    half_turn_ns: u64,
    age_ns_max: u64,
    /// Where the last request ended, in bytes.
    head: u64,
    /// In order of arrival.
    waiting: Vec<Waiting>,
    in_service: Option<(Waiting, u64)>,
    busy_ns: u64,
    seeks: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    request: Request,
    arrived_ns: u64,
}

/// What it takes to bring the head to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Positioning {
    ns: u64,
    is_seek: bool,
}

impl Arm {
    /// An idle arm at offset 0.
    pub(crate) fn new(model: ArmModel, capacity_bytes: u64, scale: TimeScale) -> Self {
        let age_ns_max = match model.order {
            Order::Fifo => u64::MAX,
            Order::CLook { age_ms_max } => scale.apply(age_ms_max.saturating_mul(1_000_000)),
        };
        Self {
            half_turn_ns: scale.time_for(30, model.rotation_rpm),
            age_ns_max,
            model,
            scale,
            capacity_bytes: capacity_bytes.max(1),
            head: 0,
            waiting: Vec::new(),
            in_service: None,
            busy_ns: 0,
            seeks: 0,
        }
    }

    pub(crate) fn submit(&mut self, now_ns: u64, request: Request) {
        self.waiting.push(Waiting {
            request,
            arrived_ns: now_ns,
        });
        if self.in_service.is_none() {
            self.start_next(now_ns);
        }
    }

    pub(crate) fn next_event_ns(&self) -> Option<u64> {
        self.in_service.as_ref().map(|&(_, end_ns)| end_ns)
    }

    /// Finishes the request in service, if there is one, and starts the next.
    pub(crate) fn finish_one(&mut self) -> Option<Completion> {
        let (done, end_ns) = self.in_service.take()?;
        self.start_next(end_ns);
        Some(Completion {
            id: done.request.id,
            arrived_at: Timestamp::new(done.arrived_ns),
            completed_at: Timestamp::new(end_ns),
        })
    }

    pub(crate) fn busy_ns(&self, now_ns: u64) -> u64 {
        let to_come = self
            .next_event_ns()
            .map_or(0, |end_ns| end_ns.saturating_sub(now_ns));
        self.busy_ns.saturating_sub(to_come)
    }

    pub(crate) fn seeks(&self) -> u64 {
        self.seeks
    }

    fn start_next(&mut self, now_ns: u64) {
        let Some(index) = self.choose(now_ns) else {
            return;
        };
        // Keeps the order of arrival, which is what the age is read from.
        let chosen = self.waiting.remove(index);
        let offset = chosen.request.offset.get();
        let positioning = self.positioning(offset);
        let transfer_ns = self
            .scale
            .time_for(chosen.request.length.get(), self.model.media_bytes_per_s);
        let service_ns = positioning.ns.saturating_add(transfer_ns);
        self.seeks += u64::from(positioning.is_seek);
        self.busy_ns = self.busy_ns.saturating_add(service_ns);
        self.head = offset.saturating_add(chosen.request.length.get());
        self.in_service = Some((chosen, now_ns.saturating_add(service_ns)));
    }

    /// Index in `waiting` of the request to serve at `now_ns`; `None` when nothing waits.
    fn choose(&self, now_ns: u64) -> Option<usize> {
        let oldest = self.waiting.first()?;
        let has_aged = now_ns.saturating_sub(oldest.arrived_ns) >= self.age_ns_max;
        if matches!(self.model.order, Order::Fifo) || has_aged {
            return Some(0);
        }
        // Offsets behind the head wait for the next sweep, which starts from the lowest.
        let sweep = |waiting: &Waiting| {
            let offset = waiting.request.offset.get();
            (offset < self.head, offset)
        };
        (0..self.waiting.len()).min_by_key(|&index| (sweep(&self.waiting[index]), index))
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
    use ahead_policy::units::{ByteLength, ByteOffset};

    const GIB: u64 = 1 << 30;

    fn hdd(order: Order) -> Arm {
        let DiskModel::Arm(model) = DiskModel::hdd().with_order(order) else {
            unreachable!("the hdd preset has an arm")
        };
        Arm::new(model, 8 * GIB, TimeScale::REAL)
    }

    fn request(id: u64, offset: u64, length: u64) -> Request {
        Request {
            id,
            offset: ByteOffset::new(offset),
            length: ByteLength::new(length),
        }
    }

    #[test]
    fn a_contiguous_request_costs_its_transfer_only() {
        let arm = hdd(Order::Fifo);
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
        let mut arm = hdd(Order::Fifo);
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
        let arm = hdd(Order::Fifo);
        let far = arm.positioning(8 * GIB);
        assert_eq!(
            far,
            Positioning {
                ns: 6_200_000 + 4_166_667,
                is_seek: true
            }
        );
    }

    #[test]
    fn c_look_sweeps_upwards_and_starts_again_from_the_lowest() {
        let mut arm = hdd(Order::CLook { age_ms_max: 60_000 });
        arm.submit(0, request(0, 4 * GIB, 4096));
        for (id, offset) in [(1, GIB), (2, 6 * GIB), (3, 2 * GIB), (4, 5 * GIB)] {
            arm.submit(0, request(id, offset, 4096));
        }
        let served: Vec<u64> = std::iter::from_fn(|| arm.finish_one())
            .map(|done| done.id)
            .collect();
        assert_eq!(served, [0, 4, 2, 1, 3]);
    }

    #[test]
    fn a_request_that_has_aged_goes_before_a_contiguous_one() {
        let mut arm = hdd(Order::CLook { age_ms_max: 1 });
        arm.submit(0, request(0, 4 * GIB, 1 << 20));
        arm.submit(0, request(1, GIB, 4096));
        arm.submit(1, request(2, 4 * GIB + (1 << 20), 4096));
        let served: Vec<u64> = std::iter::from_fn(|| arm.finish_one())
            .map(|done| done.id)
            .collect();
        assert_eq!(served, [0, 1, 2]);
    }
}
