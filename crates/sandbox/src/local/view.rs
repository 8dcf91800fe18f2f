//! What a session sees, as a list of steps for the program inside: a root in memory with the system's directories,
//! devices, processes and the session's mounts.

mod system;
mod user;

use std::collections::BTreeSet;
use std::sync::Arc;

use fullsend_sandbox_init::wire::{Blob, Ground, Mapping, Prepared, Source, Step};

pub(crate) use user::Layered;

use super::limits::SCRATCH_FILES;
use super::mounts::{HeldSource, Pinned};
use crate::error::SandboxError;

pub(crate) const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
pub(crate) const NO_SETUID: u64 = libc::MOUNT_ATTR_NOSUID;
pub(crate) const NO_DEVICES: u64 = libc::MOUNT_ATTR_NODEV;
pub(crate) const NO_EXECUTE: u64 = libc::MOUNT_ATTR_NOEXEC;

/// Whether the launcher changes owners of sources, which root needs and others cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owners {
    Changed,
    AsTheyAre,
}

/// Whether programs can be run from everywhere, or only the listed ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Programs {
    All,
    Only(Vec<String>),
}

/// How names are looked up inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// By the egress proxy.
    Proxy,
    /// As on the host, whose network the session shares.
    Host,
    /// Not at all.
    None,
}

/// Steps and sources under construction.
#[derive(Debug)]
pub(crate) struct View<'a> {
    owners: Owners,
    pub(crate) sources: Vec<Source>,
    pub(crate) prepared: Vec<Prepared>,
    /// In the order of `prepared`.
    pub(crate) held: Vec<&'a HeldSource>,
    pub(crate) steps: Vec<Step>,
    /// Directories in memory that exist already.
    directories: BTreeSet<String>,
    /// What is mounted, in which nothing can be made.
    mounted: Vec<String>,
}

/// The part that is the same for all sessions, looked up once: the system's directories, settings and devices.
#[derive(Debug)]
pub(crate) struct Base {
    sources: Vec<Source>,
    steps: Vec<Step>,
    directories: BTreeSet<String>,
    mounted: Vec<String>,
}

impl Base {
    /// As the program inside takes it.
    pub(crate) fn ground(
        &self,
        identity: GroundIdentity,
        scratch_bytes: u64,
        scratch_attributes: u64,
    ) -> Ground {
        Ground {
            user: identity.user,
            group: identity.group,
            caller: identity.caller,
            sources: self.sources.clone(),
            scratch_bytes,
            scratch_files: SCRATCH_FILES,
            scratch_attributes,
            steps: self.steps.clone(),
        }
    }

    pub(crate) fn of_this_machine() -> Self {
        let mut view = View {
            owners: Owners::AsTheyAre,
            sources: Vec::new(),
            prepared: Vec::new(),
            held: Vec::new(),
            steps: Vec::new(),
            directories: BTreeSet::new(),
            mounted: Vec::new(),
        };
        view.skeleton();
        view.system_directories();
        view.settings();
        view.devices();
        view.processes();
        Self {
            sources: view.sources,
            steps: view.steps,
            directories: view.directories,
            mounted: view.mounted,
        }
    }
}

/// Who commands are.
#[derive(Debug)]
pub(crate) struct GroundIdentity {
    pub(crate) user: u32,
    pub(crate) group: u32,
    /// For ordinary callers: who they are on the host.
    pub(crate) caller: Option<Mapping>,
}

/// Everything that decides what is seen.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) mounts: &'a [Arc<Pinned>],
    pub(crate) layers: &'a [Layered],
    pub(crate) layers_root: Option<&'a HeldSource>,
    pub(crate) owners: Owners,
    pub(crate) programs: Programs,
    pub(crate) names: Names,
    pub(crate) has_memory: bool,
}

impl<'a> View<'a> {
    pub(crate) fn build(base: &Base, wanted: &Wanted<'a>) -> Result<Self, SandboxError> {
        let mut view = Self {
            owners: wanted.owners,
            sources: Vec::new(),
            prepared: Vec::new(),
            held: Vec::new(),
            steps: Vec::new(),
            directories: base.directories.clone(),
            mounted: base.mounted.clone(),
        };
        view.name_lookup(wanted.names);
        if let Programs::Only(programs) = &wanted.programs {
            view.only_programs(programs)?;
        }
        view.user_mounts(wanted)?;
        Ok(view)
    }

    fn directory(&mut self, path: &str, mode: u32) {
        if self.directories.insert(path.to_owned()) {
            self.steps.push(Step::Directory { path: Blob::from(path), mode });
        }
    }

    fn file(&mut self, path: &str, content: &[u8]) {
        self.steps.push(Step::File { path: Blob::from(path), mode: 0o644, content: Blob(content.to_vec()) });
    }

    /// A trusted file or directory of the system, under its own path.
    fn system_source(&mut self, path: &str, attributes: u64) -> u32 {
        self.add_source(Source {
            path: Blob::from(path),
            identity: (0, 0),
            prepared: u32::MAX,
            attributes,
            optional: 1,
        })
    }

    fn held_source(&mut self, source: &'a HeldSource, attributes: u64) -> u32 {
        let prepared = match self.owners {
            Owners::AsTheyAre => u32::MAX,
            Owners::Changed => {
                let writable = u32::from(attributes & READ_ONLY == 0);
                self.held.push(source);
                self.prepared.push(Prepared { owner: source.owner.clone(), attributes, writable });
                self.prepared.len() as u32 - 1
            }
        };
        self.add_source(Source {
            path: source.path_blob(),
            identity: source.identity,
            prepared,
            attributes,
            optional: 0,
        })
    }

    fn add_source(&mut self, source: Source) -> u32 {
        self.sources.push(source);
        self.sources.len() as u32 - 1
    }

    fn attach(&mut self, source: u32, path: &str) {
        self.steps.push(Step::Attach { source, path: Blob::from(path) });
        self.mounted.push(path.to_owned());
    }
}
