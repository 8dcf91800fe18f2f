//! Calls: prepared, decided about, made, and answered, in this order and on record at each step.

use std::time::Instant;

use fullsend_flow::Label;
use fullsend_model::{Image, Message, ToolCall};
use fullsend_origin::Sha256Digest;
use futures_util::future::join_all;
use serde_json::{Map, Value, json};

use super::{Engine, RunError};
use crate::event::Event;
use crate::gate::{self, Authorisation, Verdict};
use crate::store::{
    CallFinished, EventSeverity, Execution, FailureKind, FailureRecord, FailureSource, ImageAttachment,
    KeptMessage, PolicyDecision, PolicyEvent, Row, ToolResultRef,
};
use crate::tool::{AttachedImage, Effect, Shown, Tool, ToolCallContext, ToolFault, ToolOutput};
use crate::toolbox::{Prepared, Rejection};

/// How many reads run beside each other.
const ABREAST: usize = 8;

/// How many children run beside each other.
const CHILDREN_ABREAST: usize = 4;

/// The longest result that enters the conversation, whatever the tool thinks.
const LONGEST_RESULT: usize = 1 << 20;

/// A call that may be made.
struct Ready<'a> {
    call: &'a ToolCall,
    tool: std::sync::Arc<dyn Tool>,
    input: Map<String, Value>,
    output_id: String,
}

/// A call that was made.
struct Made {
    result: Result<ToolOutput, ToolFault>,
    took_ms: u64,
    late: bool,
}

