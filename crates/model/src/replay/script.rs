//! A script, checked: what the file says in the form in which it is played.

use std::time::Duration;

use fullsend_yaml::{Diagnostic, FromNode as _, Limits, Located, Location, Reader, SourceMap, rules};
use regex::Regex;
use serde_json::Value;

use super::records::{CallRecord, ExpectRecord, ScriptFile, TurnRecord, UsageRecord};
use super::template::Templates;
use crate::client::FinishReason;
use crate::usage::Usage;

/// The most repetitions of one turn.
const MAX_REPEAT: i64 = 100_000;
/// The longest wait before an answer, in milliseconds.
const MAX_DELAY: i64 = 600_000;
/// Scripts are longer than other documents.
const LIMITS: Limits = Limits { bytes: 4 << 20, depth: 32, nodes: 200_000 };

/// A turn as it is played.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) at: Location,
    pub(super) repeat: u64,
    pub(super) expects: Vec<Expectation>,
    pub(super) say: String,
    pub(super) calls: Vec<ScriptedCall>,
    pub(super) when_interrupted: Vec<ScriptedCall>,
    pub(super) usage: Usage,
    pub(super) finish: Option<FinishReason>,
    pub(super) delay: Duration,
    pub(super) piece: usize,
}

/// What is played in one conversation.
#[derive(Debug)]
pub(super) struct Act {
    /// Text in the first message of the user; that of the run itself has none.
    pub(super) user: Option<String>,
    pub(super) steps: Vec<Step>,
}

/// Something that must be true.
#[derive(Debug)]
pub(super) struct Expectation {
    pub(super) at: Location,
    /// Which result: from the end if negative.
    pub(super) result: i64,
    pub(super) check: Check,
}

/// What must be true of it.
#[derive(Debug)]
pub(super) enum Check {
    Contains(String),
    Matches(Regex),
    Json { pointer: String, part: Value },
    User(String),
}

/// A call to be made.
#[derive(Debug)]
pub(super) struct ScriptedCall {
    pub(super) tool: String,
    pub(super) arguments: Arguments,
}

/// Arguments to be filled.
#[derive(Debug)]
pub(super) enum Arguments {
    Json(Value),
    Raw(String),
}

/// Reads a script; everything that is wrong with it is reported at once.
pub(super) fn read(
    sources: &SourceMap,
    file: fullsend_yaml::FileId,
    templates: &Templates,
) -> Result<Vec<Act>, Vec<Diagnostic>> {
    let parsed = fullsend_yaml::parse(sources, file, LIMITS);
    let mut problems = parsed.problems;
    let mut acts = Vec::new();
    if let Some(root) = &parsed.root {
        let script = ScriptFile::from_node(root, &mut Reader::new(&mut problems));
        let all_read = problems.is_empty();
        let mut checker = Checker { templates, problems: &mut problems, all_read };
        let (turns, others) = script.map(|script| (script.turns, script.conversations)).unwrap_or_default();
        for other in others.unwrap_or_default() {
            let user = other.value.user.map(|user| user.value);
            acts.push(checker.act(user, other.value.turns.as_deref(), other.at));
        }
        acts.push(checker.act(None, turns.as_deref(), root.at));
    }
    if problems.iter().any(Diagnostic::is_error) { Err(problems) } else { Ok(acts) }
}

/// Turns records into steps, and reports what makes no sense.
struct Checker<'c> {
    templates: &'c Templates,
    problems: &'c mut Vec<Diagnostic>,
    /// Whether everything could be read, so that what is not there was not written.
    all_read: bool,
}

