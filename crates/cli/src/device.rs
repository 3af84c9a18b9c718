//! `ahead device`: words of the command line into windows, and these into tables.
//!
//! The verbs that do more than set one are in files of their own. Windows are always shown in KiB and in sectors of 512 bytes, as the two are mixed up.

use std::path::Path;

use ahead_device::block::LayerKind;
use ahead_device::display::{harmless, quoted};
use ahead_device::finding;
use ahead_device::inventory;
use ahead_device::machine::MachineTree;
use ahead_device::origin::in_both_units;
use ahead_device::stack::{self, Stack, StackLayer};
use ahead_device::target;
use ahead_device::window::{self, WindowChange};
use ahead_device::window_journal;
use ahead_study::table;

use crate::arguments::{DeviceOptions, DeviceVerb};
use crate::exit::Exit;
use crate::output::{problem, to_json};
use crate::prose;

mod error;
pub mod measure;
mod persist;
pub mod recommend;
mod stored;
pub mod virtual_disk;
mod window_value;

pub use error::DeviceCommandError;

/// Does what was asked; the text to print, and the exit status: 1 where what was persisted does not hold.
///
/// # Errors
/// [`DeviceCommandError`].
pub fn device(verb: &DeviceVerb) -> Result<(String, Exit), DeviceCommandError> {
    let machine = |options: &DeviceOptions| {
        let machine = machine_of(options)?;
        put_back_left(&machine);
        Ok::<_, DeviceCommandError>(machine)
    };
    let text = match verb {
        DeviceVerb::List(options) => {
            let stacks = inventory::all(&machine(options)?);
            if options.json {
                to_json(&stacks)
            } else {
                prose::for_terminal(list(&stacks))
            }
        }
        DeviceVerb::Get { target, options } => {
            let machine = machine(options)?;
            let stack = stack::of(&machine, &target::find(&machine, target)?);
            if options.json {
                to_json(&stack)
            } else {
                prose::for_terminal(get(target, &stack))
            }
        }
        DeviceVerb::Set {
            target,
            value,
            options,
        }
        | DeviceVerb::Apply {
            target,
            value,
            options,
        } => {
            let machine = machine(options)?;
            let change = window::set(&machine, target, window_value::kib(value)?)?;
            let found = target::find(&machine, target).ok();
            let stack = found.map(|found| stack::of(&machine, &found));
            let layer = stack.as_ref().and_then(Stack::counting);
            let holds = holds(layer, change.now_kib);
            changed(&change, options, Some((target, &holds)))
        }
        DeviceVerb::Persist(arguments) => {
            let kib = window_value::kib(&arguments.value)?;
            persist::persist(&machine(&arguments.options)?, arguments, kib)?
        }
        DeviceVerb::Verify { target, options } => {
            return persist::verify(&machine(options)?, target.as_deref(), options);
        }
        DeviceVerb::Revert { target, options } => {
            persist::revert(&machine(options)?, target.as_deref(), options)?
        }
        DeviceVerb::Undo { target, options } => {
            let change = window::undo(&machine(options)?, target)?;
            changed(&change, options, None)
        }
        DeviceVerb::Measure(arguments) => {
            put_back_left(&MachineTree::at(Path::new("/")));
            measure::measure(arguments)?
        }
        DeviceVerb::Recommend(arguments) => return Ok(recommend::recommend(arguments)?),
    };
    Ok((text, Exit::Fine))
}

/// The machine to look at.
///
/// # Errors
/// There is none in that folder.
pub fn machine_of(options: &DeviceOptions) -> Result<MachineTree, DeviceCommandError> {
    let machine = MachineTree::at(&options.root);
    if machine.sys().is_dir() {
        Ok(machine)
    } else {
        Err(DeviceCommandError::NoMachine(options.root.clone()))
    }
}

/// A measurement that was killed leaves its windows to the next command. Who only looks, and who may not, goes on;
/// a change meets the same obstacle again and then says so.
fn put_back_left(machine: &MachineTree) {
    for window in window_journal::put_back_left(machine).unwrap_or_default() {
        problem(&format!(
            "the window of {} is {} again: the process that had set it for a while was killed",
            window.bdi,
            in_both_units(window.kib)
        ));
    }
}

fn list(stacks: &[Stack]) -> String {
    let titles = ["device", "kind", "name", "KiB", "sectors", "probably"];
    let mut table = table::with_titles(&titles, 3..5);
    for layer in stacks.iter().filter_map(|stack| stack.layers.first()) {
        let [kib, sectors, origin] = cells(layer);
        let label = harmless(layer.label.as_deref().unwrap_or_default());
        table.add_row([
            layer.name.clone(),
            layer.kind.word().to_owned(),
            label,
            kib,
            sectors,
            origin,
        ]);
    }
    format!("{table}\n{}", unread(stacks))
}

fn cells(layer: &StackLayer) -> [String; 3] {
    let window = layer.read_ahead_kb;
    let text = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |n| n.to_string());
    [
        text(window),
        text(window.map(|kib| kib.saturating_mul(2))),
        layer
            .origin
            .map(|origin| origin.words())
            .unwrap_or_default()
            .to_owned(),
    ]
}

