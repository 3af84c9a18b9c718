//! `getsockopt(SO_PEERGROUPS)` - the supplementary groups of who is at the other end of a Unix socket.
//!
//! As they were when it connected (Linux 4.13). Their primary group is in `SO_PEERCRED`, which rustix has; this option it
//! does not. See unix(7).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// More groups than this are not read: they count as none. A user has a few.
const GROUPS_MAX: usize = 1024;

/// The groups, without the primary one.
///
/// # Errors
/// The kernel's: `ENOTSOCK`, `ENODATA` where nothing is connected, `ERANGE` for more than 1024 groups.
pub fn peer_groups(socket: impl AsFd) -> io::Result<Vec<u32>> {
    let mut groups = vec![0_u32; GROUPS_MAX];
    let mut bytes = libc::socklen_t::try_from(size_of_val(groups.as_slice())).unwrap_or(0);
    // SAFETY: the kernel writes at most `bytes` bytes to `groups`, which is as long, and what it wrote to `bytes`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERGROUPS,
            groups.as_mut_ptr().cast(),
            &raw mut bytes,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    groups.truncate(usize::try_from(bytes).unwrap_or(0) / size_of::<u32>());
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_groups_of_the_other_end_are_those_of_its_process() {
        let (one, _other) = UnixStream::pair().unwrap();
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("Groups:"));
        let own: Vec<u32> = line
            .unwrap()
            .split_whitespace()
            .map(|group| group.parse().unwrap())
            .collect();
        assert_eq!(peer_groups(&one).unwrap(), own);
    }
}
