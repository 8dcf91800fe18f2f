//! Calls: prepared, decided about, and made, in this order and on record at each step.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use fullsend_flow::Label;
use fullsend_model::ToolCall;
use futures_util::future::join_all;
use serde_json::{Map, Value, json};

use super::pictures::Pictures;
use super::{Engine, RunError};
use crate::event::Event;
use crate::flow::{self, Basis, INSPECT, Look, Named};
use crate::gate::Verdict;
use crate::hooks::{self, Before, HookedCall, Remark};
use crate::store::Row;
use crate::tool::{Effect, Shown, Tool, ToolCallContext, ToolFailure, ToolFault, ToolOutput};
use crate::toolbox::{LONGEST_ARGUMENTS, Prepared};

/// How many reads run beside each other.
const ABREAST: usize = 8;

/// How many children run beside each other.
const CHILDREN_ABREAST: usize = 4;

/// A call that may be made.
pub(super) struct Ready<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) tool: Arc<dyn Tool>,
    pub(super) output_id: String,
    input: Map<String, Value>,
    /// What its arguments were made of.
    label: Label,
    /// What the handles stand for that its arguments name.
    pub(super) hidden: Option<Label>,
    /// The same by handle, as it was put in their place.
    pub(super) texts: BTreeMap<String, String>,
    /// What came of it, where nothing needs to be called.
    settled: Option<ToolOutput>,
    /// Whether it is the wish to see what is hidden, which was granted.
    pub(super) reveals: bool,
}

/// A call that was made.
pub(super) struct Made {
    pub(super) result: Result<ToolOutput, ToolFault>,
    pub(super) took_ms: u64,
    pub(super) late: bool,
    /// What a check did about the result.
    pub(super) remark: Option<Remark>,
}

impl Made {
    /// A call that the time of the run has ended.
    fn late(output_id: &str, start: Instant) -> Self {
        Self { result: Ok(out_of_time(output_id)), took_ms: since(start), late: true, remark: None }
    }
}

/// Milliseconds.
fn since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}

