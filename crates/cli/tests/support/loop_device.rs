//! A loop device of a test's own, whose window is afterwards what it was.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{stderr, stdout};

/// A loop device over a file.
pub(crate) struct LoopDevice {
    /// What the kernel calls it.
    pub(crate) name: String,
    before: String,
}

impl LoopDevice {
    pub(crate) fn over(file: &Path) -> Self {
        let output = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(file)
            .output()
            .expect("losetup");
        assert!(output.status.success(), "{}", stderr(&output));
        let node = stdout(&output).trim().to_owned();
        let name = node.strip_prefix("/dev/").expect("a node").to_owned();
        let before = fs::read_to_string(window(&name)).expect("a window");
        Self { name, before }
    }

    pub(crate) fn set_window(&self, kib: &str) {
        fs::write(window(&self.name), kib).expect("root");
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = fs::write(window(&self.name), self.before.trim());
        let node = format!("/dev/{}", self.name);
        let _ = Command::new("losetup").args(["--detach", &node]).status();
    }
}

fn window(name: &str) -> PathBuf {
    PathBuf::from(format!("/sys/block/{name}/queue/read_ahead_kb"))
}

/// A blank file for one.
pub(crate) fn image(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    let file = fs::File::create(&path).expect("a file");
    file.set_len(16 << 20).expect("a disk with space");
    path
}
