//! One step: requests go out by its rule, and what came back is noted with its time.

use std::collections::HashSet;
use std::io;

use super::plan::{MeasureStep, REQUESTS_MIN, RequestOrder};
use super::statistics::{Sample, StepResult};

/// Requests of a step at most: enough for every percentile, and its memory stays small.
const REQUESTS_MAX: u64 = 200_000;

/// Who answers requests, and says what time it is.
pub trait RequestReader {
    /// Nanoseconds since some moment of its own.
    fn now_ns(&self) -> u64;

    /// Gets ready for `depth` requests of `request_bytes` at once. Nothing is on its way then.
    ///
    /// # Errors
    /// There is no memory for them, or the kernel refuses.
    fn prepare(&mut self, depth: u32, request_bytes: u64) -> io::Result<()>;

    /// Begins a read. It may start as late as the next [`wait`](Self::wait).
    ///
    /// # Errors
    /// It cannot be begun.
    fn submit(&mut self, offset: u64, bytes: u64, tag: u32) -> io::Result<()>;

    /// Waits for at least one answer, and appends all that are there.
    ///
    /// # Errors
    /// It cannot wait. That a read failed is an answer.
    fn wait(&mut self, answers: &mut Vec<ReadAnswer>) -> io::Result<()>;
}

/// What became of a request.
#[derive(Debug)]
pub struct ReadAnswer {
    /// The tag of its [`RequestReader::submit`].
    pub tag: u32,
    /// When it came.
    pub at_ns: u64,
    /// Bytes read, or why there are none.
    pub bytes: io::Result<u64>,
}

/// A step could not be run.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {bytes} bytes at {offset}: {source}")]
pub struct StepError {
    /// Where.
    pub offset: u64,
    /// How much.
    pub bytes: u64,
    /// Why.
    pub source: io::Error,
}

/// Runs `step` to its end, or until `is_stopped` says so. `seed` shuffles its places.
///
/// # Errors
/// The first read that failed, or came back short; nothing is on its way then.
pub fn run(
    reader: &mut impl RequestReader,
    step: &MeasureStep,
    seed: u64,
    is_stopped: &dyn Fn() -> bool,
) -> Result<StepResult, StepError> {
    let mut places = Places::new(step, seed);
    let failed = |offset: u64, source: io::Error| StepError {
        offset,
        bytes: step.request_bytes,
        source,
    };
    reader
        .prepare(step.depth, step.request_bytes)
        .map_err(|error| failed(step.start, error))?;
    let began_ns = reader.now_ns();
    // By tag: where the request lies, and when it was begun.
    let mut begun: Vec<(u64, u64)> = vec![(0, 0); step.depth as usize];
    let mut free: Vec<u32> = (0..step.depth).collect();
    let mut samples: Vec<Sample> = Vec::new();
    let mut answers = Vec::new();
    let mut asked = 0_u64;
    let mut requests = 0_u64;
    let mut ended_ns = None;
    let mut failure = None;
    loop {
        while failure.is_none()
            && ended_ns.is_none()
            && let Some(tag) = free.last().copied()
        {
            let now_ns = reader.now_ns();
            let is_enough = now_ns - began_ns >= step.time_ns_max
                || asked.saturating_add(step.request_bytes) > step.bytes_max
                || is_stopped();
            if requests >= REQUESTS_MAX || (is_enough && requests >= REQUESTS_MIN) {
                ended_ns = Some(now_ns);
                break;
            }
            let offset = places.next();
            if let Err(error) = reader.submit(offset, step.request_bytes, tag) {
                failure = Some(failed(offset, error));
                break;
            }
            begun[tag as usize] = (offset, now_ns);
            free.pop();
            asked += step.request_bytes;
            requests += 1;
        }
        if free.len() == step.depth as usize {
            break;
        }
        reader
            .wait(&mut answers)
            .map_err(|error| failed(step.start, error))?;
        for answer in answers.drain(..) {
            let (offset, begun_ns) = begun[answer.tag as usize];
            free.push(answer.tag);
            let short = || io::Error::new(io::ErrorKind::UnexpectedEof, "it ends there");
            let read = answer.bytes.and_then(|bytes| match bytes {
                bytes if bytes == step.request_bytes => Ok(bytes),
                _ => Err(short()),
            });
            match read {
                Ok(_) => samples.push(Sample {
                    begun_ns: begun_ns - began_ns,
                    ended_ns: answer.at_ns - began_ns,
                }),
                Err(error) => {
                    failure.get_or_insert_with(|| failed(offset, error));
                }
            }
        }
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    let ended_ns = ended_ns.map_or(u64::MAX, |ended_ns| ended_ns - began_ns);
    Ok(StepResult::of(step.clone(), &samples, ended_ns))
}

/// Places of requests. Random ones do not come twice before half of them have come: a disk keeps what it
/// has just read.
struct Places<'a> {
    step: &'a MeasureStep,
    random: fastrand::Rng,
    used: HashSet<u64>,
    next: u64,
}

