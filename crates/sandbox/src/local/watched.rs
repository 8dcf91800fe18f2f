//! Descriptors that tokio watches.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::unix::AsyncFd;

/// Has tokio watch a descriptor that does not block.
#[expect(
    deprecated,
    reason = "an owned descriptor is what the replacement, which is unsafe, asks its callers to promise"
)]
pub(crate) fn watch(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(descriptor)
}