impl Engine<'_> {
    /// Makes the calls of one answer, and shows the pictures that came of them.
    pub(super) async fn make_calls(&mut self, turn: u64, calls: &[ToolCall]) -> Result<(), RunError> {
        // What the model wrote was made of what it had seen: one label for all calls of an answer.
        let basis = self.basis(self.context);
        let mut pictures = Pictures { images: Vec::new(), label: Label::bottom() };
        self.answer_calls(turn, calls, &basis, &mut pictures).await?;
        self.show_pictures(turn, pictures)
    }

    /// Makes calls of one answer. Reads run beside each other when nothing but reads was asked for, and so do children.
    pub(super) async fn answer_calls(
        &mut self,
        turn: u64,
        calls: &[ToolCall],
        basis: &Basis,
        pictures: &mut Pictures,
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
            self.make_some(turn, some, basis, pictures).await?;
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
        basis: &Basis,
        pictures: &mut Pictures,
    ) -> Result<(), RunError> {
        let mut ready = Vec::with_capacity(calls.len());
        for call in calls {
            (self.watch)(Event::CallBegan { call });
            if let Some(one) = self.decide(turn, call, basis).await? {
                ready.push(one);
            }
        }
        for one in ready.iter().filter(|one| one.settled.is_none()) {
            let current = self.parts.current_dir.get();
            self.parts.sources.before(one.tool.spec(), &one.input, &current, &one.label);
        }
        // What a call may do to files is on record before it is made.
        self.parts.store.keep_sources(&self.parts.sources)?;
        let left = self.parts.budget.time_left();
        let run = |one: &mut Ready<'_>| {
            let settled = one.settled.take();
            let (tool, input, output_id) =
                (one.tool.clone(), std::mem::take(&mut one.input), one.output_id.clone());
            let (label, hooks) = (one.label.clone(), self.parts.hooks.clone());
            let call_id = one.call.id.clone();
            let written = hooks.as_ref().map(|_| one.call.arguments.clone()).unwrap_or_default();
            async move {
                let start = Instant::now();
                let context = ToolCallContext {
                    call_id: &call_id,
                    output_id: &output_id,
                    input: &input,
                    label: &label,
                };
                let mut result = match settled {
                    Some(output) => Ok(output),
                    None => match tokio::time::timeout(left, tool.call(context)).await {
                        Ok(result) => result,
                        Err(_elapsed) => return Made::late(&output_id, start),
                    },
                };
                let took_ms = since(start);
                let (name, written) = (tool.spec().name, written.as_str());
                let call = HookedCall { call_id: &call_id, tool: name, input: &input, written };
                let remark = match (hooks, &mut result) {
                    (Some(hooks), Ok(output)) => hooks::look_at(&*hooks, call, &output_id, output).await,
                    (None, _) | (_, Err(_)) => None,
                };
                Made { result, took_ms, late: false, remark }
            }
        };
        let made = if let [one] = ready.as_mut_slice() {
            vec![run(one).await]
        } else {
            join_all(ready.iter_mut().map(run)).await
        };
        for (one, made) in ready.into_iter().zip(made) {
            self.answer_call(turn, one, made, basis, pictures)?;
        }
        Ok(())
    }

    /// Decides about a call; one that may not be made is answered at once.
    async fn decide<'a>(
        &mut self,
        turn: u64,
        call: &'a ToolCall,
        basis: &Basis,
    ) -> Result<Option<Ready<'a>>, RunError> {
        let (tool, input) = match self.parts.toolbox.prepare(call) {
            Ok(Prepared { tool, input }) => (tool, input),
            Err(rejection) => {
                self.reject(turn, call, &rejection)?;
                return Ok(None);
            }
        };
        let (name, effect) = (tool.spec().name, tool.spec().effect);
        let named = self.keeper.named(name, &input, &self.labels);
        let now = self.parts.store.clock().now();
        let mut judgement = self.keeper.judge(tool.spec(), &input, &named, basis, now);
        if let Some(profile) = crate::subagent::profile_of(name, &input) {
            judgement.reasons.push("subagent_profile_allowed".to_owned());
            judgement.profile = Some(profile);
        }
        let hooks = self.parts.hooks.clone();
        let written = call.arguments.as_str();
        let hooked = HookedCall { call_id: &call.id, tool: name, input: &input, written };
        let asked = Instant::now();
        if let (Some(reason), Some(hooks)) = (judgement.appealable(), hooks.as_deref())
            && let Before::Allowed = hooks.appeal(hooked, &reason).await
        {
            judgement.approve();
        }
        if judgement.verdict != Verdict::Denied
            && named.is_empty()
            && let Some(reason) = hooks::objection(hooks.as_deref(), hooked).await
        {
            judgement.object(name, reason);
        }
        self.parts.budget.waited(asked.elapsed());
        let summary = crate::summary::of(name, &input);
        self.record_decision(call, name, Some(effect), &judgement, Some(summary.clone()))?;
        if judgement.verdict == Verdict::Denied {
            self.deny(turn, call, name, &judgement, summary)?;
            return Ok(None);
        }
        let output_id = self.parts.store.next_output_id(name);
        self.note(Row::CallStarted {
            call_id: call.id.clone(),
            tool: name.to_owned(),
            output_id: output_id.clone(),
            effect,
            input: summary.clone(),
            grants: judgement.flow.as_ref().map(|flow| flow.grants.clone()).unwrap_or_default(),
        })?;
        if judgement.verdict == Verdict::Warned {
            self.warn(call, name, &judgement, summary)?;
        }
        let hidden = named.label();
        let label = hidden.as_ref().map_or_else(|| basis.label.clone(), |hidden| basis.label.join(hidden));
        let mut ready = Ready {
            call,
            tool,
            output_id,
            input,
            label,
            hidden,
            texts: BTreeMap::new(),
            settled: None,
            reveals: false,
        };
        self.fill_in(&mut ready, &named)?;
        if !named.is_empty() && ready.settled.is_none() {
            let call = HookedCall { call_id: &call.id, tool: name, input: &ready.input, written };
            if hooks::objection(hooks.as_deref(), call).await.is_some() {
                // Why would tell of the value, and so would a denial: this is an output like others, and as hidden.
                let remark = Remark {
                    withheld: true,
                    text: "a check denied it with what a handle stands for".to_owned(),
                };
                self.note_remark(call_id(&ready), name, &remark)?;
                ready.settled = Some(objected(&ready.output_id));
            }
        }
        Ok(Some(ready))
    }

    /// Replaces handles by what they stand for, and answers those who ask to see it.
    fn fill_in(&mut self, ready: &mut Ready<'_>, named: &Named) -> Result<(), RunError> {
        let name = ready.tool.spec().name;
        if name == INSPECT {
            return self.inspect(ready);
        }
        if named.is_empty() {
            return Ok(());
        }
        if !self.substitute(ready, named) {
            // Whether it fits tells something of the value: this is an output like others, and as hidden.
            ready.settled = Some(unusable(&ready.output_id));
        }
        Ok(())
    }

    /// Puts what handles stand for into arguments; false if that cannot be used.
    fn substitute(&self, ready: &mut Ready<'_>, named: &Named) -> bool {
        for id in named.ids() {
            let Some(text) = self.hidden_text(id) else { return false };
            ready.texts.insert(id.to_owned(), text);
        }
        let mut value = Value::Object(std::mem::take(&mut ready.input));
        let mut left = LONGEST_ARGUMENTS;
        let fits = flow::substitute(&mut value, &ready.texts, &mut left)
            && self.parts.toolbox.fits(ready.tool.spec().name, &value);
        if let Value::Object(input) = value {
            ready.input = input;
        }
        fits
    }

    /// What a handle stands for; nothing when the record of it is gone.
    fn hidden_text(&self, id: &str) -> Option<String> {
        let tool = &self.keeper.state().handle(id)?.tool;
        let record = self.parts.store.artifacts().read_output(id, tool).ok()?;
        Some(flow::text_of(tool, &record))
    }

    fn inspect(&mut self, ready: &mut Ready<'_>) -> Result<(), RunError> {
        let handle = ready.input.get("handle").and_then(Value::as_str).unwrap_or_default().to_owned();
        let (label, left) = match self.keeper.look(&handle, &self.labels) {
            Look::Shown { label, left } => (label, left),
            Look::Refused(why) => {
                ready.settled = Some(flow::refused(&ready.output_id, why));
                return Ok(());
            }
        };
        let Some(text) = self.hidden_text(&handle) else {
            ready.settled = Some(flow::refused(&ready.output_id, "the record of it is gone"));
            return Ok(());
        };
        let (output, bytes) = flow::shown(&ready.output_id, &handle, &text, label, left);
        self.note(Row::Inspected { call_id: ready.call.id.clone(), handle, bytes })?;
        ready.settled = Some(output);
        ready.reveals = true;
        Ok(())
    }

    /// Writes a row that what follows is judged by.
    pub(super) fn note(&mut self, row: Row) -> Result<(), RunError> {
        self.parts.store.append(&row)?;
        self.keeper.state_mut().see(&row, &self.labels);
        Ok(())
    }
}

