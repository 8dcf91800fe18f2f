//! Putting a filter for system calls in force.

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

use super::check;

const SET_MODE_FILTER: libc::c_uint = 1;
const GET_ACTION_AVAIL: libc::c_uint = 2;

/// Whether refused calls can be reported to another process.
pub fn can_notify() -> bool {
    let action: u32 = libc::SECCOMP_RET_USER_NOTIF;
    // SAFETY: the kernel reads one number.
    unsafe { libc::syscall(libc::SYS_seccomp, GET_ACTION_AVAIL, 0, &raw const action) == 0 }
}

/// Installs a filter: instructions of eight bytes each, as the kernel reads them. With `listen`, returns the descriptor
/// on which calls that the filter reports are answered.
pub fn install(filter: &[u8], listen: bool) -> io::Result<Option<OwnedFd>> {
    let count = u16::try_from(filter.len() / 8).map_err(|_| io::ErrorKind::InvalidInput)?;
    // A copy with the alignment of instructions.
    let mut instructions: Vec<libc::sock_filter> = filter
        .chunks_exact(8)
        .filter_map(|chunk| chunk.first_chunk::<8>())
        .map(|&[c0, c1, jt, jf, k0, k1, k2, k3]| libc::sock_filter {
            code: u16::from_ne_bytes([c0, c1]),
            jt,
            jf,
            k: u32::from_ne_bytes([k0, k1, k2, k3]),
        })
        .collect();
    let program = libc::sock_fprog { len: count, filter: instructions.as_mut_ptr() };
    let flags = if listen { libc::SECCOMP_FILTER_FLAG_NEW_LISTENER } else { 0 };
    // SAFETY: `program` describes `instructions`, which live during the call; the kernel checks the instructions.
    let installed =
        check(unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, flags, &raw const program) })?;
    // SAFETY: with this flag the result is a new descriptor without another owner.
    Ok(listen.then(|| unsafe { OwnedFd::from_raw_fd(installed as i32) }))
}

/// How this process is filtered: 0 not at all, 2 by a filter.
pub fn mode() -> i32 {
    // SAFETY: takes integers only; the process is not in strict mode, where this call would end it.
    unsafe { libc::prctl(libc::PR_GET_SECCOMP, 0, 0, 0, 0) }
}
