//! The rules of a policy, and what can be wrong with them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Policy, Source};
use crate::pattern::{PathPattern, Pattern};
use crate::trust::Trust;

/// What values from somewhere are. Names exactly one kind of place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceRule {
    /// Files of the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<PathPattern>>,
    /// Hosts of the web.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web: Option<Vec<Pattern>>,
    /// Skills, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<Pattern>>,
    /// Tools that are not ours, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Pattern>>,
    /// How far such values are trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// Who may see them: any one of these. An empty list is everybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readers: Option<Vec<String>>,
}

impl SourceRule {
    pub(super) fn speaks_of(&self, source: Source<'_>) -> bool {
        let any = |patterns: &Option<Vec<Pattern>>, value: &str| {
            patterns.iter().flatten().any(|pattern| pattern.matches(value))
        };
        match source {
            Source::File(path) => self.paths.iter().flatten().any(|pattern| pattern.matches(path)),
            Source::Web(host) => any(&self.web, host),
            Source::Skill { name, .. } => any(&self.skills, name),
            Source::Tool(name) => any(&self.tools, name),
            Source::Harness | Source::Prompt { .. } => false,
        }
    }

    fn kinds(&self) -> usize {
        [self.paths.is_some(), self.web.is_some(), self.skills.is_some(), self.tools.is_some()]
            .into_iter()
            .filter(|named| *named)
            .count()
    }
}

/// What may go somewhere. Names exactly one kind of place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SinkRule {
    /// Files of the workspace that are written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<PathPattern>>,
    /// Hosts of the web that are sent something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web: Option<Vec<Pattern>>,
    /// Tools that are called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Pattern>>,
    /// How far what decides about it must be trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// Whose secrets may go there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readers: Option<Vec<String>>,
}

impl SinkRule {
    pub(super) fn names_path(&self, path: &str) -> bool {
        self.paths.iter().flatten().any(|pattern| pattern.matches(path))
    }

    pub(super) fn names_host(&self, host: &str) -> bool {
        self.web.iter().flatten().any(|pattern| pattern.matches(host))
    }

    pub(super) fn names_tool(&self, tool: &str) -> bool {
        self.tools.iter().flatten().any(|pattern| pattern.matches(tool))
    }

    fn kinds(&self) -> usize {
        [self.paths.is_some(), self.web.is_some(), self.tools.is_some()]
            .into_iter()
            .filter(|named| *named)
            .count()
    }
}

/// What the model may see of results without asking.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Clearance {
    /// As whom.
    pub readers: Vec<String>,
    /// How far it must be trusted; what is trusted less is kept behind a handle.
    pub trust: Trust,
}

/// What the model may look at when it asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Inspect {
    /// As whom, besides its clearance.
    pub readers: Vec<String>,
    /// How far it must be trusted.
    pub trust: Trust,
    /// How many bytes of hidden values a run may look at.
    pub max_bytes: u64,
}

impl Default for Inspect {
    fn default() -> Self {
        Self { readers: Vec::new(), trust: Trust::None, max_bytes: 65_536 }
    }
}

/// Something that is wrong with a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct PolicyProblem {
    /// Which rule, as a JSON Pointer.
    pub place: String,
    /// What is wrong and what to do.
    pub problem: String,
}

pub(super) fn problems(policy: &Policy) -> Vec<PolicyProblem> {
    let mut found = Vec::new();
    let mut say = |place: String, problem: &str| {
        found.push(PolicyProblem { place, problem: problem.to_owned() });
    };
    for (index, rule) in policy.sources.iter().enumerate() {
        let place = format!("/sources/{index}");
        if rule.kinds() != 1 {
            say(place.clone(), "name exactly one of `paths`, `web`, `skills` and `tools`");
        }
        if rule.trust.is_none() && rule.readers.is_none() {
            say(place.clone(), "says nothing; add `trust` or `readers`");
        }
        if rule.readers.iter().flatten().any(|reader| reader.trim().is_empty()) {
            say(place, "a reader has no name");
        }
    }
    for (index, rule) in policy.sinks.iter().enumerate() {
        let place = format!("/sinks/{index}");
        if rule.kinds() != 1 {
            say(place.clone(), "name exactly one of `paths`, `web` and `tools`");
        }
        if rule.trust.is_none() && rule.readers.is_none() {
            say(place, "says nothing; add `trust` or `readers`");
        }
    }
    let mut seen = BTreeSet::new();
    for (index, grant) in policy.grants.iter().enumerate() {
        let place = format!("/grants/{index}");
        if grant.trust.is_none() && grant.declassify.is_empty() {
            say(place.clone(), "allows nothing; add `trust` or `declassify`");
        }
        if grant.uses == Some(0) {
            say(place.clone(), "can never be used; leave `uses` out or say at least 1");
        }
        if !seen.insert(grant.id.as_str()) {
            say(place, "another grant has the same `id`");
        }
    }
    found
}