impl Engine<'_> {
    /// Makes the calls of one answer, and shows the pictures that came of them.
    pub(super) async fn make_calls(&mut self, turn: u64, calls: &[ToolCall]) -> Result<(), RunError> {
        // What the model wrote was made of what it had seen: one label for all calls of an answer.
        let label = self.context_label();
        let mut images = Vec::new();
        self.answer_calls(turn, calls, &label, &mut images).await?;
        self.show_images(turn, images, &label)
    }

    /// Makes calls of one answer. Reads run beside each other when nothing but reads was asked for, and so do children.
    pub(super) async fn answer_calls(
        &mut self,
        turn: u64,
        calls: &[ToolCall],
        label: &Label,
        images: &mut Vec<AttachedImage>,
    ) -> Result<(), RunError> {
        let most = self.parts.budget.limits().calls_per_turn;
        let (made, refused) = calls.split_at(most.min(calls.len()));
        // Pictures are large, and eight at a time would be held in memory before the budget is asked.
        let reads = |call: &ToolCall| {
            call.name != "view_image" && self.parts.toolbox.effect(&call.name) == Some(Effect::Read)
        };
        let delegates = |call: &ToolCall| call.name == crate::subagent::NAME;
        let abreast = match made {
            _ if made.iter().all(reads) => ABREAST,
            _ if made.iter().all(delegates) => CHILDREN_ABREAST,
            _ => 1,
        };
        for some in made.chunks(abreast) {
            // One answer can ask for more than a whole run may show; the limit does not wait for the next turn.
            if let Some(which) = self.parts.budget.spent() {
                let limit = which.describe(self.parts.budget.limits());
                for call in some {
                    self.refuse_surplus(turn, call, "budget-exhausted", &limit)?;
                }
                continue;
            }
            self.make_some(turn, some, label, images).await?;
        }
        for call in refused {
            let limit = format!("at most {most} calls in one answer");
            self.refuse_surplus(turn, call, "too-many-calls", &limit)?;
        }
        Ok(())
    }

    async fn make_some(
        &mut self,
        turn: u64,
        calls: &[ToolCall],
        label: &Label,
        images: &mut Vec<AttachedImage>,
    ) -> Result<(), RunError> {
        let mut ready = Vec::with_capacity(calls.len());
        for call in calls {
            (self.watch)(Event::CallBegan { call });
            if let Some(one) = self.decide(turn, call)? {
                ready.push(one);
            }
        }
        let left = self.parts.budget.time_left();
        let run = |one: &Ready<'_>| {
            let (tool, input, output_id) = (one.tool.clone(), one.input.clone(), one.output_id.clone());
            async move {
                let start = Instant::now();
                let context = ToolCallContext { output_id: &output_id, input: &input, label };
                let result = tokio::time::timeout(left, tool.call(context)).await;
                let took_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
                match result {
                    Ok(result) => Made { result, took_ms, late: false },
                    Err(_elapsed) => Made { result: Ok(out_of_time(&output_id)), took_ms, late: true },
                }
            }
        };
        let made = if let [one] = ready.as_slice() {
            vec![run(one).await]
        } else {
            join_all(ready.iter().map(run)).await
        };
        for (one, made) in ready.into_iter().zip(made) {
            self.answer_call(turn, one, made, label, images)?;
        }
        Ok(())
    }

    /// Decides about a call; one that may not be made is answered at once.
    fn decide<'a>(&mut self, turn: u64, call: &'a ToolCall) -> Result<Option<Ready<'a>>, RunError> {
        let (tool, input) = match self.parts.toolbox.prepare(call) {
            Ok(Prepared { tool, input }) => (tool, input),
            Err(rejection) => {
                self.reject(turn, call, &rejection)?;
                return Ok(None);
            }
        };
        let (name, effect) = (tool.spec().name, tool.spec().effect);
        let authorisation = gate::authorise(self.parts.mode, self.parts.role, name, effect);
        let summary = crate::summary::of(name, &input);
        self.record_decision(call, name, Some(effect), &authorisation, Some(summary.clone()))?;
        if authorisation.verdict != Verdict::Allowed {
            self.record_event(call, name, &authorisation, &summary)?;
        }
        if authorisation.verdict == Verdict::Denied {
            let told = json!({
                "type": "fullsend.observation-denied",
                "reason": "not-authorized",
                "detail": format!("{name} needs a direct command of the operator; this run may only look"),
            });
            self.answer_unmade(turn, call, name, &told, "it is not authorised")?;
            return Ok(None);
        }
        let output_id = self.parts.store.next_output_id(name);
        self.parts.store.append(&Row::CallStarted {
            call_id: call.id.clone(),
            tool: name.to_owned(),
            output_id: output_id.clone(),
            effect,
            input: summary,
        })?;
        Ok(Some(Ready { call, tool, input, output_id }))
    }

    fn record_decision(
        &mut self,
        call: &ToolCall,
        tool: &str,
        effect: Option<Effect>,
        authorisation: &Authorisation,
        summary: Option<Map<String, Value>>,
    ) -> Result<(), RunError> {
        let decision = PolicyDecision {
            tool_call_id: call.id.clone(),
            tool_id: tool.to_owned(),
            effect_class: effect,
            cfc_enforcement_mode: self.parts.mode,
            decision: authorisation.verdict,
            reason_codes: vec![authorisation.reason.clone()],
            detail: None,
            tool_input_summary: summary,
            subagent_profile: None,
        };
        self.parts.store.append(&Row::Decision(Box::new(decision)))?;
        Ok(())
    }

    fn record_event(
        &mut self,
        call: &ToolCall,
        tool: &str,
        authorisation: &Authorisation,
        summary: &Map<String, Value>,
    ) -> Result<(), RunError> {
        let denied = authorisation.verdict == Verdict::Denied;
        let event = PolicyEvent {
            severity: if denied { EventSeverity::Denied } else { EventSeverity::Warning },
            mode: self.parts.mode,
            tool_id: tool.to_owned(),
            tool_call_id: Some(call.id.clone()),
            detail: if denied {
                format!("{tool} was denied: {}", authorisation.reason)
            } else {
                format!("{tool} would be denied when enforcing: {}", authorisation.reason)
            },
            tool_input_summary: Some(summary.clone()),
            observation_denied: None,
        };
        self.parts.store.append(&Row::PolicyEvent(Box::new(event)))?;
        Ok(())
    }

    fn reject(&mut self, turn: u64, call: &ToolCall, rejection: &Rejection) -> Result<(), RunError> {
        let told = self.parts.toolbox.explain(rejection);
        let (tool, reason, detail) = match rejection {
            Rejection::UnknownTool => (call.name.as_str(), "invalid_tool_call", "there is no such tool"),
            Rejection::NotAllowed { tool } => {
                (*tool, "tool_not_allowed", "the tool is not allowed in this run")
            }
            Rejection::Arguments { tool, reason, .. } => (*tool, "invalid_tool_call", *reason),
        };
        let authorisation = Authorisation { verdict: Verdict::Denied, reason: reason.to_owned() };
        self.record_decision(call, tool, None, &authorisation, None)?;
        if matches!(rejection, Rejection::NotAllowed { .. }) {
            self.record_event(call, tool, &authorisation, &Map::new())?;
        }
        let failure = FailureRecord {
            kind: if reason == "invalid_tool_call" {
                FailureKind::InvalidToolCall
            } else {
                FailureKind::ToolNotAllowed
            },
            source: FailureSource::ToolCall,
            detail: detail.to_owned(),
            tool_id: Some(tool.to_owned()),
            tool_call_id: Some(call.id.clone()),
            output_id: None,
            command_name: None,
            exit_code: None,
        };
        self.parts.store.append(&Row::Failure(Box::new(failure)))?;
        self.answer_unmade(turn, call, tool, &told, detail)
    }

    fn refuse_surplus(
        &mut self,
        turn: u64,
        call: &ToolCall,
        reason: &str,
        limit: &str,
    ) -> Result<(), RunError> {
        (self.watch)(Event::CallBegan { call });
        let told = json!({
            "type": "fullsend.invalid-tool-call",
            "reason": reason,
            "expected": limit,
            "detail": "this call was not made; ask for it again if it is still needed",
        });
        self.answer_unmade(turn, call, &call.name, &told, limit)
    }

    /// Answers a call that was not made.
    pub(super) fn answer_unmade(
        &mut self,
        turn: u64,
        call: &ToolCall,
        tool: &str,
        told: &Value,
        why: &str,
    ) -> Result<(), RunError> {
        let shown = Shown { line: format!("not made: {why}"), diff: None };
        (self.watch)(Event::CallEnded { call, shown: &shown, done: false });
        // Made of the harness's words only.
        self.say_result(turn, call, told.to_string(), None, &Label::bottom())?;
        self.parts.store.append(&Row::CallFinished(CallFinished {
            call_id: call.id.clone(),
            tool: tool.to_owned(),
            output_id: None,
            execution: Execution::NotRun,
            duration_ms: 0,
            artifact: None,
            error_detail: Some(why.to_owned()),
        }))?;
        Ok(())
    }

    fn answer_call(
        &mut self,
        turn: u64,
        one: Ready<'_>,
        made: Made,
        label: &Label,
        images: &mut Vec<AttachedImage>,
    ) -> Result<(), RunError> {
        let Ready { call, tool, output_id, .. } = one;
        let name = tool.spec().name;
        let output = made.result?;
        let artifact =
            self.parts.store.write_output(&output_id, name, &output.record).map_err(ToolFault::from)?;
        let artifact = self.parts.store.artifacts().relative(&artifact);
        let failed = made.late || output.failure.is_some();
        for row in &output.rows {
            self.parts.store.append(row)?;
        }
        if let Some(failure) = &output.failure {
            let record = FailureRecord::of_tool(failure, name, &call.id, Some(&output_id));
            self.parts.store.append(&Row::Failure(Box::new(record)))?;
        }
        self.keep_current_dir()?;
        (self.watch)(Event::CallEnded { call, shown: &output.shown, done: !failed });
        let view = output.model_view.as_ref().unwrap_or(&output.record);
        let content = bounded(view.to_string(), &output_id);
        let pictures = output.images.iter().map(|image| std::fs::metadata(&image.snapshot));
        let pictures: u64 = pictures.filter_map(Result::ok).map(|status| status.len()).sum();
        self.parts.budget.shown((content.len() as u64).saturating_add(pictures));
        let reference = ToolResultRef {
            output_id: output_id.clone(),
            tool_id: name.to_owned(),
            run_id: self.parts.store.run_id().clone(),
            artifact_path: Some(artifact.clone()),
        };
        images.extend(output.images);
        // A result is made of what was asked and of what was found. Once it is on record the call is answered, and a run
        // that is killed here does not wonder about it.
        self.say_result(turn, call, content, Some(reference), &label.join(&output.label))?;
        self.parts.store.append(&Row::CallFinished(CallFinished {
            call_id: call.id.clone(),
            tool: name.to_owned(),
            output_id: Some(output_id),
            execution: if failed { Execution::Failed } else { Execution::Completed },
            duration_ms: made.took_ms,
            artifact: Some(artifact),
            error_detail: output.failure.as_ref().map(|failure| failure.detail.clone()),
        }))?;
        Ok(())
    }

    fn say_result(
        &mut self,
        turn: u64,
        call: &ToolCall,
        content: String,
        result_ref: Option<ToolResultRef>,
        label: &Label,
    ) -> Result<(), RunError> {
        let kept = KeptMessage::Tool {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content,
            result_ref,
        };
        self.say_text(turn, kept, label)
    }

    fn keep_current_dir(&mut self) -> Result<(), RunError> {
        let now = self.parts.current_dir.get();
        if self.current_dir != now.as_str() {
            self.current_dir = now.as_str().to_owned();
            self.parts.store.append(&Row::Cwd { path: self.current_dir.clone() })?;
        }
        Ok(())
    }

    /// Pictures come after all results of an answer: gateways do not accept anything between them.
    pub(super) fn show_images(
        &mut self,
        turn: u64,
        images: Vec<AttachedImage>,
        label: &Label,
    ) -> Result<(), RunError> {
        if images.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = images.iter().map(|image| image.name.as_str()).collect();
        let content = format!("Pictures that view_image has read: {}", names.join(", "));
        let (mut attachments, mut loaded) = (Vec::new(), Vec::new());
        for image in &images {
            let bytes = std::fs::read(&image.snapshot)
                .and_then(|bytes| unchanged(bytes, &image.digest))
                .map_err(|source| ToolFault::Artifact { path: image.snapshot.clone(), source })?;
            attachments.push(ImageAttachment {
                host_path: image.name.clone().into(),
                media_type: image.media_type.to_owned(),
                bytes: bytes.len() as u64,
                digest: image.digest.clone(),
                snapshot_path: Some(self.parts.store.artifacts().relative(&image.snapshot)),
            });
            loaded.push(Image { media_type: image.media_type, bytes: bytes.into() });
        }
        let kept = KeptMessage::User { content: content.clone(), image_attachments: attachments };
        self.tell(&kept);
        self.say(turn, kept, Message::User { content, images: loaded }, &label.join(&Label::untrusted()))
    }
}

