//! `ahead device set` beside files of a server: it counts open files, and asks no server for that. Needs root and FUSE.

mod support;

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::process::Command;

use support::fuse_server::FuseServer;
use support::loop_device::{LoopDevice, image};
use support::stderr;

/// A server need not answer. `device set` asked those of all processes for what is open there, with the journal locked:
/// one that was stopped held every `ahead device`.
#[test]
fn no_server_is_asked_for_its_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let device = LoopDevice::over(&image(folder.path(), "disk.img"));
    let root = folder.path().join("machine");
    fs::create_dir(&root).expect("our folder");
    for (link, to) in [("sys", "/sys"), ("proc", "/proc")] {
        symlink(to, root.join(link)).expect("a link");
    }
    let server = FuseServer::start_asked_always(&folder.path().join("theirs"));
    let file = File::open(server.file()).expect("its file");
    file.metadata().expect("it answers");
    let before = server.looks();
    assert!(before > 0, "it is asked always");
    for words in [&["set", &device.name, "64K"][..], &["undo", &device.name]] {
        let output = Command::new(env!("CARGO_BIN_EXE_ahead"))
            .arg("device")
            .args(words)
            .arg("--root")
            .arg(&root)
            .output()
            .expect("ahead starts");
        assert!(output.status.success(), "{}", stderr(&output));
    }
    assert_eq!(server.looks(), before);
    drop(file);
}