impl<'a> Places<'a> {
    fn new(step: &'a MeasureStep, seed: u64) -> Self {
        Self {
            step,
            random: fastrand::Rng::with_seed(seed),
            used: HashSet::new(),
            next: 0,
        }
    }

    fn next(&mut self) -> u64 {
        let places = self.step.places().max(1);
        let place = match self.step.order {
            RequestOrder::Sequential => {
                let place = self.next % places;
                self.next += 1;
                place
            }
            RequestOrder::Random => {
                if self.used.len() as u64 >= places.div_ceil(2) {
                    self.used.clear();
                }
                loop {
                    let place = self.random.u64(0..places);
                    if self.used.insert(place) {
                        break place;
                    }
                }
            }
        };
        self.step.start + place * self.step.request_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::plan::StepPurpose;

    /// Answers every request after 1 µs each, one at a time, and fails or shortens one of them.
    #[derive(Default)]
    struct Serial {
        now_ns: u64,
        waiting: Vec<(u32, u64)>,
        seen: Vec<u64>,
        depth_max: usize,
        fails_at: Option<usize>,
        short_at: Option<usize>,
    }

    impl RequestReader for Serial {
        fn now_ns(&self) -> u64 {
            self.now_ns
        }
        fn prepare(&mut self, _: u32, _: u64) -> io::Result<()> {
            Ok(())
        }
        fn submit(&mut self, offset: u64, bytes: u64, tag: u32) -> io::Result<()> {
            self.seen.push(offset);
            self.waiting.push((tag, bytes));
            self.depth_max = self.depth_max.max(self.waiting.len());
            Ok(())
        }
        fn wait(&mut self, answers: &mut Vec<ReadAnswer>) -> io::Result<()> {
            self.now_ns += 1_000;
            let (tag, bytes) = self.waiting.remove(0);
            let number = self.seen.len();
            answers.push(ReadAnswer {
                tag,
                at_ns: self.now_ns,
                bytes: match () {
                    () if self.fails_at.is_some_and(|at| number >= at) => {
                        Err(io::ErrorKind::NotFound.into())
                    }
                    () if self.short_at.is_some_and(|at| number >= at) => Ok(bytes / 2),
                    () => Ok(bytes),
                },
            });
            Ok(())
        }
    }

    fn step(order: RequestOrder, depth: u32) -> MeasureStep {
        MeasureStep {
            purpose: StepPurpose::Depth,
            order,
            start: 8192,
            end: 8192 + 4096 * 100,
            request_bytes: 4096,
            depth,
            time_ns_max: 60_000,
            bytes_max: 1 << 30,
        }
    }

    fn run_on(reader: &mut Serial, step: &MeasureStep) -> Result<StepResult, StepError> {
        run(reader, step, 1, &|| false)
    }

    #[test]
    fn random_places_are_aligned_inside_and_do_not_come_twice() {
        let mut reader = Serial::default();
        let step = step(RequestOrder::Random, 1);
        let result = run_on(&mut reader, &step).unwrap();
        assert_eq!((result.requests, reader.seen.len()), (60, 60));
        assert!(
            reader
                .seen
                .iter()
                .all(|at| at % 4096 == 0 && (step.start..step.end).contains(at))
        );
        let mut first = reader.seen[..50].to_vec();
        first.sort_unstable();
        first.dedup();
        assert_eq!(first.len(), 50, "half of all places come before any again");
    }

    #[test]
    fn sequential_places_follow_each_other_and_begin_again() {
        let mut reader = Serial::default();
        let mut step = step(RequestOrder::Sequential, 2);
        step.end = step.start + 3 * 4096;
        run_on(&mut reader, &step).unwrap();
        assert_eq!(reader.seen[..5], [8192, 12288, 16384, 8192, 12288]);
    }

    #[test]
    fn the_depth_is_kept_and_all_answers_are_waited_for() {
        for depth in [1, 7, 64] {
            let mut reader = Serial::default();
            run_on(&mut reader, &step(RequestOrder::Random, depth)).unwrap();
            assert_eq!(reader.depth_max, depth as usize);
            assert!(reader.waiting.is_empty());
        }
    }

    #[test]
    fn bytes_and_an_order_to_stop_end_a_step() {
        let mut reader = Serial::default();
        let few = MeasureStep {
            bytes_max: 10 * 4096,
            ..step(RequestOrder::Random, 1)
        };
        assert_eq!(run_on(&mut reader, &few).unwrap().requests, 10);
        let stopped = run(&mut reader, &few, 1, &|| true).unwrap();
        assert_eq!(stopped.requests, REQUESTS_MIN);
    }

    /// A device that was pulled out, and a file that was cut short.
    #[test]
    fn a_failed_or_short_read_ends_the_step_with_its_place_and_nothing_on_its_way() {
        for (fails_at, short_at) in [(Some(20), None), (None, Some(20))] {
            let mut reader = Serial {
                fails_at,
                short_at,
                ..Serial::default()
            };
            let error = run_on(&mut reader, &step(RequestOrder::Random, 8)).unwrap_err();
            assert!(reader.seen.contains(&error.offset));
            assert!(reader.waiting.is_empty());
        }
    }
}
