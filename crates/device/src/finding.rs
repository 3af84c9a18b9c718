//! What is wrong with the window of one target, by its layers alone.
//!
//! A finding says what the facts support and no more: a value that a kernel rule gives is none, unless the rule
//! was fed with something that cannot be true. Consequences are arithmetic on the window; what a window costs or
//! gains in time depends on the device, and is left to measuring. What boot settings add is in
//! [`doctor`](crate::doctor).

use serde::Serialize;

use crate::block::LayerKind;
use crate::display::{quoted, size};
use crate::origin::{self, DEFAULT_KIB, Origin, PAGE_KIB};
use crate::stack::{Stack, StackLayer};
use crate::window;

/// From here on a window is large whatever gave it. Storage over a network is served well by up to 15 MiB (15
/// reads of 1 MiB on NFS), and arrays by a few MiB; the incidents that are known began at 4 to 64 MiB.
pub const LARGE_KIB: u64 = 16 << 10;

/// Windows of a stream that are on their way at the same time, and then in memory, at most.
pub const WINDOWS_AT_ONCE: u64 = 2;

/// Fewer streams than this should not be able to fill the memory with their windows.
const STREAMS_MIN: u64 = 64;

/// From here on no device can mean a request by *optimal*. Lower, and the full stripe of a large array behind a
/// controller would be blamed, which can be some MiB; higher, and what is known to be wrong (32 MiB) comes near.
const OPTIMAL_BYTES_BOGUS: u64 = 16 << 20;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing; nothing has to be done.
    Note,
    /// It probably costs something.
    Warning,
}

impl Severity {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
        }
    }
}

/// A file of the machine and what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FindingEvidence {
    /// The file, with its line where it has several.
    pub file: String,
    /// What it says.
    pub says: String,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What kind of finding: a name that does not change between versions.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong, in a sentence.
    pub sentence: String,
    /// What says so.
    pub evidence: Vec<FindingEvidence>,
    /// What follows from it, in numbers.
    pub consequence: Vec<String>,
    /// The command that repairs it; nothing where the facts name no better value, and for most notes.
    pub repair: Option<Repair>,
}

impl Finding {
    /// Whether a line of `file` is evidence of it.
    #[must_use]
    pub fn is_about(&self, file: &str) -> bool {
        let mut lines = self.evidence.iter().map(|one| one.file.rsplit_once(':'));
        lines.any(|line| line.is_some_and(|(its, _)| its == file))
    }
}

/// The command that repairs, and the window that it makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Repair {
    /// The window, in KiB.
    #[serde(skip)]
    pub kib: u64,
    /// The command, for a shell; what else is to be done stands before it.
    pub command: String,
}

impl Repair {
    /// The command that sets `kib`.
    #[must_use]
    pub fn now(name: &str, kib: u64) -> Self {
        let command = command("set", name, kib);
        Self { kib, command }
    }

    /// The command that sets `kib` now and at every boot.
    #[must_use]
    pub fn lasting(name: &str, kib: u64) -> Self {
        let command = command("persist", name, kib);
        Self { kib, command }
    }

    /// The same, with `words` before the command.
    #[must_use]
    pub fn behind(self, words: &str) -> Self {
        let command = format!("{words}: {}", self.command);
        Self { command, ..self }
    }
}

/// How long a device takes: what a window costs other readers follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceTiming {
    /// Time until the first byte of a read, in nanoseconds.
    pub access_ns: u64,
    /// Bandwidth, in bytes per second.
    pub bytes_per_second: u64,
    /// Whether it was learned of this device, by `ahead device measure` or from its readers; otherwise it is what its kind mostly has.
    pub is_measured: bool,
}