/// What is answered for a call that the budget of time has ended.
fn out_of_time(output_id: &str) -> ToolOutput {
    let detail = "the time of the run is used up, and the call was ended";
    let record =
        json!({"outputId": output_id, "type": "fullsend.call-ended", "reason": "time", "detail": detail});
    not_done(record, "timeout", detail)
}

/// What is answered for a call with a handle that stands for something which the tool cannot use.
fn unusable(output_id: &str) -> ToolOutput {
    let detail = "what a handle stands for cannot be used as this argument; nothing was done";
    let record = json!({"outputId": output_id, "type": "fullsend.invalid-tool-call", "detail": detail});
    not_done(record, "harness_error", detail)
}

/// What is answered for a call that a check denied for what a handle stands for.
fn objected(output_id: &str) -> ToolOutput {
    let detail = "a check denied the call with what a handle stands for; nothing was done";
    let record = json!({"outputId": output_id, "type": "fullsend.observation-denied", "detail": detail});
    not_done(record, "permission_denied", detail)
}

fn call_id<'a>(ready: &Ready<'a>) -> &'a str {
    &ready.call.id
}

fn not_done(record: Value, kind: &str, detail: &str) -> ToolOutput {
    ToolOutput {
        record,
        model_view: None,
        withheld: false,
        label: Label::bottom(),
        images: Vec::new(),
        failure: Some(ToolFailure { kind: kind.to_owned(), detail: detail.to_owned(), exit_code: None }),
        shown: Shown { line: detail.to_owned(), diff: None },
        rows: Vec::new(),
    }
}
