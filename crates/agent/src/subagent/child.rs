//! A child: begun, run to its end, and on record in both runs at each step.

use std::collections::BTreeSet;
use std::future;

use fullsend_flow::{Label, Trust};
use fullsend_origin::Sha256Digest;
use serde_json::{Map, Value, json};

use super::outcome::Outcome;
use super::profile::{self, Profile};
use super::task::Task;
use super::{Delegate, Unequipped, outcome, prompt};
use crate::budget::Budget;
use crate::engine::{Engine, Finished, Opening, RunError, RunParts};
use crate::event::Event;
use crate::gate::PromptRole;
use crate::store::{
    KeptMessage, RecordedLimits, RecordedSettings, RunId, RunStore, SubagentRun, SubagentStatus,
};
use crate::tool::{ToolCallContext, ToolFault, ToolOutput};
use crate::workspace::CurrentDir;

/// The file in the directory of a child that says what it was given.
const MANIFEST: &str = "subagent-run-manifest.json";

impl Delegate {
    /// Starts a child, waits for its end, and tells what came of it.
    pub(super) async fn give(
        &self,
        task: &Task,
        context: &ToolCallContext<'_>,
    ) -> Result<ToolOutput, ToolFault> {
        let Ok(run_id) = self.next_child() else {
            let problem = "the name of this run is too long for children to be named after it";
            return Ok(outcome::refused(context.output_id, problem));
        };
        let budget = self.parent.budget.child(task.turns);
        let settings = self.settings(task, context.label, &budget);
        let run = SubagentRun {
            child_run_id: run_id.clone(),
            profile: task.profile.as_str().to_owned(),
            status: SubagentStatus::Running,
            parent_tool_call_id: Some(context.call_id.to_owned()),
            output_id: context.output_id.to_owned(),
            model: settings.model.clone(),
            terminal_reason: None,
            structured_return: None,
            model_turns: 0,
            usage: fullsend_model::Usage::default(),
            output_bytes: 0,
        };
        self.parent.recorder.subagent(&run)?;
        // Whoever stops waiting ends the child, and that is on record too: the child completes its own record before this.
        let run = scopeguard::guard(run, |run| {
            let interrupted = run.interrupted(&self.parent.artifact_root);
            // A record that cannot be written stops the run itself at its next step.
            let _told_by_the_run = self.parent.recorder.subagent(&interrupted);
        });
        let manifest = self.manifest(task, context.call_id, &run_id, &settings);
        let finished = self.run_child(task, context.label, run_id, &settings, budget, &manifest).await?;
        let run = scopeguard::ScopeGuard::into_inner(run);
        let outcome = Outcome::of(task, manifest, &finished, &self.parent, context.label)?;
        self.parent.recorder.subagent(&SubagentRun {
            structured_return: outcome.structured_return().map(str::to_owned),
            status: outcome.status(),
            terminal_reason: Some(finished.ending.terminal_reason),
            model_turns: u64::from(finished.turns),
            usage: finished.usage,
            output_bytes: finished.output_bytes,
            ..run
        })?;
        outcome.told(context.output_id)
    }

    async fn run_child(
        &self,
        task: &Task,
        label: &Label,
        run_id: RunId,
        settings: &RecordedSettings,
        budget: Budget,
        manifest: &Value,
    ) -> Result<Finished, ToolFault> {
        let parent = &self.parent;
        let current_dir = CurrentDir::new(parent.current_dir.get());
        let store = RunStore::create(&parent.artifact_root, run_id, settings, parent.recorder.clock())?;
        let store = store.reporting_to(parent.recorder.clone());
        store.write_artifact(MANIFEST, manifest)?;
        let toolbox = parent.outfitter.toolbox(task.profile.tools(), &store, &current_dir)?;
        let parts = RunParts {
            model: parent.model.clone(),
            model_name: settings.model.clone(),
            toolbox,
            native_tools: task.profile.native_tools().iter().map(|kind| (*kind).to_owned()).collect(),
            store,
            mode: settings.flow_mode,
            role: settings.prompt_role,
            policy: parent.policy.clone(),
            sources: parent.sources.clone(),
            workspace: parent.workspace.clone(),
            budget,
            structured: None,
            current_dir: current_dir.clone(),
            hooks: parent.hooks.clone(),
        };
        let say = |kept, label| Opening { kept, label, rows: Vec::new() };
        let system = prompt::system(task, current_dir.get().as_str());
        let user = KeptMessage::User { content: prompt::user(task), image_attachments: Vec::new() };
        let opening = vec![
            say(KeptMessage::System { content: system }, Label::bottom()),
            // The task is made of what the arguments were made of, whoever repeats it.
            say(user, label.clone()),
        ];
        let mut unwatched = |_: Event<'_>| {};
        let mut engine = Engine::new(parts, &mut unwatched);
        engine.open(opening).map_err(fault)?;
        Ok(engine.run(future::pending(), future::ready(())).await)
    }