impl DeviceTiming {
    /// What another read waits for at most behind the windows of one stream of `kib`: the next one is requested
    /// as soon as the first page of the one before is read, while the rest of that is still on its way.
    fn wait(self, kib: u64) -> String {
        let bytes = u128::from(kib) * u128::from(WINDOWS_AT_ONCE) * 1024 * 1_000_000_000;
        let transfer_ns = bytes / u128::from(self.bytes_per_second.max(1));
        let us = |ns: u128| ns / 1000;
        let milliseconds = |us: u128| match us {
            ..1000 => format!("{us} us"),
            _ => format!("{}.{} ms", us / 1000, us % 1000 / 100),
        };
        let access = milliseconds(us(u128::from(self.access_ns)));
        let source = if self.is_measured {
            "as learned here"
        } else {
            "by its kind, not measured"
        };
        format!(
            "Another read waits up to {} behind one stream and its two windows (access {access}, {} MB/s: {source}).",
            milliseconds(us(u128::from(self.access_ns) + transfer_ns)),
            self.bytes_per_second / 1_000_000
        )
    }
}

/// The findings of one target. `name` is what the commands call it.
#[must_use]
pub fn of_stack(
    name: &str,
    stack: &Stack,
    memory_bytes: Option<u64>,
    timing: Option<DeviceTiming>,
) -> Vec<Finding> {
    let Some(layer) = stack.counting() else {
        return Vec::new();
    };
    let Some(kib) = layer.read_ahead_kb else {
        return Vec::new();
    };
    let found = [
        zero(name, layer, kib, stack, memory_bytes),
        too_small(name, layer, kib, stack),
        too_large(name, layer, kib, stack, memory_bytes)
            .map(|finding| with_wait(finding, kib, timing)),
        disagreeing(name, layer, kib, stack),
    ];
    found.into_iter().flatten().collect()
}

/// Without windows every reader waits for each of its reads. Some file systems (9p) mean it.
fn zero(
    name: &str,
    layer: &StackLayer,
    kib: u64,
    stack: &Stack,
    memory_bytes: Option<u64>,
) -> Option<Finding> {
    let known = ["nfs", "nfs4", "btrfs", "cifs", "smb3", "ceph"];
    let is_meant = layer.kind == LayerKind::FileSystem && !known.contains(&layer.name.as_str());
    (kib == 0 && !is_meant).then(|| Finding {
        id: "zero-window",
        severity: Severity::Warning,
        sentence: format!("Nothing is read ahead on {}.", layer.name),
        evidence: vec![window(layer, kib)],
        consequence: vec!["Every sequential reader waits for each of its reads.".to_owned()],
        repair: better_kib(layer, stack, memory_bytes).map(|kib| Repair::now(name, kib)),
    })
}

/// The window that the kernel's rule gives, or one request of the storage, or the default: the first that would have no
/// finding. `None` where each has one.
fn better_kib(layer: &StackLayer, stack: &Stack, memory_bytes: Option<u64>) -> Option<u64> {
    let (by_rule, origin) = rule_kib(layer);
    let is_rule_wrong = origin == Origin::TwiceRequest
        || (origin == Origin::TwiceOptimal && is_optimal_bogus(layer, stack));
    let request = match layer.kind {
        LayerKind::FileSystem => stack.rsize,
        _ => layer.limits.optimal_io_bytes,
    };
    let request = whole_pages_kib(request.unwrap_or(0)).max(DEFAULT_KIB);
    let known = [by_rule, request, DEFAULT_KIB];
    let mut known = known.into_iter().skip(usize::from(is_rule_wrong));
    known.find(|kib| {
        let is_too_large = *kib > DEFAULT_KIB && is_large(*kib, memory_bytes);
        !is_too_large && too_small("", layer, *kib, stack).is_none()
    })
}

/// Whether the optimal request that the device names cannot be one.
fn is_optimal_bogus(layer: &StackLayer, stack: &Stack) -> bool {
    let optimal = layer.limits.optimal_io_bytes.unwrap_or(0);
    // A stripe of md is as large as it was made, also where it shows through a volume.
    let has_array = stack.layers.iter().any(|one| one.kind == LayerKind::Md);
    let is_odd = !optimal.is_multiple_of(PAGE_KIB * 1024) || optimal >= OPTIMAL_BYTES_BOGUS;
    !has_array && is_odd
}

fn is_large(kib: u64, memory_bytes: Option<u64>) -> bool {
    kib >= LARGE_KIB || fills_memory(kib, memory_bytes)
}

/// Whether few streams would fill the memory with their windows.
fn fills_memory(kib: u64, memory_bytes: Option<u64>) -> bool {
    memory_bytes.is_some_and(|bytes| streams_in(bytes, kib) < STREAMS_MIN)
}

