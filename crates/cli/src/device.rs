//! `ahead device`: words of the command line into windows, and these into tables.
//!
//! The verbs that do more than set one are in files of their own. Windows are always shown in KiB and in sectors of 512 bytes, as the two are mixed up.

use std::path::Path;

use ahead_device::display::quoted;
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
                list(&stacks)
            }
        }
        DeviceVerb::Get { target, options } => {
            let machine = machine(options)?;
            let stack = stack::of(&machine, &target::find(&machine, target)?);
            if options.json {
                to_json(&stack)
            } else {
                get(target, &stack)
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
            let change = window::set(&machine(options)?, target, window_value::kib(value)?)?;
            changed(&change, options, Some(target))
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
        let label = layer.label.clone().unwrap_or_default();
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
            layer.label.clone().unwrap_or_default(),
            kib,
            sectors,
            if layer.counts { "yes" } else { "" }.to_owned(),
            origin,
        ]);
    }
    let counting = stack.counting();
    let says = counting.and_then(|layer| Some((layer, layer.read_ahead_kb?)));
    let sentence = match says {
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
        .map(|note| format!("cannot use {}: {}\n", note.path, note.why))
        .collect();
    lines.dedup();
    lines.concat()
}

fn changed(change: &WindowChange, options: &DeviceOptions, to_undo: Option<&str>) -> String {
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
    if let Some(target) = to_undo {
        let target = quoted(target);
        text +=
            &format!("It holds until the next boot; `ahead device undo {target}` puts it back.\n");
    }
    text
}
