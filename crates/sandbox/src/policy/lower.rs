//! From a policy to a spec.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde::Serialize;

use super::host::{self, Destination};
use super::path::{self, PathEntry};
use super::program::{self, Program};
use super::{PermissionPolicy, PolicyList, PolicyProblem};
use crate::error::SandboxError;
use crate::spec::{
    FilesystemAccess, FilesystemMount, NetworkPolicy, SandboxSpec, is_at_or_below, normal_target,
};

/// A spec in which a policy is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lowered {
    /// What to provision.
    pub spec: SandboxSpec,
    /// What became of each entry, in the order of the policy.
    pub grants: Vec<Grant>,
}

/// What became of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Grant {
    /// The list it is in.
    pub list: PolicyList,
    /// The entry as written.
    pub entry: String,
    /// What it grants.
    pub effect: Effect,
}

/// What an entry grants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Effect {
    /// Access to what is at a path and below it.
    Path {
        /// The path in the session.
        path: String,
        /// What can be done there.
        access: FilesystemAccess,
    },
    /// A program can be run.
    Program {
        /// Its name or path.
        program: String,
    },
    /// All programs of the system can be run.
    AllPrograms,
    /// A host, or the hosts below a domain, can be reached.
    Host {
        /// As in [`NetworkPolicy::Limited`].
        host: String,
    },
    /// Everything can be reached.
    AllHosts,
}

/// Where a path of a session comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Granted {
    source: PathBuf,
    access: FilesystemAccess,
}

pub(super) fn lower(
    policy: &PermissionPolicy,
    workspace: &Path,
    base: SandboxSpec,
) -> Result<Lowered, SandboxError> {
    Lowering::of(policy, workspace)?.finish(base)
}

/// The entries that cannot be granted in this workspace, each for itself.
pub(super) fn problems(
    policy: &PermissionPolicy,
    workspace: &Path,
) -> Result<Vec<PolicyProblem>, SandboxError> {
    Ok(Lowering::of(policy, workspace)?.problems)
}

/// The directory that relative entries are below.
struct Workspace {
    /// As the caller names it, and the session too.
    named: PathBuf,
    /// Without symbolic links.
    real: PathBuf,
}

impl Workspace {
    fn open(workspace: &Path) -> Result<Self, SandboxError> {
        let is_plain = workspace
            .components()
            .all(|component| matches!(component, Component::RootDir | Component::Normal(_)));
        if !workspace.is_absolute() || !is_plain {
            return Err(SandboxError::InvalidRequest(format!(
                "workspace `{}` is not an absolute path without `..`",
                workspace.display()
            )));
        }
        let real = fs::canonicalize(workspace)
            .map_err(SandboxError::io(format!("opening the workspace `{}`", workspace.display())))?;
        Ok(Self { named: workspace.components().collect(), real })
    }

    /// The path of an entry in the session, and where it is on the host.
    fn place(&self, entry: &PathEntry) -> (PathBuf, PathBuf) {
        let below: PathBuf = entry.components.iter().collect();
        if !entry.is_absolute {
            return (join(&self.named, &below), join(&self.real, &below));
        }
        let named = Path::new("/").join(&below);
        let real = match named.strip_prefix(&self.named) {
            Ok(below) => join(&self.real, below),
            Err(_) => named.clone(),
        };
        (named, real)
    }
}

/// Joining an empty path would add a slash.
fn join(directory: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { directory.to_path_buf() } else { directory.join(below) }
}

#[derive(Default)]
struct Lowering {
    paths: BTreeMap<String, Granted>,
    programs: Vec<String>,
    has_all_programs: bool,
    hosts: Vec<String>,
    has_all_hosts: bool,
    grants: Vec<Grant>,
    problems: Vec<PolicyProblem>,
}

impl Lowering {
    fn of(policy: &PermissionPolicy, workspace: &Path) -> Result<Self, SandboxError> {
        let workspace = Workspace::open(workspace)?;
        let mut lowering = Self::default();
        for (list, entry) in policy.entries() {
            match lowering.add(list, entry, &workspace) {
                Ok(effect) => lowering.grants.push(Grant { list, entry: entry.to_owned(), effect }),
                Err(message) => {
                    lowering.problems.push(PolicyProblem { list, entry: entry.to_owned(), message });
                }
            }
        }
        Ok(lowering)
    }

    fn add(&mut self, list: PolicyList, entry: &str, workspace: &Workspace) -> Result<Effect, String> {
        match list {
            PolicyList::Read => self.add_path(entry, FilesystemAccess::ReadOnly, workspace),
            PolicyList::Write => self.add_path(entry, FilesystemAccess::ReadWrite, workspace),
            PolicyList::Exec => Ok(match program::parse(entry)? {
                Program::All => {
                    self.has_all_programs = true;
                    Effect::AllPrograms
                }
                Program::One(program) => {
                    add_once(&mut self.programs, &program);
                    Effect::Program { program }
                }
            }),
            PolicyList::Net => Ok(match host::parse(entry)? {
                Destination::Anything => {
                    self.has_all_hosts = true;
                    Effect::AllHosts
                }
                Destination::Listed(host) => {
                    add_once(&mut self.hosts, &host);
                    Effect::Host { host }
                }
            }),
        }
    }

