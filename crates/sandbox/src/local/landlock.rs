//! Landlock rules: a second lock on files, and the one that holds against mistakes in the view.

use std::sync::Arc;

use fullsend_sandbox_init::wire::{AccessRule, Blob, Landlock};

use super::environment::HOME;
use super::mounts::Pinned;
use crate::spec::FilesystemAccess;

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIRECTORY: u64 = 1 << 3;
const MAKE_CHARACTER_DEVICE: u64 = 1 << 6;
const MAKE_BLOCK_DEVICE: u64 = 1 << 11;
const TRUNCATE: u64 = 1 << 14;
const DEVICE_IOCTL: u64 = 1 << 15;

const READ: u64 = EXECUTE | READ_FILE | READ_DIRECTORY;

/// Places in memory where commands may write.
const SCRATCH: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", HOME];
/// Devices without state of their own.
const DEVICES: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/pts"];

/// All kinds of file access that a version of the interface knows.
fn handled(version: u32) -> u64 {
    match version {
        0 => 0,
        1 => (1 << 13) - 1,
        2 => (1 << 14) - 1,
        3 | 4 => (1 << 15) - 1,
        _ => (1 << 16) - 1,
    }
}

/// Abstract sockets and signals of the rest of the machine.
fn scoped(version: u32) -> u64 {
    if version >= 6 { 3 } else { 0 }
}

/// The rules for a session.
pub(crate) fn rules(version: u32, mounts: &[Arc<Pinned>]) -> Landlock {
    let handled = handled(version);
    let everything = handled & !(MAKE_CHARACTER_DEVICE | MAKE_BLOCK_DEVICE | DEVICE_IOCTL);
    let file = everything & (EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE);
    let rule = |path: &str, access: u64| AccessRule { path: Blob::from(path), access: access & handled };
    let mut rules = vec![rule("/", READ), rule("/proc", READ | WRITE_FILE)];
    rules.extend(SCRATCH.iter().map(|path| rule(path, everything)));
    rules.extend(DEVICES.iter().map(|path| rule(path, device_access(path))));
    let writable = mounts.iter().filter(|mount| mount.access == FilesystemAccess::ReadWrite);
    rules.extend(
        writable.map(|mount| rule(&mount.target, if mount.source.is_directory { everything } else { file })),
    );
    Landlock { handled, scoped: scoped(version), rules }
}

fn device_access(path: &str) -> u64 {
    let directory = if path == "/dev/pts" { READ_DIRECTORY } else { 0 };
    READ_FILE | WRITE_FILE | TRUNCATE | DEVICE_IOCTL | directory
}
