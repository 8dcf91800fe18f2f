//! What is kept of sessions on disk: records, directories that belong to them, layers of their changes.
//!
//! ```text
//! <state>/lock                          held while a session is made or swept
//! <state>/sessions/.<any>/              what is being removed
//! <state>/sessions/<id>/                locked while a process runs the session
//! <state>/sessions/<id>/first-process   process 1 of the session
//! <state>/sessions/<id>/record.json     what the session is, and its snapshots
//! <state>/sessions/<id>/owned-<n>/      directories that belong to the session
//! <state>/sessions/<id>/kept/<snapshot>/<n>/   copies of those, one for each snapshot
//! <state>/sessions/<id>/staged/<n>/     copies on their way back
//! <state>/layers/<layer>/<n>/{upper,work}      changes of overlaid mounts; sealed ones may be shared by sessions
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::orphan;
use crate::error::SandboxError;
use crate::spec::{SandboxSessionId, SandboxSpec};
use crate::tree;

/// The directory with everything.
#[derive(Clone, Debug)]
pub(crate) struct State {
    root: PathBuf,
}

/// A session on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    /// What the session may touch. Mounts that were attached later are in it.
    pub(crate) spec: SandboxSpec,
    /// Layers, the uppermost first; the first takes changes.
    pub(crate) layers: Vec<String>,
    /// Oldest first.
    pub(crate) snapshots: Vec<Kept>,
    /// Whether the session outlives the process that made it.
    pub(crate) durable: bool,
}

/// A snapshot on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kept {
    pub(crate) id: String,
    /// Sealed layers, the uppermost first.
    pub(crate) layers: Vec<String>,
}

