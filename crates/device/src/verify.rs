//! Whether what was persisted holds, and what changed it otherwise.
//!
//! The window that the device has is compared with the one that was persisted; the files are looked at as well.
//! Where it is another one, the readers of boot settings name the last place that sets this window, and a kernel
//! rule that gives it says that nothing did. A value that holds in the same start of the machine in which it was
//! persisted proves only that it was set; so that is said.

use std::cell::OnceCell;
use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::boot::{self, BootSettings};
use crate::boot_setting::BootSetting;
use crate::identity::{self, StableIdentity};
use crate::machine::MachineTree;
use crate::mechanism::Mechanism;
use crate::origin::Origin;
use crate::persist_record::{self, PersistRecordError, Persisted, PersistedText};
use crate::stack::{Stack, StackLayer};
use crate::target;
use crate::window;

/// Newest kernel that is known to keep a window when a limit of its queue is written. Tried: 6.12.117 keeps 512 KiB
/// when `max_sectors_kb` is written, 6.18.44 goes back to its own rule.
const LIMITS_KEEP_WINDOW: (u32, u32) = (6, 12);

/// What became of one persisted window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerifiedWindow {
    /// What was persisted.
    pub target: String,
    /// What the device is called.
    pub identity: StableIdentity,
    /// What sets it at boot.
    pub mechanism: Mechanism,
    /// The first of its files.
    pub file: String,
    /// What was persisted, in KiB.
    pub persisted_kib: u64,
    /// The window now, in KiB; nothing where the device is not there. Of several devices of this name, that of one that
    /// has another window than the persisted one.
    pub now_kib: Option<u64>,
    /// Whether the window of each device of this name is the persisted one, and the files are as they were written.
    pub holds: bool,
    /// Whether the machine was started since: before, what holds is what was set.
    pub since_boot: bool,
    /// What is otherwise, and what made it so; empty when it holds.
    pub why: Vec<String>,
}

/// Verifies `text`, or everything that is persisted.
///
/// # Errors
/// The record cannot be read.
pub fn verify(
    machine: &MachineTree,
    text: Option<&str>,
) -> Result<Vec<VerifiedWindow>, PersistRecordError> {
    // Read once, and only where a window does not hold.
    let boot = OnceCell::new();
    verify_by(machine, text, &|| {
        &boot.get_or_init(|| boot::read(machine)).settings
    })
}

/// [`verify`] everything, for whoever has read already what sets windows at boot.
///
/// # Errors
/// The record cannot be read.
pub fn verify_with(
    machine: &MachineTree,
    boot: &BootSettings,
) -> Result<Vec<VerifiedWindow>, PersistRecordError> {
    verify_by(machine, None, &|| &boot.settings)
}

fn verify_by<'a>(
    machine: &MachineTree,
    text: Option<&str>,
    at_boot: &dyn Fn() -> &'a [BootSetting],
) -> Result<Vec<VerifiedWindow>, PersistRecordError> {
    let persisted = persist_record::read(machine)?;
    let text = text.map(|text| target::name_to_keep(machine, text));
    let here = text
        .as_ref()
        .and_then(|text| identity::of_text(machine, text));
    let is_meant = |one: &&Persisted| {
        text.as_ref()
            .is_none_or(|text| one.is_of(text, here.as_ref()))
    };
    let meant = persisted.iter().filter(is_meant);
    Ok(meant.map(|one| verified(machine, one, at_boot)).collect())
}

fn verified<'a>(
    machine: &MachineTree,
    one: &Persisted,
    at_boot: &dyn Fn() -> &'a [BootSetting],
) -> VerifiedWindow {
    let mut why: Vec<String> = one
        .files
        .iter()
        .filter_map(|file| changed(machine, &file.path, &file.now))
        .collect();
    let found = identity::find(machine, &one.identity);
    if found.is_empty() {
        let words = one.identity.words();
        why.push(format!("no device here is called so: {words}"));
    }
    let mut now_kib = None;
    for (name, stack) in &found {
        let Some(layer) = stack.counting() else {
            continue;
        };
        let is_persisted = layer.read_ahead_kb == Some(one.kib);
        if !is_persisted {
            let because = changed_by(machine, name, stack, layer, one, at_boot);
            why.push(match found.len() {
                1 => because,
                _ => format!("{name}: {because}"),
            });
        }
        if !is_persisted || now_kib.is_none() {
            now_kib = layer.read_ahead_kb;
        }
    }
    VerifiedWindow {
        target: one.target.clone(),
        identity: one.identity.clone(),
        mechanism: one.mechanism,
        file: one
            .files
            .first()
            .map(|file| file.path.clone())
            .unwrap_or_default(),
        persisted_kib: one.kib,
        now_kib,
        holds: why.is_empty(),
        since_boot: machine.boot() != one.boot,
        why,
    }
}

/// What is wrong with a file.
fn changed(machine: &MachineTree, path: &str, now: &PersistedText) -> Option<String> {
    let place = machine.below(Path::new(path));
    let is_ours = match now {
        PersistedText::Link(to) => fs::read_link(&place).is_ok_and(|found| found == *to),
        PersistedText::File { text, .. } => {
            let found = fs::read_to_string(&place);
            found.is_ok_and(|found| found == *text)
        }
    };
    if is_ours {
        return None;
    }
    Some(match fs::symlink_metadata(&place) {
        Ok(_) => format!("{path} was changed since"),
        Err(_) => format!("{path} is not there: it was removed, or persisting was interrupted"),
    })
}

/// Where the other window comes from, as far as the machine says it.
fn changed_by<'a>(
    machine: &MachineTree,
    name: &str,
    stack: &Stack,
    layer: &StackLayer,
    one: &Persisted,
    at_boot: &dyn Fn() -> &'a [BootSetting],
) -> String {
    let Some(now) = layer.read_ahead_kb else {
        return format!("the window of {} cannot be read", layer.name);
    };
    let names = identity::names(machine, layer, stack);
    let ours: Vec<_> = one.files.iter().map(|file| &file.path).collect();
    let is_other = |file: &String| !ours.contains(&file);
    let mut sets = at_boot()
        .iter()
        .rev()
        .filter(|place| place.kib() == Some(now) && place.sets(&names) != Some(false));
    if let Some(place) = sets.find(|place| place.kib() != Some(one.kib) || is_other(&place.file)) {
        let may = match place.sets(&names) {
            Some(true) => "sets it",
            _ => "may have set it",
        };
        return format!("{}:{} {may}", place.file, place.line);
    }
    if matches!(window::noted(machine, name), Ok(Some(_))) && machine.boot() == one.boot {
        return "it was set in this start of the machine, perhaps by `ahead device set`".to_owned();
    }
    match layer.origin {
        Some(origin) if origin != Origin::Set => {
            let sets_anew = machine
                .kernel()
                .is_some_and(|kernel| kernel > LIMITS_KEEP_WINDOW);
            let or = if sets_anew {
                ", or a limit of its queue (such as max_sectors_kb) was written afterwards, which makes this kernel set the window anew"
            } else {
                ""
            };
            format!(
                "it is what the kernel gives ({}): {} has not set it{or}",
                origin.words(),
                one.mechanism.word()
            )
        }
        _ => "something set it that no file in the usual places says".to_owned(),
    }
}
