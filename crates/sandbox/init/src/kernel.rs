//! System calls for which there is no safe wrapper elsewhere. All unsafe code of the sandbox is below this module.
#![expect(unsafe_code, reason = "the one place where the sandbox talks to the kernel in its own words")]

pub mod clone;
pub mod descriptors;
pub mod landlock;
pub mod loopback;
pub mod mount_attributes;
pub mod notifications;
pub mod seccomp;
pub mod signals;
pub mod spawn;

use std::io;

/// The result of a raw system call in the form of the standard library.
fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
