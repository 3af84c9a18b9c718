//! What a device is called at the next boot: by its maker's number, its UUID, its file or its mount, and by the
//! name of the kernel only where there is nothing better.
//!
//! [`StableIdentity`] is the one name that is written into a file; [`names`] are all under which the files of a
//! machine may mean the device.

use std::path::Path;

use ahead_sys::device_identity::{MADE, OWN};
use serde::{Deserialize, Serialize};

use crate::block::{self, LayerKind};
use crate::boot_setting::ROTATIONAL;
use crate::inventory;
use crate::machine::MachineTree;
use crate::stack::{self, Stack, StackLayer};
use crate::superblock;
use crate::target;

/// Properties that udev has of a device, by which it is known where sysfs says nothing.
pub const PROPERTIES: [&str; 7] = [
    "ID_WWN_WITH_EXTENSION",
    "ID_WWN",
    "ID_SERIAL",
    "DM_UUID",
    "MD_UUID",
    "ID_FS_UUID",
    "ID_PART_TABLE_UUID",
];

/// Longest value that is a name. What is longer is damage.
const VALUE_BYTES_MAX: usize = 256;

/// What a device is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StableIdentity {
    /// A value in its folder in sysfs.
    Attribute {
        /// The file in that folder.
        file: String,
        /// What it says, without the line end.
        value: String,
    },
    /// A property that udev keeps of it.
    Property {
        /// Its name.
        key: String,
        /// Its value.
        value: String,
    },
    /// A file system by the place where it is mounted.
    Mount {
        /// The mount point.
        path: String,
        /// Its kind.
        file_system: String,
    },
    /// The kernel's name, which another device may have after the next boot.
    KernelName(String),
}

impl StableIdentity {
    /// How it is called in a sentence.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Attribute { file, value } => format!("{file} {}", value.trim()),
            Self::Property { key, value } => format!("{key} {value}"),
            Self::Mount { path, file_system } => format!("{file_system} on {path}"),
            Self::KernelName(name) => format!("the kernel's name {name}"),
        }
    }
}

/// The best name of `layer`.
#[must_use]
pub fn of(machine: &MachineTree, layer: &StackLayer) -> StableIdentity {
    if layer.kind == LayerKind::FileSystem {
        let file_system = layer.name.clone();
        return match &layer.label {
            Some(path) => StableIdentity::Mount {
                path: path.clone(),
                file_system,
            },
            None => StableIdentity::KernelName(file_system),
        };
    }
    let own = attributes(machine, layer).into_iter();
    let own = own.map(|(file, value)| StableIdentity::Attribute { file, value });
    let by_udev = property(machine, layer);
    let by_udev = by_udev.map(|(key, value)| StableIdentity::Property { key, value });
    own.chain(by_udev)
        .next()
        .unwrap_or_else(|| StableIdentity::KernelName(layer.name.clone()))
}

/// What the device is called whose window counts for `text`; `None` where that stands for nothing here.
#[must_use]
pub fn of_text(machine: &MachineTree, text: &str) -> Option<StableIdentity> {
    let found = target::find(machine, text).ok()?;
    let stack = stack::of(machine, &found);
    Some(of(machine, stack.counting()?))
}

/// Under which names files mean `layer`: its own, those of partitions above it, its links, its numbers, and the
/// place where it is mounted.
#[must_use]
pub fn names(machine: &MachineTree, layer: &StackLayer, stack: &Stack) -> Vec<String> {
    let parts = stack.layers.iter().take_while(|one| !one.counts);
    let parts = parts.filter(|one| one.kind == LayerKind::Partition);
    let mut names: Vec<_> = parts.map(|part| part.name.clone()).collect();
    names.extend(layer.bdi.clone());
    if layer.kind == LayerKind::FileSystem {
        names.extend(layer.label.clone());
        names.push(format!("fstype={}", layer.name));
        let bdi = layer.bdi.as_deref().unwrap_or_default();
        names.extend(superblock::btrfs_uuid(machine, bdi));
        return names;
    }
    names.push(layer.name.clone());
    names.extend(layer.label.clone());
    let rotational = layer.limits.rotational.map(u8::from);
    names.extend(rotational.map(|rotational| format!("{ROTATIONAL}{rotational}")));
    let attributes = attributes(machine, layer);
    names.extend(
        attributes
            .into_iter()
            .map(|(file, value)| format!("ATTR{{{file}}}={}", value.trim_end())),
    );
    let properties = properties(machine, layer);
    names.extend(
        properties
            .into_iter()
            .map(|(key, value)| format!("ENV{{{key}}}={value}")),
    );
    names.extend(links(machine, layer));
    names
}

