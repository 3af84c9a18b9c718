//! The first process in the guest.
//!
//! It finds the host's files read-only and nothing else mounted, reads its task from the shared
//! folder, makes the machine ready, runs the command while the virtual clock is watched, writes the
//! answer and powers off. It never returns: the guest is over when it ends.

use std::ffi::{CStr, CString, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use ahead_sys::counter::monotonic_ns;
use ahead_sys::drop_caches::drop_caches;
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::system::{RebootCommand, reboot};

use crate::nfs;
use crate::task::{self, ANSWER, CommandTime, FileSystem, GuestAnswer, OUTPUT, TASK, Task};

/// Where the disk is mounted.
pub const DISK_FOLDER: &str = "/mnt/disk";
/// Where all files of the host are, those included that the guest's own folders cover.
const HOST_FOLDER: &str = "/run/host";
/// Where the shared folder is mounted, writable.
pub const SHARED_FOLDER: &str = "/run/shared";
/// Where the disk is mounted that is served to [`DISK_FOLDER`].
const SERVED_FOLDER: &str = "/run/served";
const DISK: &str = "/dev/ahead0";

/// Of every file system: one by chance would make each disk another one.
const IDENTITY: &str = "5a5a5a5a-5a5a-4a5a-8a5a-5a5a5a5a5a5a";

/// What is mounted over the host's folders: the file system, where, and its options. What the host
/// does not have cannot be mounted over, and is not needed then.
const MOUNTS: &[(&CStr, &str, &CStr)] = &[
    (c"proc", "/proc", c""),
    (c"sysfs", "/sys", c""),
    (c"devtmpfs", "/dev", c"mode=0755"),
    (c"tmpfs", "/run", c"mode=0755"),
    (c"tmpfs", "/tmp", c"mode=1777"),
    (c"tmpfs", "/mnt", c"mode=0755"),
    (c"tmpfs", "/var/tmp", c"mode=1777"),
    (c"tmpfs", "/var/lib/nfs", c"mode=0755"),
    (c"cgroup2", "/sys/fs/cgroup", c""),
    (c"tracefs", "/sys/kernel/tracing", c""),
];

/// Where a guest finds the host's file `path`, which is absolute: also where something of its own
/// covers it.
#[must_use]
pub fn in_guest(path: &Path) -> PathBuf {
    let is_covered = MOUNTS.iter().any(|(_, folder, _)| path.starts_with(folder));
    match path.strip_prefix("/") {
        Ok(inside) if is_covered => Path::new(HOST_FOLDER).join(inside),
        _ => path.to_owned(),
    }
}

/// Mounts that every guest needs.
const NEEDED: [&str; 5] = ["/proc", "/sys", "/dev", "/run", "/mnt"];

/// Does the task in `shared`, a folder of the host, and powers off.
pub fn main(shared: &Path) -> ! {
    if std::process::id() == 1 {
        let outcome = mount_all(shared).and_then(|()| carry_out());
        let answer = outcome.unwrap_or_else(GuestAnswer::Failed);
        let path = Path::new(SHARED_FOLDER).join(ANSWER);
        // Without an answer the host says that there is none.
        let _ = task::write(&path, &answer);
        rustix::fs::sync();
        let _ = reboot(RebootCommand::PowerOff);
    }
    // Not in a guest, or it does not power off: its end is the guest's.
    std::process::exit(1)
}

fn mount_all(shared: &Path) -> Result<(), String> {
    for (kind, folder, options) in MOUNTS {
        let mounted = mount(*kind, *folder, *kind, MountFlags::empty(), *options);
        if let Err(error) = mounted
            && NEEDED.contains(folder)
        {
            return Err(format!("cannot mount {folder}: {error}"));
        }
    }
    // A folder in /dev is not there before devtmpfs is.
    let own = [SHARED_FOLDER, HOST_FOLDER, DISK_FOLDER, SERVED_FOLDER];
    for folder in own.into_iter().chain(["/dev/shm"]) {
        fs::create_dir_all(folder).map_err(|error| format!("{folder}: {error}"))?;
    }
    let _ = mount(
        c"tmpfs",
        "/dev/shm",
        c"tmpfs",
        MountFlags::empty(),
        c"mode=1777",
    );
    let read_only = MountFlags::RDONLY;
    mount(c"none", HOST_FOLDER, c"hostfs", read_only, c"/")
        .map_err(|error| format!("cannot mount the host's files: {error}"))?;
    let path = CString::new(shared.as_os_str().as_bytes()).unwrap_or_default();
    mount(
        c"none",
        SHARED_FOLDER,
        c"hostfs",
        MountFlags::empty(),
        &*path,
    )
    .map_err(|error| format!("cannot mount {}: {error}", shared.display()))
}

fn carry_out() -> Result<GuestAnswer, String> {
    let path = Path::new(SHARED_FOLDER).join(TASK);
    let task: Task = task::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    mount_disk(&task)?;
    if !task.copies.is_empty() {
        let mut copy = Command::new("cp");
        copy.args(["-a", "--"]);
        copy.args(task.copies.iter().map(|path| in_guest(path)));
        copy.arg(DISK_FOLDER);
        succeed(&mut copy)?;
    }
    for words in &task.preparations {
        succeed(command(words, &task).stdin(Stdio::null()))?;
    }
    if let Some(kib) = task.read_ahead_kib {
        set_read_ahead(task.file_system, kib)?;
    }
    if task.adaptive {
        let switch = "/proc/sys/vm/readahead_policy";
        fs::write(switch, "1").map_err(|error| format!("{switch}: {error}"))?;
    }
    rustix::fs::sync();
    drop_caches(Path::new("/proc"))
        .map_err(|error| format!("cannot drop the page cache: {error}"))?;
    let mut command = command(&task.command, &task);
    if task.keeps_output {
        let path = Path::new(SHARED_FOLDER).join(OUTPUT);
        let mut keep = || -> io::Result<()> {
            let file = File::create(&path)?;
            command.stdout(file.try_clone()?).stderr(file);
            command.stdin(Stdio::null());
            Ok(())
        };
        keep().map_err(|error| format!("{}: {error}", path.display()))?;
    }
    allow_many_files();
    let began_ns = monotonic_ns();
    let status = match command.status() {
        Ok(status) => status,
        Err(error) => {
            return Ok(GuestAnswer::NotStarted {
                reason: cannot_start(&command, &error),
                is_missing: error.kind() == io::ErrorKind::NotFound,
            });
        }
    };
    let ended_ns = monotonic_ns();
    if task.syncs {
        rustix::fs::sync();
    }
    // What was written is in order for the next guest, if the disk is kept.
    unmount(DISK_FOLDER, UnmountFlags::empty()).or_else(|error| match error {
        // Something that the command left behind still uses it.
        Errno::BUSY => Ok(()),
        other => Err(format!("cannot unmount the disk: {other}")),
    })?;
    let kernel = rustix::system::uname();
    Ok(GuestAnswer::Measured(CommandTime {
        exit_code: exit_code(status),
        began_ns,
        ended_ns,
        kernel: kernel.release().to_string_lossy().into_owned(),
    }))
}

fn mount_disk(task: &Task) -> Result<(), String> {
    if task.is_blank {
        make_file_system(task.file_system)?;
    }
    let is_served = task.file_system == FileSystem::Nfs;
    let folder = if is_served {
        SERVED_FOLDER
    } else {
        DISK_FOLDER
    };
    let kind = task.file_system.on_disk();
    // What is measured is reading: the times of last access would be written now and then, and move
    // the arm.
    let read_only = if task.is_read_only {
        MountFlags::RDONLY
    } else {
        MountFlags::empty()
    };
    mount(
        DISK,
        folder,
        kind,
        MountFlags::NOATIME | read_only,
        task.file_system.mount_options(),
    )
    .map_err(|error| format!("cannot mount the disk as {kind}: {error}"))?;
    if is_served {
        nfs::serve_and_mount(SERVED_FOLDER, DISK_FOLDER)?;
    }
    Ok(())
}

/// The read-ahead of what is mounted at [`DISK_FOLDER`]: the disk's own, or that of the NFS client. A
/// server's disk keeps the kernel's default, as a client cannot say what it is. btrfs has one of its own, whose
/// number is not that of its files.
fn set_read_ahead(file_system: FileSystem, kib: u64) -> Result<(), String> {
    let path = if file_system == FileSystem::Btrfs {
        format!("/sys/fs/btrfs/{IDENTITY}/bdi/read_ahead_kb")
    } else {
        let device = rustix::fs::stat(DISK_FOLDER).map(|stat| stat.st_dev);
        let device = device.map_err(|error| format!("{DISK_FOLDER}: {error}"))?;
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb")
    };
    fs::write(&path, kib.to_string()).map_err(|error| format!("{path}: {error}"))
}

/// As many files as other machines allow; a kernel by itself allows 4096 at most.
fn allow_many_files() {
    let limit = Rlimit {
        current: Some(1024),
        maximum: Some(1 << 19),
    };
    // Programs that need more say so themselves.
    let _ = setrlimit(Resource::Nofile, limit);
}

fn make_file_system(kind: FileSystem) -> Result<(), String> {
    let program = format!("mkfs.{}", kind.on_disk());
    let mut make = Command::new(&program);
    match kind {
        // All tables now: what would be initialised later takes the disk's time from the command. The
        // seed decides in which order a folder lists its files, and where folders lie.
        FileSystem::Ext4 | FileSystem::Nfs => {
            let tables = "lazy_itable_init=0,lazy_journal_init=0";
            let options = format!("{tables},hash_seed={IDENTITY}");
            make.args(["-q", "-F", "-U", IDENTITY, "-E", &options])
        }
        FileSystem::Xfs => make.args(["-q", "-f", "-m", &format!("uuid={IDENTITY}")]),
        FileSystem::Btrfs => make.args(["-q", "-f", "-U", IDENTITY]),
    };
    // Not to the console, which is the command's: notes of `mkfs.btrfs` stood in front of what that printed.
    let made = make.arg(DISK).env("PATH", path_with_sbin()).output();
    let made = made.map_err(|error| cannot_start(&make, &error))?;
    if made.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&made.stderr);
    let last = said.lines().rfind(|line| !line.trim().is_empty());
    Err(format!(
        "`{program}` ended with {}: {}",
        made.status,
        last.unwrap_or_default().trim()
    ))
}

/// Tools of administrators are not in everybody's path.
fn path_with_sbin() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    path.push(":/usr/sbin:/sbin");
    path
}

fn command(words: &[OsString], task: &Task) -> Command {
    let mut words = words.iter();
    let mut command = Command::new(words.next().cloned().unwrap_or_default());
    command
        .args(words)
        .current_dir(DISK_FOLDER)
        .env("PATH", path_with_sbin())
        .env("HOME", "/tmp")
        .env("TMPDIR", "/tmp");
    for (name, value) in &task.environment {
        command.env(name, value);
    }
    command
}

fn cannot_start(command: &Command, error: &io::Error) -> String {
    let program = command.get_program().to_string_lossy();
    format!("cannot start `{program}`: {error}")
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let status = command.status();
    let status = status.map_err(|error| cannot_start(command, &error))?;
    if status.success() {
        return Ok(());
    }
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.take(4).map(|word| word.to_string_lossy()).collect();
    Err(format!("`{}` ended with {status}", words.join(" ")))
}

fn exit_code(status: ExitStatus) -> i32 {
    let by_signal = status.signal().map(|signal| 128 + signal);
    status.code().or(by_signal).unwrap_or(1)
}
