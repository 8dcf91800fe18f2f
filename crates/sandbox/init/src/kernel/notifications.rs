//! System calls that a filter reports, and what becomes of them. Used on the host side.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use super::check;

/// A process has made a call that the filter reports, and waits.
#[derive(Clone, Copy, Debug)]
pub struct Notification {
    /// For the answer.
    pub id: u64,
    /// The process, in the numbering of whoever receives.
    pub pid: u32,
    /// The number of the call.
    pub call: i32,
    /// Its arguments.
    pub arguments: [u64; 6],
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It fails with this error number.
    Refuse(i32),
    /// It is carried out. For calls that the filter would allow as well; memory may have changed since it was read.
    Continue,
}

/// Takes the next call that waits. There must be one, or this blocks.
pub fn receive(listener: BorrowedFd<'_>) -> io::Result<Notification> {
    // SAFETY: all zeros is a valid value, and what the kernel demands.
    let mut notification: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is the one that this request fills.
    check(unsafe { libc::ioctl(listener.as_raw_fd(), RECEIVE, &raw mut notification) }.into())?;
    Ok(Notification {
        id: notification.id,
        pid: notification.pid,
        call: notification.data.nr,
        arguments: notification.data.args,
    })
}

/// Answers a call. One whose process is gone needs no answer, which is an error of kind `NotFound`.
pub fn answer(listener: BorrowedFd<'_>, id: u64, answer: Answer) -> io::Result<()> {
    let (error, flags) = match answer {
        Answer::Refuse(errno) => (-errno, 0),
        Answer::Continue => (0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
    };
    let response = libc::seccomp_notif_resp { id, val: 0, error, flags };
    // SAFETY: the structure is the one that this request reads.
    check(unsafe { libc::ioctl(listener.as_raw_fd(), SEND, &raw const response) }.into()).map(drop)
}

/// Whether the call still waits: what was read from its process in between belongs to it.
pub fn is_waiting(listener: BorrowedFd<'_>, id: u64) -> bool {
    // SAFETY: the request reads one number.
    unsafe { libc::ioctl(listener.as_raw_fd(), IS_VALID, &raw const id) == 0 }
}

const RECEIVE: libc::Ioctl = request(3, size_of::<libc::seccomp_notif>(), 0);
const SEND: libc::Ioctl = request(3, size_of::<libc::seccomp_notif_resp>(), 1);
const IS_VALID: libc::Ioctl = request(1, size_of::<u64>(), 2);

/// How request numbers are made: direction, size, kind, number.
const fn request(direction: u32, size: usize, number: u32) -> libc::Ioctl {
    ((direction << 30) | ((size as u32) << 16) | ((b'!' as u32) << 8) | number) as libc::Ioctl
}
