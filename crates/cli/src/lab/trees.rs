//! `ahead lab predict --tree`: programs that go through a tree, in guests and in the simulator.
//!
//! The tree and its copy are on an image, and a guest mounts it: of metadata that was written under the same mount, the
//! journal keeps some in memory however caches are dropped.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use ahead_disk_model::DiskModel;
use ahead_guest::{Console, FileSystem, GuestDisk, Task};
use ahead_harness::predict::trees::{TreeCell, predict_tree, render_trees};
use ahead_harness::tree_files::TREE_ARGUMENT;
use ahead_sim::trees::TreeProgram;
use ahead_study::typed;
use ahead_workload::tree::Tree;

use super::error::LabError;
use super::image::Image;
use super::machine::{disk_name, guest_of, memory_of, own_program, shared_folder, steered};
use crate::arguments::LabPredict;
use crate::bench;
use crate::disk;
use crate::exit::Exit;
use crate::progress;
use crate::signals::stop_flag;

/// The trees on the disk.
const FOLDERS: [&str; 2] = ["tree", "copy"];

pub(super) fn predict(arguments: &LabPredict, tree: Tree) -> Result<(String, Exit), LabError> {
    let stop = stop_flag()?;
    let memory_bytes = memory_of(&arguments.patterns.memory)?;
    let disks = typed::list(&arguments.patterns.disk);
    let each = disks.iter().flat_map(|disk| {
        let programs = TreeProgram::ALL.into_iter();
        programs.flat_map(move |program| [(disk, program, false), (disk, program, true)])
    });
    let each: Vec<_> = each.collect();
    let bar = progress::bar(
        progress::Shows::Parts,
        u64::try_from(each.len()).unwrap_or(0),
    );
    let image = image(arguments, &tree, memory_bytes)?.find(&stop)?;
    let mut cells = Vec::new();
    for (disk, program, is_helped) in each {
        let simulated = predict_tree(&disk::model(disk)?, memory_bytes, &tree, program, is_helped);
        cells.push(TreeCell {
            disk: disk_name(disk).to_owned(),
            program: program.name().to_owned(),
            is_helped,
            measured_ns: measure(arguments, disk, &image, program, is_helped, &stop)?,
            simulated_ns: simulated.map_err(LabError::Inside)?,
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    if let Some(path) = &arguments.json {
        let json = serde_json::to_vec_pretty(&cells).unwrap_or_default();
        bench::write(path, &json)?;
    }
    Ok((render_trees(&cells), Exit::Fine))
}

/// A disk with the tree and its copy.
fn image<'a>(
    arguments: &'a LabPredict,
    tree: &Tree,
    memory_bytes: u64,
) -> Result<Image<'a>, LabError> {
    let program = own_program()?;
    let mut script = String::from("set -e\n");
    for folder in FOLDERS {
        let (name, percent) = (tree.name, arguments.percent);
        script += &format!("\"$0\" {TREE_ARGUMENT} write {name} {percent} {folder} at-once\n");
    }
    // What makes the tree, and what it is.
    let recipe = format!("{script}{tree:?}");
    let of_tree = format!("tree-{}-{}-", tree.name, arguments.percent);
    Ok(Image {
        name: format!("{of_tree}{:08x}", crc32fast::hash(recipe.as_bytes())),
        replaces: Some(of_tree),
        bytes: GuestDisk::new(DiskModel::ssd()).bytes,
        about: "a tree and its copy",
        command: vec!["/bin/sh".into(), "-c".into(), script.into(), program],
        environment: Vec::new(),
        file_system: FileSystem::Ext4,
        kernel: &arguments.patterns.kernel,
        memory_bytes,
    })
}

/// How long a program takes in a guest, in virtual nanoseconds.
fn measure(
    arguments: &LabPredict,
    disk: &str,
    image: &Path,
    program: TreeProgram,
    is_helped: bool,
    stop: &AtomicBool,
) -> Result<u64, LabError> {
    let [one, other] = FOLDERS;
    let script = match program {
        TreeProgram::Tar => format!("tar -cf - {one} | cat >/dev/null"),
        TreeProgram::Grep => format!("grep -r 'no such word' {one} || true"),
        TreeProgram::Diff => format!("diff -r -q {one} {other}"),
        // Not among `TreeProgram::ALL`.
        _ => {
            return Err(LabError::Inside(format!(
                "no guest runs {}",
                program.name()
            )));
        }
    };
    let mut command = vec!["sh".into(), "-c".into(), OsString::from(script)];
    if is_helped {
        command = steered(command, &["--set", "trees=on"])?;
    }
    let mut guest = guest_of(&arguments.patterns.kernel, disk)?;
    guest.memory_bytes = memory_of(&arguments.patterns.memory)?;
    guest.console = Console::Kept;
    guest.task = Task::new(command);
    guest.task.is_blank = false;
    guest.disk.image = Some(image.to_owned());
    let run = guest.run(shared_folder()?.path(), stop)?;
    if run.measured.exit_code != 0 {
        let said = run.said.trim();
        return Err(LabError::Inside(format!("{}: {said}", program.name())));
    }
    Ok(run.measured.elapsed_ns())
}
