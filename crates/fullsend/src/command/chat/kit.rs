//! What all sessions have in common, and what they may ask for: from the options.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use fullsend_agent::budget::Limits;
use fullsend_agent::gate::FlowMode;
use fullsend_agent::mode::ModeSource;
use fullsend_agent::scene::Wanted;
use fullsend_agent::subagent;
use fullsend_chat::service::Allowance;
use fullsend_chat::turn::SessionKit;

use super::super::agent::{limits_of, surroundings, wanted};
use super::models::Models;
use crate::cli::{AgentExecArgs, ChatArgs};
use crate::output::Output;

/// What all sessions have in common, and what they may ask for.
pub(super) fn of(args: &ChatArgs, output: &mut Output) -> Result<(SessionKit, Allowance)> {
    let current = std::env::current_dir()?;
    let serving = AgentExecArgs::serving(args);
    let wanted = Wanted { manifest: None, ..wanted::of(&serving, "", &current, output)? };
    let within = args.place.workspace.as_ref().map(|given| current.join(given).canonicalize());
    let kit = SessionKit {
        skills_roots: args.skills.skills_root.clone(),
        within: within.transpose().context("`--workspace` cannot be used")?,
        artifact_root: args.place.artifact_root.as_ref().map(|root| current.join(root)),
        limits: limits_of(&args.limits, Limits::default())?,
        models: Arc::new(Models::new(&args.model)?),
        surroundings: surroundings::usual(),
        current,
        wanted,
    };
    let allowance = allowance(args, &kit.wanted);
    Ok((kit, allowance))
}

/// What is named on the command line is all that there is; where nothing is named, sessions may ask for anything.
fn allowance(args: &ChatArgs, wanted: &Wanted) -> Allowance {
    let given = &args.permission;
    let mut allowance = Allowance { usual_mode: wanted.mode, ..Allowance::default() };
    allowance.least_mode = match wanted.provenance.mode_source {
        ModeSource::Default => FlowMode::Disabled,
        ModeSource::Override
        | ModeSource::ExplicitConfig
        | ModeSource::Inherited
        | ModeSource::RunManifest => wanted.mode,
    };
    if !given.allow_tool.is_empty() {
        allowance.tools = given.allow_tool.iter().cloned().collect();
        allowance.usual_tools.clone_from(&allowance.tools);
    }
    if !given.allow_subagent_profile.is_empty() {
        allowance.profiles = given.allow_subagent_profile.iter().cloned().collect();
        allowance.usual_profiles = BTreeSet::clone(&allowance.profiles);
        // A browser is lent by a session, or not at all.
        allowance.usual_profiles.remove("browser");
    }
    if !allowance.usual_tools.contains(subagent::NAME) {
        allowance.usual_profiles.clear();
    }
    allowance
}
