//! A resumed run may do what the run could do from the start, or less.

use std::collections::BTreeSet;
use std::fmt::{self, Debug, Display};

use super::{RecordedLimits, RecordedMount, RecordedSettings};
use crate::gate::PromptRole;

/// One setting that would let a resumed run do more, or something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Widening {
    /// The setting, as the record names it.
    pub setting: &'static str,
    /// What was asked for.
    pub asked: String,
    /// What is on record.
    pub recorded: String,
}

impl Display for Widening {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {} (on record: {})", self.setting, self.asked, self.recorded)
    }
}

/// A run may not be resumed with more than it was started with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a resumed run may not do more than it was started with; take these back or start a new run: {}",
    what.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
)]
pub struct Widened {
    /// Every setting that asks for more.
    pub what: Vec<Widening>,
}

impl RecordedSettings {
    /// The settings of a resumed run, if what is `asked` for is what is on record or less.
    ///
    /// Where less and more cannot be told apart, such as for a workspace or a gateway, both must be equal. The model may be
    /// another one of the same gateway: it decides nothing about what the run may do.
    pub fn narrows(&self, asked: &Self) -> Result<Self, Widened> {
        let mut found = Found(Vec::new());
        found.same("workspace", &self.workspace, &asked.workspace);
        found.within("tools", &self.tools, &asked.tools);
        found.within("subagentProfiles", &self.subagent_profiles, &asked.subagent_profiles);
        found.within("skillScripts", &self.skill_scripts, &asked.skill_scripts);
        for mount in &asked.mounts {
            if !self.mounts.iter().any(|kept| covers(kept, mount)) {
                found.push("mounts", mount, &self.mounts);
            }
        }
        found.same("sandbox.backend", &self.sandbox.backend, &asked.sandbox.backend);
        found.same("sandbox.image", &self.sandbox.image, &asked.sandbox.image);
        found.same("sandbox.runtime", &self.sandbox.runtime, &asked.sandbox.runtime);
        found.within("sandbox.networkHosts", &self.sandbox.network_hosts, &asked.sandbox.network_hosts);
        found.same("gateway.url", &self.gateway.url, &asked.gateway.url);
        found.same("gateway.auth", &self.gateway.auth, &asked.gateway.auth);
        found.limits(&self.limits, &asked.limits);
        if asked.flow_mode < self.flow_mode {
            found.push("flowMode", asked.flow_mode, self.flow_mode);
        }
        found.same("flowPolicy", &self.flow_policy, &asked.flow_policy);
        // Looking for more is no wider authority; looking for something else, or nothing, is.
        if self.canary_file.is_some() {
            found.same("canaryFile", &self.canary_file, &asked.canary_file);
        }
        // Only a command gives authority; what is less than a command may be either kind of less.
        if asked.prompt_role != self.prompt_role && asked.prompt_role == PromptRole::DirectCommand {
            found.push("promptRole", asked.prompt_role, self.prompt_role);
        }
        for root in &asked.skills_roots {
            if !self.skills_roots.contains(root) {
                found.push("skillsRoots", root, &self.skills_roots);
            }
        }
        found.same("structuredResult", &self.structured_result, &asked.structured_result);
        found.same("promptSlot", &self.provenance.prompt_slot, &asked.provenance.prompt_slot);
        found.same("runManifest", &self.provenance.run_manifest, &asked.provenance.run_manifest);
        let start_dir = self.start_dir.clone();
        if found.0.is_empty() {
            Ok(Self { start_dir, ..asked.clone() })
        } else {
            Err(Widened { what: found.0 })
        }
    }
}

/// Whether what `asked` gives is given already.
fn covers(kept: &RecordedMount, asked: &RecordedMount) -> bool {
    kept.host == asked.host && kept.sandbox == asked.sandbox && asked.access <= kept.access
}

struct Found(Vec<Widening>);

impl Found {
    fn push(&mut self, setting: &'static str, asked: impl Debug, recorded: impl Debug) {
        self.0.push(Widening { setting, asked: format!("{asked:?}"), recorded: format!("{recorded:?}") });
    }

    fn same<T: PartialEq + Debug>(&mut self, setting: &'static str, kept: &T, asked: &T) {
        if kept != asked {
            self.push(setting, asked, kept);
        }
    }

    fn within(&mut self, setting: &'static str, kept: &BTreeSet<String>, asked: &BTreeSet<String>) {
        if !asked.is_subset(kept) {
            self.push(setting, asked.difference(kept).collect::<Vec<_>>(), kept);
        }
    }

    fn limits(&mut self, kept: &RecordedLimits, asked: &RecordedLimits) {
        self.at_most("limits.modelTurns", kept.model_turns, asked.model_turns);
        self.at_most("limits.toolCalls", kept.tool_calls, asked.tool_calls);
        self.at_most("limits.totalTokens", kept.total_tokens, asked.total_tokens);
        self.at_most("limits.outputTokens", kept.output_tokens, asked.output_tokens);
        self.at_most("limits.costUsd", kept.cost_usd, asked.cost_usd);
        self.at_most("limits.seconds", kept.seconds, asked.seconds);
        self.at_most("limits.outputBytes", kept.output_bytes, asked.output_bytes);
    }

    /// A number that cannot be compared, such as NaN, is no limit.
    fn at_most<T: PartialOrd + Debug>(&mut self, setting: &'static str, kept: Option<T>, asked: Option<T>) {
        let Some(kept) = kept else { return };
        if !asked.as_ref().is_some_and(|asked| *asked <= kept) {
            self.push(setting, asked, kept);
        }
    }
}
