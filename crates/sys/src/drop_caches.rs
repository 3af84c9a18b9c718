//! `/proc/sys/vm/drop_caches` - empties the page cache, so that a measurement starts cold.
//!
//! Needs root. Dirty pages stay; call `sync` first. Slab objects (inodes, directory entries) go too,
//! so that finding a file's blocks is paid for again as well.

use std::fs;
use std::io;
use std::path::Path;

/// Drops clean pages and reclaimable slab objects of the whole machine.
/// `proc_root` is normally `/proc`.
pub fn drop_caches(proc_root: &Path) -> io::Result<()> {
    fs::write(proc_root.join("sys/vm/drop_caches"), "3")
}