/// The bytes of a picture, if they are what they were when its digest was taken.
pub(super) fn unchanged(bytes: Vec<u8>, digest: &str) -> std::io::Result<Vec<u8>> {
    if format!("sha256:{}", Sha256Digest::of(&bytes)) == digest {
        return Ok(bytes);
    }
    Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "the picture is not what it was"))
}

/// What is answered for a call that the budget of time has ended.
fn out_of_time(output_id: &str) -> ToolOutput {
    let detail = "the time of the run is used up, and the call was ended";
    ToolOutput {
        record: json!({"outputId": output_id, "type": "fullsend.call-ended", "reason": "time", "detail": detail}),
        model_view: None,
        label: Label::bottom(),
        images: Vec::new(),
        failure: Some(crate::tool::ToolFailure {
            kind: "timeout".to_owned(),
            detail: detail.to_owned(),
            exit_code: None,
        }),
        shown: Shown { line: detail.to_owned(), diff: None },
        rows: Vec::new(),
    }
}

/// A result that is not too long for a conversation.
fn bounded(content: String, output_id: &str) -> String {
    if content.len() <= LONGEST_RESULT {
        return content;
    }
    json!({
        "type": "fullsend.result-too-long",
        "outputId": output_id,
        "bytes": content.len(),
        "detail": "the result is kept, and is too long to be shown; ask for less",
    })
    .to_string()
}
