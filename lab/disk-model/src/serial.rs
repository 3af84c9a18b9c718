//! One request at a time: what waits, who is next, and when each one starts.
//!
//! The mechanism behind it is a [`Service`] that says how long a request takes. The next one starts
//! at the moment the previous one ended, however late the caller is with asking: errors of the
//! caller's clock do not add up.

use ahead_units::Timestamp;

use crate::mechanism::{Completion, Mechanism, Request};
use crate::order::ServiceOrder;

/// A mechanism that works on one request at a time.
pub(crate) trait Service {
    /// Works on `request` from `start_ns` on. Called once for each, in order of service, with
    /// moments that never go back.
    fn serve(&mut self, start_ns: u64, request: &Request) -> Served;

    /// Where the mechanism stands, in bytes: sweeps go upwards from here.
    fn head(&self) -> u64;
}

/// How a request went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    /// How long it took.
    pub(crate) ns: u64,
    /// Whether the arm had to move.
    pub(crate) is_seek: bool,
}

/// Requests in front of one mechanism. Moments are nanoseconds on the caller's clock.
#[derive(Clone, Debug)]
pub(crate) struct Serial<S> {
    service: S,
    order: ServiceOrder,
    age_ns_max: u64,
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

impl<S: Service> Serial<S> {
    /// Nobody waits. `age_ns_of` turns the longest wait of the order into the caller's nanoseconds.
    pub(crate) fn new(service: S, order: ServiceOrder, age_ns_of: impl Fn(u64) -> u64) -> Self {
        let age_ns_max = match order {
            ServiceOrder::Fifo => u64::MAX,
            ServiceOrder::CLook { age_ms_max } => age_ns_of(age_ms_max.saturating_mul(1_000_000)),
        };
        Self {
            service,
            order,
            age_ns_max,
            waiting: Vec::new(),
            in_service: None,
            busy_ns: 0,
            seeks: 0,
        }
    }

    fn start_next(&mut self, now_ns: u64) {
        let Some(index) = self.choose(now_ns) else {
            return;
        };
        // Keeps the order of arrival, which is what the age is read from.
        let chosen = self.waiting.remove(index);
        let served = self.service.serve(now_ns, &chosen.request);
        self.seeks += u64::from(served.is_seek);
        self.busy_ns = self.busy_ns.saturating_add(served.ns);
        self.in_service = Some((chosen, now_ns.saturating_add(served.ns)));
    }

    /// Index in `waiting` of the request to serve at `now_ns`; `None` when nothing waits.
    fn choose(&self, now_ns: u64) -> Option<usize> {
        let oldest = self.waiting.first()?;
        let has_aged = now_ns.saturating_sub(oldest.arrived_ns) >= self.age_ns_max;
        if matches!(self.order, ServiceOrder::Fifo) || has_aged {
            return Some(0);
        }
        // Offsets behind the head wait for the next sweep, which starts from the lowest.
        let head = self.service.head();
        let sweep = |waiting: &Waiting| {
            let offset = waiting.request.offset.get();
            (offset < head, offset)
        };
        (0..self.waiting.len()).min_by_key(|&index| (sweep(&self.waiting[index]), index))
    }
}

impl<S: Service> Mechanism for Serial<S> {
    fn submit(&mut self, now_ns: u64, request: Request) {
        self.waiting.push(Waiting {
            request,
            arrived_ns: now_ns,
        });
        if self.in_service.is_none() {
            self.start_next(now_ns);
        }
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.in_service.as_ref().map(|&(_, end_ns)| end_ns)
    }

    /// Finishes the request in service and starts the next.
    fn finish_one(&mut self) -> Option<Completion> {
        let (done, end_ns) = self.in_service.take()?;
        self.start_next(end_ns);
        Some(Completion {
            id: done.request.id,
            arrived_at: Timestamp::new(done.arrived_ns),
            completed_at: Timestamp::new(end_ns),
        })
    }

    fn busy_ns(&self, now_ns: u64) -> u64 {
        let to_come = self
            .next_event_ns()
            .map_or(0, |end_ns| end_ns.saturating_sub(now_ns));
        self.busy_ns.saturating_sub(to_come)
    }

    fn seeks(&self) -> u64 {
        self.seeks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ahead_units::{ByteLength, ByteOffset};

    /// A nanosecond for every byte.
    #[derive(Default)]
    struct Tape {
        head: u64,
    }

    impl Service for Tape {
        fn serve(&mut self, _: u64, request: &Request) -> Served {
            self.head = request.offset.get() + request.length.get();
            Served {
                ns: request.length.get(),
                is_seek: false,
            }
        }

        fn head(&self) -> u64 {
            self.head
        }
    }

    /// Requests as (moment, offset, length), each with its index as id; the ids as served.
    fn served(order: ServiceOrder, requests: &[(u64, u64, u64)]) -> Vec<u64> {
        let mut tape = Serial::new(Tape::default(), order, |real_ns| real_ns);
        for (id, &(now_ns, offset, length)) in (0..).zip(requests) {
            let offset = ByteOffset::new(offset);
            let length = ByteLength::new(length);
            tape.submit(now_ns, Request { id, offset, length });
        }
        std::iter::from_fn(|| tape.finish_one())
            .map(|done| done.id)
            .collect()
    }

    #[test]
    fn c_look_sweeps_upwards_and_starts_again_from_the_lowest() {
        let order = ServiceOrder::CLook { age_ms_max: 60_000 };
        let requests = [
            (0, 400, 4),
            (0, 100, 4),
            (0, 600, 4),
            (0, 200, 4),
            (0, 500, 4),
        ];
        assert_eq!(served(order, &requests), [0, 4, 2, 1, 3]);
        assert_eq!(served(ServiceOrder::Fifo, &requests), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_request_that_has_aged_goes_before_a_contiguous_one() {
        let order = ServiceOrder::CLook { age_ms_max: 1 };
        let long = 2_000_000;
        let requests = [(0, 400, long), (0, 100, 4), (1, 400 + long, 4)];
        assert_eq!(served(order, &requests), [0, 1, 2]);
    }
}
