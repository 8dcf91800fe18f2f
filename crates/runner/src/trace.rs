//! The trace of a run: one span for the run, one for each step, in OTLP's JSON, made from events.
//!
//! Each span is one line of `run-telemetry.jsonl`, written when it ends, and a part of one document for a collector, if there is
//! one. Nothing that the model or a tool said is in it.

mod context;
mod otlp;
mod span;
mod work_item;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use fullsend_guard::{Clock, TraceId};
use fullsend_runtimes::{Metrics, RuntimeEvent};
use serde_json::Value;

pub use self::context::TraceParent;
use self::span::{Attribute, Bounds, Span, Status};
pub use self::work_item::work_item;
use crate::durable;
use crate::event::{Event, Outcome, Step};

/// The most spans that are kept for a collector.
const MOST_SPANS: usize = 4096;

/// What a trace begins with.
#[derive(Clone, Debug)]
pub struct TraceSettings {
    /// The agent.
    pub agent: String,
    /// What the run works on; see [`work_item`].
    pub work_item: String,
    /// The name of the run in the findings log.
    pub security_trace_id: TraceId,
    /// Whose models the runtime speaks to.
    pub system: String,
    /// The version of this program.
    pub version: String,
    /// Attributes of the operator's, as `OTEL_RESOURCE_ATTRIBUTES` gives them.
    pub resource: BTreeMap<String, String>,
    /// What the run is part of.
    pub parent: Option<TraceParent>,
    /// The longest attribute, in characters; none is no limit.
    pub longest_attribute: Option<usize>,
}

impl TraceSettings {
    /// Whether there is a trace at all, and the limit that variables set: `OTEL_SDK_DISABLED` and the first that is set of
    /// `OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT` and `OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT`.
    pub fn disabled(env: &BTreeMap<String, String>) -> bool {
        env.get("OTEL_SDK_DISABLED").is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
    }

    /// The longest attribute that variables allow; -1 is no limit.
    pub fn longest_attribute(env: &BTreeMap<String, String>) -> Option<usize> {
        let names = ["OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"];
        let first = names
            .iter()
            .filter_map(|name| env.get(*name))
            .map(|value| value.trim())
            .find(|value| !value.is_empty());
        match first.and_then(|value| value.parse::<i64>().ok()) {
            Some(-1) => None,
            Some(limit) => usize::try_from(limit).ok().or(Some(span::LONGEST_ATTRIBUTE)),
            None => Some(span::LONGEST_ATTRIBUTE),
        }
    }

    /// What `OTEL_RESOURCE_ATTRIBUTES` says: `key=value` with commas between.
    pub fn resource(env: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let text = env.get("OTEL_RESOURCE_ATTRIBUTES").map(String::as_str).unwrap_or_default();
        let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
        pairs
            .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
            .filter(|(key, _)| !key.is_empty())
            .collect()
    }
}

/// How a run ended, for its span.
#[derive(Clone, Debug, Default)]
pub struct TraceEnd {
    /// The exit code.
    pub exit_code: i32,
    /// Why it failed.
    pub error: Option<String>,
    /// Whether the result was validated: then the run is a success whatever the agent's exit code was.
    pub validated: bool,
    /// Whether the pre-script skipped the run, if there was one, and why.
    pub skipped: Option<(bool, Option<String>)>,
    /// How many iterations there were.
    pub iterations: u32,
    /// What they used.
    pub metrics: Metrics,
}

/// Writes the trace of a run.
#[derive(Debug)]
pub struct Tracer {
    /// None when a line could not be written: a trace with a gap is worse than a short one.
    file: Option<File>,
    settings: TraceSettings,
    clock: Arc<dyn Clock>,
    root: Span,
    open: Option<Span>,
    model: Option<String>,
    metrics: Metrics,
    /// What the runtime calls its failure.
    failure: Option<String>,
    /// The spans for a collector, if there is one.
    collected: Option<Vec<Value>>,
}

impl Tracer {
    /// Begins the trace at `path`, where nothing may be yet.
    pub fn start(path: &Path, settings: TraceSettings, clock: Arc<dyn Clock>) -> io::Result<Self> {
        let file = durable::create_new(path)?;
        let bounds = Bounds { attribute: settings.longest_attribute };
        let mut root = Span::root("run", settings.parent.as_ref(), clock.now(), bounds);
        root.text("fullsend.agent", &settings.agent);
        root.text("fullsend.work_item_id", &settings.work_item);
        root.text("gen_ai.operation.name", "invoke_agent");
        root.text("gen_ai.agent.name", &settings.agent);
        root.text("fullsend.security_trace_id", settings.security_trace_id.as_str());
        let (file, metrics) = (Some(file), Metrics::default());
        let (open, model, failure, collected) = (None, None, None, None);
        Ok(Self { file, settings, clock, root, open, model, metrics, failure, collected })
    }

    /// Keeps the spans for a collector too, unless whoever this run is part of does not keep its trace: a part without the
    /// whole is of no use to anybody.
    #[must_use]
    pub fn collecting(mut self) -> Self {
        let kept = self.settings.parent.as_ref().is_none_or(|parent| parent.sampled);
        self.collected = kept.then(Vec::new);
        self
    }

    /// The spans for a collector, in one document; none if there are none.
    pub fn batch(&mut self) -> Option<Value> {
        let spans = self.collected.take().filter(|spans| !spans.is_empty())?;
        Some(otlp::document(&self.settings, spans))
    }

    /// The variable `TRACEPARENT` for programs that the run starts: their spans are part of the run's.
    pub fn traceparent(&self) -> String {
        self.root.traceparent()
    }

