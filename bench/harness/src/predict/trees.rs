//! Programs that go through trees, predicted: the file system that a guest makes, the tree as ext4 places it there,
//! and the program with or without the library's helper.

use ahead_disk_model::DiskModel;
use ahead_sim::simulate;
use ahead_sim::trees::{Ext4, TreeProgram, job};
use ahead_study::plan::GUEST_KERNEL;
use ahead_study::table;
use ahead_workload::tree::Tree;
use serde::{Deserialize, Serialize};

use super::simulated::{guest_machine, policy_of};
use crate::arm::Arm;

/// A program in a tree: what a guest measured, and what the simulator says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeCell {
    /// The disk.
    pub disk: String,
    /// The program.
    pub program: String,
    /// Under `ahead run` with trees on.
    pub is_helped: bool,
    /// How long it took in the guest.
    pub measured_ns: u64,
    /// How long it takes in the simulator.
    pub simulated_ns: u64,
}

impl TreeCell {
    /// How much longer it takes in the simulator, in thousandths.
    #[must_use]
    pub fn difference_permille(&self) -> i64 {
        let [measured, simulated] = [self.measured_ns, self.simulated_ns].map(i128::from);
        let permille = (simulated - measured) * 1000 / measured.max(1);
        i64::try_from(permille).unwrap_or(i64::MAX)
    }
}

/// How long `program` takes in `tree` on a disk of this model, in nanoseconds: over the kernel alone, or, with
/// `is_helped`, under the library with trees on. The guest has `memory_bytes`.
///
/// # Errors
/// One line: the tree does not fit, or the world stands still.
pub fn predict_tree(
    model: &DiskModel,
    memory_bytes: u64,
    tree: &Tree,
    program: TreeProgram,
    is_helped: bool,
) -> Result<u64, String> {
    let mut disk = Ext4::of_guest();
    let machine = guest_machine(model, disk.bytes(), memory_bytes);
    let written: Option<Vec<_>> = (0..program.trees())
        .map(|number| disk.write(tree, &format!("{}-{number}", tree.name)))
        .collect();
    let trees = written.ok_or("the disk of a guest is too small for the tree")?;
    let arm = if is_helped {
        Arm::Run {
            settings: Vec::new(),
        }
    } else {
        Arm::Stock { kib: 128 }
    };
    let policy = policy_of(GUEST_KERNEL, &machine.disk, &arm).ok_or("no policy")?;
    let policy = policy.map_err(|error| error.to_string())?;
    let report = simulate(&machine, &policy, &job(disk, trees, program, is_helped));
    Ok(report.map_err(|error| error.to_string())?.elapsed_ns)
}

/// The cells as a table.
#[must_use]
pub fn render_trees(cells: &[TreeCell]) -> String {
    let titles = [
        "disk",
        "program",
        "trees",
        "guest s",
        "simulated s",
        "differs",
    ];
    let mut all = table::with_titles(&titles, 3..titles.len());
    for cell in cells {
        let seconds = |ns: u64| format!("{}.{:03}", ns / 1_000_000_000, ns / 1_000_000 % 1000);
        let permille = cell.difference_permille();
        let sign = if permille < 0 { '−' } else { '+' };
        let size = permille.unsigned_abs();
        all.add_row([
            cell.disk.clone(),
            cell.program.clone(),
            if cell.is_helped { "on" } else { "off" }.to_owned(),
            seconds(cell.measured_ns),
            seconds(cell.simulated_ns),
            format!("{sign}{}.{} %", size / 10, size % 10),
        ]);
    }
    format!("{all}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_who_takes_longer() {
        let cell = |measured_ns, simulated_ns| TreeCell {
            disk: "hdd".into(),
            program: "tar".into(),
            is_helped: false,
            measured_ns,
            simulated_ns,
        };
        assert_eq!(cell(1_000_000, 1_055_000).difference_permille(), 55);
        assert_eq!(cell(1_000_000, 900_000).difference_permille(), -100);
        let text = render_trees(&[cell(21_540_000_000, 21_000_000_000)]);
        assert!(text.contains("21.540") && text.contains("−2.5 %"), "{text}");
    }

    /// A tree that is read with the helper is read at several times the speed, of the same bytes.
    #[test]
    fn the_helper_makes_a_program_faster_on_every_disk() {
        let tree = Tree::find("small").unwrap().scaled(10);
        for model in [DiskModel::hdd(), DiskModel::ssd(), DiskModel::cloud()] {
            for program in TreeProgram::ALL {
                let time = |helped| predict_tree(&model, 3 << 30, &tree, program, helped).unwrap();
                let (plain, helped) = (time(false), time(true));
                println!("{} {}: {plain} {helped}", model.kind(), program.name());
                assert!(
                    helped * 3 < plain * 2,
                    "{}: {plain} {helped}",
                    program.name()
                );
            }
        }
    }
}