fn get(target: &str, stack: &Stack) -> String {
    let titles = [
        "layer", "kind", "name", "KiB", "sectors", "counts", "probably",
    ];
    let mut table = table::with_titles(&titles, 3..5);
    for layer in &stack.layers {
        let [kib, sectors, origin] = cells(layer);
        table.add_row([
            format!("{}{}", "  ".repeat(layer.depth), layer.name),
            layer.kind.word().to_owned(),
            harmless(layer.label.as_deref().unwrap_or_default()),
            kib,
            sectors,
            if layer.counts { "yes" } else { "" }.to_owned(),
            origin,
        ]);
    }
    let counting = stack.counting();
    let says = counting.and_then(|layer| Some((layer, layer.read_ahead_kb?)));
    let target = harmless(target);
    let sentence = match says {
        Some((layer, 0)) => format!(
            "Nothing is read ahead on {target}: the window of {} is 0.\n",
            layer.name
        ),
        Some((layer, kib)) => format!(
            "What is opened on {target} from now on reads ahead by up to {}: the window of {}.\n",
            in_both_units(kib),
            layer.name
        ),
        None => format!(
            "No window is known for {target}: nothing is read ahead there, or it cannot be read.\n"
        ),
    };
    let notes = unread(std::slice::from_ref(stack));
    format!("{table}\n{sentence}{notes}")
}

fn unread(stacks: &[Stack]) -> String {
    let mut lines: Vec<_> = stacks
        .iter()
        .flat_map(|stack| &stack.unread)
        .map(|note| harmless(&format!("cannot use {}: {}", note.path, note.why)) + "\n")
        .collect();
    lines.dedup();
    lines.concat()
}

/// How long a window that is only set holds, and for a volume what keeps it longer.
fn holds(layer: Option<&StackLayer>, kib: u64) -> String {
    if layer.is_some_and(finding::ends_with_mount) {
        return "It holds until it is unmounted".to_owned();
    }
    let volume = layer.filter(|layer| layer.kind == LayerKind::LogicalVolume);
    let name = volume.and_then(|volume| volume.label.as_deref());
    name.map_or_else(
        || "It holds until the next boot".to_owned(),
        |name| {
            let node = quoted(&format!("/dev/mapper/{name}"));
            let sectors = match kib.saturating_mul(2) {
                0 => "none".to_owned(),
                sectors => sectors.to_string(),
            };
            format!(
                "LVM keeps it with `lvchange -r {sectors} {node}`; else it holds until the volume is activated again"
            )
        },
    )
}

fn changed(
    change: &WindowChange,
    options: &DeviceOptions,
    to_undo: Option<(&str, &str)>,
) -> String {
    if options.json {
        return to_json(change);
    }
    if to_undo.is_some()
        && change.now_kib == change.before_kib
        && change.now_kib == change.asked_kib
    {
        return format!(
            "{}: {} already; nothing was changed, and nothing noted\n",
            change.name,
            in_both_units(change.now_kib)
        );
    }
    let mut text = format!(
        "{}: {} now, {} before\n",
        change.name,
        in_both_units(change.now_kib),
        in_both_units(change.before_kib)
    );
    if change.now_kib != change.asked_kib {
        text += &format!(
            "The kernel keeps this instead of {}.\n",
            in_both_units(change.asked_kib)
        );
    }
    if change.open_files > 0 {
        text += &format!(
            "{} or more files are open and keep the window that they were opened with.\n",
            change.open_files
        );
    }
    if let Some((target, holds)) = to_undo {
        let target = quoted(target);
        text += &format!("{holds}; `ahead device undo {target}` puts it back.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use ahead_device::block::QueueLimits;

    use super::*;

    fn layer(name: &str, kind: LayerKind, label: &str, kib: u64) -> StackLayer {
        StackLayer {
            depth: 0,
            name: name.to_owned(),
            kind,
            label: Some(label.to_owned()),
            bdi: None,
            read_ahead_kb: Some(kib),
            counts: true,
            origin: None,
            size_bytes: None,
            limits: QueueLimits::default(),
            window_file: None,
            is_virtual: false,
        }
    }

    /// It said the next boot of a mount, and nothing of what keeps the window of a volume.
    #[test]
    fn how_long_a_window_holds_is_said_of_its_layer() {
        let of = |name, kind, label| holds(Some(&layer(name, kind, label, 512)), 512);
        let boot = "It holds until the next boot";
        assert_eq!(of("sda", LayerKind::Disk, ""), boot);
        assert_eq!(of("fuse", LayerKind::FileSystem, "/mnt"), boot);
        for name in ["nfs4", "btrfs", "cifs", "ceph"] {
            let held = of(name, LayerKind::FileSystem, "/mnt");
            assert_eq!(held, "It holds until it is unmounted", "{name}");
        }
        let held = of("dm-0", LayerKind::LogicalVolume, "vg-home");
        assert!(
            held.contains("`lvchange -r 1024 /dev/mapper/vg-home`"),
            "{held}"
        );
        assert_eq!(holds(None, 512), boot);
    }

    #[test]
    fn a_window_of_0_is_said_to_read_nothing_ahead() {
        let of = |kib| {
            let stack = Stack {
                layers: vec![layer("sda", LayerKind::Disk, "", kib)],
                ..Stack::default()
            };
            get("sda", &stack)
        };
        assert!(of(0).contains("Nothing is read ahead on sda: the window of sda is 0.\n"));
        assert!(of(128).contains("reads ahead by up to 128 KiB (256 sectors)"));
    }
}
