//! What can be seen on the host: files to the last attribute, processes, mounts.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

/// Everything below a directory: path, kind, mode, owner, times, attributes and content.
pub(crate) fn tree(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    add(root, root, &mut found);
    found
}

fn add(root: &Path, path: &Path, found: &mut BTreeMap<String, String>) {
    let data = fs::symlink_metadata(path).unwrap();
    let kind = data.file_type();
    let content = if kind.is_file() {
        // A file that only its owner may read is described by its size.
        fs::read(path)
            .map_or_else(|_| data.size().to_string(), |bytes| format!("{:x?}", Sha256::digest(bytes)))
    } else if kind.is_symlink() {
        format!("{:?}", fs::read_link(path).unwrap())
    } else if kind.is_fifo() || kind.is_socket() {
        "not a file".to_owned()
    } else {
        String::new()
    };
    let (mode, owner, group) = (data.mode(), data.uid(), data.gid());
    let times = (data.mtime(), data.mtime_nsec());
    let line = format!("{mode:o} {owner}:{group} {times:?} {} {content}", attributes(path));
    let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes().escape_ascii().to_string();
    found.insert(name, line);
    if kind.is_dir() {
        let Ok(entries) = fs::read_dir(path) else { return };
        entries.for_each(|entry| add(root, &entry.unwrap().path(), found));
    }
}

/// The names of the extended attributes.
fn attributes(path: &Path) -> String {
    let mut names = [0_u8; 4096];
    let length = rustix::fs::llistxattr(path, &mut names[..]).unwrap_or(0);
    names[..length].escape_ascii().to_string()
}

/// Files below a directory that change the identity of whoever runs them.
pub(crate) fn identity_changers(root: &Path) -> Vec<String> {
    let changes =
        |line: &&String| u32::from_str_radix(line.split(' ').next().unwrap(), 8).unwrap() & 0o6000 != 0;
    tree(root).iter().filter(|(_, line)| changes(line)).map(|(name, _)| name.clone()).collect()
}

/// Processes of this machine with `mark` in their environment.
pub(crate) fn marked(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let path = entry.path();
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        if environment.windows(mark.len()).any(|window| window == mark.as_bytes()) {
            let command = fs::read(path.join("cmdline")).unwrap_or_default();
            found.push(format!("{}: {}", path.display(), command.escape_ascii()));
        }
    }
    found
}

/// Waits until no process with `mark` is left; panics with those that stay.
pub(crate) fn expect_gone(mark: &str) {
    wait_until(&format!("processes that should be gone: {:?}", marked(mark)), || marked(mark).is_empty());
}

/// Waits for something that must become true soon, on however slow a machine.
pub(crate) fn wait_until(what: &str, mut is_true: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_true() {
        assert!(start.elapsed() < Duration::from_secs(20), "in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Mounts of this process's namespace whose description mentions `text`.
pub(crate) fn mounts_with(text: &str) -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts.lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
}

/// Control groups whose path mentions `text`.
pub(crate) fn groups_with(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![Path::new("/sys/fs/cgroup").to_path_buf()];
    while let Some(directory) = open.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            if entry.file_name().to_string_lossy().contains(text) {
                found.push(entry.path().display().to_string());
            }
            open.push(entry.path());
        }
    }
    found
}

/// Settings that sandboxes of others have been seen to leave open.
pub(crate) fn settings() -> BTreeMap<&'static str, String> {
    let names = [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/domainname",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sys/vm/swappiness",
        "/proc/sys/kernel/randomize_va_space",
        "/proc/sys/user/max_user_namespaces",
    ];
    names.into_iter().map(|name| (name, fs::read_to_string(name).unwrap_or_default())).collect()
}