/// The right to run a session; another process that wants it is refused.
#[derive(Debug)]
pub(crate) struct SessionLock(#[expect(dead_code, reason = "holds the lock")] File);

impl State {
    pub(crate) fn open(root: &Path) -> Result<Self, SandboxError> {
        for directory in ["sessions", "layers"] {
            let path = root.join(directory);
            make_private(&path).map_err(SandboxError::io(format!("cannot make `{}`", path.display())))?;
        }
        let root = std::fs::canonicalize(root)
            .map_err(SandboxError::io(format!("cannot open `{}`", root.display())))?;
        Ok(Self { root })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn layers(&self) -> PathBuf {
        self.root.join("layers")
    }

    fn session(&self, id: &SandboxSessionId) -> PathBuf {
        self.root.join("sessions").join(id.as_str())
    }

    /// The directory of a mount that belongs to a session.
    pub(crate) fn owned(&self, id: &SandboxSessionId, number: usize) -> PathBuf {
        self.session(id).join(format!("owned-{number}"))
    }

    /// Starts a session on disk.
    pub(crate) fn create(&self, id: &SandboxSessionId) -> Result<SessionLock, SandboxError> {
        let path = self.session(id);
        let _undisturbed = self.guard()?;
        match DirBuilder::new().mode(0o700).create(&path) {
            // A name that cannot be used is not taken either.
            Ok(()) => self.lock(id).inspect_err(|_| drop(std::fs::remove_dir_all(&path))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(SandboxError::InvalidRequest(format!("there is a sandbox session `{id}` already")))
            }
            Err(error) => {
                Err(SandboxError::Io { doing: format!("cannot make `{}`", path.display()), source: error })
            }
        }
    }

    /// A session that is just being made has no lock yet, and looks like one whose process is gone. While this is held
    /// there is none.
    fn guard(&self) -> Result<File, SandboxError> {
        let path = self.root.join("lock");
        let failed = SandboxError::io(format!("cannot lock `{}`", path.display()));
        let locked = || {
            let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        locked().map_err(failed)
    }

    /// Takes a session over from a process that is gone.
    pub(crate) fn lock(&self, id: &SandboxSessionId) -> Result<SessionLock, SandboxError> {
        let path = self.session(id);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(SandboxError::SessionNotFound(id.clone()));
            }
            Err(source) => {
                return Err(SandboxError::Io { doing: format!("cannot open `{}`", path.display()), source });
            }
        };
        match file.try_lock() {
            Ok(()) => Ok(SessionLock(file)),
            Err(_) => Err(SandboxError::InvalidRequest(format!(
                "sandbox session `{id}` is in use by another process"
            ))),
        }
    }

    pub(crate) fn make_owned(&self, id: &SandboxSessionId, number: usize) -> Result<PathBuf, SandboxError> {
        let path = self.owned(id, number);
        make_private(&path).map_err(SandboxError::io(format!("cannot make `{}`", path.display())))?;
        Ok(path)
    }

    /// Makes a layer with room for changes to the given mounts.
    pub(crate) fn make_layer(&self, layer: &str, mounts: &[usize]) -> Result<(), SandboxError> {
        for number in mounts {
            for part in ["upper", "work"] {
                let path = self.layers().join(layer).join(number.to_string()).join(part);
                let made = DirBuilder::new().recursive(true).mode(0o755).create(&path);
                made.map_err(SandboxError::io(format!("cannot make `{}`", path.display())))?;
            }
        }
        Ok(())
    }

    /// Clears the kernel's own directory of a top layer: what it left there forbids mounting the layer again.
    pub(crate) fn ready_layer(&self, layer: &str, mounts: &[usize]) -> Result<(), SandboxError> {
        for number in mounts {
            tree::clear(&self.layers().join(layer).join(number.to_string()).join("work"))?;
        }
        self.make_layer(layer, mounts)
    }

    /// Of the given layers those that have changes of a mount.
    pub(crate) fn with_mount<'a>(&self, layers: &'a [String], number: usize) -> Vec<&'a String> {
        layers.iter().filter(|layer| self.layers().join(layer).join(number.to_string()).is_dir()).collect()
    }

    pub(crate) fn write(&self, id: &SandboxSessionId, record: &Record) -> Result<(), SandboxError> {
        let path = self.session(id).join("record.json");
        let fresh = self.session(id).join("record.json.new");
        let doing = || format!("cannot write `{}`", path.display());
        let text =
            serde_json::to_vec(record).map_err(|source| SandboxError::Json { doing: doing(), source })?;
        std::fs::write(&fresh, text)
            .and_then(|()| std::fs::rename(&fresh, &path))
            .map_err(SandboxError::io(doing()))
    }

    pub(crate) fn read(&self, id: &SandboxSessionId) -> Result<Record, SandboxError> {
        let path = self.session(id).join("record.json");
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(SandboxError::SessionNotFound(id.clone()));
            }
            Err(source) => {
                return Err(SandboxError::Io { doing: format!("cannot read `{}`", path.display()), source });
            }
        };
        serde_json::from_slice(&text).map_err(|source| SandboxError::Json {
            doing: format!("cannot read `{}`", path.display()),
            source,
        })
    }

    /// Copies the directories that belong to a session.
    pub(crate) fn keep_owned(
        &self,
        id: &SandboxSessionId,
        snapshot: &str,
        numbers: &[usize],
    ) -> Result<(), SandboxError> {
        // A process that was killed, or a full disk, may have left half of one.
        self.discard_kept(id, snapshot)?;
        numbers
            .iter()
            .try_for_each(|number| tree::keep(&self.owned(id, *number), &self.kept(id, snapshot, *number)))
    }

    /// Removes the copies of a snapshot that came to nothing.
    pub(crate) fn discard_kept(&self, id: &SandboxSessionId, snapshot: &str) -> Result<(), SandboxError> {
        tree::clear(&self.session(id).join("kept").join(snapshot))
    }

    /// Makes copies that [`State::swap_owned`] puts in place; `from` may be another session. Nothing else changes.
    pub(crate) fn stage_owned(
        &self,
        from: &SandboxSessionId,
        snapshot: &str,
        to: &SandboxSessionId,
        numbers: &[usize],
    ) -> Result<(), SandboxError> {
        self.discard_staged(to)?;
        let copied = numbers.iter().try_for_each(|number| {
            tree::keep(&self.kept(from, snapshot, *number), &self.staged(to, *number))
        });
        if copied.is_err() {
            // The first error is the one to tell.
            drop(self.discard_staged(to));
        }
        copied
    }

    /// Puts the copies in place of the directories that belong to a session.
    pub(crate) fn swap_owned(&self, id: &SandboxSessionId, numbers: &[usize]) -> Result<(), SandboxError> {
        for number in numbers {
            let (staged, owned) = (self.staged(id, *number), self.owned(id, *number));
            tree::clear(&owned)?;
            let parent = owned.parent().unwrap_or(&owned);
            make_private(parent)
                .and_then(|()| std::fs::rename(&staged, &owned))
                .map_err(SandboxError::io(format!("cannot make `{}`", owned.display())))?;
        }
        self.discard_staged(id)
    }

    /// Removes copies that are not to be put in place.
    pub(crate) fn discard_staged(&self, id: &SandboxSessionId) -> Result<(), SandboxError> {
        tree::clear(&self.session(id).join("staged"))
    }

    fn staged(&self, id: &SandboxSessionId, number: usize) -> PathBuf {
        self.session(id).join("staged").join(number.to_string())
    }

    fn kept(&self, id: &SandboxSessionId, snapshot: &str, number: usize) -> PathBuf {
        self.session(id).join("kept").join(snapshot).join(number.to_string())
    }

    /// Removes a session and the layers that no other session needs.
    pub(crate) fn remove(&self, id: &SandboxSessionId) -> Result<(), SandboxError> {
        self.take_away(id)?;
        self.remove_unused_layers(&BTreeMap::new())
    }

    /// Removes the directory of a session. Out of sight first: nobody may find half of one, or a lock that is not held.
    fn take_away(&self, id: &SandboxSessionId) -> Result<(), SandboxError> {
        let path = self.session(id);
        let hidden = self.root.join("sessions").join(format!(".{}", Uuid::now_v7().simple()));
        let guard = self.guard()?;
        match std::fs::rename(&path, &hidden) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other.map_err(SandboxError::io(format!("cannot remove `{}`", path.display())))?,
        }
        drop(guard);
        tree::clear(&hidden)
    }

    /// Notes the first process of a session, before anything runs in it.
    pub(crate) fn note_first(&self, id: &SandboxSessionId, pid: u32) -> Result<(), SandboxError> {
        let path = self.session(id).join(orphan::FIRST);
        orphan::note(&path, pid).map_err(SandboxError::io(format!("cannot write `{}`", path.display())))
    }

    /// Removes sessions whose process is gone and that were not meant to outlive it. What still runs in one has ended when
    /// this returns.
    pub(crate) fn sweep(&self) -> Result<Vec<SandboxSessionId>, SandboxError> {
        let path = self.root.join("sessions");
        let all = names(&path).map_err(SandboxError::io(format!("cannot list `{}`", path.display())))?;
        for hidden in all.iter().filter(|name| name.starts_with('.')) {
            tree::clear(&path.join(hidden))?;
        }
        let mut removed = Vec::new();
        let mut idle = BTreeMap::new();
        for id in self.ids()? {
            let guard = self.guard()?;
            let Ok(lock) = self.lock(&id) else { continue };
            drop(guard);
            orphan::end(&self.session(&id).join(orphan::FIRST))?;
            if self.read(&id).is_ok_and(|record| record.durable) {
                idle.insert(id, lock);
            } else {
                self.take_away(&id)?;
                removed.push(id);
            }
        }
        self.remove_unused_layers(&idle)?;
        Ok(removed)
    }

    fn ids(&self) -> Result<Vec<SandboxSessionId>, SandboxError> {
        let path = self.root.join("sessions");
        let names = names(&path).map_err(SandboxError::io(format!("cannot list `{}`", path.display())))?;
        Ok(names.into_iter().filter_map(|name| SandboxSessionId::new(name).ok()).collect())
    }

    /// A layer is used if a record names it. One of a session that a process runs may just be on its way into the
    /// record, so those stay too; `idle` are sessions that nobody runs.
    fn remove_unused_layers(
        &self,
        idle: &BTreeMap<SandboxSessionId, SessionLock>,
    ) -> Result<(), SandboxError> {
        let path = self.layers();
        let all = names(&path).map_err(SandboxError::io(format!("cannot list `{}`", path.display())))?;
        if all.is_empty() {
            return Ok(());
        }
        let mut used = BTreeSet::new();
        let mut running = BTreeSet::new();
        for id in self.ids()? {
            if let Ok(record) = self.read(&id) {
                used.extend(record.layers);
                used.extend(record.snapshots.into_iter().flat_map(|kept| kept.layers));
            }
            if !idle.contains_key(&id) {
                running.insert(id.to_string());
            }
        }
        let is_unused = |name: &&String| {
            let owner = name.rsplit_once('.').map_or("", |(owner, _)| owner);
            !used.contains(*name) && !running.contains(owner)
        };
        all.iter().filter(is_unused).try_for_each(|name| tree::clear(&path.join(name)))
    }
}

fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn names(directory: &Path) -> io::Result<Vec<String>> {
    let entries = std::fs::read_dir(directory)?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}