/// Streams whose windows are in `bytes` of memory at the same time.
fn streams_in(bytes: u64, kib: u64) -> u64 {
    bytes / 1024 / kib.saturating_mul(WINDOWS_AT_ONCE).max(1)
}

/// Whether a command may set a window of `kib` because a file says so: it reads ahead, it can be set, and many streams have
/// theirs in the memory.
#[must_use]
pub fn is_usable(kib: u64, memory_bytes: Option<u64>) -> bool {
    let is_small = kib <= DEFAULT_KIB || !fills_memory(kib, memory_bytes);
    kib > 0 && window::check(kib).is_ok() && is_small
}

/// Whether a window that was set is gone when the file system of this layer is unmounted: its bdi is made with each mount.
#[must_use]
pub fn ends_with_mount(layer: &StackLayer) -> bool {
    let known = ["nfs", "nfs4", "btrfs"];
    let is_known = known.contains(&layer.name.as_str()) || has_mount_option(layer);
    layer.kind == LayerKind::FileSystem && is_known
}

/// Whether the window of this layer is an option of its mount.
#[must_use]
pub fn has_mount_option(layer: &StackLayer) -> bool {
    let known = ["cifs", "smb3", "ceph"];
    layer.kind == LayerKind::FileSystem && known.contains(&layer.name.as_str())
}

const fn whole_pages_kib(bytes: u64) -> u64 {
    bytes / 1024 / PAGE_KIB * PAGE_KIB
}

/// The default is less than what one request of this storage carries.
fn too_small(name: &str, layer: &StackLayer, kib: u64, stack: &Stack) -> Option<Finding> {
    let array = layer.limits.optimal_io_bytes.unwrap_or(0);
    let is_nfs = matches!(layer.name.as_str(), "nfs" | "nfs4");
    let (request, evidence) = if is_nfs {
        let rsize = stack.rsize?;
        (
            rsize,
            FindingEvidence {
                file: "/proc/self/mountinfo".to_owned(),
                says: format!("rsize={rsize}"),
            },
        )
    } else if layer.kind == LayerKind::Md {
        (array, limit(layer, "optimal_io_size", array))
    } else {
        return None;
    };
    let request_kib = whole_pages_kib(request);
    (kib > 0 && kib < request_kib).then(|| Finding {
        id: "default-window",
        severity: Severity::Warning,
        sentence: format!("The window of {} is smaller than one request to its storage.", layer.name),
        evidence: vec![window(layer, kib), evidence],
        consequence: vec![format!(
            "A sequential reader asks for {} at a time, where one request carries {}: {} requests for one.",
            size(kib), size(request_kib), request_kib.div_ceil(kib)
        )],
        // What is only set ends with the mount.
        repair: Some(match is_nfs {
            true => Repair::lasting(name, request_kib),
            false => Repair::now(name, request_kib),
        }),
    })
}

