//! `ioctl` on loop devices - makes a file look like a disk.
//!
//! Which file, which device and what to do when another process was faster is the caller's affair.
//! See `man 4 loop`.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

// From <linux/loop.h>; the libc crate does not have them.
const LOOP_CLR_FD: libc::c_ulong = 0x4C01;
const LOOP_CONFIGURE: libc::c_ulong = 0x4C0A;
const LOOP_CTL_REMOVE: libc::c_ulong = 0x4C81;
const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4C82;

const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// `struct loop_info64`.
#[repr(C)]
struct LoopInfo64 {
    lo_device: u64,
    lo_inode: u64,
    lo_rdevice: u64,
    lo_offset: u64,
    lo_sizelimit: u64,
    lo_number: u32,
    lo_encrypt_type: u32,
    lo_encrypt_key_size: u32,
    lo_flags: u32,
    lo_file_name: [u8; 64],
    lo_crypt_name: [u8; 64],
    lo_encrypt_key: [u8; 32],
    lo_init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo64,
    reserved: [u64; 8],
}

const _: () = assert!(size_of::<LoopInfo64>() == 232 && size_of::<LoopConfig>() == 304);

/// `LOOP_CTL_GET_FREE` - the number of a loop device without a file; the kernel makes a new device
/// when all are taken. Another process may take it first.
pub fn get_free() -> io::Result<u32> {
    let control = control()?;
    // SAFETY: this request takes no argument.
    let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE as _) };
    u32::try_from(number).map_err(|_| io::Error::last_os_error())
}

/// `LOOP_CTL_REMOVE` - removes a device that is not in use. `EBUSY` when it is.
pub fn remove(number: u32) -> io::Result<()> {
    let control = control()?;
    // SAFETY: the argument of this request is a plain number.
    let result = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_REMOVE as _, number) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

fn control() -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/loop-control")
}

/// The device node of loop device `number`.
#[must_use]
pub fn node(number: u32) -> PathBuf {
    PathBuf::from(format!("/dev/loop{number}"))
}

/// Opens loop device `number` for configuring it.
pub fn open(number: u32) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_CLOEXEC)
        .open(node(number))
}

/// `LOOP_CONFIGURE` - puts `backing` under `device`, with direct I/O, so that nothing is cached
/// twice. The device lets go of the file by itself when its last user closes it, also when that
/// user was killed. `EBUSY`: the device has a file already.
pub fn configure(device: impl AsFd, backing: impl AsFd, label: &str) -> io::Result<()> {
    let mut lo_file_name = [0; 64];
    // The last byte stays 0, as the kernel expects.
    for (to, from) in lo_file_name.iter_mut().take(63).zip(label.bytes()) {
        *to = from;
    }
    let config = LoopConfig {
        fd: u32::try_from(backing.as_fd().as_raw_fd()).map_err(|_| io::ErrorKind::InvalidInput)?,
        block_size: 0,
        info: LoopInfo64 {
            lo_device: 0,
            lo_inode: 0,
            lo_rdevice: 0,
            lo_offset: 0,
            lo_sizelimit: 0,
            lo_number: 0,
            lo_encrypt_type: 0,
            lo_encrypt_key_size: 0,
            lo_flags: LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO,
            lo_file_name,
            lo_crypt_name: [0; 64],
            lo_encrypt_key: [0; 32],
            lo_init: [0; 2],
        },
        reserved: [0; 8],
    };
    // SAFETY: `config` has the layout of struct loop_config (size checked above), is only read, and
    // outlives the call.
    let result = unsafe {
        libc::ioctl(
            device.as_fd().as_raw_fd(),
            LOOP_CONFIGURE as _,
            &raw const config,
        )
    };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// `LOOP_CLR_FD` - lets go of the file; put off until the last user closes the device.
pub fn clear(device: impl AsFd) -> io::Result<()> {
    // SAFETY: this request takes no argument.
    let result = unsafe { libc::ioctl(device.as_fd().as_raw_fd(), LOOP_CLR_FD as _) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Numbers of all loop devices, with or without a file. `sys_root` is normally `/sys`.
pub fn numbers(sys_root: &Path) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(sys_root.join("block"))? {
        let name = entry?.file_name();
        let digits = name.to_str().and_then(|name| name.strip_prefix("loop"));
        numbers.extend(digits.and_then(|digits| digits.parse::<u32>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// The file under loop device `number`, as the kernel names it; `None` when there is none.
pub fn backing_file(sys_root: &Path, number: u32) -> Option<PathBuf> {
    let path = sys_root.join(format!("block/loop{number}/loop/backing_file"));
    let text = fs::read_to_string(path).ok()?;
    Some(PathBuf::from(text.strip_suffix('\n').unwrap_or(&text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loop_devices_are_listed_and_a_free_one_has_no_file() {
        let root = tempfile::tempdir().unwrap();
        for name in ["loop0", "loop12", "loopback", "sda"] {
            fs::create_dir_all(root.path().join("block").join(name).join("loop")).unwrap();
        }
        fs::write(
            root.path().join("block/loop12/loop/backing_file"),
            "/a b/image\n",
        )
        .unwrap();
        assert_eq!(numbers(root.path()).unwrap(), [0, 12]);
        assert_eq!(backing_file(root.path(), 0), None);
        assert_eq!(
            backing_file(root.path(), 12),
            Some(PathBuf::from("/a b/image"))
        );
    }
}
