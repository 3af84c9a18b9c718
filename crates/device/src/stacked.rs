//! Two read-aheads, one over the other: a file system in a process that reads ahead by itself under a raised window of
//! the kernel, and a loop device that reads its file through the page cache.
//!
//! What is measured through the latter, or on a file system in memory, is memory: [`in_memory`] says so.
//!
//! Both are notes. What the lower one does is not to be seen from outside: only what it is, and that the window above
//! it was raised over the kernel's default. Clients that leave reading ahead to the kernel, as gcsfuse may, are not
//! among them.

use crate::block::{self, LayerKind};
use crate::display;
use crate::finding::{self, Finding, FindingEvidence, Repair, Severity};
use crate::machine::MachineTree;
use crate::origin::DEFAULT_KIB;
use crate::stack::{Stack, StackLayer};

/// Clients that always read ahead by themselves, by the kind of their mount or its source.
/// rclone: chunks of 128 MiB that double. mountpoint-s3: from 1 MiB to 2 GiB for a file, sized for the kernel's
/// default. `JuiceFS`: a window of blocks for each of several streams, which doubles.
const CLIENTS: [&str; 4] = ["fuse.rclone", "mountpoint-s3", "fuse.juicefs", "JuiceFS"];

/// The finding of one target, if there is one.
#[must_use]
pub fn of_stack(machine: &MachineTree, name: &str, stack: &Stack) -> Option<Finding> {
    let layer = stack.counting()?;
    let kib = layer.read_ahead_kb.filter(|kib| *kib > DEFAULT_KIB)?;
    let (sentence, evidence, more) =
        client(stack, layer).or_else(|| loop_file(machine, stack, layer))?;
    Some(Finding {
        id: "stacked-read-ahead",
        severity: Severity::Note,
        sentence,
        evidence: vec![finding::window(layer, kib), evidence],
        consequence: vec![
            more,
            format!(
                "The kernel asks for up to {} ahead of each stream on top of that; with {} it leaves that to the layer below.",
                display::size(kib),
                display::size(DEFAULT_KIB)
            ),
        ],
        repair: Some(Repair::now(name, DEFAULT_KIB)),
    })
}

/// Why reads of `stack` come from memory, also those past the page cache, and what to do; `None` where they do not, as far as
/// that is said.
#[must_use]
pub fn in_memory(machine: &MachineTree, stack: &Stack) -> Option<String> {
    // The file system of a file, or of the file of a loop device. Those of an overlay need not have it.
    let mut above = None;
    for layer in &stack.layers {
        let is_memory = matches!(layer.name.as_str(), "tmpfs" | "ramfs");
        let has_the_file = matches!(above, None | Some(LayerKind::Loop));
        if layer.kind == LayerKind::FileSystem && is_memory && has_the_file {
            return Some(format!(
                "its file lies on {}, which is memory: name a device, or a large file on one",
                layer.name
            ));
        }
        if layer.kind == LayerKind::Loop && is_direct(machine, layer) == Some(false) {
            return Some(format!(
                "{} reads its file through the page cache (/sys/block/{}/loop/dio: 0): make it with `losetup \
                 --direct-io=on`, or name a file or device below it",
                layer.name, layer.name
            ));
        }
        above = Some(layer.kind);
    }
    None
}

/// Whether a loop device reads past the page cache.
fn is_direct(machine: &MachineTree, layer: &StackLayer) -> Option<bool> {
    let folder = block::folder_of(machine, &layer.name)?;
    machine.flag(&folder.join("loop/dio"), &mut Vec::new())
}

type Found = (String, FindingEvidence, String);

fn client(stack: &Stack, layer: &StackLayer) -> Option<Found> {
    let source = stack.source.as_deref().unwrap_or_default();
    let is_known =
        |client: &&&str| layer.name == **client || source.split(':').next() == Some(**client);
    let client = CLIENTS.iter().find(is_known)?;
    if layer.kind != LayerKind::FileSystem || !layer.name.starts_with("fuse") {
        return None;
    }
    let evidence = FindingEvidence {
        file: "/proc/self/mountinfo".to_owned(),
        says: format!("{} {source}", layer.name),
    };
    let client = client.trim_start_matches("fuse.");
    Some((
        format!("{client} reads ahead by itself, and the kernel's window above it was raised."),
        evidence,
        format!(
            "What {client} has read ahead lies in its own buffer, and in the page cache a second time."
        ),
    ))
}

fn loop_file(machine: &MachineTree, stack: &Stack, layer: &StackLayer) -> Option<Found> {
    if layer.kind != LayerKind::Loop {
        return None;
    }
    let direct = is_direct(machine, layer)?;
    let below = stack.layers.iter().skip_while(|one| !one.counts).skip(1);
    let below = below.filter(|one| one.depth > layer.depth);
    let below = below
        .filter_map(|one| one.read_ahead_kb)
        .find(|kib| *kib > 0)?;
    (!direct).then(|| {
        (
            format!("{} reads its file through the page cache, which reads ahead as well.", layer.name),
            FindingEvidence {
                file: format!("/sys/block/{}/loop/dio", layer.name),
                says: "0".to_owned(),
            },
            format!(
                "What is read lies in memory twice, and the file is read ahead by up to {} as well; `losetup --direct-io=on` ends both.",
                display::size(below)
            ),
        )
    })
}