/// The devices of this identity now: a text that stands for each, and its layers. Mostly there is one. There are more
/// where two ways lead to one disk, and where a maker gives one number to several.
#[must_use]
pub fn find(machine: &MachineTree, identity: &StableIdentity) -> Vec<(String, Stack)> {
    let is_it = |stack: &Stack| {
        let layer = stack.counting();
        layer.is_some_and(|layer| of(machine, layer) == *identity)
    };
    if let StableIdentity::Mount { path, .. } = identity {
        let found = target::find(machine, path).ok();
        let stack = found.map(|found| stack::of(machine, &found));
        let stack = stack.filter(is_it).into_iter();
        return stack.map(|stack| (path.clone(), stack)).collect();
    }
    let all = inventory::all(machine).into_iter().filter(is_it);
    let named = all.filter_map(|stack| Some((stack.counting()?.name.clone(), stack)));
    named.collect()
}

/// What udev calls it, for those who know devices by what udev calls them.
#[must_use]
pub fn property(machine: &MachineTree, layer: &StackLayer) -> Option<(String, String)> {
    let known = properties(machine, layer);
    PROPERTIES
        .iter()
        .find_map(|key| known.iter().find(|(one, _)| one == key).cloned())
}

/// Links below `/dev/disk` that udev made to it, the best first.
#[must_use]
pub fn links(machine: &MachineTree, layer: &StackLayer) -> Vec<String> {
    let text = udev_text(machine, layer);
    let links = text.lines().filter_map(|line| line.strip_prefix("S:"));
    let mut links: Vec<_> = links
        .filter(|link| link.starts_with("disk/by-"))
        .map(|link| format!("/dev/{link}"))
        .collect();
    let rank = |link: &String| {
        let order = [
            "/dev/disk/by-id/",
            "/dev/disk/by-uuid/",
            "/dev/disk/by-path/",
        ];
        order
            .iter()
            .position(|start| link.starts_with(start))
            .unwrap_or(order.len())
    };
    links.sort_by_cached_key(|link| (rank(link), link.clone()));
    links
}

/// What sysfs says of the device that no other one has.
fn attributes(machine: &MachineTree, layer: &StackLayer) -> Vec<(String, String)> {
    let Some(folder) = block::folder_of(machine, &layer.name) else {
        return Vec::new();
    };
    let files = OWN.iter().chain(&MADE);
    let read = |file: &&str| {
        let value = machine.text(&folder.join(file), &mut Vec::new())?;
        is_a_name(&value).then(|| ((*file).to_owned(), value))
    };
    files.filter_map(read).collect()
}

fn properties(machine: &MachineTree, layer: &StackLayer) -> Vec<(String, String)> {
    let text = udev_text(machine, layer);
    let lines = text.lines().filter_map(|line| line.strip_prefix("E:"));
    let pairs = lines.filter_map(|line| line.split_once('='));
    let ours = pairs.filter(|(key, value)| PROPERTIES.contains(key) && is_a_name(value));
    ours.map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// What udev keeps of a device.
fn udev_text(machine: &MachineTree, layer: &StackLayer) -> String {
    let number = layer.bdi.as_deref().unwrap_or_default();
    let file = Path::new("run/udev/data").join(format!("b{number}"));
    let text = machine.text(&machine.below(&file), &mut Vec::new());
    text.unwrap_or_default()
}

/// Makers of bridges and of virtual disks fill in noughts and the like.
fn is_a_name(value: &str) -> bool {
    let mut signs = value.trim().chars();
    let first = signs.next();
    value.len() <= VALUE_BYTES_MAX && signs.any(|sign| Some(sign) != first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_one_sign_is_no_name() {
        for value in ["", " ", "0", "0000000000", "xxxx"] {
            assert!(!is_a_name(value), "{value:?}");
        }
        assert!(is_a_name(" S1"));
        assert!(!is_a_name(&"ab".repeat(200)));
    }
}
