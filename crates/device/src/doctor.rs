//! The findings of a machine: its windows that count, each by its layers and by what sets it at boot.

use ahead_sys::meminfo::MemoryInfo;
use ahead_sys::mounts;
use serde::Serialize;

use crate::block::LayerKind;
use crate::boot::{self, BootSettings};
use crate::boot_setting::{BootSetting, WindowUnit};
use crate::container;
use crate::display;
use crate::finding::{self, DeviceTiming, Finding, FindingEvidence, Repair, Severity};
use crate::identity;
use crate::inventory;
use crate::machine::{MachineTree, Unread};
use crate::mapped::MappedAdvice;
use crate::origin::{self, Origin};
use crate::repairs;
use crate::stack::{self, Stack, StackLayer};
use crate::stacked;
use crate::target::{self, DeviceTargetError, Target};
use crate::verify::{self, VerifiedWindow};
use crate::window;

/// The findings of one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// What was looked at: a path, or the name of a device.
    pub target: String,
    /// The layer whose window counts.
    pub layer: Option<String>,
    /// Its window, in KiB.
    pub read_ahead_kb: Option<u64>,
    /// What was found; the worst first.
    pub findings: Vec<Finding>,
    /// What could not be read.
    pub unread: Vec<Unread>,
}

impl Diagnosis {
    /// The worst severity of it.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}

/// Looks at `names`, or without any at every window of the machine that counts for a file or a device. `timing` is how
/// long the device of a stack takes, where that is known, and `mapped` what programs said of mapped files, where
/// that was looked at.
///
/// # Errors
/// A name that stands for nothing.
pub fn examine(
    machine: &MachineTree,
    names: &[String],
    timing: &dyn Fn(&Stack) -> Option<DeviceTiming>,
    mapped: &MappedAdvice,
) -> Result<Vec<Diagnosis>, DeviceTargetError> {
    let targets = if names.is_empty() {
        all(machine)
    } else {
        let stacks = names.iter().map(|name| {
            let stack = stack::of(machine, &target::find(machine, name)?);
            Ok((target::name_to_change(machine, name), stack))
        });
        stacks.collect::<Result<_, DeviceTargetError>>()?
    };
    let boot = boot::read(machine);
    let memory = MemoryInfo::read(&machine.proc())
        .unwrap_or_default()
        .total_bytes;
    let container = container::sign(machine);
    // A record that cannot be read is the affair of `ahead device verify`.
    let verified = verify::verify_with(machine, &boot).unwrap_or_default();
    let looked = targets.into_iter().map(|(target, stack)| {
        // A name that a terminal would obey is no word of a command.
        let is_plain = !target.contains(char::is_control);
        let name = match (&container, stack.counting()) {
            (None, _) if is_plain => target.clone(),
            (_, Some(layer)) => name_of_kernel(layer),
            _ => target.clone(),
        };
        let mut findings = finding::of_stack(&name, &stack, memory, timing(&stack));
        findings.extend(stacked::of_stack(machine, &name, &stack));
        findings.extend(mapped.of_stack(machine, &stack));
        of_boot(machine, &name, &stack, &boot, memory, &mut findings);
        if let Some((file, finding)) = not_holding(machine, &name, &stack, &verified) {
            // It says the same of this file, and what the owner wanted.
            let is_other = |one: &Finding| one.id != "overwritten-by" || !one.is_about(&file);
            findings.retain(is_other);
            findings.push(finding);
        }
        repairs::settle(&mut findings);
        for finding in &mut findings {
            in_container(container.as_ref(), finding);
        }
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        let layer = stack.counting();
        Diagnosis {
            layer: layer.map(|layer| layer.name.clone()),
            read_ahead_kb: layer.and_then(|layer| layer.read_ahead_kb),
            target,
            findings,
            unread: stack.unread,
        }
    });
    Ok(looked.collect())
}

/// Every window once: by the first mount that reads through it, and else by its device. Devices that only carry
/// others are read by no file, so their windows are looked at with those above.
fn all(machine: &MachineTree) -> Vec<(String, Stack)> {
    let mut targets: Vec<(String, Stack)> = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for mount in mounts::mounts(&machine.proc()).unwrap_or_default() {
        let name = mount.mount_point.to_string_lossy().into_owned();
        let stack = stack::of(machine, &Target::Mounted(Box::new(mount)));
        let bdi = stack.counting().and_then(|layer| layer.bdi.clone());
        if let Some(bdi) = bdi.filter(|bdi| !seen.contains(bdi)) {
            seen.push(bdi);
            targets.push((name, stack));
        }
    }
    let devices = inventory::all(machine);
    let carried = devices.iter().chain(targets.iter().map(|(_, stack)| stack));
    let carried = carried.flat_map(|stack| stack.layers.iter().filter(|layer| !layer.counts));
    seen.extend(carried.filter_map(|layer| layer.bdi.clone()));
    for stack in devices {
        let layer = stack.counting();
        if let Some(layer) =
            layer.filter(|layer| layer.bdi.as_ref().is_none_or(|bdi| !seen.contains(bdi)))
        {
            targets.push((layer.name.clone(), stack));
        }
    }
    targets
}

/// What sets this window at boot, against what it is now.
fn of_boot(
    machine: &MachineTree,
    name: &str,
    stack: &Stack,
    boot: &BootSettings,
    memory_bytes: Option<u64>,
    found: &mut Vec<Finding>,
) {
    let counting = stack.counting();
    let Some((layer, kib)) = counting.and_then(|layer| Some((layer, layer.read_ahead_kb?))) else {
        return;
    };
    let names = identity::names(machine, layer, stack);
    let about = |setting: &&BootSetting| setting.sets(&names) != Some(false);
    let places: Vec<_> = boot.settings.iter().filter(about).collect();
    let mistakes = places.iter().filter_map(|place| mistaken_unit(name, place));
    found.extend(mistakes);
    found.extend(mixed_units(name, layer, kib, &places));
    match places
        .iter()
        .rev()
        .find_map(|place| last_word(place, &names, kib))
    {
        Some((last, boot_kib)) if boot_kib != kib => {
            let is_usable = finding::is_usable(boot_kib, memory_bytes);
            found.push(overwritten(name, layer, kib, last, (boot_kib, is_usable)));
        }
        Some(_) => repairs::is_meant(found),
        None if places.is_empty() && boot.is_searched && is_lost(layer) => {
            found.push(lost(name, layer, kib));
        }
        None => {}
    }
}

/// The window that `place` surely makes of `kib`; `None` where it leaves that to those before it.
fn last_word<'a>(
    place: &'a BootSetting,
    names: &[String],
    kib: u64,
) -> Option<(&'a BootSetting, u64)> {
    let boot_kib = place.kib()?;
    // One that only raises leaves a larger window, which something else has made.
    let is_its = place.changes(names, kib)? || !place.only_raises || boot_kib == kib;
    is_its.then_some((place, boot_kib))
}

