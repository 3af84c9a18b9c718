//! All steps, one after another, beside others who use the device.
//!
//! Before each step the device is looked at for a moment. While others use it we wait, longer each time; when
//! a quarter of the time has gone by in waiting, the measurement ends: it would measure the others, and be in
//! their way. A step that others disturbed heavily is repeated once; where it cannot be, it counts, and it is
//! said what was in its way. Between two steps the device rests as long as it is looked at.

use super::plan::MeasureStep;
use super::statistics::StepResult;
use super::step::{self, RequestReader, StepError};
use super::traffic::{Disturbance, OtherTraffic, TrafficCounters};

/// How long the device is looked at before a step, in nanoseconds.
const LOOK_NS: u64 = 50_000_000;
/// Longest pause while others use it.
const PAUSE_NS_MAX: u64 = 1_000_000_000;
/// Part of all time that may go by in waiting.
const WAITING_PARTS: u64 = 4;
/// Where the shuffled places of the first step come from; each step has its own.
const SEED: u64 = 0x0061_6865_6164;

/// What is around a measurement.
pub trait Surroundings {
    /// The counters of the device; `None` where it has none.
    fn counters(&mut self) -> Option<TrafficCounters>;

    /// Lets so much time go by; earlier when it is to stop.
    fn pause(&mut self, ns: u64);

    /// Whether it is to stop.
    fn is_stopped(&self) -> bool;

    /// A step begins, the `number`th of `total`, from 0.
    fn on_step(&mut self, step: &MeasureStep, number: usize, total: usize);

    /// Others use the device: we wait.
    fn on_wait(&mut self);
}

/// What all steps found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionResult {
    /// Step by step, those that were run.
    pub steps: Vec<StepResult>,
    /// What was in the way, a sentence each.
    pub notes: Vec<String>,
    /// Why it ended before its last step.
    pub ended_early: Option<String>,
}

/// Runs `steps`, which take `time_ns` together.
///
/// # Errors
/// A read that failed.
pub fn run(
    reader: &mut impl RequestReader,
    surroundings: &mut impl Surroundings,
    steps: &[MeasureStep],
    time_ns: u64,
) -> Result<SessionResult, StepError> {
    let mut result = SessionResult::default();
    let mut waiting_ns = time_ns / WAITING_PARTS;
    if surroundings.counters().is_none() {
        let note = "the device has no counters: whether others used it is not known";
        result.notes.push(note.to_owned());
    }
    for (number, step) in steps.iter().enumerate() {
        surroundings.on_step(step, number, steps.len());
        let mut is_repeated = false;
        loop {
            if !calm(reader, surroundings, &mut waiting_ns) {
                result.ended_early = Some(ended(surroundings, number, steps.len()));
                return Ok(result);
            }
            let seed = SEED.wrapping_add(number as u64);
            let found = {
                let before = surroundings.counters();
                let stop = || surroundings.is_stopped();
                let mut found = step::run(reader, step, seed, &stop)?;
                let after = surroundings.counters();
                found.others = before
                    .zip(after)
                    .map(|(before, after)| OtherTraffic::between(before, after, found.bytes));
                found
            };
            if surroundings.is_stopped() {
                result.ended_early = Some(ended(surroundings, number, steps.len()));
                return Ok(result);
            }
            let others = found.others.unwrap_or_default();
            match others.disturbance(found.requests) {
                Disturbance::Heavy if !is_repeated && waiting_ns > found.elapsed_ns => {
                    is_repeated = true;
                    waiting_ns -= found.elapsed_ns;
                    continue;
                }
                Disturbance::None => {}
                _ => result.notes.push(format!(
                    "others read {} KiB and wrote {} KiB during {}{}",
                    others.read_bytes >> 10,
                    others.written_bytes >> 10,
                    step.name(),
                    if is_repeated {
                        ", also when it was repeated"
                    } else {
                        ""
                    }
                )),
            }
            result.steps.push(found);
            break;
        }
    }
    Ok(result)
}

fn ended(surroundings: &impl Surroundings, number: usize, total: usize) -> String {
    let why = if surroundings.is_stopped() {
        "interrupted"
    } else {
        "others kept using the device"
    };
    format!("{why}: {number} of {total} steps were run")
}