impl Checker<'_> {
    fn act(&mut self, user: Option<String>, turns: Option<&[Located<TurnRecord>]>, at: Location) -> Act {
        let steps: Vec<Step> = turns.unwrap_or_default().iter().map(|turn| self.step(turn)).collect();
        if steps.is_empty() && self.problems.is_empty() {
            let what = if user.is_some() { "the conversation" } else { "the script" };
            self.problems.push(Diagnostic::new(&rules::MISSING_KEY, at, format!("{what} has no turns")));
        }
        Act { user, steps }
    }

    fn step(&mut self, record: &Located<TurnRecord>) -> Step {
        let turn = &record.value;
        let calls = turn.calls.as_deref().unwrap_or_default();
        if turn.say.is_none() && calls.is_empty() && self.all_read {
            self.invalid(record.at, "the turn says nothing and calls nothing", "add `say: …` or `calls: …`");
        }
        let expects = turn.expect.as_deref().unwrap_or_default();
        Step {
            at: record.at,
            repeat: self.number(turn.repeat.as_ref(), 1, MAX_REPEAT).unwrap_or(1),
            expects: expects.iter().flat_map(|expect| self.expectations(expect)).collect(),
            say: self.template(turn.say.as_ref()).unwrap_or_default(),
            calls: calls.iter().map(|call| self.call(call)).collect(),
            when_interrupted: {
                let calls = turn.when_interrupted.as_deref().unwrap_or_default();
                calls.iter().map(|call| self.call(call)).collect()
            },
            usage: turn.usage.as_ref().map(|usage| self.usage(usage)).unwrap_or_default(),
            finish: turn.finish.as_ref().map(|finish| FinishReason::from(&finish.value)),
            delay: Duration::from_millis(
                self.number(turn.delay_ms.as_ref(), 0, MAX_DELAY).unwrap_or_default(),
            ),
            piece: self
                .number(turn.stream.as_ref(), 1, i64::MAX)
                .and_then(|size| usize::try_from(size).ok())
                .unwrap_or(usize::MAX),
        }
    }

    fn call(&mut self, record: &Located<CallRecord>) -> ScriptedCall {
        let call = &record.value;
        if let (Some(_), Some(raw)) = (&call.args, &call.raw) {
            self.invalid(raw.at, "`args` and `raw` exclude each other", "remove one of the two");
        }
        let arguments = match (&call.args, &call.raw) {
            (_, Some(_)) => Arguments::Raw(self.template(call.raw.as_ref()).unwrap_or_default()),
            (Some(args), None) => {
                self.templates_in(&args.value.0, args.at);
                Arguments::Json(args.value.0.clone())
            }
            (None, None) => Arguments::Json(Value::Object(serde_json::Map::new())),
        };
        ScriptedCall {
            tool: call.tool.as_ref().map(|tool| tool.value.clone()).unwrap_or_default(),
            arguments,
        }
    }

    fn expectations(&mut self, record: &Located<ExpectRecord>) -> Vec<Expectation> {
        let expect = &record.value;
        let mut checks: Vec<(Location, Check)> = Vec::new();
        if let Some(text) = &expect.contains {
            checks.extend(self.template(Some(text)).map(|filled| (text.at, Check::Contains(filled))));
        }
        if let Some(pattern) = &expect.matches {
            match Regex::new(pattern) {
                Ok(regex) => checks.push((pattern.at, Check::Matches(regex))),
                Err(error) => {
                    let error = error.to_string();
                    // The lines before the last one draw a picture.
                    let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
                    let message = format!("`matches` is no regular expression: {reason}");
                    self.invalid(pattern.at, &message, "correct the expression");
                }
            }
        }
        if let Some(part) = &expect.json {
            self.templates_in(&part.value.0, part.at);
            let pointer = expect.at.as_ref().map(|at| at.value.clone()).unwrap_or_default();
            checks.push((part.at, Check::Json { pointer, part: part.value.0.clone() }));
        }
        if let Some(at) = expect.at.as_ref().filter(|at| expect.json.is_none() || !is_pointer(&at.value)) {
            let help = "write it beside `json`, as a JSON pointer such as `/files/0`";
            self.invalid(at.at, "`at` points to nothing", help);
        }
        if let Some(text) = &expect.user {
            checks.extend(self.template(Some(text)).map(|filled| (text.at, Check::User(filled))));
        }
        if checks.is_empty() && expect.matches.is_none() && self.all_read {
            self.invalid(record.at, "nothing is expected", "add `contains`, `matches`, `json` or `user`");
        }
        let result = expect.result.as_ref().map_or(-1, |result| result.value);
        checks.into_iter().map(|(at, check)| Expectation { at, result, check }).collect()
    }

    fn usage(&mut self, record: &UsageRecord) -> Usage {
        let mut tokens = |number: &Option<Located<i64>>| self.number(number.as_ref(), 0, i64::MAX);
        let (input_tokens, output_tokens) = (tokens(&record.input_tokens), tokens(&record.output_tokens));
        Usage {
            input_tokens,
            output_tokens,
            cached_input_tokens: tokens(&record.cached_input_tokens),
            reasoning_tokens: tokens(&record.reasoning_tokens),
            total_tokens: input_tokens.zip(output_tokens).map(|(input, output)| input.saturating_add(output)),
            cost_usd: record.cost_usd.as_ref().map(|cost| cost.value),
        }
    }

    /// A number within bounds.
    fn number(&mut self, number: Option<&Located<i64>>, least: i64, most: i64) -> Option<u64> {
        let number = number?;
        if !(least..=most).contains(&number.value) {
            let help = if most == i64::MAX {
                format!("write {least} or more")
            } else {
                format!("write a number from {least} to {most}")
            };
            self.invalid(number.at, &format!("{} is out of range", number.value), &help);
            return None;
        }
        u64::try_from(number.value).ok()
    }

    /// A text whose places can be filled.
    fn template(&mut self, text: Option<&Located<String>>) -> Option<String> {
        let text = text?;
        if let Some(problem) = self.templates.problem(&text.value) {
            self.invalid(
                text.at,
                &format!("the template cannot be read: {problem}"),
                "correct what is inside `{{ }}`",
            );
        }
        Some(text.value.clone())
    }

    /// The same for every text in a value.
    fn templates_in(&mut self, value: &Value, at: Location) {
        match value {
            Value::String(text) => {
                self.template(Some(&Located { value: text.clone(), at }));
            }
            Value::Array(items) => items.iter().for_each(|item| self.templates_in(item, at)),
            Value::Object(members) => members.values().for_each(|value| self.templates_in(value, at)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn invalid(&mut self, at: Location, message: &str, help: &str) {
        self.problems.push(Diagnostic::new(&rules::INVALID_VALUE, at, message).with_help(help));
    }
}

fn is_pointer(text: &str) -> bool {
    text.is_empty() || text.starts_with('/')
}
