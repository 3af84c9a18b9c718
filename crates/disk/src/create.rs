//! Making a disk: server process, loop device, file system, mount, in this order.
//!
//! Each step is in the journal before it is taken. A step that fails takes everything apart
//! again; a process that is killed leaves that to the next one (see `layers`).

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use ahead_disks::{DiskModel, ModelError, Order, TimeScale};
use ahead_sys::process_identity::ProcessIdentity;
use ahead_sys::{loop_device, mounts};
use rustix::mount::MountFlags;

use crate::layers;
use crate::server::{self, READY_LINE, REQUEST_BYTES_MAX, SERVER_ARGUMENT};
use crate::state::{
    self, DiskInfo, LoopDevice, Phase, Record, ServerProcess, Setting, State, StateError,
};

/// ext4 needs some space for itself; below this there is little left for files.
const SIZE_BYTES_MIN: u64 = 16 << 20;

/// Memory that a disk must leave to the rest of the machine.
const MEMORY_LEFT_BYTES: u64 = 512 << 20;

/// Other processes can be faster in taking a free loop device. This often in a row they are not.
const LOOP_ATTEMPTS: u32 = 32;

/// What to make.
#[derive(Clone, Debug)]
pub struct CreateOptions {
    /// Name of the disk: 1 to 64 letters, digits, dots, dashes and underscores.
    pub name: String,
    /// How it takes its time.
    pub model: DiskModel,
    /// Order of service, if not that of the model.
    pub order: Option<Order>,
    /// How much faster than real.
    pub time_scale: TimeScale,
    /// Size of the block device. Memory is taken as the disk is written, not before.
    pub size_bytes: u64,
    /// Where to mount it: an empty folder, or one that does not exist and is then made.
    pub mount_dir: PathBuf,
    /// Program that calls [`serve`](crate::serve) when started with
    /// [`SERVER_ARGUMENT`](crate::SERVER_ARGUMENT).
    pub server_exe: PathBuf,
}

/// Why a disk could not be made. Nothing is left of it then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The state folder cannot be used, the name is wrong, or the caller is not root.
    #[error(transparent)]
    State(#[from] StateError),
    /// The model makes no sense.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// There is a disk of this name.
    #[error("there is a disk called {0:?} already: destroy it first, or use another name")]
    NameInUse(String),
    /// Less than ext4 needs.
    #[error("a disk of {size_bytes} bytes is too small: use at least {SIZE_BYTES_MIN}")]
    TooSmall {
        /// Size asked for.
        size_bytes: u64,
    },
    /// More than the memory that is free.
    #[error(
        "a disk of {size_bytes} bytes does not fit: it is kept in memory, and at most {} bytes can \
         be spared",
        size_bytes_max
    )]
    TooLarge {
        /// Size asked for.
        size_bytes: u64,
        /// Largest size that would do.
        size_bytes_max: u64,
    },
    /// Something that has to be on the machine is not.
    #[error("{what} is missing: {remedy}")]
    Missing {
        /// What.
        what: &'static str,
        /// How to get it.
        remedy: &'static str,
    },
    /// The mount point cannot be used.
    #[error("cannot mount at {}: {reason}", path.display())]
    MountPoint {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The server did not come up.
    #[error("the disk server ({}) did not start: {reason}", exe.display())]
    Server {
        /// Program that was started.
        exe: PathBuf,
        /// What it wrote, or what went wrong.
        reason: String,
    },
    /// A step of putting the layers on top of each other failed.
    #[error("cannot {step}: {source}")]
    Step {
        /// What was attempted.
        step: String,
        /// What went wrong.
        source: io::Error,
    },
}

