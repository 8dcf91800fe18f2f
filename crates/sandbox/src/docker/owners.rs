//! Shows files of root to a session as its own, where root is the caller: container engines cannot do that themselves.
//!
//! The source is mounted once more on this machine, with owners mapped, and the engine mounts that. Such mounts are in
//! a directory in which nothing is ever removed but empty directories and files: what is behind them is the caller's.

use std::io::{self, BufRead as _, BufReader};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fullsend_sandbox_init::kernel::mount_attributes;
use rustix::fs::CWD;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, UnmountFlags, move_mount, open_tree, unmount};
use uuid::Uuid;

use super::arguments::ContainerUser;
use super::record::Owner;
use crate::local::mounts::HeldSource;

/// A source, shown at another place. Taken away when dropped.
#[derive(Debug)]
pub(super) struct Shown {
    path: PathBuf,
}

impl Shown {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Shows what belongs to the owner of the source as belonging to `user`.
    pub(super) fn new(
        source: &HeldSource,
        user: ContainerUser,
        state: &Path,
        init: &Path,
    ) -> io::Result<Self> {
        let directory = directory(state);
        std::fs::create_dir_all(&directory)?;
        let path = directory.join(format!("{}.{}", Owner::this_process(), Uuid::new_v4().simple()));
        let flags =
            OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
        let mount = open_tree(source.descriptor(), "", flags)?;
        let namespace = namespace((source.owner.user, source.owner.group), user, init)?;
        let attributes = mount_attributes::NO_SETUID | mount_attributes::NO_DEVICES;
        mount_attributes::set(mount.as_fd(), attributes, Some(namespace.as_fd()))?;
        if source.is_directory {
            std::fs::create_dir(&path)?;
        } else {
            drop(std::fs::File::create(&path)?);
        }
        let shown = Self { path };
        move_mount(&mount, "", CWD, &shown.path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
        Ok(shown)
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        take_away(&self.path);
    }
}

/// Where sources are shown.
fn directory(state: &Path) -> PathBuf {
    state.join("shown")
}

/// Takes away what processes left behind that are gone.
pub(super) fn sweep(state: &Path) {
    let Ok(entries) = std::fs::read_dir(directory(state)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| Owner::parse(name.rsplit_once('.')?.0));
        if owner.is_some_and(|owner| !owner.is_alive()) {
            take_away(&entry.path());
        }
    }
}

/// Never removes more than an empty directory or file: should the mount still be there, its content is not ours.
fn take_away(path: &Path) {
    let unmounted = unmount(path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW);
    // Not a mount: it was never made, or is gone.
    if matches!(unmounted, Ok(()) | Err(rustix::io::Errno::INVAL)) {
        let _ = std::fs::remove_dir(path).or_else(|_| {
            let empty = std::fs::symlink_metadata(path)?.len() == 0;
            if empty { std::fs::remove_file(path) } else { Ok(()) }
        });
    }
}

/// A user namespace in which the owner on disk is `user`.
fn namespace((uid, gid): (u32, u32), user: ContainerUser, init: &Path) -> io::Result<std::fs::File> {
    let mut helper = Command::new(init).arg("owners").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    let output = helper.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let made = BufReader::new(output).read_line(&mut line).and_then(|_| {
        let process = PathBuf::from("/proc").join(line.trim());
        std::fs::write(process.join("uid_map"), format!("{uid} {} 1", user.uid))?;
        std::fs::write(process.join("gid_map"), format!("{gid} {} 1", user.gid))?;
        std::fs::File::open(process.join("ns/user"))
    });
    drop(helper.stdin.take());
    helper.wait()?;
    made
}
