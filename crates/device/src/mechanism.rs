//! What can set a window at boot: which of it a machine has, and which already sets windows there.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::block::LayerKind;
use crate::boot_setting::BootSetting;
use crate::machine::MachineTree;
use crate::stack::StackLayer;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// The section `nfsrahead` of `/etc/nfs.conf`: every NFS mount of one kind.
    Nfs,
    /// A rule in `/etc/udev/rules.d`: each time the device appears.
    Udev,
    /// A script in `/etc/hotplug.d/block` (`OpenWrt`): each time the device appears.
    Hotplug,
    /// A unit in `/etc/systemd/system`, and the link that starts it with the device or the mount.
    Systemd,
    /// A line in `/etc/tmpfiles.d`: at boot.
    Tmpfiles,
    /// A line in `/etc/sysfs.d`: at boot.
    SysfsD,
    /// A section of the active profile of tuned.
    Tuned,
}

/// All, in the order in which they are proposed: those that see a device come again first, and last the one whose
/// file is another one's.
pub const MECHANISMS: [Mechanism; 7] = [
    Mechanism::Nfs,
    Mechanism::Udev,
    Mechanism::Hotplug,
    Mechanism::Systemd,
    Mechanism::Tmpfiles,
    Mechanism::SysfsD,
    Mechanism::Tuned,
];

impl Mechanism {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Nfs => "nfs",
            Self::Udev => "udev",
            Self::Hotplug => "hotplug",
            Self::Systemd => "systemd",
            Self::Tmpfiles => "tmpfiles",
            Self::SysfsD => "sysfs.d",
            Self::Tuned => "tuned",
        }
    }

    /// Whether the machine has it.
    #[must_use]
    pub fn is_installed(self, machine: &MachineTree) -> bool {
        let places: &[&str] = match self {
            Self::Nfs => &[
                "usr/libexec/nfsrahead",
                "usr/lib/nfsrahead",
                "usr/sbin/nfsrahead",
                "usr/lib/udev/nfsrahead",
            ],
            Self::Udev => &["usr/lib/udev", "lib/udev", "etc/udev/rules.d"],
            Self::Hotplug => &["etc/hotplug.d"],
            Self::Systemd => &["usr/lib/systemd/system", "lib/systemd/system"],
            Self::Tmpfiles => &["usr/bin/systemd-tmpfiles", "bin/systemd-tmpfiles"],
            Self::SysfsD => &["etc/sysfs.d", "etc/sysfs.conf"],
            Self::Tuned => return active_profile(machine).is_some(),
        };
        let mut places = places.iter();
        places.any(|place| machine.below(Path::new(place)).exists())
    }

    /// Whether it can set the window of a layer of this kind.
    #[must_use]
    pub fn can_set(self, layer: &StackLayer) -> bool {
        let is_mount = layer.kind == LayerKind::FileSystem;
        match self {
            Self::Nfs => is_nfs(layer),
            Self::Systemd => !is_mount || layer.label.is_some(),
            _ => !is_mount,
        }
    }

    /// That of a file that sets windows at boot.
    #[must_use]
    pub fn of_file(file: &str) -> Option<Self> {
        let places = [
            ("/etc/nfs.conf", Self::Nfs),
            ("/etc/udev/", Self::Udev),
            ("/etc/hotplug.d/", Self::Hotplug),
            ("/etc/systemd/", Self::Systemd),
            ("/etc/tmpfiles.d/", Self::Tmpfiles),
            ("/etc/sysfs", Self::SysfsD),
            ("/etc/tuned/", Self::Tuned),
        ];
        let mut places = places.into_iter();
        Some(places.find(|(start, _)| file.starts_with(start))?.1)
    }
}

/// Those of the machine that can set the window of `layer`, the one to be proposed first: it already sets windows
/// there, as its administrator wanted, and else it sees a device come again.
#[must_use]
pub fn proposed(
    machine: &MachineTree,
    layer: &StackLayer,
    boot: &[BootSetting],
) -> Vec<(Mechanism, Option<String>)> {
    let mut usable: Vec<_> = MECHANISMS
        .into_iter()
        .filter(|one| one.can_set(layer) && one.is_installed(machine))
        .map(|one| {
            let mut files = boot.iter().map(|setting| &setting.file);
            let used = files.find(|file| Mechanism::of_file(file) == Some(one));
            (one, used.cloned())
        })
        .collect();
    usable.sort_by_key(|(_, used)| used.is_none());
    usable
}

/// The profile that tuned applies last.
#[must_use]
pub fn active_profile(machine: &MachineTree) -> Option<String> {
    let file = machine.below(Path::new("etc/tuned/active_profile"));
    let text = fs::read_to_string(file).ok()?;
    let name = text.split_whitespace().last()?;
    let is_name = !name.starts_with('.') && !name.contains('/');
    is_name.then(|| name.to_owned())
}

/// Whether the layer is a mount of NFS.
#[must_use]
pub fn is_nfs(layer: &StackLayer) -> bool {
    layer.kind == LayerKind::FileSystem && matches!(layer.name.as_str(), "nfs" | "nfs4")
}
