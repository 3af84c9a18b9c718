//! Whether this machine is a container: the windows that it sees are then those of its host, for all that run there.

use std::path::Path;

use crate::finding::FindingEvidence;
use crate::machine::MachineTree;

/// Files by which container managers say what they have made, and those who made them.
const SIGNS: [(&str, &str); 3] = [
    ("run/systemd/container", ""),
    ("run/.containerenv", "podman"),
    (".dockerenv", "docker"),
];

/// What says so; `None` where nothing does, as on most machines.
#[must_use]
pub fn sign(machine: &MachineTree) -> Option<FindingEvidence> {
    let sign = |(file, manager): (&str, &str)| {
        let place = machine.below(Path::new(file));
        if !place.is_file() {
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
    SIGNS.into_iter().find_map(sign)
}
