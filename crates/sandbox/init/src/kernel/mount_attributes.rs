//! Attributes of mounts: read-only, no devices, other owners.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use super::check;

/// Not writable.
pub const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
/// Set-user-id files give nothing.
pub const NO_SETUID: u64 = libc::MOUNT_ATTR_NOSUID;
/// Device files are no devices.
pub const NO_DEVICES: u64 = libc::MOUNT_ATTR_NODEV;
/// Nothing can be executed or mapped as code.
pub const NO_EXECUTE: u64 = libc::MOUNT_ATTR_NOEXEC;

/// Adds attributes to a mount and those below it, and cuts them off from what happens to their originals.
/// With `owners`, a user namespace, files appear to belong to the ids that it maps theirs to.
pub fn set(mount: BorrowedFd<'_>, attributes: u64, owners: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut request =
        libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: libc::MS_PRIVATE, userns_fd: 0 };
    if let Some(owners) = owners {
        request.attr_set |= libc::MOUNT_ATTR_IDMAP;
        request.userns_fd = owners.as_raw_fd() as u64;
    }
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: the path is a valid empty string, and `request` is valid for its size during the call.
    let set = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const request,
            size_of::<libc::mount_attr>(),
        )
    };
    check(set).map(drop)
}
