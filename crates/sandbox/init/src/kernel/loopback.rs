//! The one network device of a new network namespace.

use std::io;
use std::os::fd::AsRawFd;

use super::check;

/// Sets the device `lo` up; `socket` is any socket of the namespace.
pub fn bring_up(socket: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *place = *byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request is a valid structure with a name that ends in a zero.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) }.into()).map(drop)
}
