//! A session in which commands can change what they may change, and nothing else.
//!
//! What is read-only in a session is settled when it is made, because its first process gives up the right to mount. So
//! a command that does not suit it gets another session, unless something would be lost with the one that is there:
//! then the command runs in it, and what it changes is undone afterwards.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fullsend_flow::Trust;
use fullsend_sandbox::spec::is_at_or_below;
use fullsend_sandbox::{ExecRequest, FilesystemAccess, FilesystemMount, SandboxError};

use super::{Execution, Ready, Shared, State};
use crate::protect::ReadOnly;

/// Ends with 1 if there is anything in the places that a session loses.
const LOOK: &str = r#"for place in /tmp /var/tmp /dev/shm "$HOME" "$@"; do
  for name in "$place"/* "$place"/.[!.]* "$place"/..?*; do
    if [ -e "$name" ] || [ -L "$name" ]; then exit 1; fi
  done
done"#;

impl Execution {
    /// Sees to it that exactly these are read-only for the next command, where that costs nothing.
    pub(super) async fn suit(&self, wanted: Vec<ReadOnly>) -> Result<(), SandboxError> {
        let shared = &self.shared;
        let suits = |ready: &Ready| ready.read_only == wanted || ready.is_used.load(Ordering::Relaxed);
        if !shared.backend.makes_quickly() || suits(&*self.ready().await?) {
            return Ok(());
        }
        let _unprobed = shared.probing.lock().await;
        // Commands that run beside this one would end with the session.
        let Ok(_alone) = shared.using.try_write() else { return Ok(()) };
        let mut state = shared.state.lock().await;
        let State::Ready(ready) = &*state else { return Ok(()) };
        if suits(ready) {
            return Ok(());
        }
        if !shared.is_unused(ready).await {
            ready.is_used.store(true, Ordering::Relaxed);
            return Ok(());
        }
        let another = Arc::new(shared.provision(wanted).await?);
        let before = std::mem::replace(&mut *state, State::Ready(another));
        if let State::Ready(before) = before {
            // What cannot be taken down is swept by the next run.
            let _swept_later = shared.put_away(&before).await;
        }
        Ok(())
    }
}

impl Shared {
    /// What is read-only for most commands: those that were made of files of the workspace.
    pub(super) async fn usually_read_only(&self) -> Vec<ReadOnly> {
        let Some(protection) = self.protection.clone().filter(|_| self.backend.makes_quickly()) else {
            return Vec::new();
        };
        let found = tokio::task::spawn_blocking(move || protection.read_only(Trust::Workspace)).await;
        found.unwrap_or_default()
    }

    async fn is_unused(&self, ready: &Ready) -> bool {
        let request =
            ExecRequest::new("/bin/sh", ["-c", LOOK, "look", fullsend_sandbox::spec::OUTPUTS_MOUNT]);
        let looked = self.backend.exec(&ready.id, request).await;
        looked.is_ok_and(|looked| looked.success())
    }
}

/// Mounts what is read-only over what shows it, except where commands cannot write anyway or see something else.
pub(super) fn add(mounts: &mut Vec<FilesystemMount>, read_only: &[ReadOnly]) {
    // Two spellings of one directory must not be told apart.
    let real = |mount: &FilesystemMount| std::fs::canonicalize(&mount.source).unwrap_or_default();
    let roots: Vec<(&FilesystemMount, PathBuf)> = mounts.iter().map(|mount| (mount, real(mount))).collect();
    let is_writable = |one: &&ReadOnly| {
        let above = roots.iter().filter(|(mount, _)| is_at_or_below(&one.target, &mount.target));
        above.max_by_key(|(mount, _)| mount.target.len()).is_some_and(|(mount, root)| {
            let below = one.target.strip_prefix(&mount.target).unwrap_or_default().trim_start_matches('/');
            mount.access == FilesystemAccess::ReadWrite && root.join(below) == one.host
        })
    };
    let wanted = read_only.iter().filter(is_writable);
    let more: Vec<FilesystemMount> =
        wanted.map(|one| FilesystemMount::read_only(one.host.clone(), one.target.clone())).collect();
    mounts.extend(more);
}