    /// What the child may do: what its parent may, less what is not in its profile.
    fn settings(&self, task: &Task, label: &Label, budget: &Budget) -> RecordedSettings {
        let parent = &self.parent.settings;
        let limits = budget.limits();
        RecordedSettings {
            start_dir: self.parent.current_dir.get().as_str().to_owned(),
            tools: task.profile.tools().iter().map(|tool| (*tool).to_owned()).collect(),
            subagent_profiles: BTreeSet::new(),
            skill_scripts: BTreeSet::new(),
            model: self.model(task.profile).to_owned(),
            limits: RecordedLimits::of(limits),
            prompt_role: role_of(label),
            skills_roots: Vec::new(),
            structured_result: None,
            ..parent.clone()
        }
    }

    fn model(&self, profile: Profile) -> &str {
        match profile {
            Profile::Default | Profile::Browser | Profile::WebFetch => &self.parent.settings.model,
            Profile::WebSearch => &self.parent.search_model,
        }
    }

    fn manifest(&self, task: &Task, call_id: &str, run_id: &RunId, settings: &RecordedSettings) -> Value {
        let source = if task.profile == Profile::WebSearch { "profile" } else { "parent" };
        let mut manifest = json!({
            "type": "fullsend.subagent-run-manifest",
            "version": 1,
            "parentRunId": self.parent.run_id,
            "parentToolCallId": call_id,
            "childRunId": run_id,
            "profile": task.profile.as_str(),
            "depth": 1,
            "cfcEnforcementMode": settings.flow_mode,
            "model": settings.model,
            "modelSource": source,
            "allowedToolIds": task.profile.tools(),
            "hostToolIds": task.profile.host_tools(),
            "maxModelTurns": task.turns,
            "returnPolicy": profile::return_policy(),
            "createdAt": crate::store::time::now(&*self.parent.recorder.clock()),
            "inputSummary": summary(task),
        });
        if let Some(members) = manifest.as_object_mut().filter(|_| !task.profile.native_tools().is_empty()) {
            members.insert("nativeModelToolIds".to_owned(), json!(task.profile.native_tools()));
        }
        manifest
    }
}

/// Why a child could not even be told its task. No model was asked.
fn fault(error: RunError) -> ToolFault {
    match error {
        RunError::Store(error) => ToolFault::Record(error),
        RunError::Tool(fault) => fault,
        RunError::Model(error) => ToolFault::Child(Unequipped(error.to_string())),
    }
}

/// No role is inherited: by now a page may have written the task, and what nobody vouches for is no command. How far a task is
/// trusted beyond that is for its label to say, at every call.
fn role_of(label: &Label) -> PromptRole {
    match Trust::of(&label.integrity) {
        Trust::Commanded | Trust::Workspace => PromptRole::DirectCommand,
        Trust::None => PromptRole::Context,
    }
}

fn summary(task: &Task) -> Value {
    let mut summary = Map::new();
    summary.insert("type".to_owned(), "fullsend.subagent-input-summary".into());
    let mut measure = |name: &str, text: &str| {
        summary.insert(format!("{name}Bytes"), text.len().into());
        let digest = format!("sha256:{}", Sha256Digest::of(text.as_bytes()));
        summary.insert(format!("{name}Digest"), digest.into());
    };
    measure("goal", &task.goal);
    if let Some(context) = &task.context {
        measure("context", context);
    }
    if let Some(schema) = &task.schema {
        measure("returnSchema", &schema.to_string());
    }
    Value::Object(summary)
}
