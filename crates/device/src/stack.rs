//! The layers between a file and its disks, from the top.
//!
//! The window of one layer counts for a read: that of the file system's bdi, which is its own or that of the
//! block device directly below it. Windows further down count for reads of those devices themselves.
//! Holders and slaves of a broken tree can form a circle: a device is shown once, and [`LAYERS_MAX`] at most.

use std::path::{Path, PathBuf};

use ahead_sys::mounts::{self, Mount};
use serde::Serialize;

use crate::block::{self, BlockFacts, LayerKind, QueueLimits};
use crate::machine::{MachineTree, Unread};
use crate::origin::{self, Origin};
use crate::superblock;
use crate::target::{self, Target};

/// More layers than any machine has below one file.
pub const LAYERS_MAX: usize = 256;

/// One layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StackLayer {
    /// How many layers stand above it.
    pub depth: usize,
    /// The kernel's name; for a file system its kind.
    pub name: String,
    /// What it is.
    pub kind: LayerKind,
    /// A name that people gave it: a mount point, the name of a volume, the file of a loop device.
    pub label: Option<String>,
    /// The bdi whose window it has: a number such as `8:0`, or a name such as `btrfs-1`.
    pub bdi: Option<String>,
    /// The window, in KiB.
    pub read_ahead_kb: Option<u64>,
    /// Whether this window counts for reads of what was asked for.
    pub counts: bool,
    /// Where the window probably comes from.
    pub origin: Option<Origin>,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// What the queue says; nothing for a file system.
    pub limits: QueueLimits,
    /// The file that holds the window.
    #[serde(skip)]
    pub window_file: Option<PathBuf>,
    /// Whether it is a disk that a hypervisor made up: what it says of an arm is not known to be so.
    #[serde(skip)]
    pub is_virtual: bool,
}

/// The layers of one target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stack {
    /// From the top; those below a layer follow it with more depth.
    pub layers: Vec<StackLayer>,
    /// Largest read of the server, in bytes, for NFS and SMB.
    #[serde(skip)]
    pub rsize: Option<u64>,
    /// What was mounted, where the window is that of a mount.
    #[serde(skip)]
    pub source: Option<String>,
    /// What could not be read on the way.
    pub unread: Vec<Unread>,
}

impl Stack {
    /// The layer whose window counts.
    #[must_use]
    pub fn counting(&self) -> Option<&StackLayer> {
        self.layers.iter().find(|layer| layer.counts)
    }

    /// The disks that are read through the window that counts.
    pub fn disks(&self) -> impl Iterator<Item = &StackLayer> {
        let below = self.layers.iter().skip_while(|layer| !layer.counts);
        below.filter(|layer| layer.kind == LayerKind::Disk)
    }

    /// Whether one of them is a disk of a hypervisor.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        self.disks().any(|disk| disk.is_virtual)
    }
}

/// The layers below `target`.
#[must_use]
pub fn of(machine: &MachineTree, target: &Target) -> Stack {
    let mut builder = Builder {
        machine,
        kernel: machine.kernel(),
        stack: Stack::default(),
        seen: Vec::new(),
        has_counting: false,
    };
    match target {
        Target::Mounted(mount) => builder.mount(mount, 0),
        Target::Device(folder) => {
            builder.device(folder, 0);
        }
        Target::Bdi(name) => builder.bdi(name),
    }
    builder.stack
}

struct Builder<'a> {
    machine: &'a MachineTree,
    kernel: Option<(u32, u32)>,
    stack: Stack,
    seen: Vec<PathBuf>,
    has_counting: bool,
}