/// Whether the next boot makes another window. LVM keeps that of a volume itself, and that of a file system of the network
/// and of btrfs ends with the mount.
fn is_lost(layer: &StackLayer) -> bool {
    let is_kept = match layer.kind {
        LayerKind::FileSystem => !finding::ends_with_mount(layer),
        LayerKind::LogicalVolume | LayerKind::Zram => true,
        _ => false,
    };
    layer.origin == Some(Origin::Set) && !is_kept
}

fn place(setting: &BootSetting) -> FindingEvidence {
    let kib = setting.kib().unwrap_or_default();
    let only = if setting.only_raises {
        ", if it has less"
    } else {
        ""
    };
    FindingEvidence {
        file: format!("{}:{}", setting.file, setting.line),
        says: format!(
            "{} gets {}{only}",
            setting.pattern,
            origin::in_both_units(kib)
        ),
    }
}

fn overwritten(
    name: &str,
    layer: &StackLayer,
    kib: u64,
    setting: &BootSetting,
    (boot_kib, is_usable): (u64, bool),
) -> Finding {
    let is_twice = boot_kib.checked_mul(2) == Some(kib) || kib.checked_mul(2) == Some(boot_kib);
    let mut consequence = vec![format!(
        "The next boot, or the next time the device appears, changes it from {} to {}.",
        display::size(kib),
        display::size(boot_kib)
    )];
    if is_twice {
        consequence.push(
            "One is twice the other: perhaps sectors of 512 bytes were taken for KiB.".to_owned(),
        );
    }
    if !is_usable {
        consequence.push(format!(
            "{}:{} must be corrected: {}.",
            setting.file,
            setting.line,
            match boot_kib {
                0 => "with that nothing is read ahead",
                _ => "that is more than a stream should have of the memory",
            }
        ));
    }
    Finding {
        id: "overwritten-by",
        severity: Severity::Warning,
        sentence: format!(
            "{} sets another window of {} than it has.",
            setting.file, layer.name
        ),
        evidence: vec![finding::window(layer, kib), place(setting)],
        consequence,
        repair: is_usable.then(|| Repair::now(name, boot_kib)),
    }
}

fn lost(name: &str, layer: &StackLayer, kib: u64) -> Finding {
    let size = display::size(kib);
    let (when, mut consequence) = if layer.kind == LayerKind::FileSystem {
        let ends = format!("Once it is unmounted, the {size} are lost.");
        ("when it is mounted", vec![ends])
    } else {
        ("at boot", vec![format!("The next boot loses the {size}.")])
    };
    let repair = if finding::has_mount_option(layer) {
        consequence.push(format!(
            "The mount option rasize={} gives it the same window each time.",
            kib.saturating_mul(1024)
        ));
        None
    } else {
        Some(Repair::lasting(name, kib))
    };
    Finding {
        id: "lost-at-boot",
        severity: Severity::Warning,
        sentence: format!(
            "The window of {} was set, and nothing in the usual places sets it {when}.",
            layer.name
        ),
        evidence: vec![finding::window(layer, kib)],
        consequence,
        repair,
    }
}

