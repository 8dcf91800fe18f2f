//! What happens in a run, as a client is told.

use std::collections::BTreeMap;

use fullsend_agent::event::{DeniedBy, Event};
use fullsend_agent::{Shown, subagent};
use fullsend_model::ToolCall;
use serde_json::{Map, Value};

use super::super::desk::TurnDesk;
use super::asking::Calls;
use crate::protocol::{ChatEvent, FileChange, SubagentRef, ToolRef, ToolStatus};

/// The longest summary of a call.
const LONGEST_SUMMARY: usize = 200;

/// Tells a client what happens in a run.
#[derive(Debug)]
pub(super) struct Teller {
    desk: TurnDesk,
    /// Whether the model was asked in this turn: what comes before is what happened in others.
    begun: bool,
    /// Whether pieces of the present answer were told.
    pieces: bool,
    /// Why calls were denied.
    denied: BTreeMap<String, String>,
    /// What is known about calls to whoever asks persons about them.
    calls: Calls,
}

impl Teller {
    pub(super) fn new(desk: TurnDesk, calls: Calls) -> Self {
        Self { desk, begun: false, pieces: false, denied: BTreeMap::new(), calls }
    }

    /// Tells of something. Whether it could be told is nothing to the run: it is stopped where it cannot go on.
    pub(super) fn tell(&mut self, event: &Event<'_>) {
        if let Event::TurnBegan { .. } = event {
            self.begun = true;
        }
        if !self.begun {
            return;
        }
        match event {
            Event::Text(text) if !text.is_empty() => {
                self.pieces = true;
                self.say(&ChatEvent::AssistantDelta { text: (*text).to_owned() });
            }
            Event::Restarted if self.pieces => {
                self.pieces = false;
                self.say(&ChatEvent::AssistantRestarted {});
            }
            Event::Answered { content, .. } => self.answered(content),
            Event::CallBegan { call } => self.began(call),
            Event::Denied { call, by, reason } => {
                if let DeniedBy::Flow | DeniedBy::Tools | DeniedBy::Files = by {
                    self.denied.insert(call.id.clone(), (*reason).to_owned());
                }
            }
            Event::CallEnded { call, shown, done, hidden } => self.ended(call, shown, *done, *hidden),
            Event::TurnBegan { .. }
            | Event::Text(_)
            | Event::Reasoning(_)
            | Event::Restarted
            | Event::Told { .. } => {}
        }
    }

    fn say(&self, event: &ChatEvent) {
        let _stopped = self.desk.tell(event);
    }

    fn answered(&mut self, content: &str) {
        let in_pieces = std::mem::take(&mut self.pieces);
        if content.is_empty() {
            return;
        }
        if !in_pieces {
            self.say(&ChatEvent::AssistantDelta { text: content.to_owned() });
        }
        self.say(&ChatEvent::AssistantCompleted { text: content.to_owned() });
    }

    fn began(&self, call: &ToolCall) {
        let arguments = arguments(call);
        let summary = summary(&arguments, &call.arguments);
        self.say(&ChatEvent::ToolStarted { tool: reference(call), summary });
        if call.name == subagent::NAME {
            self.say(&ChatEvent::SubagentStarted { subagent: subagent_of(call, &arguments) });
        }
    }

    fn ended(&mut self, call: &ToolCall, shown: &Shown, done: bool, hidden: bool) {
        let by_person = self.calls.denied(&call.id);
        let reason = self.denied.remove(&call.id).or(by_person).filter(|_| !done);
        let status = match (done, &reason) {
            (true, _) if hidden => ToolStatus::Denied,
            (true, _) => ToolStatus::Completed,
            (false, Some(_)) => ToolStatus::Denied,
            (false, None) => ToolStatus::Failed,
        };
        let kept_back = hidden.then(|| "the result is kept from the model".to_owned());
        let arguments = arguments(call);
        if call.name == subagent::NAME {
            self.say(&ChatEvent::SubagentCompleted { subagent: subagent_of(call, &arguments), status });
        }
        self.say(&ChatEvent::ToolCompleted {
            tool: reference(call),
            status,
            result_summary: shown.line.clone(),
            diff: shown.diff.clone(),
            reason: reason.or(kept_back),
        });
        if done && let Some(change) = change(call, &arguments, &shown.line) {
            self.say(&ChatEvent::FileChanged { change });
        }
    }
}

fn reference(call: &ToolCall) -> ToolRef {
    ToolRef { tool_call_id: call.id.clone(), tool_id: call.name.clone() }
}

fn subagent_of(call: &ToolCall, arguments: &Map<String, Value>) -> SubagentRef {
    let profile = arguments.get("profile").and_then(Value::as_str).map(str::to_owned);
    SubagentRef { tool_call_id: call.id.clone(), profile }
}

/// What a call was made with, as far as that can be read.
fn arguments(call: &ToolCall) -> Map<String, Value> {
    serde_json::from_str(&call.arguments).unwrap_or_default()
}

/// One line about what a call is made with.
fn summary(arguments: &Map<String, Value>, written: &str) -> String {
    let telling = ["command", "path", "url", "query", "pattern", "skill", "name", "task", "prompt"];
    let text = telling.into_iter().find_map(|key| arguments.get(key)?.as_str()).unwrap_or(written);
    let line: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let mut short: String = line.trim().chars().take(LONGEST_SUMMARY).collect();
    if short.len() < line.trim().len() {
        short.push('…');
    }
    short
}

/// What a call did to a file.
fn change(call: &ToolCall, arguments: &Map<String, Value>, line: &str) -> Option<FileChange> {
    // The line names the file as the sandbox sees it; the arguments may name it from somewhere.
    let (place, outcome) =
        line.strip_prefix(&format!("{} ", call.name)).and_then(|rest| rest.rsplit_once(": ")).unzip();
    let asked = || arguments.get("path").and_then(Value::as_str);
    let path = place.or_else(asked)?.to_owned();
    let summary = match call.name.as_str() {
        "write_file" => {
            let mode = arguments.get("mode").and_then(Value::as_str).unwrap_or("replace");
            format!("write_file {mode}")
        }
        "edit_file" => {
            let edits = arguments.get("edits").and_then(Value::as_array).map_or(0, Vec::len);
            let replacements = outcome.and_then(|outcome| outcome.strip_suffix(" replacements"));
            let replacements = replacements.map_or_else(|| edits.to_string(), str::to_owned);
            format!("edit_file applied {edits} edit(s), {replacements} replacement(s)")
        }
        _ => return None,
    };
    Some(FileChange { kind: "update".to_owned(), path, summary })
}
