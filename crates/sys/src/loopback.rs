//! `SIOCSIFFLAGS` - switches on the network interface over which a machine talks to itself.
//!
//! See `man 7 netdevice`.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;

/// `struct ifreq`, with the flags of its union.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: libc::c_short,
    rest: [u8; 22],
}

const _: () = assert!(size_of::<InterfaceRequest>() == 40);

/// Switches `lo` on; the kernel gives it 127.0.0.1 then. Needs the right to administer the network.
pub fn switch_on() -> io::Result<()> {
    let mut name = [0; 16];
    name[..2].copy_from_slice(b"lo");
    let both = libc::IFF_UP | libc::IFF_RUNNING;
    let request = InterfaceRequest {
        name,
        flags: libc::c_short::try_from(both).unwrap_or(0),
        rest: [0; 22],
    };
    // Any socket will do.
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // SAFETY: `request` is an `ifreq` that lives until the call is over, and the socket is open.
    let result = unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFFLAGS as _,
            &raw const request,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
