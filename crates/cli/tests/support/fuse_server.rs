//! A FUSE server of a test: one file of zeros, and how it answers when that is let go of.

use std::ffi::{CString, OsStr};
use std::fs;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo, LockOwner, OpenFlags,
    ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, Request, Session, SessionACL,
};
use rustix::mount::{MountFlags, UnmountFlags};

pub(crate) const FILE_BYTES: u64 = 32 << 20;

const FILE: INodeNo = INodeNo(2);

/// Longer than a test.
const VALID: Duration = Duration::from_secs(3600);

#[derive(Debug, Default)]
struct Asked {
    flushes: AtomicU64,
    reads: AtomicU64,
    looks: AtomicU64,
    read_bytes: AtomicU64,
    /// Those that are not answered.
    kept: Mutex<Vec<ReplyEmpty>>,
    /// While it is held, no read is answered.
    reading: Mutex<()>,
}

struct Zeros {
    asked: Arc<Asked>,
    answers: bool,
    /// How long the kernel may believe what it was told of a file.
    valid: Duration,
}

fn attributes(node: INodeNo) -> FileAttr {
    let is_file = node == FILE;
    FileAttr {
        ino: node,
        size: if is_file { FILE_BYTES } else { 0 },
        blocks: 0,
        atime: SystemTime::UNIX_EPOCH,
        mtime: SystemTime::UNIX_EPOCH,
        ctime: SystemTime::UNIX_EPOCH,
        crtime: SystemTime::UNIX_EPOCH,
        kind: if is_file {
            FileType::RegularFile
        } else {
            FileType::Directory
        },
        perm: if is_file { 0o666 } else { 0o777 },
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

impl Filesystem for Zeros {
    fn lookup(&self, _request: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == "file" {
            reply.entry(&self.valid, &attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(
        &self,
        _request: &Request,
        node: INodeNo,
        _of: Option<FileHandle>,
        reply: ReplyAttr,
    ) {
        self.asked.looks.fetch_add(1, Ordering::Relaxed);
        reply.attr(&self.valid, &attributes(node));
    }

    fn read(
        &self,
        _request: &Request,
        _node: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.asked.reads.fetch_add(1, Ordering::Relaxed);
        let _reading = self.asked.reading.lock();
        let bytes = u64::from(size).min(FILE_BYTES.saturating_sub(offset));
        self.asked.read_bytes.fetch_add(bytes, Ordering::Relaxed);
        reply.data(&vec![0; usize::try_from(bytes).expect("32 bits")]);
    }

    fn flush(
        &self,
        _request: &Request,
        _node: INodeNo,
        _handle: FileHandle,
        _owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        self.asked.flushes.fetch_add(1, Ordering::Relaxed);
        if self.answers {
            reply.ok();
        } else {
            self.asked.kept.lock().expect("whole").push(reply);
        }
    }
}

/// One that runs until it is dropped.
pub(crate) struct FuseServer {
    mount: PathBuf,
    number: u32,
    asked: Arc<Asked>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl FuseServer {
    /// Mounted on the empty folder `mount` as that of `user`. One that does not answer, does not when a file is let go of.
    pub(crate) fn start(mount: &Path, user: u32, answers: bool) -> Self {
        Self::start_with(mount, user, answers, VALID)
    }

    /// One that is asked each time that its file is looked at.
    pub(crate) fn start_asked_always(mount: &Path) -> Self {
        Self::start_with(mount, 0, true, Duration::ZERO)
    }

    fn start_with(mount: &Path, user: u32, answers: bool, valid: Duration) -> Self {
        fs::create_dir(mount).expect("our folder");
        let device = fs::File::options()
            .read(true)
            .write(true)
            .open("/dev/fuse")
            .expect("FUSE");
        let options = format!(
            "fd={},rootmode=40000,user_id={user},group_id={user},allow_other",
            device.as_raw_fd()
        );
        let options = CString::new(options).expect("text");
        let flags = MountFlags::empty();
        rustix::mount::mount("zeros", mount, "fuse", flags, &*options).expect("a mount");
        let asked = Arc::new(Asked::default());
        let zeros = Zeros {
            asked: Arc::clone(&asked),
            answers,
            valid,
        };
        let session = Session::from_fd(
            zeros,
            device.into(),
            SessionACL::All,
            fuser::Config::default(),
        );
        let session = session.expect("the kernel greets").spawn();
        let device = fs::metadata(mount).expect("a mount").dev();
        let number = rustix::fs::minor(device);
        Self {
            mount: mount.to_owned(),
            number,
            asked,
            thread: Some(session.expect("a thread").guard),
        }
    }

    /// Its file.
    pub(crate) fn file(&self) -> PathBuf {
        self.mount.join("file")
    }

    /// How often it heard that its file was let go of.
    pub(crate) fn flushes(&self) -> u64 {
        self.asked.flushes.load(Ordering::Relaxed)
    }

    /// No read is answered until this is dropped.
    pub(crate) fn hold_reads(&self) -> MutexGuard<'_, ()> {
        self.asked.reading.lock().expect("whole")
    }

    /// How often it was asked for something.
    pub(crate) fn reads(&self) -> u64 {
        self.asked.reads.load(Ordering::Relaxed)
    }

    /// How often it was asked what its file is like.
    pub(crate) fn looks(&self) -> u64 {
        self.asked.looks.load(Ordering::Relaxed)
    }

    /// Bytes that it was asked for, and has given.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.asked.read_bytes.load(Ordering::Relaxed)
    }
}

/// Whoever waits for it goes on: its connection is ended, where the kernel shows that.
impl Drop for FuseServer {
    fn drop(&mut self) {
        let shown = self.mount.with_extension("connections");
        let _ = fs::create_dir(&shown);
        let flags = MountFlags::empty();
        if rustix::mount::mount("none", &shown, "fusectl", flags, None).is_ok() {
            let _ = fs::write(shown.join(format!("{}/abort", self.number)), "1");
            let _ = rustix::mount::unmount(&shown, UnmountFlags::empty());
        }
        let _ = rustix::mount::unmount(&self.mount, UnmountFlags::DETACH);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
