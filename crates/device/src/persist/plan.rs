//! What would be written, by which mechanism, and whether it would hold. Nothing is changed here.

use std::fs;
use std::path::{Path, PathBuf};

use ahead_sys::device_identity::{self, OWN};
use serde::Serialize;

use super::error::PersistError;
use super::files::{file_before, place};
use super::text;
use crate::block::LayerKind;
use crate::boot::{self, BootSettings};
use crate::boot_setting::BootSetting;
use crate::container;
use crate::display::harmless;
use crate::identity::{self, StableIdentity};
use crate::machine::MachineTree;
use crate::mechanism::{self, Mechanism};
use crate::origin::in_both_units;
use crate::persist_record::{self, FileBefore, Persisted, PersistedFile, PersistedText};
use crate::stack::{self, Stack, StackLayer};
use crate::superblock;
use crate::target;
use crate::window::{self, WindowError};

/// What would be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PersistPlan {
    /// What was said on the command line; a path from the root of the machine on.
    pub target: String,
    /// The layer whose window it is.
    pub name: String,
    /// What it is called in the file.
    pub identity: StableIdentity,
    /// What sets it at boot.
    pub mechanism: Mechanism,
    /// The window, in KiB.
    pub kib: u64,
    /// Why this mechanism, and what should be known about it.
    pub notes: Vec<String>,
    /// The files, in the order in which they are written.
    pub files: Vec<PlannedFile>,
}

/// One file of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedFile {
    /// Where, from the root of the machine.
    pub path: String,
    /// What is there now.
    pub before: Option<FileBefore>,
    /// What will be.
    pub now: PersistedText,
}

impl PlannedFile {
    /// Its text before and afterwards; of a link, where it leads.
    #[must_use]
    pub fn texts(&self) -> (String, String) {
        let before = self.before.as_ref().map(|before| before.text.clone());
        let now = match &self.now {
            PersistedText::File { text, .. } => text.clone(),
            PersistedText::Link(to) => format!("link to {}\n", to.display()),
        };
        (before.unwrap_or_default(), now)
    }
}

/// What persisting `kib` for `text` would write, by `only` or by what suits the machine best.
///
/// # Errors
/// [`PersistError`]; nothing is ever changed.
pub fn plan(
    machine: &MachineTree,
    text: &str,
    kib: u64,
    only: Option<Mechanism>,
) -> Result<PersistPlan, PersistError> {
    window::check(kib)?;
    let found = target::find_to_change(machine, text).map_err(WindowError::from)?;
    let stack = stack::of(machine, &found);
    let no_window = || WindowError::NoWindow(text.to_owned());
    let layer = stack.counting().ok_or_else(no_window)?;
    let record = persist_record::read(machine)?;
    let device = Planned {
        machine,
        target: &target::name_to_keep(machine, text),
        kib,
        layer,
        stack: &stack,
        identity: identity::of(machine, layer),
        record: &record,
    };
    device.refuse_alike()?;
    let earlier = record.iter().find(|one| one.identity == device.identity);
    if let Some(earlier) = earlier {
        if only.is_some_and(|only| only != earlier.mechanism) {
            return Err(PersistError::Already {
                target: earlier.target.clone(),
                mechanism: earlier.mechanism,
            });
        }
        return device.by(
            earlier.mechanism,
            "it is persisted by it already".to_owned(),
        );
    }
    if let Some(only) = only {
        return device.by(only, "as was asked for".to_owned());
    }
    let boot = boot::read(machine);
    let mut first_error = None;
    for (mechanism, used) in mechanism::proposed(machine, layer, &boot.settings) {
        let why = match used {
            Some(file) => format!("{file} sets windows here already"),
            None => "it is installed, and sets the window each time that it has to".to_owned(),
        };
        match device.by(mechanism, why) {
            Ok(plan) => return Ok(plan),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or_else(|| PersistError::NoMechanism(layer.name.clone())))
}

struct Planned<'a> {
    machine: &'a MachineTree,
    target: &'a str,
    kib: u64,
    layer: &'a StackLayer,
    stack: &'a Stack,
    identity: StableIdentity,
    record: &'a [Persisted],
}