impl Builder<'_> {
    fn unread(&mut self) -> &mut Vec<Unread> {
        &mut self.stack.unread
    }

    /// Whether the window of a layer that has one counts: that of the first.
    fn first(&mut self) -> bool {
        !std::mem::replace(&mut self.has_counting, true)
    }

    fn window(&mut self, bdi: &str) -> Option<u64> {
        let file = superblock::window_file(self.machine, bdi);
        self.machine.number(&file, &mut self.stack.unread)
    }

    fn mount(&mut self, mount: &Mount, depth: usize) {
        let place = PathBuf::from(format!("mount {}", mount.device));
        if self.seen.contains(&place) || self.stack.layers.len() >= LAYERS_MAX {
            return;
        }
        self.seen.push(place);
        let backing = superblock::backing(self.machine, mount, &mut self.stack.unread);
        let read_ahead_kb = backing.own_bdi.as_ref().and_then(|bdi| self.window(bdi));
        let counts = backing.own_bdi.is_some() && self.first();
        let rsize = superblock::option(&mount.options, "rsize");
        let rasize = superblock::option(&mount.options, "rasize");
        if counts {
            self.stack.rsize = rsize;
            self.stack.source = Some(mount.source.to_string_lossy().into_owned());
        }
        let devices = backing.devices.len() as u64;
        let file_system = &mount.file_system;
        let window_file = backing.own_bdi.as_ref();
        self.stack.layers.push(StackLayer {
            depth,
            name: file_system.clone(),
            kind: LayerKind::FileSystem,
            label: Some(mount.mount_point.to_string_lossy().into_owned()),
            read_ahead_kb,
            counts,
            origin: read_ahead_kb
                .map(|kib| origin::of_superblock(kib, file_system, (rsize, rasize), devices)),
            size_bytes: None,
            limits: QueueLimits::default(),
            window_file: window_file.map(|bdi| superblock::window_file(self.machine, bdi)),
            bdi: backing.own_bdi,
            is_virtual: false,
        });
        for folder in backing.devices {
            self.device(&folder, depth + 1);
        }
        if !backing.folders.is_empty() {
            let mounts = mounts::mounts(&self.machine.proc()).unwrap_or_default();
            for folder in backing.folders {
                if let Some(below) = target::mount_of(&mounts, &folder) {
                    self.mount(below, depth + 1);
                }
            }
        }
    }

    /// Adds a device and those below; the window of it, for the layer above.
    fn device(&mut self, folder: &Path, depth: usize) -> Option<u64> {
        if self.stack.layers.len() >= LAYERS_MAX {
            return None;
        }
        if self.seen.iter().any(|seen| seen == folder) {
            // The same disk below two layers is no fault; a device below itself is.
            if self.is_above(folder, depth) {
                let machine = self.machine;
                machine.note(folder, "a device below itself".to_owned(), self.unread());
            }
            return None;
        }
        self.seen.push(folder.to_path_buf());
        let facts = block::read(self.machine, folder, &mut self.stack.unread);
        let has_window = facts.kind != LayerKind::Partition;
        let counts = has_window && self.first();
        let at = self.stack.layers.len();
        self.stack
            .layers
            .push(layer(&facts, depth, counts, has_window));
        let mut below = Vec::new();
        for device in &facts.below {
            below.extend(self.device(device, depth + 1));
        }
        self.loop_file(&facts, depth);
        if has_window && let Some(kib) = facts.read_ahead_kb {
            let origin = origin::of_block(kib, facts.kind, &facts.limits, self.kernel, &below);
            self.stack.layers[at].origin = Some(origin);
        }
        facts.read_ahead_kb
    }

    /// What lies below the file of a loop device.
    fn loop_file(&mut self, facts: &BlockFacts, depth: usize) {
        let Some(file) = &facts.backing_file else {
            return;
        };
        let mounts = mounts::mounts(&self.machine.proc()).unwrap_or_default();
        if let Some(mount) = target::mount_of(&mounts, file) {
            let before = std::mem::replace(&mut self.has_counting, true);
            self.mount(mount, depth + 1);
            self.has_counting = before || self.has_counting;
        }
    }

    /// Whether `folder` is one of the layers that the next one at `depth` would stand below.
    fn is_above(&self, folder: &Path, depth: usize) -> bool {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let mut depth = depth;
        for layer in self.stack.layers.iter().rev() {
            if layer.depth < depth {
                if layer.name == name {
                    return true;
                }
                depth = layer.depth;
            }
        }
        false
    }

    fn bdi(&mut self, name: &str) {
        let read_ahead_kb = self.window(name);
        self.stack.layers.push(StackLayer {
            depth: 0,
            name: name.to_owned(),
            kind: LayerKind::FileSystem,
            label: None,
            bdi: Some(name.to_owned()),
            read_ahead_kb,
            counts: true,
            origin: read_ahead_kb.map(|kib| {
                let kind = name.split('-').next().unwrap_or_default();
                origin::of_superblock(kib, kind, (None, None), 1)
            }),
            size_bytes: None,
            limits: QueueLimits::default(),
            window_file: Some(superblock::window_file(self.machine, name)),
            is_virtual: false,
        });
    }
}

fn layer(facts: &BlockFacts, depth: usize, counts: bool, has_window: bool) -> StackLayer {
    let number = facts.number.map(|number| number.to_string());
    StackLayer {
        depth,
        name: facts.name.clone(),
        kind: facts.kind,
        label: facts.label.clone(),
        bdi: number.filter(|_| has_window),
        read_ahead_kb: facts.read_ahead_kb.filter(|_| has_window),
        counts,
        origin: None,
        size_bytes: facts.size_bytes,
        limits: facts.limits.clone(),
        window_file: facts.window_file.clone().filter(|_| has_window),
        is_virtual: facts.is_virtual,
    }
}
