//! Policies: where values come from, who may see them, where they may go, and which exceptions there are.

mod defaults;
mod rules;

use serde::{Deserialize, Serialize};

pub use rules::{Clearance, Inspect, PolicyProblem, SinkRule, SourceRule};

use crate::atom::Atom;
use crate::bound::Bound;
use crate::grant::Grant;
use crate::label::{Clause, Confidentiality, Label};
use crate::trust::Trust;

/// Who may see what is in files that hold credentials.
pub const CREDENTIAL: &str = "credential";

/// Who may see what holds a token that was planted to be found.
pub const CANARY: &str = "canary";

/// How many bits a child may return where no number is given.
const CHILD_BITS: u32 = 256;

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// The harness made it.
    Harness,
    /// The prompt of the run.
    Prompt {
        /// Whether it is a command of the operator.
        commanded: bool,
    },
    /// A file of the workspace, by its path in it.
    File(&'a str),
    /// A host of the web.
    Web(&'a str),
    /// A skill.
    Skill {
        /// Its name.
        name: &'a str,
        /// Whether the operator chose what it says, by digest or by naming it, and not just the repository.
        chosen: bool,
    },
    /// A tool that is not ours: a server, a model's own search.
    Tool(&'a str),
}

/// What the operator says about information flow. The default protects without being told anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// Where values come from; a later rule wins.
    pub sources: Vec<SourceRule>,
    /// What the model may see.
    pub clearance: Clearance,
    /// Where values may go; a later rule wins.
    pub sinks: Vec<SinkRule>,
    /// Exceptions.
    pub grants: Vec<Grant>,
    /// What the model may look at when it asks.
    pub inspect: Inspect,
    /// How many bits of what a child has seen may come back as typed values.
    pub child_bits: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            sources: Vec::new(),
            clearance: Clearance::default(),
            sinks: Vec::new(),
            grants: Vec::new(),
            inspect: Inspect::default(),
            child_bits: CHILD_BITS,
        }
    }
}

impl Policy {
    /// What is wrong with it, in the order of its rules.
    pub fn problems(&self) -> Vec<PolicyProblem> {
        rules::problems(self)
    }

    /// The label of what comes from there.
    pub fn label_of(&self, source: Source<'_>) -> Label {
        let (mut trust, mut readers) = match source {
            Source::Harness => return Label::bottom(),
            Source::Prompt { commanded: true } | Source::Skill { chosen: true, .. } => {
                (Trust::Commanded, None)
            }
            Source::Prompt { commanded: false } | Source::Web(_) | Source::Tool(_) => (Trust::None, None),
            Source::File(path) if defaults::holds_credentials(path) => {
                (Trust::Workspace, Some([CREDENTIAL.to_owned()].to_vec()))
            }
            Source::File(_) | Source::Skill { chosen: false, .. } => (Trust::Workspace, None),
        };
        for rule in self.sources.iter().filter(|rule| rule.speaks_of(source)) {
            trust = rule.trust.unwrap_or(trust);
            readers = rule.readers.clone().or(readers);
        }
        let confidentiality = match readers.as_deref() {
            None | Some([]) => Confidentiality::public(),
            Some(names) => {
                Confidentiality::all_of([Clause::any_of(names.iter().map(|name| Atom::named(name)))])
            }
        };
        Label { confidentiality, integrity: trust.integrity() }
    }

    /// Whether anything is said about files of this path. Much cheaper than their label, for walks over all files.
    pub fn mentions(&self, path: &str) -> bool {
        defaults::holds_credentials(path)
            || self.sources.iter().any(|rule| rule.speaks_of(Source::File(path)))
    }

    /// What a label must be for the model to see the value.
    pub fn clearance_bound(&self) -> Bound {
        Bound { readers: Some(each_of(&self.clearance.readers)), integrity: self.clearance.trust.integrity() }
    }

    /// What a label must be for the model to see the value when it asks for it.
    pub fn inspect_bound(&self) -> Bound {
        let readers: Vec<String> =
            self.clearance.readers.iter().chain(&self.inspect.readers).cloned().collect();
        Bound { readers: Some(each_of(&readers)), integrity: self.inspect.trust.integrity() }
    }

    /// How far a conversation must be trusted that changes the file at this path of the workspace.
    pub fn trust_to_change(&self, path: &str) -> Trust {
        self.path_sink(path).0
    }

    /// Whether a rule asks for less trust than usual to change some file.
    pub fn lifts_paths(&self) -> bool {
        self.sinks
            .iter()
            .any(|rule| rule.paths.is_some() && rule.trust.is_some_and(|trust| trust < Trust::Commanded))
    }

    pub(crate) fn path_sink(&self, path: &str) -> (Trust, Vec<String>) {
        let mut trust = if defaults::is_protected(path) { Trust::Commanded } else { Trust::None };
        let mut readers = self.clearance.readers.clone();
        let rules = self.sinks.iter().filter(|rule| rule.names_path(path));
        for rule in rules {
            trust = rule.trust.unwrap_or(trust);
            readers.extend(rule.readers.iter().flatten().cloned());
        }
        (trust, readers)
    }

    pub(crate) fn host_sink(&self, host: &str) -> (Trust, Vec<String>) {
        let (mut trust, mut readers) = (Trust::Commanded, Vec::new());
        for rule in self.sinks.iter().filter(|rule| rule.names_host(host)) {
            trust = rule.trust.unwrap_or(trust);
            readers = rule.readers.clone().unwrap_or(readers);
        }
        (trust, readers)
    }

    pub(crate) fn tool_sink(&self, tool: &str, trust: Trust) -> (Trust, Vec<String>) {
        let (mut trust, mut readers) = (trust, Vec::new());
        for rule in self.sinks.iter().filter(|rule| rule.names_tool(tool)) {
            trust = rule.trust.unwrap_or(trust);
            readers = rule.readers.clone().unwrap_or(readers);
        }
        (trust, readers)
    }
}

/// What any of these may see.
pub(crate) fn each_of(readers: &[String]) -> Confidentiality {
    Confidentiality::all_of(readers.iter().map(|name| Clause::any_of([Atom::named(name)])))
}
