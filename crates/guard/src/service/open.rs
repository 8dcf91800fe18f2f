//! The directory and the socket of a service.

use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use super::error::ServiceError;

/// The name of the socket in the directory that is mounted.
pub const SOCKET: &str = "hook.sock";

/// The directory that is mounted, in the one that only the owner may enter.
const MOUNT: &str = "channel";

/// The longest path that fits into the address of a socket, with the zero at its end.
const LONGEST_ADDRESS: usize = 107;

/// Where a service is open.
#[derive(Debug)]
pub(super) struct Opened {
    /// The directory to mount.
    pub(super) mount: PathBuf,
    pub(super) listener: UnixListener,
    /// The directory, locked: a second service in it would take the socket away from the first, and answer its sandbox by
    /// another configuration.
    pub(super) claim: File,
}

/// Makes the directory to mount, and listens in it.
pub(super) fn open(directory: &Path) -> Result<Opened, ServiceError> {
    let mount = directory.join(MOUNT);
    let failed = |source| ServiceError::Socket { path: mount.join(SOCKET), source };
    let claim = claim(directory).map_err(failed)?;
    let listener = listen(&mount).map_err(failed)?;
    Ok(Opened { mount, listener, claim })
}

fn claim(directory: &Path) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let claim = File::open(directory)?;
    if claim.metadata()?.permissions().mode() & 0o077 != 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "others may use the directory above it"));
    }
    match claim.try_lock() {
        Ok(()) => Ok(claim),
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(io::ErrorKind::AddrInUse, "another service is running in this directory"))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn listen(mount: &Path) -> io::Result<UnixListener> {
    DirBuilder::new().recursive(true).create(mount)?;
    // The sandbox has to pass through it, under a user id of its own; it need not list it.
    fs::set_permissions(mount, Permissions::from_mode(0o711))?;
    let socket = mount.join(SOCKET);
    // The socket of a service that was killed; anything else in its place is not ours to remove.
    if fs::symlink_metadata(&socket).is_ok_and(|found| found.file_type().is_socket()) {
        fs::remove_file(&socket)?;
    }
    let listener = bind(mount, &socket)?;
    fs::set_permissions(&socket, Permissions::from_mode(0o666))?;
    Ok(listener)
}

/// Run directories may lie deeper than the address of a socket is long; then the directory goes by its descriptor.
fn bind(mount: &Path, socket: &Path) -> io::Result<UnixListener> {
    if socket.as_os_str().len() <= LONGEST_ADDRESS {
        return UnixListener::bind(socket);
    }
    let directory = File::open(mount)?;
    UnixListener::bind(format!("/proc/self/fd/{}/{SOCKET}", directory.as_raw_fd()))
}
