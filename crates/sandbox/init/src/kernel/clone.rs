//! New processes in new namespaces.

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

use super::check;

/// Which side of a clone this is.
#[derive(Debug)]
pub enum Cloned {
    /// The old process, with what it knows of the new one.
    Parent {
        /// The new process, in the old process's numbering.
        pid: u32,
        /// A descriptor that means this process and no later one of the same number.
        pidfd: OwnedFd,
    },
    /// The new process.
    Child,
}

/// Clones the process, which must have one thread only, into new namespaces (`CLONE_NEW*` flags).
pub fn clone_into(namespaces: u64) -> io::Result<Cloned> {
    let mut pidfd: libc::c_int = -1;
    let arguments = libc::clone_args {
        flags: namespaces | libc::CLONE_PIDFD as u64,
        pidfd: &raw mut pidfd as u64,
        child_tid: 0,
        parent_tid: 0,
        exit_signal: libc::SIGCHLD as u64,
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: 0,
    };
    // SAFETY: `arguments` is a valid structure of the size given, without a stack of its own, so the child continues on
    // a copy of this one as after fork. The process has one thread: no lock is held by a thread that is not copied.
    let result =
        unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>()) };
    match check(result)? {
        0 => Ok(Cloned::Child),
        // SAFETY: with CLONE_PIDFD the kernel has stored a new descriptor that nobody else owns.
        pid => Ok(Cloned::Parent { pid: pid as u32, pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) } }),
    }
}

/// Gives this process, which must have one thread only, mounts of its own: copies of those that it sees now.
pub fn own_mounts() -> io::Result<()> {
    // SAFETY: takes a number only; no memory is touched, and there is no other thread to share anything with.
    check(unsafe { libc::unshare(libc::CLONE_NEWNS) }.into()).map(drop)
}

/// Leaves at once, without running what the standard library does at exit: those things belong to the old process.
pub fn leave(code: i32) -> ! {
    // SAFETY: ends the process; nothing is touched.
    unsafe { libc::_exit(code) }
}