    fn add_path(
        &mut self,
        entry: &str,
        access: FilesystemAccess,
        workspace: &Workspace,
    ) -> Result<Effect, String> {
        let parsed = path::parse(entry)?;
        let (named, real) = workspace.place(&parsed);
        check_source(&real, parsed.is_directory)?;
        let target = named.to_str().ok_or("is in a directory whose name is not UTF-8")?;
        let target = normal_target(target).map_err(|error| format!("cannot be granted: {error}"))?;
        let granted = self.paths.entry(target.clone()).or_insert(Granted { source: real, access });
        // Writing implies reading, so of two entries for one path the one that writes counts.
        if access == FilesystemAccess::ReadWrite {
            granted.access = access;
        }
        Ok(Effect::Path { path: target, access })
    }

    fn finish(mut self, base: SandboxSpec) -> Result<Lowered, SandboxError> {
        let network_policy = self.network(&base.network_policy);
        let mounts = self.mounts(&base.mounts);
        if !self.problems.is_empty() {
            let lines: Vec<String> = self.problems.iter().map(|problem| format!("  {problem}")).collect();
            return Err(SandboxError::InvalidRequest(format!(
                "the permission policy cannot be enforced:\n{}",
                lines.join("\n")
            )));
        }
        let programs = (!self.has_all_programs).then_some(self.programs);
        let mounts = base.mounts.iter().cloned().chain(mounts).collect();
        Ok(Lowered { spec: SandboxSpec { network_policy, mounts, programs, ..base }, grants: self.grants })
    }

    /// The mounts that are needed: an entry below one with the same access adds nothing.
    fn mounts(&mut self, present: &[FilesystemMount]) -> Vec<FilesystemMount> {
        let mut mounts: Vec<FilesystemMount> = Vec::new();
        for (target, granted) in &self.paths {
            if present.iter().any(|mount| mount.target == *target) {
                self.problems.push(PolicyProblem {
                    list: list_of(granted.access),
                    entry: target.clone(),
                    message: "is where the sandbox already has another mount; leave one of them out"
                        .to_owned(),
                });
                continue;
            }
            // In the order of the map a directory comes before what is below it, and the nearest of those that are
            // kept is the longest.
            let above = mounts
                .iter()
                .filter(|mount| is_at_or_below(target, &mount.target))
                .max_by_key(|mount| mount.target.len());
            if above.is_none_or(|above| above.access != granted.access) {
                mounts.push(match granted.access {
                    FilesystemAccess::ReadOnly => FilesystemMount::read_only(&granted.source, target),
                    FilesystemAccess::ReadWrite => FilesystemMount::read_write(&granted.source, target),
                });
            }
        }
        mounts
    }

    fn network(&mut self, base: &NetworkPolicy) -> NetworkPolicy {
        let (denied_hosts, http_rules, private_hosts) = match base {
            NetworkPolicy::Unrestricted => Default::default(),
            NetworkPolicy::Limited { denied_hosts, http_rules, private_hosts, .. } => {
                (denied_hosts.clone(), http_rules.clone(), private_hosts.clone())
            }
        };
        if !self.has_all_hosts {
            let allowed_hosts = std::mem::take(&mut self.hosts);
            return NetworkPolicy::Limited { allowed_hosts, denied_hosts, http_rules, private_hosts };
        }
        if !denied_hosts.is_empty() || !http_rules.is_empty() {
            self.problems.push(PolicyProblem {
                list: PolicyList::Net,
                entry: "*".to_owned(),
                message: "opens the network, and then hosts cannot be denied: list the hosts that are needed"
                    .to_owned(),
            });
        }
        NetworkPolicy::Unrestricted
    }
}

fn list_of(access: FilesystemAccess) -> PolicyList {
    match access {
        FilesystemAccess::ReadOnly => PolicyList::Read,
        FilesystemAccess::ReadWrite => PolicyList::Write,
    }
}

fn add_once(list: &mut Vec<String>, entry: &str) {
    if !list.iter().any(|known| known == entry) {
        list.push(entry.to_owned());
    }
}

/// Refuses what a mount cannot show, or would show somewhere else than the entry says.
fn check_source(source: &Path, must_be_directory: bool) -> Result<(), String> {
    let real = match fs::canonicalize(source) {
        Ok(real) => real,
        Err(error) => return Err(format!("cannot be opened: {error}; only what exists can be granted")),
    };
    if real != source {
        return Err(format!("is a symbolic link or behind one: write `{}`, where it leads", real.display()));
    }
    match fs::metadata(source) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(metadata) if metadata.is_file() && !must_be_directory => Ok(()),
        Ok(metadata) if metadata.is_file() => {
            Err("is a file: write it without anything after its name".to_owned())
        }
        Ok(_) => Err("is neither a file nor a directory".to_owned()),
        Err(error) => Err(format!("cannot be opened: {error}")),
    }
}
