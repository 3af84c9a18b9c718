//! Whether this machine is a container: the windows that it sees are then those of its host, for all that run there.

use std::path::Path;

use ahead_sys::mounts;

use crate::finding::FindingEvidence;
use crate::machine::MachineTree;

/// Files and folders by which container managers say what they have made, and those who made them.
const SIGNS: [(&str, &str); 4] = [
    ("run/systemd/container", ""),
    ("run/.containerenv", "podman"),
    (".dockerenv", "docker"),
    ("run/secrets/kubernetes.io", "kubernetes"),
];

/// Folders in which container managers keep the layers of a root. An overlay alone says nothing: the root of `OpenWrt` and of
/// installation media is one, too.
const STORES: [&str; 5] = [
    "/docker/",
    "/containerd/",
    "/containers/",
    "/buildkit/",
    "/crio/",
];

/// What says so; `None` where nothing does, as on most machines.
#[must_use]
pub fn sign(machine: &MachineTree) -> Option<FindingEvidence> {
    let sign = |(file, manager): (&str, &str)| {
        let place = machine.below(Path::new(file));
        if !place.exists() {
            return None;
        }
        let says = machine.text(&place, &mut Vec::new());
        let says = says.filter(|says| manager.is_empty() && says.len() < 64);
        let says = says.unwrap_or_else(|| manager.to_owned());
        Some(FindingEvidence {
            file: format!("/{file}"),
            says: format!("a container ({says}): the window is its host's"),
        })
    };
    SIGNS
        .into_iter()
        .find_map(sign)
        .or_else(|| overlay_root(machine))
}

/// The sign that the root is made of layers of a container manager.
fn overlay_root(machine: &MachineTree) -> Option<FindingEvidence> {
    let mounts = mounts::mounts(&machine.proc()).ok()?;
    let mut roots = mounts.iter().rev();
    let root = roots.find(|mount| mount.mount_point == Path::new("/"))?;
    let is_layered = STORES.iter().any(|store| root.options.contains(store));
    (root.file_system == "overlay" && is_layered).then(|| FindingEvidence {
        file: "/proc/self/mountinfo".to_owned(),
        says: "a container (its root is an overlay): the window is its host's".to_owned(),
    })
}
