//! The FUSE file system of one disk: a root folder with two files.
//!
//! * `image`: the bytes of the disk. Reads go to the timing thread, writes are done at once.
//! * `stats`: the figures as JSON, fixed when the file is opened; writing anything sets them to 0.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use super::timing::Shared;
use crate::record::{IMAGE_NAME, STATS_NAME};

const ROOT: INodeNo = INodeNo(1);
const IMAGE: INodeNo = INodeNo(2);
const STATS: INodeNo = INodeNo(3);

/// Largest request. FUSE cuts larger ones in two, which no disk does; the loop device gets the
/// same limit, so that they never get here.
pub(crate) const REQUEST_BYTES_MAX: u32 = 1 << 20;

/// Requests that the kernel sends before it waits for answers. A disk has to see all that is queued,
/// or the queue below the loop device would be FUSE's and not the model's.
const REQUESTS_IN_FLIGHT_MAX: u16 = 4096;

/// Nothing about the files ever changes.
const ATTRIBUTES_VALID: Duration = Duration::from_secs(3600);

/// What the kernel talks to.
#[derive(Debug)]
pub(super) struct DiskFiles {
    shared: Arc<Shared>,
    size_bytes: u64,
    /// Texts of open `stats` files.
    snapshots: Mutex<HashMap<u64, Vec<u8>>>,
    next_handle: AtomicU64,
}

impl DiskFiles {
    /// The files of a disk of `size_bytes`.
    pub(super) fn new(shared: Arc<Shared>, size_bytes: u64) -> Self {
        Self {
            shared,
            size_bytes,
            snapshots: Mutex::new(HashMap::new()),
            next_handle: AtomicU64::new(1),
        }
    }

    fn attributes(&self, node: INodeNo) -> Option<FileAttr> {
        let (kind, perm, size) = match node {
            ROOT => (FileType::Directory, 0o500, 0),
            IMAGE => (FileType::RegularFile, 0o600, self.size_bytes),
            STATS => (FileType::RegularFile, 0o600, 0),
            _ => return None,
        };
        Some(FileAttr {
            ino: node,
            size,
            blocks: size.div_ceil(512),
            atime: SystemTime::UNIX_EPOCH,
            mtime: SystemTime::UNIX_EPOCH,
            ctime: SystemTime::UNIX_EPOCH,
            crtime: SystemTime::UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    fn read_image(&self, offset: u64, size: u32, reply: ReplyData) {
        let end = offset.saturating_add(size.into()).min(self.size_bytes);
        match (usize::try_from(offset), usize::try_from(end)) {
            (Ok(start), Ok(end)) if start < end => self.shared.submit(start, end, reply),
            _ => reply.data(&[]),
        }
    }

    fn snapshots(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Vec<u8>>> {
        self.snapshots
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Filesystem for DiskFiles {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // The nearest value that is allowed comes back as the error, and is as good.
        let _ = config.set_max_write(REQUEST_BYTES_MAX);
        let _ = config.set_max_readahead(REQUEST_BYTES_MAX);
        let _ = config.set_max_background(REQUESTS_IN_FLIGHT_MAX);
        let _ = config.set_congestion_threshold(REQUESTS_IN_FLIGHT_MAX);
        config
            .add_capabilities(InitFlags::FUSE_ASYNC_DIO)
            .map_err(|_| {
                io::Error::new(
                    io::ErrorKind::Unsupported,
                    "this kernel's FUSE has no async direct I/O",
                )
            })
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let node = match name.to_str() {
            Some(IMAGE_NAME) if parent == ROOT => IMAGE,
            Some(STATS_NAME) if parent == ROOT => STATS,
            _ => return reply.error(Errno::ENOENT),
        };
        match self.attributes(node) {
            Some(attributes) => reply.entry(&ATTRIBUTES_VALID, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(
        &self,
        _request: &Request,
        node: INodeNo,
        _handle: Option<FileHandle>,
        reply: ReplyAttr,
    ) {
        match self.attributes(node) {
            Some(attributes) => reply.attr(&ATTRIBUTES_VALID, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _request: &Request,
        node: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        match self.attributes(node) {
            Some(attributes) if node == STATS || size.is_none() => {
                reply.attr(&ATTRIBUTES_VALID, &attributes);
            }
            Some(_) => reply.error(Errno::EPERM),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _request: &Request, node: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let handle = self.next_handle.fetch_add(1, Ordering::Relaxed);
        if node == STATS {
            match serde_json::to_vec(&self.shared.stats()) {
                Ok(text) => self.snapshots().insert(handle, text),
                Err(_) => return reply.error(Errno::EIO),
            };
        }
        // Nothing of this file may be cached: the page cache belongs above the loop device.
        reply.opened(FileHandle(handle), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _request: &Request,
        node: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if node == IMAGE {
            return self.read_image(offset, size, reply);
        }
        let snapshots = self.snapshots();
        let text = snapshots.get(&handle.0).map_or(&[][..], Vec::as_slice);
        let start = usize::try_from(offset).map_or(text.len(), |start| start.min(text.len()));
        let length = usize::try_from(size).map_or(text.len(), |size| size.min(text.len() - start));
        reply.data(&text[start..start + length]);
    }

    fn write(
        &self,
        _request: &Request,
        node: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
        if node == STATS {
            self.shared.reset_stats();
            return reply.written(length);
        }
        match self.shared.write(offset, data) {
            Some(()) => reply.written(length),
            None => reply.error(Errno::ENOSPC),
        }
    }

    fn flush(
        &self,
        _request: &Request,
        _node: INodeNo,
        _handle: FileHandle,
        _lock_owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }

    fn fsync(
        &self,
        _request: &Request,
        _node: INodeNo,
        _handle: FileHandle,
        _datasync: bool,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }

    fn release(
        &self,
        _request: &Request,
        _node: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.snapshots().remove(&handle.0);
        reply.ok();
    }

    fn readdir(
        &self,
        _request: &Request,
        _node: INodeNo,
        _handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let entries = [
            (ROOT, FileType::Directory, "."),
            (ROOT, FileType::Directory, ".."),
            (IMAGE, FileType::RegularFile, IMAGE_NAME),
            (STATS, FileType::RegularFile, STATS_NAME),
        ];
        for (position, (node, kind, name)) in (1_u64..).zip(entries) {
            if position > offset && reply.add(node, position, kind, name) {
                break;
            }
        }
        reply.ok();
    }
}