fn too_large(
    name: &str,
    layer: &StackLayer,
    kib: u64,
    stack: &Stack,
    memory_bytes: Option<u64>,
) -> Option<Finding> {
    if kib <= DEFAULT_KIB {
        return None;
    }
    let optimal = layer.limits.optimal_io_bytes.unwrap_or(0);
    let base = |id, severity, sentence, evidence: Vec<FindingEvidence>, repair: Option<Repair>| {
        let mut all = vec![window(layer, kib)];
        all.extend(evidence);
        Some(Finding {
            id,
            severity,
            sentence,
            evidence: all,
            consequence: costs(kib, memory_bytes),
            repair,
        })
    };
    // What is only set is lost at the next boot, as the rule comes again.
    let over_rule = || Some(Repair::lasting(name, DEFAULT_KIB));
    if layer.origin == Some(Origin::TwiceOptimal) && is_optimal_bogus(layer, stack) {
        let sentence = format!(
            "{} names an optimal request of {optimal} bytes, which is no request of a single device, and the kernel made its window of it.",
            layer.name
        );
        let evidence = vec![limit(layer, "optimal_io_size", optimal)];
        return base(
            "bogus-optimal-size",
            Severity::Warning,
            sentence,
            evidence,
            over_rule(),
        );
    }
    if layer.origin == Some(Origin::TwiceRequest) {
        // The disks of a hypervisor have no arm that the guest could know of, and NVMe has none.
        let is_nvme = stack.disks().any(|disk| disk.name.starts_with("nvme"));
        let is_virtual = is_nvme || stack.is_virtual();
        let severity = if is_virtual {
            Severity::Warning
        } else {
            Severity::Note
        };
        let sentence = format!(
            "{} says that it rotates and names no optimal request: Linux gives it twice its largest request since 6.17, and gave it {DEFAULT_KIB} KiB before.",
            layer.name
        );
        let evidence = vec![
            limit(layer, "rotational", 1),
            limit(layer, "optimal_io_size", optimal),
            limit(
                layer,
                "max_sectors_kb",
                layer.limits.max_sectors_kb.unwrap_or(0),
            ),
        ];
        let repair = over_rule().filter(|_| is_virtual);
        return base("rule-of-6-17", severity, sentence, evidence, repair);
    }
    if !is_large(kib, memory_bytes) {
        return None;
    }
    let fills = fills_memory(kib, memory_bytes);
    let is_network = layer.kind == LayerKind::FileSystem && layer.name != "btrfs";
    let severity = if is_network && !fills {
        Severity::Note
    } else {
        Severity::Warning
    };
    let sentence = format!("The window of {} is large: {}.", layer.name, size(kib));
    // What an array or a file system should have instead, its facts do not say.
    let is_single = !matches!(layer.kind, LayerKind::Md | LayerKind::FileSystem);
    let is_known = is_single || layer.limits.optimal_io_bytes.is_some();
    let is_to_repair = severity > Severity::Note && is_known;
    let better_kib = is_to_repair.then(|| better_kib(layer, stack, memory_bytes));
    let better_kib = better_kib.flatten().filter(|better_kib| *better_kib < kib);
    let repair = better_kib.map(|kib| match layer.origin {
        None | Some(Origin::Set) => Repair::now(name, kib),
        // A rule gives it again at the next boot.
        Some(_) => Repair::lasting(name, kib),
    });
    let is_open = severity > Severity::Note && repair.is_none();
    let mut finding = base("large-window", severity, sentence, Vec::new(), repair)?;
    if is_open {
        finding.consequence.push(format!(
            "Which window serves it is not said by its facts: `sudo ahead device measure {}` finds out.",
            quoted(name)
        ));
    }
    Some(finding)
}

/// The window of a layer below was changed, and does not count.
fn disagreeing(name: &str, layer: &StackLayer, kib: u64, stack: &Stack) -> Option<Finding> {
    let mut behind = stack.layers.iter().skip_while(|one| !one.counts).skip(1);
    if layer.kind == LayerKind::FileSystem {
        return None;
    }
    let below = behind
        .by_ref()
        // What lies below the file of a loop device is another window's affair.
        .take_while(|one| one.depth > layer.depth && one.kind != LayerKind::FileSystem)
        .find_map(|one| {
            let window = one.read_ahead_kb?;
            let is_known = one.limits.optimal_io_bytes.is_some();
            // Where the rule of 6.17 gave the window above, it gave this one too.
            let had_rule = layer.origin == Some(Origin::TwiceRequest)
                && rule_kib(one).1 == Origin::TwiceRequest
                && window != rule_kib(one).0;
            let was_changed = had_rule || (is_known && one.origin == Some(Origin::Set));
            (was_changed && window != kib).then_some((one, window))
        });
    let (below, below_kib) = below?;
    Some(Finding {
        id: "layers-disagree",
        severity: Severity::Warning,
        sentence: format!(
            "The window of {} was changed, and it is that of {} above it that counts.",
            below.name, layer.name
        ),
        evidence: vec![window(layer, kib), window(below, below_kib)],
        consequence: vec![format!(
            "Files here are read with {} and not with {}.",
            size(kib),
            size(below_kib)
        )],
        repair: Some(Repair::now(name, below_kib)),
    })
}

fn with_wait(mut finding: Finding, kib: u64, timing: Option<DeviceTiming>) -> Finding {
    finding
        .consequence
        .extend(timing.map(|timing| timing.wait(kib)));
    finding
}