impl Planned<'_> {
    fn by(&self, mechanism: Mechanism, why: String) -> Result<PersistPlan, PersistError> {
        if !mechanism.can_set(self.layer) {
            return Err(self.cannot(mechanism));
        }
        if !mechanism.is_installed(self.machine) {
            return Err(PersistError::NotInstalled(mechanism));
        }
        let mut notes = vec![format!("{}: {why}.", mechanism.word())];
        if let Some(sign) = container::sign(self.machine) {
            notes.push(format!(
                "{} says that this is a container: the window is its host's, whose boot reads no file of the container. \
                 Persist it on the host.",
                sign.file
            ));
        }
        let files = self.files(mechanism, &mut notes)?;
        for file in &files {
            let mut others = self
                .record
                .iter()
                .filter(|one| one.identity != self.identity);
            let other = others.find(|one| one.files.iter().any(|its| its.path == file.path));
            if let Some(other) = other {
                return Err(PersistError::Shared {
                    file: file.path.clone(),
                    target: other.target.clone(),
                });
            }
        }
        self.refuse_overwritten(mechanism, &files, &mut notes)?;
        Ok(PersistPlan {
            target: self.target.to_owned(),
            name: self.layer.name.clone(),
            identity: self.identity.clone(),
            mechanism,
            kib: self.kib,
            notes,
            files,
        })
    }

    /// A file would set the window of each device that says the same of itself, and only one was named. What this machine calls so is
    /// one: several loop devices over a file are all that file.
    fn refuse_alike(&self) -> Result<(), PersistError> {
        let is_of_machine = match &self.identity {
            StableIdentity::Attribute { file, .. } => OWN.contains(&file.as_str()),
            StableIdentity::Mount { .. } => true,
            StableIdentity::Property { .. } | StableIdentity::KernelName(_) => false,
        };
        if is_of_machine {
            return Ok(());
        }
        let others: Vec<_> = identity::find(self.machine, &self.identity)
            .into_iter()
            .map(|(name, _)| name)
            .filter(|name| *name != self.layer.name)
            .collect();
        if others.is_empty() {
            return Ok(());
        }
        Err(PersistError::Alike {
            name: self.layer.name.clone(),
            others: others.join(", "),
            identity: harmless(&self.identity.words()),
        })
    }

    fn cannot(&self, mechanism: Mechanism) -> PersistError {
        let hint = match self.layer.kind {
            LayerKind::FileSystem if mechanism::is_nfs(self.layer) => ": --as nfs or systemd can",
            LayerKind::FileSystem => ", which has no block device: --as systemd can",
            _ => "",
        };
        PersistError::CannotSet {
            mechanism,
            name: self.layer.name.clone(),
            hint,
        }
    }

    /// The text of each file that the mechanism needs.
    fn files(
        &self,
        mechanism: Mechanism,
        notes: &mut Vec<String>,
    ) -> Result<Vec<PlannedFile>, PersistError> {
        let (identity, kib, name) = (&self.identity, self.kib, &self.layer.name);
        let by_name = matches!(identity, StableIdentity::KernelName(_));
        let slug = slug(identity);
        let one = |path: String, text: String, mode| {
            let now = PersistedText::File { text, mode };
            Ok(vec![self.planned(path, now)?])
        };
        let mut say_name = || {
            notes.push(format!(
                "It is known there by the kernel's name {name} alone: after another boot that can be another disk."
            ));
        };
        match mechanism {
            Mechanism::Udev => {
                if by_name {
                    say_name();
                }
                let path = format!("/etc/udev/rules.d/99-ahead-{slug}.rules");
                one(path, text::udev(identity, kib)?, 0o644)
            }
            Mechanism::Hotplug => {
                if by_name {
                    say_name();
                }
                let path = format!("/etc/hotplug.d/block/99-ahead-{slug}");
                one(path, text::hotplug(identity, kib)?, 0o755)
            }
            Mechanism::Tmpfiles => {
                say_name();
                let path = format!("/etc/tmpfiles.d/zz-ahead-{slug}.conf");
                one(path, text::tmpfiles(identity, name, kib)?, 0o644)
            }
            Mechanism::SysfsD => {
                say_name();
                let path = format!("/etc/sysfs.d/zz-ahead-{slug}.conf");
                one(path, text::sysfs(identity, name, kib)?, 0o644)
            }
            Mechanism::Nfs => {
                notes.push(format!(
                    "It holds for every mount of {name}, not for this one alone."
                ));
                let path = "/etc/nfs.conf".to_owned();
                let (before, mode) = self.base(&path)?;
                one(path, text::nfs(&before, name, kib), mode)
            }
            Mechanism::Tuned => self.tuned(&slug, notes),
            Mechanism::Systemd => self.unit(&slug, notes),
        }
    }

    fn unit(&self, slug: &str, notes: &mut Vec<String>) -> Result<Vec<PlannedFile>, PersistError> {
        let (text, starts_with) = if let StableIdentity::Mount { path, .. } = &self.identity {
            let bdi = self.layer.bdi.as_deref().unwrap_or_default();
            let uuid = superblock::btrfs_uuid(self.machine, bdi);
            let is_number = bdi
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b':');
            let window = match uuid {
                Some(uuid) => format!("/sys/fs/btrfs/{uuid}/bdi"),
                None if is_number => format!("/sys/class/bdi/$$(mountpoint -d {path})"),
                None => return Err(PersistError::NoMechanism(self.layer.name.clone())),
            };
            text::unit_of_mount(&self.identity, path, &window, self.kib)?
        } else {
            let links = identity::links(self.machine, self.layer);
            let node = links.into_iter().next().unwrap_or_else(|| {
                notes.push(format!(
                    "udev has made no link to it in /dev/disk, so it is known by the kernel's name {} alone.",
                    self.layer.name
                ));
                format!("/dev/{}", self.layer.name)
            });
            let places = ["/usr/sbin/blockdev", "/sbin/blockdev"];
            let mut places = places.into_iter();
            let blockdev = places.find(|place| self.machine.below(Path::new(place)).exists());
            let blockdev = blockdev.unwrap_or("/sbin/blockdev");
            text::unit_of_device(&self.identity, blockdev, &node, self.kib)?
        };
        let folder = "/etc/systemd/system";
        let unit = format!("ahead-{slug}.service");
        let now = PersistedText::File { text, mode: 0o644 };
        let link = PersistedText::Link(PathBuf::from(format!("{folder}/{unit}")));
        notes.push("The link starts the unit: it is what `systemctl enable` makes.".to_owned());
        Ok(vec![
            self.planned(format!("{folder}/{unit}"), now)?,
            self.planned(format!("{folder}/{starts_with}.wants/{unit}"), link)?,
        ])
    }

    fn tuned(&self, slug: &str, notes: &mut Vec<String>) -> Result<Vec<PlannedFile>, PersistError> {
        let missing = || PersistError::NotInstalled(Mechanism::Tuned);
        let profile = mechanism::active_profile(self.machine).ok_or_else(missing)?;
        let folders = ["etc/tuned", "etc/tuned/profiles"];
        let own = folders.map(|folder| format!("/{folder}/{profile}/tuned.conf"));
        // A copy that we made is made again from what it is a copy of.
        let is_copy = |path: &&String| self.ours(path).is_some_and(|file| file.before.is_none());
        let is_there =
            |path: &&String| self.machine.below(Path::new(path)).exists() && !is_copy(path);
        let (path, before, mode) = if let Some(path) = own.iter().find(is_there) {
            let (before, mode) = self.base(path)?;
            (path.clone(), before, mode)
        } else {
            // A profile of the same name in /etc stands in front of the one that came with tuned.
            let vendors = ["usr/lib/tuned", "usr/lib/tuned/profiles"];
            let mut vendors = vendors.iter().map(|folder| {
                let folder = Path::new(folder).join(&profile);
                self.machine.below(&folder)
            });
            let vendor = vendors.find(|folder| folder.join("tuned.conf").is_file());
            let vendor = vendor.ok_or_else(missing)?;
            if self.machine.names(&vendor) != ["tuned.conf"] {
                return Err(PersistError::Odd {
                    path: self.machine.seen(&vendor),
                    why: "a profile of several files, which a copy in /etc would lose",
                });
            }
            let path = format!(
                "{}/{profile}",
                folders[usize::from(vendor.parent().is_some_and(|up| up.ends_with("profiles")))]
            );
            let text = file_before(&vendor.join("tuned.conf"), &self.machine.seen(&vendor))?;
            let text = text.map(|before| before.text).unwrap_or_default();
            notes.push(format!(
                "The profile {profile} is copied to /etc with one section more."
            ));
            (format!("/{path}/tuned.conf"), text, 0o644)
        };
        let property = identity::property(self.machine, self.layer);
        if property.is_none() {
            notes.push(format!(
                "udev knows no number of it, so it is known there by the kernel's name {} alone.",
                self.layer.name
            ));
        }
        let section = format!("ahead_{slug}");
        let property = property
            .as_ref()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        let name = &self.layer.name;
        let text = text::tuned(&before, &section, name, property, &self.identity, self.kib)?;
        notes.push("tuned reads it when it starts, or with `tuned-adm profile`.".to_owned());
        let now = PersistedText::File { text, mode };
        Ok(vec![self.planned(path, now)?])
    }

    /// What is recorded of a file for this device.
    fn ours(&self, path: &str) -> Option<&PersistedFile> {
        let mut ours = self
            .record
            .iter()
            .filter(|one| one.identity == self.identity);
        ours.find_map(|one| one.files.iter().find(|file| file.path == path))
    }

    /// The text that a file has without what we persisted, and its rights.
    fn base(&self, path: &str) -> Result<(String, u32), PersistError> {
        let before = match self.ours(path) {
            Some(file) => file.before.clone(),
            None => file_before(&self.machine.below(Path::new(path)), path)?,
        };
        Ok(before.map_or_else(
            || (String::new(), 0o644),
            |before| (before.text, before.mode),
        ))
    }

    fn planned(&self, path: String, now: PersistedText) -> Result<PlannedFile, PersistError> {
        let place = place(self.machine, &path)?;
        if let PersistedText::Link(to) = &now
            && fs::read_link(&place).is_ok_and(|there| there == *to)
        {
            return Ok(PlannedFile {
                path,
                before: None,
                now,
            });
        }
        let before = file_before(&place, &path)?;
        Ok(PlannedFile { path, before, now })
    }

    /// What the boot would make of it, by the readers that `ahead doctor` has.
    fn refuse_overwritten(
        &self,
        mechanism: Mechanism,
        files: &[PlannedFile],
        notes: &mut Vec<String>,
    ) -> Result<(), PersistError> {
        let texts: Vec<_> = files
            .iter()
            .map(|file| (file.path.as_str(), file.texts().1))
            .collect();
        let texts: Vec<_> = texts
            .iter()
            .map(|(path, text)| (*path, text.as_str()))
            .collect();
        let BootSettings { settings, .. } = boot::read_with(self.machine, &texts);
        let names = identity::names(self.machine, self.layer, self.stack);
        let is_ours = |one: &BootSetting| {
            let is_file = files.iter().any(|file| file.path == one.file);
            is_file && one.kib() == Some(self.kib) && one.sets(&names) == Some(true)
        };
        let ours = settings.iter().rposition(is_ours);
        let ours = ours.ok_or(PersistError::NotRead(mechanism))?;
        for later in &settings[ours + 1..] {
            match later.changes(&names, self.kib) {
                Some(true) => {
                    return Err(PersistError::Overwritten {
                        mechanism,
                        file: later.file.clone(),
                        line: later.line,
                        kib: later.kib().unwrap_or_default(),
                    });
                }
                None => notes.push(match later.kib() {
                    Some(kib) => format!(
                        "{}:{} may set it to {} afterwards: whether it means this device is not plain.",
                        later.file,
                        later.line,
                        in_both_units(kib)
                    ),
                    None => format!(
                        "{}:{} may set it afterwards: for which device, and to what, is not plain.",
                        later.file, later.line
                    ),
                }),
                Some(false) => {}
            }
        }
        Ok(())
    }
}

/// A name for files that two devices never share: readable, and a number of all of it.
fn slug(identity: &StableIdentity) -> String {
    let words = match identity {
        StableIdentity::Attribute { value, .. } | StableIdentity::Property { value, .. } => value,
        StableIdentity::Mount { path, .. } => path,
        StableIdentity::KernelName(name) => name,
    };
    let mut readable = String::new();
    for sign in words.trim().chars().take(32) {
        let sign = if sign.is_ascii_alphanumeric() {
            sign
        } else {
            '-'
        };
        if sign != '-' || !readable.ends_with('-') {
            readable.push(sign);
        }
    }
    let number = device_identity::of_text(&identity.words()) >> 32;
    format!("{}-{number:08x}", readable.trim_matches('-'))
}
