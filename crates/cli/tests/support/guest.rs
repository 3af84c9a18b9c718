//! Guests of tests. Their kernel is built before (`make lab`); without it a test fails and says so.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ahead_cli::lab::{GUEST_ARGUMENT, recipe_beside};
use ahead_disk_model::DiskModel;
use ahead_guest::source::KernelSeries;
use ahead_guest::{Console, Guest, GuestDisk, GuestRun, Task};

/// Longer than any guest of a test takes, also on a busy machine: what hangs is ended.
const WALL_LIMIT: Duration = Duration::from_secs(300);

/// A guest over a blank disk of this kind that does nothing yet.
pub(crate) fn bare_guest(model: DiskModel) -> Guest {
    let program = Path::new(env!("CARGO_BIN_EXE_ahead"));
    let kernel = recipe_beside(program, KernelSeries::Linux6_12)
        .map_err(|error| error.to_string())
        .and_then(|recipe| recipe.find().map_err(|error| error.to_string()))
        .unwrap_or_else(|error| panic!("{error} (`make lab` does)"));
    Guest {
        kernel,
        init: vec![program.into(), GUEST_ARGUMENT.into()],
        memory_bytes: 512 << 20,
        disk: GuestDisk::new(model),
        task: Task::new(Vec::new()),
        console: Console::Kept,
        wall_limit: WALL_LIMIT,
        steps: None,
    }
}

/// Boots it and waits for its end.
pub(crate) fn boot(guest: &Guest) -> GuestRun {
    let shared = tempfile::Builder::new()
        .prefix("ahead-lab-")
        .tempdir()
        .expect("a folder");
    let run = guest.run(shared.path(), &AtomicBool::new(false));
    run.unwrap_or_else(|error| panic!("{error}"))
}