/// What a window can cost at most, whatever the device is.
fn costs(kib: u64, memory_bytes: Option<u64>) -> Vec<String> {
    let mut costs = vec![
        format!(
            "A sequential stream holds up to {} of memory for its two windows.",
            size(kib.saturating_mul(WINDOWS_AT_ONCE))
        ),
        format!(
            "A fault of a mapped file at a random place reads up to {} KiB more than its page of {PAGE_KIB} KiB.",
            kib.saturating_sub(PAGE_KIB)
        ),
    ];
    if let Some(bytes) = memory_bytes {
        let memory = size(bytes / 1024);
        costs.push(match streams_in(bytes, kib) {
            0 if kib > bytes / 1024 => format!("One window is more than the memory ({memory})."),
            0 => format!("The windows of one stream are more than the memory ({memory})."),
            1 => format!("The windows of one stream fill the memory ({memory})."),
            streams => format!("The windows of {streams} streams fill the memory ({memory})."),
        });
    }
    costs
}

fn rule_kib(layer: &StackLayer) -> (u64, Origin) {
    if layer.kind == LayerKind::FileSystem {
        return (DEFAULT_KIB, Origin::Default);
    }
    origin::of_rule(&layer.limits, None)
}

fn command(verb: &str, name: &str, kib: u64) -> String {
    format!("sudo ahead device {verb} {} {kib}K", quoted(name))
}

/// The window as evidence.
#[must_use]
pub fn window(layer: &StackLayer, kib: u64) -> FindingEvidence {
    let file = match (&layer.bdi, layer.kind) {
        (Some(bdi), LayerKind::FileSystem) => format!("/sys/class/bdi/{bdi}/read_ahead_kb"),
        _ => queue_file(layer, "read_ahead_kb"),
    };
    let says = format!("{kib} ({} sectors)", kib.saturating_mul(2));
    FindingEvidence { file, says }
}

fn limit(layer: &StackLayer, name: &str, value: u64) -> FindingEvidence {
    FindingEvidence {
        file: queue_file(layer, name),
        says: value.to_string(),
    }
}

fn queue_file(layer: &StackLayer, name: &str) -> String {
    // A name with a slash in it has an exclamation mark in sysfs.
    format!("/sys/block/{}/queue/{name}", layer.name.replace('/', "!"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_blanks_is_quoted_for_the_shell() {
        assert_eq!(
            Repair::now("/var/lib/db", 128).command,
            "sudo ahead device set /var/lib/db 128K"
        );
        assert_eq!(
            Repair::now("/mnt/it's mine", 4).command,
            r"sudo ahead device set '/mnt/it'\''s mine' 4K"
        );
    }

    #[test]
    fn a_wait_is_the_access_and_the_transfer_of_a_window() {
        let timing = DeviceTiming {
            access_ns: 8_000_000,
            bytes_per_second: 128 << 20,
            is_measured: false,
        };
        let said = timing.wait(4096);
        assert!(
            said.contains("up to 70.5 ms") && said.contains("by its kind"),
            "{said}"
        );
        let nothing = DeviceTiming {
            bytes_per_second: 0,
            access_ns: u64::MAX,
            ..timing
        };
        assert!(nothing.wait(u64::MAX).contains("ms"));
    }

    #[test]
    fn a_window_that_is_more_than_the_memory_is_said_to_be() {
        let of = |kib, memory_kib: u64| costs(kib, Some(memory_kib << 10)).remove(2);
        assert_eq!(
            of(65_536, 32_768),
            "One window is more than the memory (32 MiB)."
        );
        assert_eq!(
            of(65_536, 98_304),
            "The windows of one stream are more than the memory (96 MiB)."
        );
        assert_eq!(
            of(8192, 1 << 20),
            "The windows of 64 streams fill the memory (1 GiB)."
        );
    }

    #[test]
    fn a_window_of_a_file_is_usable_where_it_reads_ahead_and_is_no_mistake() {
        let memory = Some(4 << 30);
        for kib in [4, 128, 1024, 16 << 10] {
            assert!(is_usable(kib, memory), "{kib}");
        }
        for kib in [0, 2, 64 << 10, 2 << 20] {
            assert!(!is_usable(kib, memory), "{kib}");
        }
        assert!(is_usable(64 << 10, None));
    }
}