/// Makes a disk and mounts it.
///
/// # Errors
/// [`CreateError`]; nothing is left of the disk then.
pub fn create(options: &CreateOptions) -> Result<DiskInfo, CreateError> {
    let size_bytes = check(options)?;
    let state = State::lock()?;
    layers::clean_up_broken(&state);
    if fs::symlink_metadata(Path::new(state::STATE_ROOT).join(&options.name)).is_ok() {
        return Err(CreateError::NameInUse(options.name.clone()));
    }
    let (mount_dir, made_dirs) = mount_point(&options.mount_dir)?;
    let mut record = Record {
        name: options.name.clone(),
        phase: Phase::Creating,
        model: match options.order {
            Some(order) => options.model.clone().with_order(order),
            None => options.model.clone(),
        },
        time_scale: options.time_scale,
        size_bytes,
        mount_dir,
        made_dirs,
        server: None,
        loop_device: None,
    };
    let made = build(&mut record, &options.server_exe);
    if made.is_err() {
        layers::remove(&record);
    }
    made
}

/// Checks what can be checked without changing anything. The size, in whole pages.
fn check(options: &CreateOptions) -> Result<u64, CreateError> {
    state::require_root()?;
    state::check_name(&options.name)?;
    options.model.check()?;
    if let Some(order) = options.order {
        options.model.clone().with_order(order).check()?;
    }
    let size_bytes = options.size_bytes & !4095;
    if size_bytes < SIZE_BYTES_MIN {
        return Err(CreateError::TooSmall {
            size_bytes: options.size_bytes,
        });
    }
    let size_bytes_max = free_memory_bytes().saturating_sub(MEMORY_LEFT_BYTES);
    if size_bytes > size_bytes_max {
        return Err(CreateError::TooLarge {
            size_bytes,
            size_bytes_max,
        });
    }
    if !Path::new("/dev/fuse").exists() {
        let remedy = "load the module with `modprobe fuse`, or use a kernel with FUSE";
        return Err(CreateError::Missing {
            what: "/dev/fuse",
            remedy,
        });
    }
    if !Path::new("/dev/loop-control").exists() {
        let remedy = "load the module with `modprobe loop`, or use a kernel with loop devices";
        return Err(CreateError::Missing {
            what: "/dev/loop-control",
            remedy,
        });
    }
    mkfs()?;
    Ok(size_bytes)
}

/// What the kernel thinks programs can still take. Unlimited when it does not say.
fn free_memory_bytes() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.map_or(u64::MAX, |kib| kib.saturating_mul(1024))
}

/// Finds mkfs.ext4; it is often outside of the search path of programs that were not started by a
/// login shell.
fn mkfs() -> Result<PathBuf, CreateError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    let mut programs = folders.map(|folder| folder.join("mkfs.ext4"));
    programs
        .find(|program| program.is_file())
        .ok_or(CreateError::Missing {
            what: "mkfs.ext4",
            remedy: "install e2fsprogs (`apt-get install e2fsprogs`)",
        })
}

/// The mount point without links in it, and the folders to make for it, outermost first.
fn mount_point(asked: &Path) -> Result<(PathBuf, Vec<PathBuf>), CreateError> {
    let wrong = |reason: String| CreateError::MountPoint {
        path: asked.to_owned(),
        reason,
    };
    let absolute = std::path::absolute(asked).map_err(|error| wrong(error.to_string()))?;
    // Walk up to what exists; the rest will be made below it.
    let mut missing: Vec<&OsStr> = Vec::new();
    let mut existing = absolute.as_path();
    let base = loop {
        match fs::canonicalize(existing) {
            Ok(base) => break base,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let (Some(name), Some(parent)) = (existing.file_name(), existing.parent()) else {
                    return Err(wrong(error.to_string()));
                };
                missing.push(name);
                existing = parent;
            }
            Err(error) => return Err(wrong(error.to_string())),
        }
    };
    if !base.is_dir() {
        return Err(wrong(format!("{} is not a folder", base.display())));
    }
    if missing.is_empty() {
        let mounted = mounts::mounts(Path::new("/proc")).unwrap_or_default();
        if mounted.iter().any(|mount| mount.mount_point == base) {
            return Err(wrong("something is mounted there already".into()));
        }
        let mut entries = fs::read_dir(&base).map_err(|error| wrong(error.to_string()))?;
        if entries.next().is_some() {
            return Err(wrong("the folder is not empty".into()));
        }
    }
    let mut path = base;
    let mut made = Vec::new();
    for name in missing.iter().rev() {
        path.push(name);
        made.push(path.clone());
    }
    Ok((path, made))
}

