//! The program that runs inside, as a file that nobody can change.

use std::io::{self, Write as _};
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, SealFlags};

/// Built by this crate's build script, linked statically.
pub(crate) static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/fullsend-sandbox-init"));

/// A sealed file in memory with the program: it has no path, so nothing in a sandbox can ever open or replace it.
pub(crate) fn sealed() -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::EXEC;
    // Kernels before 6.3 do not know the flag, and make every such file executable.
    let plain = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create("fullsend-sandbox", flags)
        .or_else(|_| rustix::fs::memfd_create("fullsend-sandbox", plain))?;
    let mut file = std::fs::File::from(file);
    file.write_all(PROGRAM)?;
    let seals = SealFlags::SEAL | SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file.into())
}
