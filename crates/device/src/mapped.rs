//! What running programs said of their mapped files, and what the kernel makes of it whatever the window is.
//!
//! Two pieces of advice change more than reading ahead. `MADV_RANDOM` also tells reclaim that a touch of the
//! mapping says nothing about its page (`vma_has_recency`, Linux 6.3), by generations (MGLRU) as with two lists:
//! pages that are touched again and again leave as if they had been read once. `MADV_HUGEPAGE` makes a fault read
//! two huge pages, or one beside `MADV_RANDOM` (`do_sync_mmap_readahead`, Linux 5.18). `posix_fadvise` leaves
//! nothing in `/proc`, so that nothing is said of it. Whether memory is short, or the faults are at random
//! places, is not known from here: these are notes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ahead_sys::mounts;
use ahead_sys::process_smaps::{AdvisedMapping, advised_mappings_of};

use crate::display::size;
use crate::finding::{Finding, FindingEvidence, Severity};
use crate::machine::MachineTree;
use crate::stack::{self, Stack};
use crate::target::Target;

/// Reclaim takes no notice of touches since then.
const NO_RECENCY_SINCE: (u32, u32) = (6, 3);
/// A fault reads huge pages since then.
const HUGE_FAULTS_SINCE: (u32, u32) = (5, 18);
/// A huge page where pages have 4 KiB.
const HUGE_KIB: u64 = 2048;

/// The mappings of all processes that may be looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedAdvice {
    /// The bdi of the file, the process, and what it said.
    mappings: Vec<(String, u32, AdvisedMapping)>,
}

impl MappedAdvice {
    /// Reads `smaps` of every process; those of others need root, and are left out without.
    #[must_use]
    pub fn read(machine: &MachineTree) -> Self {
        let proc = machine.proc();
        let mounts = mounts::mounts(&proc).unwrap_or_default();
        let mut bdis = BTreeMap::new();
        let mut found = Self::default();
        let mut pids: Vec<u32> = fs::read_dir(&proc)
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .collect();
        pids.sort_unstable();
        for pid in pids {
            for mapping in advised_mappings_of(&proc, pid).unwrap_or_default() {
                let number = (mapping.device.major, mapping.device.minor);
                let bdi = bdis.entry(number).or_insert_with(|| {
                    let mount = mounts.iter().find(|mount| mount.device == mapping.device)?;
                    let stack = stack::of(machine, &Target::Mounted(Box::new(mount.clone())));
                    stack.counting()?.bdi.clone()
                });
                if let Some(bdi) = bdi {
                    found.mappings.push((bdi.clone(), pid, mapping));
                }
            }
        }
        found
    }

    /// The findings of files below the window that counts in `stack`.
    pub(crate) fn of_stack(&self, machine: &MachineTree, stack: &Stack) -> Vec<Finding> {
        let Some(layer) = stack.counting() else {
            return Vec::new();
        };
        let here: Vec<_> = self
            .mappings
            .iter()
            .filter(|(bdi, ..)| Some(bdi) == layer.bdi.as_ref())
            .collect();
        let of = |wanted: fn(&AdvisedMapping) -> bool| {
            let mappings = here.iter().filter(|(_, _, mapping)| wanted(mapping));
            mappings
                .map(|(_, pid, mapping)| (*pid, mapping))
                .collect::<Vec<_>>()
        };
        let since = |version| machine.kernel().is_some_and(|kernel| kernel >= version);
        let random = of(|mapping| mapping.is_random);
        let huge = of(|mapping| mapping.is_huge);
        let mut findings = Vec::new();
        if let Some(&(pid, first)) = random.first().filter(|_| since(NO_RECENCY_SINCE)) {
            findings.push(Finding {
                id: "random-not-kept",
                severity: Severity::Note,
                sentence: format!(
                    "{} are read with MADV_RANDOM, and reclaim takes no notice of their touches.",
                    counted(&random)
                ),
                evidence: evidence(pid, first, "rr")
                    .into_iter()
                    .chain(generations(machine))
                    .collect(),
                consequence: vec![
                    "When memory is short, their pages leave first, also those in use all the time; a small \
                     window does not do that."
                        .to_owned(),
                ],
                repair: None,
            });
        }
        if let Some(&(pid, first)) = huge.first().filter(|_| since(HUGE_FAULTS_SINCE)) {
            let kib = if first.is_random {
                HUGE_KIB
            } else {
                2 * HUGE_KIB
            };
            findings.push(Finding {
                id: "huge-faults",
                severity: Severity::Note,
                sentence: format!(
                    "{} are read with MADV_HUGEPAGE: a fault reads huge pages, whatever the window is.",
                    counted(&huge)
                ),
                evidence: evidence(pid, first, "hg"),
                consequence: vec![format!(
                    "A fault at a random place reads {}, and {} is the window.",
                    size(kib),
                    layer.read_ahead_kb.map_or_else(|| "unknown".to_owned(), size)
                )],
                repair: None,
            });
        }
        findings
    }
}

fn counted(mappings: &[(u32, &AdvisedMapping)]) -> String {
    let mut pids: Vec<u32> = mappings.iter().map(|(pid, _)| *pid).collect();
    pids.dedup();
    format!(
        "Mappings of {} process{}",
        pids.len(),
        if pids.len() == 1 { "" } else { "es" }
    )
}

fn evidence(pid: u32, mapping: &AdvisedMapping, flag: &str) -> Vec<FindingEvidence> {
    vec![FindingEvidence {
        file: format!("/proc/{pid}/smaps"),
        says: format!("{}: VmFlags {flag}", mapping.path),
    }]
}

/// That pages are reclaimed by generations, where they are.
fn generations(machine: &MachineTree) -> Option<FindingEvidence> {
    let file = Path::new("/sys/kernel/mm/lru_gen/enabled");
    let text = machine.text(&machine.below(file), &mut Vec::new())?;
    let flags = u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()?;
    (flags & 1 != 0).then(|| FindingEvidence {
        file: file.display().to_string(),
        says: format!("{} (MGLRU)", text.trim()),
    })
}
