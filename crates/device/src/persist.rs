//! Persisting a window: exactly one mechanism sets it at boot, for exactly one device, and it can be taken back.
//!
//! [`plan()`] finds out what would be written and whether it would hold, and changes nothing. [`carry_out`] records what
//! is there, writes, and sets the window. [`revert`] brings back what was there, and the window before.
//!
//! A plan is refused where another file sets the window later, so that the one that is written would have no effect.
//! Only files below `/etc` are written, and none behind a symbolic link: where `/etc` belongs to a configuration
//! manager, that is the place to write it.

use std::fs;

use serde::Serialize;

use crate::identity;
use crate::machine::MachineTree;
use crate::persist_record::{self, PersistRecord, Persisted, PersistedFile, PersistedText};
use crate::stack;
use crate::target;
use crate::window::{self, WindowChange, WindowError};

mod error;
mod files;
mod plan;
mod text;

pub use error::PersistError;
pub use plan::{PersistPlan, PlannedFile, plan};
pub use text::UnwritableName;

/// A window that was reverted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RevertedWindow {
    /// What was persisted.
    pub target: String,
    /// The files that are as before.
    pub files: Vec<String>,
    /// Those of them that were not there before.
    pub removed: Vec<String>,
    /// What became of the window of each device of this name; none where it is not there.
    pub windows: Vec<WindowAfterRevert>,
}

/// What became of the window of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowAfterRevert {
    /// It was the persisted one, and is the one before.
    PutBack(WindowChange),
    /// It was the one before already.
    AsBefore {
        /// What it is, in KiB.
        kib: u64,
    },
    /// It was neither: something else has set it, and it stays.
    SetOtherwise {
        /// What it is, in KiB.
        kib: u64,
    },
}

/// Records what is there, writes the files and sets the window.
///
/// # Errors
/// [`PersistError`]; what was written until then is taken back, or is in the record for [`revert`].
pub fn carry_out(machine: &MachineTree, plan: &PersistPlan) -> Result<WindowChange, PersistError> {
    let mut record = PersistRecord::open(machine)?;
    let now = window_of(machine, &plan.target)?;
    let place_in_record = record
        .persisted
        .iter()
        .position(|one| one.identity == plan.identity);
    let earlier = place_in_record.map(|place| record.persisted[place].clone());
    let mut files = Vec::new();
    for file in &plan.files {
        let there = files::place(machine, &file.path)?;
        let is_link = matches!(&file.now, PersistedText::Link(to) if fs::read_link(&there).is_ok_and(|found| found == *to));
        let before = if is_link {
            None
        } else {
            files::file_before(&there, &file.path)?
        };
        if before != file.before {
            let path = file.path.clone();
            return Err(PersistError::Changed {
                path,
                since: "meanwhile",
            });
        }
        let of_path = |one: &&PersistedFile| one.path == file.path;
        let earlier = earlier
            .as_ref()
            .and_then(|one| one.files.iter().find(of_path));
        files.push(PersistedFile {
            path: file.path.clone(),
            before: earlier.map_or(before, |one| one.before.clone()),
            now: file.now.clone(),
            made_folders: match earlier {
                Some(one) => one.made_folders.clone(),
                None => files::missing_folders(machine, &there),
            },
        });
    }
    let persisted = Persisted {
        target: plan.target.clone(),
        identity: plan.identity.clone(),
        mechanism: plan.mechanism,
        kib: plan.kib,
        before_kib: earlier.as_ref().map_or(now, |one| one.before_kib),
        boot: machine.boot(),
        files,
    };
    let kept = record.persisted.clone();
    match place_in_record {
        Some(place) => record.persisted[place] = persisted.clone(),
        None => record.persisted.push(persisted.clone()),
    }
    record.write()?;
    let done = persisted
        .files
        .iter()
        .try_for_each(|file| files::write(machine, file))
        .and_then(|()| Ok(window::set(machine, &plan.target, plan.kib)?));
    if done.is_err() {
        let is_back = match &earlier {
            Some(earlier) => earlier
                .files
                .iter()
                .try_for_each(|file| files::write(machine, file)),
            None => persisted
                .files
                .iter()
                .rev()
                .try_for_each(|file| files::take_back(machine, file)),
        };
        if is_back.is_ok() {
            record.persisted = kept;
            record.write()?;
        }
    }
    done
}

/// The window of a target.
fn window_of(machine: &MachineTree, text: &str) -> Result<u64, PersistError> {
    let found = target::find(machine, text).map_err(WindowError::from)?;
    let stack = stack::of(machine, &found);
    let kib = stack.counting().and_then(|layer| layer.read_ahead_kb);
    Ok(kib.ok_or_else(|| WindowError::Unreadable(text.to_owned()))?)
}

/// Brings back what was before: of `text`, or of everything that is persisted.
///
/// # Errors
/// [`PersistError`]; `Changed` before anything is changed.
pub fn revert(
    machine: &MachineTree,
    text: Option<&str>,
) -> Result<Vec<RevertedWindow>, PersistError> {
    if persist_record::read(machine)?.is_empty() {
        return match text {
            Some(text) => Err(PersistError::NothingPersisted(text.to_owned())),
            None => Ok(Vec::new()),
        };
    }
    let mut record = PersistRecord::open(machine)?;
    let text = text.map(|text| target::name_to_keep(machine, text));
    let here = text
        .as_ref()
        .and_then(|text| identity::of_text(machine, text));
    let meant: Vec<_> = record
        .persisted
        .iter()
        .filter(|one| {
            text.as_ref()
                .is_none_or(|text| one.is_of(text, here.as_ref()))
        })
        .cloned()
        .collect();
    if let (Some(text), true) = (text, meant.is_empty()) {
        return Err(PersistError::NothingPersisted(text));
    }
    for file in meant.iter().flat_map(|one| &one.files) {
        files::refuse_changed(machine, file)?;
    }
    let mut reverted = Vec::new();
    for one in meant {
        one.files
            .iter()
            .rev()
            .try_for_each(|file| files::take_back(machine, file))?;
        let windows = put_back(machine, &one)?;
        record.persisted.retain(|other| *other != one);
        record.write()?;
        let created = one.files.iter().filter(|file| file.before.is_none());
        reverted.push(RevertedWindow {
            removed: created.map(|file| file.path.clone()).collect(),
            target: one.target,
            files: one.files.into_iter().map(|file| file.path).collect(),
            windows,
        });
    }
    Ok(reverted)
}

/// The window before, where a device has ours. The mechanism sets it for all that say the same of themselves.
fn put_back(
    machine: &MachineTree,
    one: &Persisted,
) -> Result<Vec<WindowAfterRevert>, PersistError> {
    let mut windows = Vec::new();
    for (name, _) in identity::find(machine, &one.identity) {
        let kib = window_of(machine, &name)?;
        windows.push(if kib == one.before_kib {
            WindowAfterRevert::AsBefore { kib }
        } else if kib != one.kib {
            WindowAfterRevert::SetOtherwise { kib }
        } else if window::noted(machine, &name)? == Some(one.before_kib) {
            // Where persisting it is the last change that is noted, that note has served.
            WindowAfterRevert::PutBack(window::undo(machine, &name)?)
        } else {
            WindowAfterRevert::PutBack(window::set(machine, &name, one.before_kib)?)
        });
    }
    Ok(windows)
}