/// The steps. The caller takes apart what was done when one fails.
fn build(record: &mut Record, server_exe: &Path) -> Result<DiskInfo, CreateError> {
    let fuse_dir = record.fuse_dir();
    make_dir(&record.folder())?;
    record.write()?;
    make_dir(&fuse_dir)?;
    for folder in &record.made_dirs {
        DirBuilder::new()
            .create(folder)
            .map_err(|error| CreateError::MountPoint {
                path: folder.clone(),
                reason: error.to_string(),
            })?;
    }
    let mut server = Server::start(record, server_exe)?;
    server.wait_until_ready(record)?;
    // Held until the file system is mounted: a loop device lets go of its file when nobody has it
    // open.
    let device = attach(record)?;
    make_file_system(record)?;
    mount(record)?;
    drop(device);
    record.phase = Phase::Ready;
    record.write()?;
    server.commit(record)?;
    record.info().ok_or_else(|| CreateError::Step {
        step: "look at the new block device".into(),
        source: io::ErrorKind::NotFound.into(),
    })
}

fn make_dir(path: &Path) -> Result<(), StateError> {
    let made = DirBuilder::new().mode(0o700).create(path);
    made.map_err(|source| StateError::Io {
        path: path.to_owned(),
        source,
    })
}

/// A server that is starting. Dropping it before [`commit`](Self::commit) ends it.
struct Server {
    exe: PathBuf,
    child: Child,
}

impl Server {
    fn start(record: &mut Record, exe: &Path) -> Result<Self, CreateError> {
        let wrong = |error: io::Error| CreateError::Server {
            exe: exe.to_owned(),
            reason: error.to_string(),
        };
        let folder = record.folder();
        let log = File::create(server::log_path(&folder)).map_err(wrong)?;
        let child = Command::new(exe)
            .arg(SERVER_ARGUMENT)
            .arg(&folder)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(wrong)?;
        // Until here its lifeline is all that ends the server should we be killed, and it is enough.
        let pid = i32::try_from(child.id()).unwrap_or(-1);
        let server = Self {
            exe: exe.to_owned(),
            child,
        };
        let identity =
            ProcessIdentity::of(Path::new("/proc"), pid).map_err(|_| server.failure(record))?;
        record.server = Some(ServerProcess {
            pid,
            start_ticks: identity.start_ticks,
        });
        record.write()?;
        Ok(server)
    }

    fn wait_until_ready(&mut self, record: &Record) -> Result<(), CreateError> {
        let mut line = String::new();
        if let Some(out) = self.child.stdout.take() {
            // A server that dies closes the pipe, which ends the reading.
            let _ = BufReader::new(out).read_line(&mut line);
        }
        if line.trim_end() == READY_LINE {
            Ok(())
        } else {
            Err(self.failure(record))
        }
    }

    /// From here on the server lives without us.
    fn commit(mut self, record: &Record) -> Result<(), CreateError> {
        let written = self
            .child
            .stdin
            .take()
            .map(|mut lifeline| lifeline.write_all(b"+"));
        if !matches!(written, Some(Ok(()))) {
            return Err(self.failure(record));
        }
        // Notices its end, so that it does not stay as a zombie while this process lives.
        let mut child = self.child;
        let waiting = thread::Builder::new()
            .name("disk-server".into())
            .spawn(move || child.wait());
        drop(waiting);
        Ok(())
    }

    fn failure(&self, record: &Record) -> CreateError {
        let log = server::log_text(&record.folder());
        let reason = if log.is_empty() {
            format!("it ended before it was ready (is {SERVER_ARGUMENT} handled?)")
        } else {
            log
        };
        CreateError::Server {
            exe: self.exe.clone(),
            reason,
        }
    }
}

