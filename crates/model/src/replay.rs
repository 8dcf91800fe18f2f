//! A model that follows a script, for demonstrations and tests with real tools.
//!
//! Which turn comes next follows from the conversation alone, so a run that is resumed in another process goes on where it
//! was. `docs/replay.md` describes the file.

mod expect;
mod records;
mod script;
mod template;

use std::path::{Path, PathBuf};

use fullsend_yaml::{Diagnostic, Location, SourceMap};

use crate::client::{Completion, FinishReason, ModelClient, ModelError, ModelRequest, Pending, Progress};
use crate::conversation::{AssistantMessage, Conversation, Message, ToolCall};
use crate::usage::Usage;
use script::{Act, Arguments, ScriptedCall, Step};
use template::{Past, Templates};

/// What the result of a call that was interrupted says in its `type`.
const INTERRUPTED: &str = "fullsend.interrupted";

/// A model that follows a script.
#[derive(Debug)]
pub struct Replay {
    sources: SourceMap,
    /// The last one is that of the run itself.
    acts: Vec<Act>,
    templates: Templates,
}

/// Why a script cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// It cannot be read.
    #[error("cannot read the script `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It is wrong.
    #[error("{}", problems.join("\n"))]
    Invalid {
        /// Each problem: file, line, column, what is wrong, what to do.
        problems: Vec<String>,
    },
}

impl Replay {
    /// Reads a script from a file.
    pub fn open(path: &Path) -> Result<Self, ReplayError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ReplayError::Read { path: path.to_owned(), source })?;
        Self::from_text(path, text)
    }

    /// Takes a script as text; `path` is for messages.
    pub fn from_text(path: &Path, text: impl Into<String>) -> Result<Self, ReplayError> {
        let mut sources = SourceMap::new();
        let file = sources.add(path, text);
        let templates = Templates::new();
        let outcome = script::read(&sources, file, &templates);
        match outcome {
            Ok(acts) => Ok(Self { sources, acts, templates }),
            Err(problems) => {
                let problems = problems.iter().map(|problem| shown(&sources, problem)).collect();
                Err(ReplayError::Invalid { problems })
            }
        }
    }

    /// How many turns the script has for the run itself, repetitions counted.
    pub fn turns(&self) -> u64 {
        self.acts.last().map_or(0, |act| turns(&act.steps))
    }

    /// What is played in this conversation.
    fn steps(&self, messages: &[Message]) -> &[Step] {
        let first = messages.iter().find_map(|message| match message {
            Message::User { content, .. } => Some(content.as_str()),
            Message::System { .. } | Message::Assistant(_) | Message::Tool { .. } => None,
        });
        let first = first.unwrap_or_default();
        let known = |act: &&Act| act.user.as_ref().is_none_or(|user| first.contains(user.as_str()));
        self.acts.iter().find(known).map(|act| act.steps.as_slice()).unwrap_or_default()
    }

    /// Plays the turn that the conversation has come to.
    fn play(&self, conversation: &Conversation) -> Result<Played<'_>, ModelError> {
        let steps = self.steps(conversation.messages());
        let place = place(steps, conversation.messages());
        let Some(step) = steps.get(place.step) else {
            let at = steps.last().map(|step| step.at);
            let problem = format!("the script ends after {} turns, and one more is asked for", turns(steps));
            return Err(
                self.departed(at, &format!("{problem}; add a turn, or let the last one have no calls"))
            );
        };
        let past = past(conversation.messages(), &place);
        let failed = |at: Location, problem: String| {
            let which = match (step.repeat, place.inserted) {
                (_, true) => format!("turn {} (interrupted)", place.step + 1),
                (1, false) => format!("turn {}", place.step + 1),
                (repeat, false) => format!("turn {} ({} of {repeat})", place.step + 1, place.iteration + 1),
            };
            self.departed(Some(at), &format!("{which}: {problem}"))
        };
        if let Some(id) = unanswered(conversation.messages()) {
            return Err(failed(step.at, format!("the call `{id}` has no result")));
        }
        let (calls, say) = match place.inserted {
            true => (&step.when_interrupted, ""),
            false => {
                for expectation in &step.expects {
                    let checked = expectation.check(&past, &self.templates);
                    checked.map_err(|problem| failed(expectation.at, problem))?;
                }
                (&step.calls, step.say.as_str())
            }
        };
        let content = self.templates.fill(say, &past).map_err(|problem| failed(step.at, problem))?;
        let mut tool_calls = Vec::with_capacity(calls.len());
        for (position, call) in calls.iter().enumerate() {
            let arguments = self.arguments(call, &past).map_err(|problem| failed(step.at, problem))?;
            let id = format!("replay_{}_{position}", place.answers);
            tool_calls.push(ToolCall { id, name: call.tool.clone(), arguments });
        }
        Ok(Played { step, message: AssistantMessage { content, tool_calls }, inserted: place.inserted })
    }

    fn arguments(&self, call: &ScriptedCall, past: &Past<'_>) -> Result<String, String> {
        match &call.arguments {
            Arguments::Json(value) => Ok(self.templates.fill_json(value, past)?.to_string()),
            Arguments::Raw(text) => self.templates.fill(text, past),
        }
    }

    fn departed(&self, at: Option<Location>, problem: &str) -> ModelError {
        let place = at.and_then(|at| self.sources.resolve(at));
        let place = place.map(|(path, at)| format!("{}:{}:{}: ", path.display(), at.line, at.column));
        ModelError::Departed { problem: format!("{}{problem}", place.unwrap_or_default()) }
    }
}

