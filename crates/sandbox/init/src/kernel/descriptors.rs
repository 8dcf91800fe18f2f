//! Closing what must not be inherited, and putting descriptors where they are expected.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd as _, OwnedFd};

use super::check;

/// Closes every descriptor from `first` on. Owners of such descriptors must be forgotten, not dropped.
pub fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: takes integers only. Callers have given up the descriptors, see above.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) }).map(drop)
}

/// Makes `number` refer to what `descriptor` does, and to be closed when a program is started.
pub fn place(descriptor: &impl AsRawFd, number: i32) -> io::Result<OwnedFd> {
    if descriptor.as_raw_fd() == number {
        // SAFETY: F_DUPFD_CLOEXEC takes integers only.
        let copy = check(unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, number + 1) }.into())?;
        // SAFETY: the kernel has just made `copy`, and it is used for this one purpose.
        let copy = unsafe { OwnedFd::from_raw_fd(copy as i32) };
        return place(&copy, number);
    }
    // SAFETY: dup3 takes integers; whatever `number` was is replaced, which is the purpose.
    check(unsafe { libc::dup3(descriptor.as_raw_fd(), number, libc::O_CLOEXEC) }.into())?;
    // SAFETY: `number` is open now, and this is its only owner: standard descriptors have none, others were closed.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Makes standard input, output and error refer to `descriptor`.
pub fn replace_standard(descriptor: BorrowedFd<'_>) -> io::Result<()> {
    for number in 0..3 {
        // SAFETY: dup2 takes integers; the standard descriptors have no owner that could be confused.
        check(unsafe { libc::dup2(descriptor.as_raw_fd(), number) }.into())?;
    }
    Ok(())
}

/// Takes ownership of standard input, which the host made our control channel.
pub fn take_standard_input() -> io::Result<OwnedFd> {
    // SAFETY: F_DUPFD_CLOEXEC takes integers only.
    let copy = check(unsafe { libc::fcntl(0, libc::F_DUPFD_CLOEXEC, 3) }.into())?;
    // SAFETY: the kernel has just made `copy`; nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy as i32) })
}
