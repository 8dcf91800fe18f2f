//! Permission policies: what an agent may read, write, run and reach, in lists that people write.
//!
//! A policy is lowered into a [`SandboxSpec`], so each entry has to be something that mounts, a list of programs or a
//! list of hosts can express. An entry that is not is refused and named; none is widened, none is skipped.

mod explain;
mod host;
mod lower;
mod path;
mod program;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use fullsend_origin::Sha256Digest;
use serde::{Deserialize, Serialize};

pub use explain::{
    EndpointGrant, Explanation, Ground, HostGrant, PathGrant, PathOrigin, Programs, Reach, explain,
    explain_on,
};
pub use lower::{Effect, Grant, Lowered};

use crate::error::SandboxError;
use crate::spec::SandboxSpec;

/// What an agent may do. What is not listed it may not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PermissionPolicy {
    /// Files and directories that can be read: absolute, or relative to the workspace; `DIR/**` is the same as `DIR`,
    /// and `**` is the workspace. Below a `write` entry it is an exception that can only be read.
    pub read: Vec<String>,
    /// Files and directories that can be written, and therefore read.
    pub write: Vec<String>,
    /// Programs that can be run: names, or absolute paths; `**` for all of the system's. Without any, nothing can be run.
    pub exec: Vec<String>,
    /// Hosts that can be reached: `host` or `*.domain`, with an optional `:port`; `*` for everything.
    pub net: Vec<String>,
}

/// One of the lists of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyList {
    /// Files that can be read.
    Read,
    /// Files that can be written.
    Write,
    /// Programs that can be run.
    Exec,
    /// Hosts that can be reached.
    Net,
}

impl fmt::Display for PolicyList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Exec => "exec",
            Self::Net => "net",
        })
    }
}

/// An entry that cannot be enforced as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PolicyProblem {
    /// The list it is in.
    pub list: PolicyList,
    /// The entry.
    pub entry: String,
    /// What is wrong with it and what to write instead.
    pub message: String,
}

impl fmt::Display for PolicyProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} entry `{}` {}", self.list, self.entry.escape_debug(), self.message)
    }
}

impl PermissionPolicy {
    /// Everything that is wrong with the entries themselves, in order; whether files exist is not looked at.
    pub fn lint(&self) -> Vec<PolicyProblem> {
        let mut problems = Vec::new();
        for (list, entry) in self.entries() {
            let checked = match list {
                PolicyList::Read | PolicyList::Write => path::parse(entry).map(drop),
                PolicyList::Exec => program::parse(entry).map(drop),
                PolicyList::Net => host::parse(entry).map(drop),
            };
            if let Err(message) = checked {
                problems.push(PolicyProblem { list, entry: entry.to_owned(), message });
            }
        }
        problems
    }

    /// Everything that is wrong with the entries in this workspace, in order: what [`Self::lint`] finds, and files that
    /// are not there or cannot be granted.
    pub fn problems(&self, workspace: &Path) -> Result<Vec<PolicyProblem>, SandboxError> {
        lower::problems(self, workspace)
    }

    /// What either of the two allows.
    #[must_use]
    pub fn compose(&self, other: &Self) -> Self {
        Self {
            read: union(&self.read, &other.read),
            write: union(&self.write, &other.write),
            exec: union(&self.exec, &other.exec),
            net: union(&self.net, &other.net),
        }
    }

    /// Names this policy by its content: the same for the same entries in any order.
    pub fn version(&self) -> String {
        let lists = [("exec", &self.exec), ("net", &self.net), ("read", &self.read), ("write", &self.write)];
        let canonical: serde_json::Map<String, serde_json::Value> = lists
            .into_iter()
            .map(|(name, list)| {
                (name.to_owned(), list.iter().collect::<BTreeSet<_>>().into_iter().cloned().collect())
            })
            .collect();
        let digest = Sha256Digest::of(serde_json::Value::Object(canonical).to_string().as_bytes());
        let hex: String = digest.to_string().chars().take(24).collect();
        format!("policy-{hex}")
    }

    /// Makes the policy true in a spec: its files become mounts, its programs and hosts take the place of those in
    /// `base`. Limits, labels, endpoints, denied hosts and mounts of `base` stay.
    ///
    /// The refusal names every entry that cannot be enforced.
    pub fn lower(&self, workspace: &Path, base: SandboxSpec) -> Result<Lowered, SandboxError> {
        lower::lower(self, workspace, base)
    }

    fn entries(&self) -> impl Iterator<Item = (PolicyList, &str)> {
        [
            (PolicyList::Read, &self.read),
            (PolicyList::Write, &self.write),
            (PolicyList::Exec, &self.exec),
            (PolicyList::Net, &self.net),
        ]
        .into_iter()
        .flat_map(|(list, entries)| entries.iter().map(move |entry| (list, entry.as_str())))
    }
}

fn union(first: &[String], second: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for entry in first.iter().chain(second) {
        if !all.contains(entry) {
            all.push(entry.clone());
        }
    }
    all
}