    /// Takes an event into account.
    pub fn observe(&mut self, event: &Event) {
        match event {
            Event::StepBegan { step, iteration } => self.begin(*step, *iteration),
            Event::StepEnded { step, outcome, detail, .. } => self.end(*step, *outcome, detail),
            Event::Runtime { event, .. } => self.runtime(event),
            Event::Warning { .. }
            | Event::Finding { .. }
            | Event::Script { .. }
            | Event::Access { .. }
            | Event::Waiting { .. } => {}
        }
    }

    fn begin(&mut self, step: Step, iteration: Option<u32>) {
        let mut span = self.root.child(name(step), self.clock.now());
        if let Some(iteration) = iteration {
            span.number("iteration", i64::from(iteration));
        }
        if step == Step::Provision {
            span.text("gen_ai.operation.name", "create_agent");
        }
        if step == Step::Agent {
            span.text("gen_ai.operation.name", "invoke_agent");
            span.text("gen_ai.agent.name", &self.settings.agent);
            (self.metrics, self.failure) = (Metrics::default(), None);
        }
        self.open = Some(span);
    }

    fn end(&mut self, step: Step, outcome: Outcome, detail: &str) {
        let Some(mut span) = self.open.take() else { return };
        span.text("fullsend.outcome", outcome_name(outcome));
        if step == Step::Agent {
            self.usage(&mut span);
        }
        match (outcome, self.failure.take()) {
            (Outcome::Done | Outcome::Skipped, _) => {}
            (Outcome::Failed, Some(failure)) => {
                span.flag("fullsend.transcript_error", true);
                span.status = Status::Error(format!("transcript error: {failure}"));
            }
            (Outcome::Failed | Outcome::Blocked | Outcome::Cancelled, _) => {
                span.status = Status::Error(detail.to_owned())
            }
        }
        self.write(span);
    }

    /// Tokens are on the spans of agents only, so that nobody counts them twice.
    fn usage(&self, span: &mut Span) {
        let (metrics, usage) = (&self.metrics, &self.metrics.token_usage);
        span.text("gen_ai.system", &self.settings.system);
        if let Some(model) = &self.model {
            span.text("gen_ai.request.model", model);
        }
        span.count("gen_ai.usage.input_tokens", usage.input);
        span.count("gen_ai.usage.output_tokens", usage.output);
        span.count("gen_ai.usage.cache_creation.input_tokens", usage.cache_creation);
        span.count("gen_ai.usage.cache_read.input_tokens", usage.cache_read);
        if usage.reasoning > 0 {
            span.count("gen_ai.usage.reasoning_tokens", usage.reasoning);
        }
        span.attribute("fullsend.cost_usd", Attribute::Float(metrics.total_cost_usd));
        span.count("fullsend.tool_calls", metrics.tool_calls);
    }

    fn runtime(&mut self, event: &RuntimeEvent) {
        self.metrics.count(event);
        self.model = self.metrics.model.clone().or_else(|| self.model.take());
        match event {
            RuntimeEvent::Result { is_error: true, message, .. } => self.failure = Some(message.clone()),
            RuntimeEvent::Result { .. } => self.failure = None,
            RuntimeEvent::Init { .. }
            | RuntimeEvent::Thinking { .. }
            | RuntimeEvent::Text { .. }
            | RuntimeEvent::ToolUse { .. }
            | RuntimeEvent::ToolResult { .. }
            | RuntimeEvent::Denied { .. }
            | RuntimeEvent::Tokens(_)
            | RuntimeEvent::Error { .. }
            | RuntimeEvent::Retry { .. } => {}
        }
    }

    /// Ends the trace. What was still under way is part of it.
    pub fn finish(&mut self, end: &TraceEnd) -> io::Result<()> {
        if let Some(mut open) = self.open.take() {
            open.status = Status::Error("the run ended in this step".to_owned());
            self.write(open);
        }
        let mut root = self.root.clone();
        root.number("exit_code", i64::from(end.exit_code));
        if let Some((skipped, reason)) = &end.skipped {
            root.flag("fullsend.prescript.skipped", *skipped);
            if let Some(reason) = reason {
                root.text("fullsend.prescript.skip_reason", reason);
            }
        }
        if end.iterations > 0 {
            root.count("fullsend.num_turns", end.metrics.num_turns);
            root.count("fullsend.tool_calls", end.metrics.tool_calls);
            let cost = (end.metrics.total_cost_usd * 100.0).round() / 100.0;
            root.attribute("fullsend.cost_usd", Attribute::Float(cost));
            root.count("fullsend.iterations", u64::from(end.iterations));
        }
        root.status = match &end.error {
            Some(error) => Status::Error(error.clone()),
            None if end.validated => Status::Ok,
            None if end.exit_code != 0 => Status::Error(format!("exit code {}", end.exit_code)),
            None => Status::Unset,
        };
        self.write(root);
        match self.file.take() {
            Some(file) => file.sync_data(),
            None => Err(io::Error::other("a part of the trace could not be written")),
        }
    }

    fn write(&mut self, span: Span) {
        let span = otlp::encoded(&span, self.clock.now());
        if let Some(collected) = self.collected.as_mut().filter(|collected| collected.len() < MOST_SPANS) {
            collected.push(span.clone());
        }
        let line = format!("{}\n", otlp::document(&self.settings, vec![span]));
        let written = self.file.as_mut().map(|file| file.write_all(line.as_bytes()));
        if let Some(Err(_)) = written {
            self.file = None;
        }
    }
}

fn name(step: Step) -> &'static str {
    if step == Step::Provision { "sandbox_create" } else { step.as_str() }
}

fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Skipped => "skipped",
        Outcome::Failed => "failed",
        Outcome::Blocked => "blocked",
        Outcome::Cancelled => "cancelled",
    }
}
