//! Generated operations on a machine against a model of it: whatever is done in whatever order, what is persisted is
//! what the model says, and reverting everything leaves the tree as it was.

mod support;

use ahead_device::mechanism::{MECHANISMS, Mechanism};
use ahead_device::persist::{self, PersistError};
use ahead_device::verify::verify;
use ahead_device::window;
use support::persisting::Persisting;

/// What the model knows.
#[derive(Clone, Debug)]
struct Model {
    /// The window now.
    now: u64,
    /// What is persisted: by what, the window, and the window before.
    persisted: Option<(Mechanism, u64, u64)>,
    /// Windows before changes in this start of the machine, the last one last.
    noted: Vec<u64>,
    boots: u32,
}

impl Model {
    /// What is there already is no change.
    fn set(&mut self, kib: u64) {
        let before = std::mem::replace(&mut self.now, kib);
        if before != kib {
            self.noted.push(before);
        }
    }
}

const WINDOWS: [u64; 5] = [0, 64, 512, 1024, 4096];

#[test]
fn any_order_of_operations_is_as_the_model_says() {
    let mut random = fastrand::Rng::with_seed(11);
    for round in 0..20 {
        let machine = Persisting::with_disk("naa.5000c500a1b2c3d4\n");
        let before = machine.everything();
        let mut model = Model {
            now: 128,
            persisted: None,
            noted: Vec::new(),
            boots: 0,
        };
        let mut history = Vec::new();
        for _ in 0..25 {
            history.push(step(&machine, &mut model, &mut random));
            let says = format!("round {round}: {history:?}: {model:?}");
            assert_eq!(machine.window(), model.now, "{says}");
            let at_boot = machine.at_boot().map(|(_, kib)| kib);
            assert_eq!(at_boot, model.persisted.map(|(_, kib, _)| kib), "{says}");
            let all = verify(&machine.tree, None).expect("a record");
            assert_eq!(all.len(), usize::from(model.persisted.is_some()), "{says}");
            if let (Some(one), Some((mechanism, kib, _))) = (all.first(), model.persisted) {
                assert_eq!(
                    (one.mechanism, one.persisted_kib),
                    (mechanism, kib),
                    "{says}"
                );
                assert_eq!(one.holds, kib == model.now, "{says}");
            }
        }
        persist::revert(&machine.tree, None).expect("reverted");
        machine.write_window(128);
        assert_eq!(machine.everything(), before, "round {round}: {history:?}");
    }
}

fn step(machine: &Persisting, model: &mut Model, random: &mut fastrand::Rng) -> String {
    let kib = WINDOWS[random.usize(..WINDOWS.len())];
    match random.u8(..7) {
        0 => {
            window::set(&machine.tree, "sdc", kib).expect("set");
            model.set(kib);
            format!("set {kib}")
        }
        1 => {
            let undone = window::undo(&machine.tree, "sdc");
            assert_eq!(undone.is_ok(), !model.noted.is_empty());
            model.now = model.noted.pop().unwrap_or(model.now);
            "undo".to_owned()
        }
        2 | 3 => {
            let only = MECHANISMS[random.usize(..MECHANISMS.len())];
            let only = random.bool().then_some(only);
            persisted(machine, model, kib, only);
            format!("persist {kib} by {only:?}")
        }
        4 => {
            let reverted = persist::revert(&machine.tree, Some("sdc"));
            assert_eq!(reverted.is_ok(), model.persisted.is_some(), "{reverted:?}");
            if let Some((_, kib, before)) = model.persisted.take()
                && model.now == kib
                && before != kib
            {
                // The note of the persist has served, where it is the last one.
                if model.noted.last() == Some(&before) {
                    model.noted.pop();
                } else {
                    model.noted.push(model.now);
                }
                model.now = before;
            }
            "revert".to_owned()
        }
        5 => {
            machine.write_window(kib);
            model.now = kib;
            format!("blockdev {kib}")
        }
        _ => {
            model.boots += 1;
            machine.boot(&format!("start {}", model.boots));
            model.noted.clear();
            model.now = model.persisted.map_or(128, |(_, kib, _)| kib);
            machine.write_window(model.now);
            "boot".to_owned()
        }
    }
}

fn persisted(machine: &Persisting, model: &mut Model, kib: u64, only: Option<Mechanism>) {
    let plan = machine.plan(kib, only);
    let earlier = model.persisted;
    let is_other = earlier.is_some_and(|(by, ..)| only.is_some_and(|only| only != by));
    if is_other {
        assert!(
            matches!(plan, Err(PersistError::Already { .. })),
            "{plan:?}"
        );
    } else if only == Some(Mechanism::Nfs) {
        assert!(
            matches!(plan, Err(PersistError::CannotSet { .. })),
            "{plan:?}"
        );
    } else {
        let plan = plan.expect("a plan");
        persist::carry_out(&machine.tree, &plan).expect("persisted");
        let before = earlier.map_or(model.now, |(_, _, before)| before);
        model.persisted = Some((plan.mechanism, kib, before));
        model.set(kib);
    }
}