/// What was persisted, and is otherwise: the file that should set it, and the finding.
fn not_holding(
    machine: &MachineTree,
    name: &str,
    stack: &Stack,
    verified: &[VerifiedWindow],
) -> Option<(String, Finding)> {
    let layer = stack.counting()?;
    let kib = layer.read_ahead_kb?;
    let identity = identity::of(machine, layer);
    let one = verified
        .iter()
        .find(|one| one.identity == identity && !one.holds)?;
    let says = format!("persisted: {}", origin::in_both_units(one.persisted_kib));
    let file = one.file.clone();
    let finding = Finding {
        id: "not-as-persisted",
        severity: Severity::Warning,
        sentence: format!("What was persisted for {} does not hold.", layer.name),
        evidence: vec![finding::window(layer, kib), FindingEvidence { file, says }],
        consequence: one.why.clone(),
        repair: Some(Repair::lasting(name, one.persisted_kib)),
    };
    Some((one.file.clone(), finding))
}

/// What the kernel calls a window, also on the host of a container. The paths of that are others there; numbers and names
/// of the kernel are the same.
fn name_of_kernel(layer: &StackLayer) -> String {
    let number = layer
        .bdi
        .as_ref()
        .filter(|_| layer.kind == LayerKind::FileSystem);
    number.unwrap_or(&layer.name).clone()
}

/// A container sees the windows of its host, and whoever sets one there sets it for all.
fn in_container(sign: Option<&FindingEvidence>, finding: &mut Finding) {
    if let Some(sign) = sign
        && let Some(repair) = finding.repair.take()
    {
        finding.evidence.push(sign.clone());
        finding.repair = Some(repair.behind("on the host"));
    }
}

/// What a comment says in smaller numbers is the size of something else, a page or a sector.
const WINDOW_SAID_KIB_MIN: u64 = 64;

/// The comment beside a value says twice or half of it, or the value is in bytes.
fn mistaken_unit(name: &str, setting: &BootSetting) -> Option<Finding> {
    let (kib, said) = (setting.kib()?, setting.comment_kib?);
    let is_times = |factor| said.checked_mul(factor) == Some(kib);
    let taken = if is_times(2) || kib.checked_mul(2) == Some(said) {
        "sectors of 512 bytes were taken for KiB, or the other way round"
    } else if said >= WINDOW_SAID_KIB_MIN && is_times(1024) {
        "bytes were taken for KiB"
    } else if said >= WINDOW_SAID_KIB_MIN && is_times(512) {
        "bytes were taken for sectors"
    } else {
        return None;
    };
    let is_usable = said > 0 && window::check(said).is_ok();
    let repair = is_usable.then(|| Repair::now(name, said));
    Some(Finding {
        id: "sectors-for-kib",
        severity: Severity::Warning,
        sentence: format!(
            "The comment in {} says {}, and the value beside it is {}: perhaps {taken}.",
            setting.file,
            display::size(said),
            display::size(kib)
        ),
        evidence: vec![place(setting)],
        consequence: vec![format!(
            "The window becomes {} and not {}.",
            display::size(kib),
            display::size(said)
        )],
        repair: repair.map(|repair| repair.behind("correct the number or the comment; now")),
    })
}

/// Two places say the same number, one in KiB and one in sectors.
fn mixed_units(
    name: &str,
    layer: &StackLayer,
    kib: u64,
    places: &[&BootSetting],
) -> Option<Finding> {
    let of = |unit| places.iter().filter(move |place| place.unit == unit);
    let mut pairs = of(WindowUnit::Kib).filter_map(|one| {
        let other = of(WindowUnit::Sectors).find(|other| other.written == one.written)?;
        (one.kib()? != other.kib()?).then_some((one, other))
    });
    let (one, other) = pairs.next()?;
    let (kib_of_one, kib_of_other) = (one.kib()?, other.kib()?);
    Some(Finding {
        id: "sectors-for-kib",
        severity: Severity::Warning,
        sentence: format!(
            "{} gets the number {} in {} as KiB and in {} as sectors of 512 bytes: two windows.",
            layer.name,
            one.written.unwrap_or_default(),
            one.file,
            other.file
        ),
        evidence: vec![finding::window(layer, kib), place(one), place(other)],
        consequence: vec![format!(
            "It becomes {} or {}, as the order has it.",
            display::size(kib_of_one),
            display::size(kib_of_other)
        )],
        repair: Some(Repair::now(name, kib_of_one).behind("correct one of the numbers; now")),
    })
}