/// A turn, filled.
#[derive(Debug)]
struct Played<'r> {
    step: &'r Step,
    message: AssistantMessage,
    inserted: bool,
}

impl Played<'_> {
    fn completion(self) -> Completion {
        let by_calls = match self.message.tool_calls.is_empty() {
            true => FinishReason::Stop,
            false => FinishReason::ToolCalls,
        };
        let (finish, usage) = match self.inserted {
            true => (None, Usage::default()),
            false => (self.step.finish.clone(), self.step.usage),
        };
        Completion { message: self.message, finish: finish.unwrap_or(by_calls), usage, attempts: Vec::new() }
    }
}

/// A place in the script.
#[derive(Debug, Default)]
struct Place {
    step: usize,
    iteration: u64,
    /// How many answers there were, inserted ones included.
    answers: usize,
    /// Whether the turn is one for calls that were interrupted.
    inserted: bool,
}

impl Place {
    fn advance(&mut self, step: Option<&Step>) {
        self.iteration += 1;
        if step.is_none_or(|step| self.iteration >= step.repeat) {
            self.step += 1;
            self.iteration = 0;
        }
    }
}

impl ModelClient for Replay {
    fn complete<'a>(
        &'a self,
        request: ModelRequest<'a>,
        progress: &'a mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Pending<'a, Result<Completion, ModelError>> {
        Box::pin(async move {
            let played = self.play(request.conversation)?;
            if !played.step.delay.is_zero() {
                tokio::time::sleep(played.step.delay).await;
            }
            say(&played.message.content, played.step.piece, progress);
            Ok(played.completion())
        })
    }

    fn provider(&self) -> &'static str {
        "replay"
    }
}

/// How many turns these are, repetitions counted.
fn turns(steps: &[Step]) -> u64 {
    steps.iter().map(|step| step.repeat).sum()
}

/// Where in the script the conversation is.
fn place(steps: &[Step], messages: &[Message]) -> Place {
    let mut place = Place::default();
    let mut asked: Option<usize> = None;
    let mut interrupted = false;
    let goes_back = |asked: Option<usize>| {
        asked.filter(|step| steps.get(*step).is_some_and(|step| !step.when_interrupted.is_empty()))
    };
    for message in messages {
        match message {
            Message::Assistant(_) => {
                place.answers += 1;
                if !interrupted {
                    asked = Some(place.step);
                    place.advance(steps.get(place.step));
                }
                interrupted = false;
            }
            Message::Tool { content, .. } => {
                interrupted |= goes_back(asked).is_some() && was_interrupted(content);
            }
            Message::System { .. } | Message::User { .. } => {}
        }
    }
    match goes_back(asked).filter(|_| interrupted) {
        Some(step) => Place { step, iteration: 0, inserted: true, ..place },
        None => place,
    }
}

/// Reports a text in pieces of so many characters.
fn say(text: &str, piece: usize, progress: &mut (dyn FnMut(Progress<'_>) + Send)) {
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(piece).map_or(rest.len(), |(end, _)| end);
        let (head, tail) = rest.split_at(end);
        progress(Progress::Text(head));
        rest = tail;
    }
}

/// What happened before this place.
fn past<'m>(messages: &'m [Message], place: &Place) -> Past<'m> {
    let mut results = Vec::new();
    let mut user = "";
    for message in messages {
        match message {
            Message::Tool { content, .. } => results.push(content.as_str()),
            Message::User { content, .. } => user = content,
            Message::System { .. } | Message::Assistant(_) => {}
        }
    }
    Past::new(results, user, place.step + 1, place.iteration + 1)
}

/// A call of the last answer without a result.
fn unanswered(messages: &[Message]) -> Option<&str> {
    let last = messages.iter().rposition(|message| matches!(message, Message::Assistant(_)))?;
    let (before, after) = messages.split_at(last + 1);
    let Some(Message::Assistant(said)) = before.last() else { return None };
    let answered = |id: &str| {
        after.iter().any(|message| matches!(message, Message::Tool { call_id, .. } if call_id == id))
    };
    said.tool_calls.iter().map(|call| call.id.as_str()).find(|id| !answered(id))
}

/// Whether a result says that its call was interrupted.
fn was_interrupted(content: &str) -> bool {
    // Most results are not even read: the words are not in them.
    content.contains(INTERRUPTED)
        && serde_json::from_str::<serde_json::Value>(content)
            .is_ok_and(|result| result.get("type").is_some_and(|kind| kind == INTERRUPTED))
}

/// A problem of a file, on one line.
fn shown(sources: &SourceMap, problem: &Diagnostic) -> String {
    let place = sources
        .resolve(problem.at)
        .map(|(path, at)| format!("{}:{}:{}: ", path.display(), at.line, at.column));
    format!("{}{}; {}", place.unwrap_or_default(), problem.message, problem.help())
}
