//! How strictly a run is judged and what its prompt is, and who decided so: the command line, the environment, the manifest
//! of the run, or its record.

use std::fs::File;
use std::path::Path;

use anyhow::{Context as _, Result};
use fullsend_agent::gate::{FlowMode, PromptRole};
use fullsend_agent::manifest::RunManifest;
use fullsend_agent::mode::{self, ModeInputs, ModeSource};
use fullsend_agent::slot::PromptSlot;
use fullsend_agent::store::{Provenance, RecordedManifest, RecordedSettings, RunStore, ToolAllowance};
use serde_json::{Map, Value, json};

use super::absolute;
use crate::cli::{AgentExecArgs, PromptRoleName};
use crate::environment;
use crate::output::Advice;

/// What was decided, and by whom.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) mode: FlowMode,
    pub(super) role: PromptRole,
    pub(super) provenance: Provenance,
    pub(super) manifest: Option<RunManifest>,
}

impl Decided {
    /// What is decided about a new run.
    pub(super) fn of(args: &AgentExecArgs, prompt: &str, workspace: &Path, current: &Path) -> Result<Self> {
        let of_environment = || environment::agent_option("RUN_MANIFEST").map(|(_, path)| path.into());
        let path = args.run_manifest.clone().or_else(of_environment).map(|path| absolute(&path, current));
        let manifest = path.as_deref().map(read).transpose()?;
        let overriding = overriding_mode(args)?;
        let inputs = ModeInputs {
            overriding: overriding.map(FlowMode::as_str),
            manifest: manifest.as_ref().and_then(RunManifest::mode),
            ..ModeInputs::default()
        };
        let (mode, mode_source) = inputs.resolve();
        let bound = manifest.as_ref().and_then(RunManifest::prompt_slot).cloned();
        let slot = match (args.prompt_slot_role.map(role_of), bound, &path) {
            (None, Some(bound), _) => bound,
            (None, None, Some(path)) => {
                let source = json!({"type": "fullsend.run-manifest-ref", "path": path});
                made_here(PromptRole::default(), workspace, source)
            }
            // Whoever says on the command line what the prompt is knows better than a file.
            (role, _, _) => {
                let source = json!({"type": "fullsend.cli-input", "surface": "cli", "subject": workspace});
                made_here(role.unwrap_or_default(), workspace, source)
            }
        };
        let run_manifest = match (&manifest, path) {
            (Some(manifest), Some(path)) => Some(RecordedManifest { path, digest: manifest.digest()? }),
            _ => None,
        };
        let tool_allowance = allowance(args);
        let role = slot.role_of(prompt);
        let provenance = Provenance { mode_source, tool_allowance, prompt_slot: Some(slot), run_manifest };
        Ok(Self { mode, role, provenance, manifest })
    }

    /// What is on record of a run that goes on, perhaps with something `more` to say; whether what is asked for in its place
    /// is more is looked at later.
    pub(super) fn on_record(
        args: &AgentExecArgs,
        more: Option<&str>,
        recorded: &RecordedSettings,
        store: &RunStore,
    ) -> Result<Self> {
        let mut provenance = recorded.provenance.clone();
        let asked_mode = args.permission.cfc_enforcement_mode.as_deref().map(parse_mode).transpose()?;
        if asked_mode.is_some() {
            provenance.mode_source = ModeSource::Override;
        }
        if !args.permission.allow_tool.is_empty() {
            provenance.tool_allowance = ToolAllowance::Restricted;
        }
        let manifest = provenance.run_manifest.as_ref();
        let manifest = manifest.map(|kept| RunManifest::reread(store.run_dir(), &kept.digest)).transpose()?;
        let asked = args.prompt_slot_role.map_or(recorded.prompt_role, role_of);
        // Evidence about the first prompt says nothing about another.
        let bound = provenance.prompt_slot.as_ref().zip(more).map(|(slot, more)| slot.is_about(more));
        let role = if bound == Some(false) { PromptRole::Quote } else { asked };
        Ok(Self { mode: asked_mode.unwrap_or(recorded.flow_mode), role, provenance, manifest })
    }
}

fn read(path: &Path) -> Result<RunManifest> {
    let told = || format!("the run manifest `{}` cannot be used", path.display());
    File::open(path).map_err(Into::into).and_then(RunManifest::read).with_context(told)
}

fn made_here(role: PromptRole, workspace: &Path, source: Value) -> PromptSlot {
    let source = if let Value::Object(source) = source { source } else { Map::new() };
    PromptSlot::made_here("cli", role, &workspace.display().to_string(), source)
}

fn allowance(args: &AgentExecArgs) -> ToolAllowance {
    if args.permission.allow_tool.is_empty() { ToolAllowance::AllBuiltins } else { ToolAllowance::Restricted }
}

fn role_of(name: PromptRoleName) -> PromptRole {
    match name {
        PromptRoleName::DirectCommand => PromptRole::DirectCommand,
        PromptRoleName::Context => PromptRole::Context,
        PromptRoleName::Quote => PromptRole::Quote,
    }
}

/// What the command line says about the mode, or else the environment.
fn overriding_mode(args: &AgentExecArgs) -> Result<Option<FlowMode>> {
    let of_environment = || {
        let (_, value) = environment::agent_option("CFC_ENFORCEMENT_MODE").or_else(environment::cfc_mode)?;
        Some(value)
    };
    let mode = args.permission.cfc_enforcement_mode.clone().or_else(of_environment);
    mode.as_deref().map(parse_mode).transpose()
}

fn parse_mode(text: &str) -> Result<FlowMode> {
    let names: Vec<&str> = FlowMode::ALL.into_iter().map(FlowMode::as_str).collect();
    Ok(mode::parse(text).ok_or_else(|| {
        Advice::new(
            format!("cfc enforcement mode must be one of {}", names.join(", ")),
            format!("`{text}` is none; use one of these"),
        )
    })?)
}
