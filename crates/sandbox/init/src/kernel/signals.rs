//! Signals: waiting for them by descriptor, and sending them to everyone.

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

use super::check;

/// Lets ended children disappear by themselves.
pub fn ignore_children() -> io::Result<()> {
    set_handler(libc::SIGCHLD, libc::SIG_IGN)
}

/// Keeps ended children until they are waited for.
pub fn remember_children() -> io::Result<()> {
    set_handler(libc::SIGCHLD, libc::SIG_DFL)
}

/// Writing to a closed channel is an error, not an end.
pub fn ignore_broken_pipes() -> io::Result<()> {
    set_handler(libc::SIGPIPE, libc::SIG_IGN)
}

fn set_handler(signal: libc::c_int, handler: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: both handlers used here are the kernel's own, no code of ours runs in a signal.
    let previous = unsafe { libc::signal(signal, handler) };
    if previous == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A descriptor that is readable when a child has ended; the signal itself is held back.
pub fn children_descriptor() -> io::Result<OwnedFd> {
    let mut set = empty_set();
    // SAFETY: `set` is a valid, initialised set during all three calls.
    unsafe {
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        check(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()).into())?;
        let made = check(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK).into())?;
        Ok(OwnedFd::from_raw_fd(made as i32))
    }
}

/// A set without signals.
pub(super) fn empty_set() -> libc::sigset_t {
    // SAFETY: all zeros is a valid value, and sigemptyset initialises it whatever the representation is.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        set
    }
}

/// A set of all signals.
pub(super) fn full_set() -> libc::sigset_t {
    // SAFETY: as above.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut set);
        set
    }
}

/// Sends a signal to a process (positive), a process group (negative), or everyone but the sender (-1).
pub fn send(target: i32, signal: i32) -> io::Result<()> {
    // SAFETY: takes integers only.
    check(unsafe { libc::kill(target, signal) }.into()).map(drop)
}