/// Waits until others leave the device alone. `false`: they do not, or it is to stop.
fn calm(
    reader: &impl RequestReader,
    surroundings: &mut impl Surroundings,
    waiting_ns: &mut u64,
) -> bool {
    let mut look_ns = LOOK_NS;
    loop {
        let Some(before) = surroundings.counters() else {
            return !surroundings.is_stopped();
        };
        let began_ns = reader.now_ns();
        surroundings.pause(look_ns);
        let elapsed_ns = (reader.now_ns() - began_ns).max(look_ns);
        if surroundings.is_stopped() {
            return false;
        }
        let after = surroundings.counters().unwrap_or(before);
        if !OtherTraffic::between(before, after, 0).is_busy(elapsed_ns) {
            return true;
        }
        surroundings.on_wait();
        if *waiting_ns < elapsed_ns {
            return false;
        }
        *waiting_ns -= elapsed_ns;
        look_ns = (look_ns * 2).min(PAUSE_NS_MAX);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io;
    use std::rc::Rc;

    use super::*;
    use crate::measurement::plan::{MeasureBounds, steps};
    use crate::measurement::step::ReadAnswer;

    /// A device that takes 100 µs for everything, with others beside us from one moment to another.
    #[derive(Default)]
    struct Shared {
        now_ns: u64,
        read_bytes: u64,
        others_from_ns: u64,
        others_to_ns: u64,
        has_no_counters: bool,
        stops_at_ns: Option<u64>,
        waits: u64,
    }

    #[derive(Clone)]
    struct Device(Rc<RefCell<Shared>>, Vec<(u32, u64)>);

    impl Device {
        fn new(shared: Shared) -> Self {
            Self(Rc::new(RefCell::new(shared)), Vec::new())
        }

        fn run(&self) -> SessionResult {
            let bounds = MeasureBounds {
                time_ns: 10_000_000_000,
                bytes: 1 << 40,
                size_bytes: 1 << 30,
                is_device: true,
            };
            run(
                &mut self.clone(),
                &mut self.clone(),
                &steps(&bounds),
                bounds.time_ns,
            )
            .unwrap()
        }
    }

    impl RequestReader for Device {
        fn now_ns(&self) -> u64 {
            self.0.borrow().now_ns
        }
        fn prepare(&mut self, _: u32, _: u64) -> io::Result<()> {
            Ok(())
        }
        fn submit(&mut self, _: u64, bytes: u64, tag: u32) -> io::Result<()> {
            self.1.push((tag, bytes));
            Ok(())
        }
        fn wait(&mut self, answers: &mut Vec<ReadAnswer>) -> io::Result<()> {
            let mut shared = self.0.borrow_mut();
            shared.now_ns += 100_000;
            for (tag, bytes) in self.1.drain(..) {
                shared.read_bytes += bytes;
                answers.push(ReadAnswer {
                    tag,
                    at_ns: shared.now_ns,
                    bytes: Ok(bytes),
                });
            }
            Ok(())
        }
    }

    impl Surroundings for Device {
        fn counters(&mut self) -> Option<TrafficCounters> {
            let shared = self.0.borrow();
            let end_ns = shared.now_ns.min(shared.others_to_ns);
            // A write of others every 200 µs.
            let writes = end_ns.saturating_sub(shared.others_from_ns) / 200_000;
            (!shared.has_no_counters).then_some(TrafficCounters {
                read_bytes: shared.read_bytes,
                written_bytes: writes * 4096,
                writes,
            })
        }
        fn pause(&mut self, ns: u64) {
            self.0.borrow_mut().now_ns += ns;
        }
        fn is_stopped(&self) -> bool {
            let shared = self.0.borrow();
            shared.stops_at_ns.is_some_and(|at| shared.now_ns >= at)
        }
        fn on_step(&mut self, _: &MeasureStep, _: usize, _: usize) {}
        fn on_wait(&mut self) {
            self.0.borrow_mut().waits += 1;
        }
    }

    #[test]
    fn alone_every_step_is_run_once_and_nothing_is_said() {
        let device = Device::new(Shared::default());
        let result = device.run();
        assert_eq!(result.steps.len(), 23);
        assert_eq!((result.notes.len(), result.ended_early), (0, None));
        assert_eq!(device.0.borrow().waits, 0);
    }

    /// A job of a second at the beginning.
    #[test]
    fn a_short_load_is_waited_for() {
        let device = Device::new(Shared {
            others_to_ns: 1_000_000_000,
            ..Shared::default()
        });
        let result = device.run();
        assert_eq!((result.steps.len(), result.ended_early), (23, None));
        assert!(device.0.borrow().waits > 0);
        assert_eq!(result.notes, [""; 0], "what was measured was not disturbed");
    }

    #[test]
    fn a_step_in_which_a_load_came_is_repeated() {
        let device = Device::new(Shared {
            others_from_ns: 100_000_000,
            others_to_ns: 1_800_000_000,
            ..Shared::default()
        });
        let result = device.run();
        let first = &result.steps[0];
        assert_eq!(first.others.unwrap().requests, 0, "{first:?}");
        assert_eq!(result.ended_early, None);
    }

    #[test]
    fn a_load_that_stays_ends_the_measurement() {
        let device = Device::new(Shared {
            others_to_ns: u64::MAX,
            ..Shared::default()
        });
        let result = device.run();
        let why = result.ended_early.unwrap();
        assert!(
            why.contains("others kept using") && why.contains("0 of 23"),
            "{why}"
        );
        assert!(device.0.borrow().now_ns < 5_000_000_000, "and soon");
    }

    #[test]
    fn without_counters_it_is_measured_and_said() {
        let device = Device::new(Shared {
            has_no_counters: true,
            others_to_ns: u64::MAX,
            ..Shared::default()
        });
        let result = device.run();
        assert_eq!((result.steps.len(), result.notes.len()), (23, 1));
    }

    #[test]
    fn an_interruption_keeps_the_steps_before_it() {
        let device = Device::new(Shared {
            stops_at_ns: Some(4_000_000_000),
            ..Shared::default()
        });
        let result = device.run();
        assert!((2..23).contains(&result.steps.len()));
        assert!(result.ended_early.unwrap().starts_with("interrupted"));
    }
}
