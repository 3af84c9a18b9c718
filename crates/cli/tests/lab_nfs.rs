//! `--fs nfs`: the guest's own server and client, and what `ahead run` does over them.
//!
//! Needs the guest's kernel (`make lab`) and `mkfs.ext4`.

mod support;

use ahead_disk_model::DiskModel;
use ahead_guest::{FileSystem, GuestRun};
use serde_json::Value;

use support::guest::{bare_guest, boot};

/// What is read has to be what was written; and what it is read from.
const BACKWARD: &str = "tac file | md5sum -c sums && stat -f -c %T file";

/// Reads 20 MB backward over NFS, with `first` in front of the command.
fn backward(first: &[&str]) -> GuestRun {
    let mut guest = bare_guest(DiskModel::hdd());
    let task = &mut guest.task;
    task.file_system = FileSystem::Nfs;
    let words = |words: &[&str]| words.iter().map(Into::into).collect();
    let prepare = "head -c 20MB /dev/urandom >file; tac file | md5sum >sums";
    task.preparations.push(words(&["sh", "-c", prepare]));
    task.command = words(&[first, &["sh", "-c", BACKWARD]].concat());
    let run = boot(&guest);
    assert_eq!(run.measured.exit_code, 0, "{}", run.said);
    assert!(run.said.contains("-: OK"), "{}", run.said);
    assert!(run.said.lines().any(|line| line == "nfs"), "{}", run.said);
    let read: u64 = run
        .requests
        .iter()
        .map(|request| u64::from(request.bytes))
        .sum();
    assert!(read >= 20_000_000, "the server reads from its disk: {read}");
    run
}

/// The client has a device of its own, about which the library learns as about a disk: it is not "a file
/// system without a device", which is left alone.
#[test]
fn a_file_that_is_read_backward_over_nfs_is_read_ahead() {
    let stock = backward(&[]);
    let program = env!("CARGO_BIN_EXE_ahead");
    let steered = backward(&[program, "run", "--json", "--"]);
    let said = &steered.said;
    let report = said.find('{').zip(said.rfind('}'));
    let report = report.map(|(from, to)| serde_json::from_str::<Value>(&said[from..=to]));
    let report = report.expect("a report").expect("JSON");
    let files = report["files"].as_array().expect("files");
    let file = files.iter().find(|file| file["path"] == "/mnt/disk/file");
    let file = file.unwrap_or_else(|| panic!("{report}"));
    assert_eq!(file["pattern"], "backward", "{report}");
    assert!(file["useful_pages"].as_u64() > Some(4_000), "{report}");
    assert_eq!(report["left_alone"].get("no_device"), None, "{report}");
    // Virtual times: 14 s and 0.6 s.
    let [stock, steered] = [stock, steered].map(|run| run.measured.elapsed_ns());
    assert!(stock > 10 * steered, "{stock} and {steered} ns");
}
