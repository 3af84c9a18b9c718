//! An emulated machine: one of Debian's stock kernels, a root of a few programs in memory, a disk. `make deps` unpacks the
//! kernels; the emulator needs no rights and no virtualisation.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{stderr, stdout};

/// Longer than three starts take on a busy machine (12 s on an idle one), in seconds.
const SECONDS_MAX: u32 = 300;

/// Debian's 6.12, whose virtio is built in but for the disk.
pub(crate) const LINUX_6_12: &str = "/usr/local/share/ahead/stock-kernel";
/// Debian's 6.1, whose virtio is modules.
pub(crate) const LINUX_6_1: &str = "/usr/local/share/ahead/stock-kernel-6.1";

/// The beginning of the first process: what every machine needs. Modules need one another, and are few.
pub(crate) const BEGIN: &str = "#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tmpfs none /run
for pass in 1 2 3 4; do
  for module in /*.ko; do insmod $module 2>/dev/null; done
done
mount -t ext4 /dev/vda /disk
";

pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().expect("a program of `make deps`");
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output)
}

/// The libraries of a program, as the loader finds them here.
fn libraries(program: &Path) -> Vec<String> {
    let text = run(Command::new("ldd").arg(program));
    let words = text.split_whitespace();
    let paths = words.filter(|word| word.starts_with('/') && Path::new(word).exists());
    paths.map(str::to_owned).collect()
}

/// A machine that can be started.
pub(crate) struct Machine {
    place: tempfile::TempDir,
    kernel: PathBuf,
    disks: Vec<PathBuf>,
    /// Options of the emulator beside those that all machines have.
    pub(crate) options: Vec<String>,
    /// Words for the kernel.
    pub(crate) words: &'static str,
    /// It is ended after so many seconds of the host's clock.
    pub(crate) seconds_max: u32,
}

impl Machine {
    /// With a kernel, busybox, `ahead` without its symbols, and a disk of so many MiB with ext4 on it. `init` goes on
    /// behind [`BEGIN`].
    pub(crate) fn new(kernel: &str, init: &str, disk_mib: u64) -> Self {
        let mut machine = Self::bare(Path::new(kernel).join("vmlinuz"), init);
        let program = Path::new(env!("CARGO_BIN_EXE_ahead"));
        machine.copy_libraries(program);
        let ours = machine.root().join("bin/ahead");
        run(Command::new("strip").arg("-o").arg(ours).arg(program));
        for file in fs::read_dir(kernel).expect("`make deps` unpacks it") {
            let path = file.expect("a file").path();
            if path.extension().is_some_and(|end| end == "ko") {
                let name = path.file_name().and_then(|name| name.to_str());
                machine.copy(&path, name.expect("text"));
            }
        }
        machine.add_disk(&["mkfs.ext4", "-q"], disk_mib);
        machine
    }

    /// With a kernel and busybox.
    pub(crate) fn bare(kernel: PathBuf, init: &str) -> Self {
        let machine = Self {
            place: tempfile::tempdir().expect("a folder"),
            kernel,
            disks: Vec::new(),
            options: ["-m", "1024"].map(str::to_owned).to_vec(),
            words: "quiet",
            seconds_max: SECONDS_MAX,
        };
        for name in ["proc", "sys", "dev", "run", "disk", "etc", "var/lib", "tmp"] {
            fs::create_dir_all(machine.root().join(name)).expect("a folder");
        }
        machine.copy(Path::new("/bin/busybox"), "bin/busybox");
        let script = machine.root().join("init");
        fs::write(&script, format!("{BEGIN}{init}")).expect("written");
        run(Command::new("chmod").arg("755").arg(script));
        machine
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.place.path().join("root")
    }

    /// One disk more, of so many MiB, on which `make` makes a file system.
    pub(crate) fn add_disk(&mut self, make: &[&str], mib: u64) {
        let name = format!("disk{}.img", self.disks.len());
        let path = self.place.path().join(name);
        let disk = fs::File::create(&path).expect("a file");
        disk.set_len(mib << 20).expect("a disk with space");
        run(Command::new(make[0]).args(&make[1..]).arg(&path));
        self.disks.push(path);
    }

    /// A file of this machine becomes one of that.
    pub(crate) fn copy(&self, from: &Path, to: &str) {
        let to = self.root().join(to.trim_start_matches('/'));
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    }

    /// All that the loader needs for a program.
    pub(crate) fn copy_libraries(&self, program: &Path) {
        for library in libraries(program) {
            self.copy(Path::new(&library), &library);
        }
    }

    /// Starts it, and again where it starts itself, until it is off; all that its console showed.
    pub(crate) fn start(&self) -> String {
        let pack = "cd \"$1\" && find . | cpio --quiet -o -H newc > \"$2\"";
        let image = self.place.path().join("initrd");
        run(Command::new("sh")
            .args(["-c", pack, "sh"])
            .arg(self.root())
            .arg(&image));
        let mut machine = Command::new("timeout");
        machine
            .arg(self.seconds_max.to_string())
            .arg("qemu-system-x86_64")
            .args(["-accel", "tcg", "-nographic"])
            .args(["-no-user-config", "-nic", "none"])
            .args(&self.options)
            .arg("-kernel")
            .arg(&self.kernel)
            .arg("-initrd")
            .arg(&image)
            .arg("-append")
            .arg(format!("console=ttyS0 panic=-1 {}", self.words));
        for (number, disk) in self.disks.iter().enumerate() {
            let drive = format!("file={},if=none,format=raw,id=disk{number}", disk.display());
            let device = format!(
                "virtio-blk-pci,drive=disk{number},serial=AHEAD-{}",
                42 + number
            );
            machine.args(["-drive", &drive, "-device", &device]);
        }
        let output = machine.stdin(Stdio::null()).output();
        let output = output.expect("qemu-system-x86_64 (`make deps`)");
        format!("{}{}", stdout(&output), stderr(&output))
    }
}

/// What the first process said with `TEST` in front.
pub(crate) fn said(console: &str) -> Vec<&str> {
    let lines = console.lines();
    lines
        .filter_map(|line| Some(line[line.find("TEST ")? + 5..].trim_end()))
        .collect()
}
