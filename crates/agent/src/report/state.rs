//! How a run stands: `run-state.json`.

use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};

use super::account::{Account, Status};
use super::{POLICY_SNAPSHOT, POLICY_TRACE, RUN_REPORT, TRANSCRIPT};
use crate::gate::FlowMode;
use crate::manifest::RUN_MANIFEST_FILE;
use crate::slot::PromptSlot;
use crate::store::{RecordedSettings, RunId, SubagentRun, TerminalReason, ToolResultRef};

/// How a run stands. Between two calls it is running.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunState<'a> {
    r#type: &'static str,
    version: u32,
    run_id: &'a RunId,
    status: Status,
    created_at: &'a str,
    updated_at: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    terminal_reason: Option<TerminalReason>,
    cfc_enforcement_mode: FlowMode,
    current_dir: &'a str,
    model: &'a str,
    model_turns: u64,
    artifact_root: &'a Path,
    transcript_path: &'static str,
    run_report_path: &'static str,
    policy_trace_path: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cfc_policy_snapshot_path: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_manifest_path: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_slot_binding: Option<&'a PromptSlot>,
    settings: &'a RecordedSettings,
    policy_events: &'a [Value],
    tool_outputs: Vec<&'a ToolResultRef>,
    failure_records: &'a [Value],
    #[serde(skip_serializing_if = "Option::is_none")]
    primary_failure: Option<&'a Value>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    subagent_runs: &'a [&'a SubagentRun],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    cfc_invocation_contexts: &'a [&'a Map<String, Value>],
}

impl Account<'_> {
    /// How the run stands.
    pub(super) fn state<'b>(&'b self, run_dir: &'b Path) -> RunState<'b> {
        let ending = self.ending();
        let provenance = &self.settings.provenance;
        RunState {
            r#type: "fullsend.run-state",
            version: 1,
            run_id: self.run_id,
            status: self.status(),
            created_at: self.parts.first().map_or(self.updated_at, |part| part.started_at),
            updated_at: self.updated_at,
            ended_at: ending.map(|(at, _)| at),
            terminal_reason: ending.map(|(_, ending)| ending.terminal_reason),
            cfc_enforcement_mode: self.settings.flow_mode,
            current_dir: self.current_dir,
            model: &self.settings.model,
            model_turns: self.model_turns,
            artifact_root: run_dir,
            transcript_path: TRANSCRIPT,
            run_report_path: RUN_REPORT,
            policy_trace_path: POLICY_TRACE,
            cfc_policy_snapshot_path: self.snapshot.map(|_| POLICY_SNAPSHOT),
            run_manifest_path: provenance.run_manifest.as_ref().map(|_| RUN_MANIFEST_FILE),
            prompt_slot_binding: provenance.prompt_slot.as_ref(),
            settings: self.settings,
            policy_events: &self.events,
            tool_outputs: self.tool_outputs(),
            failure_records: self.failures.records(),
            primary_failure: self.failures.primary(),
            subagent_runs: &self.subagents,
            cfc_invocation_contexts: &self.invocation_contexts,
        }
    }
}