/// Puts a loop device on the image and sets its queue up.
fn attach(record: &mut Record) -> Result<File, CreateError> {
    let step = |step: &str| {
        let step = step.to_owned();
        move |source| CreateError::Step { step, source }
    };
    let image = record.image();
    let backing = File::options()
        .read(true)
        .write(true)
        .open(&image)
        .map_err(step("open the image of the disk"))?;
    let sys = Path::new("/sys");
    for _ in 0..LOOP_ATTEMPTS {
        let known = loop_device::numbers(sys).unwrap_or_default();
        let number = loop_device::get_free().map_err(step("find a free loop device"))?;
        let queue = PathBuf::from(format!("/sys/block/loop{number}/queue"));
        let names = ["max_sectors_kb", "rotational", "scheduler", "read_ahead_kb"];
        record.loop_device = Some(LoopDevice {
            number,
            is_new: !known.contains(&number),
            settings_before: names
                .iter()
                .filter_map(|name| setting(queue.join(name)))
                .collect(),
        });
        record.write()?;
        let device = loop_device::open(number).map_err(step("open the loop device"))?;
        match loop_device::configure(&device, &backing, &record.name) {
            Ok(()) => {
                set_queue(record, &queue)?;
                return Ok(device);
            }
            // Another process took it between the two calls.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::BUSY.raw_os_error()) => {}
            Err(error) => return Err(step("put a loop device on the image")(error)),
        }
    }
    let busy = io::ErrorKind::ResourceBusy.into();
    Err(step("get a loop device: others take every free one first")(
        busy,
    ))
}

fn setting(file: PathBuf) -> Option<Setting> {
    let text = fs::read_to_string(&file).ok()?;
    // `[none] mq-deadline`: the brackets mark the one in use.
    let chosen = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    let value = chosen.map_or(text.trim(), |(value, _)| value).to_owned();
    Some(Setting { file, value })
}

fn set_queue(record: &Record, queue: &Path) -> Result<(), CreateError> {
    let request_kib_max = (REQUEST_BYTES_MAX / 1024).to_string();
    let rotational = if record.model.is_rotational() {
        "1"
    } else {
        "0"
    };
    // No scheduler: the order of service belongs to the model.
    let values = [
        ("max_sectors_kb", request_kib_max.as_str()),
        ("rotational", rotational),
        ("scheduler", "none"),
    ];
    for (name, value) in values {
        fs::write(queue.join(name), value).map_err(|source| CreateError::Step {
            step: format!("set {name} of the loop device to {value}"),
            source,
        })?;
    }
    Ok(())
}

fn device_node(record: &Record) -> PathBuf {
    loop_device::node(
        record
            .loop_device
            .as_ref()
            .map_or(0, |device| device.number),
    )
}

/// Makes ext4 without a journal and without initialising tables (memory is zero already), so that
/// nothing but the reads of programs reaches the disk later.
fn make_file_system(record: &Record) -> Result<(), CreateError> {
    let failed = |source| CreateError::Step {
        step: "make a file system (mkfs.ext4)".into(),
        source,
    };
    let output = Command::new(mkfs()?)
        .args([
            "-q",
            "-F",
            "-b",
            "4096",
            "-m",
            "0",
            "-i",
            "32768",
            "-O",
            "^has_journal",
        ])
        .args(["-E", "lazy_itable_init=1,nodiscard,root_owner=0:0"])
        .arg(device_node(record))
        .stdin(Stdio::null())
        .output()
        .map_err(failed)?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(failed(io::Error::other(text)))
}

fn mount(record: &Record) -> Result<(), CreateError> {
    let flags = MountFlags::NOATIME | MountFlags::NODEV | MountFlags::NOSUID;
    let mounted = rustix::mount::mount(
        device_node(record),
        &record.mount_dir,
        "ext4",
        flags,
        // Tables are never initialised in the background, where it would be read as load.
        c"noinit_itable",
    );
    mounted.map_err(|errno| CreateError::MountPoint {
        path: record.mount_dir.clone(),
        reason: errno.to_string(),
    })
}
