//! An answer put together from what a server sends.

use crate::client::{FinishReason, Progress};
use crate::conversation::{AssistantMessage, Conversation};
use crate::usage::Usage;

use super::calls::{Calls, TooManyCalls};
use super::chunk::{self, CallDelta, Choice, Chunk, Delta, ServerError};
use super::sse::{SseParser, TooLong};

/// The largest answer.
pub(super) const MAX_ANSWER: usize = 32 * 1024 * 1024;

/// Who hears about pieces of an answer.
pub(super) type Listener<'a> = dyn FnMut(Progress<'_>) + Send + 'a;

/// Why what a server sends is no answer.
#[derive(Debug)]
pub(super) enum Unusable {
    /// It makes no sense.
    Malformed(String),
    /// It says that something went wrong.
    Server(ServerError),
    /// It is not complete.
    EndsEarly,
}

impl From<TooLong> for Unusable {
    fn from(_: TooLong) -> Self {
        Self::Malformed("an event of the stream is larger than 8 MiB".to_owned())
    }
}

impl From<TooManyCalls> for Unusable {
    fn from(_: TooManyCalls) -> Self {
        Self::Malformed("it asks for more than 4096 calls".to_owned())
    }
}

/// How the bytes are to be read.
#[derive(Debug)]
enum Form {
    /// Not known before the first character.
    Unknown,
    /// Events.
    Events(SseParser),
    /// One JSON object, from a server that does not stream.
    Whole(Vec<u8>),
}

/// An answer under way.
#[derive(Debug)]
pub(super) struct Answer {
    form: Form,
    received: usize,
    said: Said,
}

/// What has been said so far.
#[derive(Debug, Default)]
struct Said {
    choice: Option<u64>,
    content: String,
    calls: Calls,
    finish: Option<String>,
    usage: Usage,
    done: bool,
    any_message: bool,
    any_event: bool,
}

impl Default for Answer {
    fn default() -> Self {
        Self { form: Form::Unknown, received: 0, said: Said::default() }
    }
}

impl Answer {
    /// Takes the next bytes.
    pub(super) fn feed(&mut self, mut bytes: &[u8], listener: &mut Listener<'_>) -> Result<(), Unusable> {
        self.received = self.received.saturating_add(bytes.len());
        if self.received > MAX_ANSWER {
            return Err(Unusable::Malformed("it is larger than 32 MiB".to_owned()));
        }
        if matches!(self.form, Form::Unknown) {
            // Servers mislabel what they send; no event begins with a brace, and no JSON answer with anything else.
            bytes = bytes.trim_ascii_start();
            match bytes.first() {
                None => return Ok(()),
                Some(b'{') => self.form = Form::Whole(Vec::new()),
                Some(b'<') => {
                    return Err(Unusable::Malformed("it is a web page; check the base URL".to_owned()));
                }
                Some(_) => self.form = Form::Events(SseParser::default()),
            }
        }
        let said = &mut self.said;
        match &mut self.form {
            Form::Unknown => Ok(()),
            Form::Events(parser) => parser.feed(bytes, &mut |event| said.event(event, listener)),
            Form::Whole(text) => {
                text.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Whether the server said that there is nothing more to come.
    pub(super) fn is_done(&self) -> bool {
        self.said.done
    }

    /// Whether the model is done, though the server may add what it used.
    pub(super) fn is_finished(&self) -> bool {
        self.said.finish.is_some()
    }

    /// Whether pieces were reported that would not count if the request was made again.
    pub(super) fn has_begun(&self) -> bool {
        self.said.any_event
    }

    /// Takes the end of the bytes.
    pub(super) fn end(&mut self, listener: &mut Listener<'_>) -> Result<(), Unusable> {
        let said = &mut self.said;
        match &mut self.form {
            Form::Unknown => Err(Unusable::EndsEarly),
            Form::Events(parser) => {
                let done = said.done || said.finish.is_some();
                match parser.finish(&mut |event| said.event(event, listener)) {
                    Ok(()) if said.done || said.finish.is_some() => said.check(),
                    Err(error @ Unusable::Server(_)) => Err(error),
                    // What is left after the end of an answer does not matter.
                    Err(_) if done => said.check(),
                    Ok(()) | Err(_) => Err(Unusable::EndsEarly),
                }
            }
            Form::Whole(text) => {
                let text = std::mem::take(text);
                said.chunk(&text, listener)?;
                said.done = true;
                said.check()
            }
        }
    }

    /// The message, why it ended, and what it used.
    pub(super) fn finish(self, conversation: &Conversation) -> (AssistantMessage, FinishReason, Usage) {
        let Said { content, calls, finish, usage, .. } = self.said;
        let tool_calls = calls.finish(conversation);
        let reason = finish_reason(finish.as_deref().unwrap_or_default(), !tool_calls.is_empty());
        (AssistantMessage { content, tool_calls }, reason, usage)
    }
}

/// What a gateway has said, from the bytes of its answer however they are cut; nothing where they are no answer. `listener`
/// hears the pieces as they come.
pub fn read_answer<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    conversation: &Conversation,
    listener: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Option<(AssistantMessage, FinishReason, Usage)> {
    let mut answer = Answer::default();
    for piece in pieces {
        answer.feed(piece, listener).ok()?;
    }
    answer.end(listener).ok()?;
    Some(answer.finish(conversation))
}

impl Said {
    /// Takes the data of one event.
    fn event(&mut self, data: &[u8], listener: &mut Listener<'_>) -> Result<(), Unusable> {
        if self.done {
            return Ok(());
        }
        if data.trim_ascii() == b"[DONE]" {
            self.done = true;
            return Ok(());
        }
        match self.chunk(data, listener) {
            // Events that are not separated by blank lines arrive as one.
            Err(Unusable::Malformed(_) | Unusable::EndsEarly) if data.contains(&b'\n') => {
                let mut lines =
                    data.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
                lines.try_for_each(|line| self.event(line, listener))
            }
            outcome => outcome,
        }
    }

    /// Takes one JSON object.
    fn chunk(&mut self, json: &[u8], listener: &mut Listener<'_>) -> Result<(), Unusable> {
        let chunk: Chunk<'_> = serde_json::from_slice(json).map_err(|error| match error.is_eof() {
            true => Unusable::EndsEarly,
            false => Unusable::Malformed(format!("it is not the JSON of an answer: {error}")),
        })?;
        if let Some(error) = chunk::server_error(chunk.error) {
            return Err(Unusable::Server(error));
        }
        self.any_event = true;
        if chunk.usage.is_some() {
            self.usage = chunk::usage(chunk.usage);
        }
        let mut outcome = Ok(());
        chunk::elements(chunk.choices, &mut |choice: Choice<'_>| {
            let index = chunk::number(choice.index).unwrap_or_default();
            if *self.choice.get_or_insert(index) != index {
                return true;
            }
            outcome = self.choice(&choice, listener);
            false
        });
        outcome
    }

    fn choice(&mut self, choice: &Choice<'_>, listener: &mut Listener<'_>) -> Result<(), Unusable> {
        let message = choice.message.or(choice.delta);
        self.any_message |= message.is_some();
        self.delta(&chunk::object(message), listener)?;
        if let Some(reason) = chunk::text(choice.finish_reason) {
            // Servers repeat an empty reason in every event, which ends nothing.
            if !reason.is_empty() {
                self.finish = Some(reason.into_owned());
            }
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Delta<'_>, listener: &mut Listener<'_>) -> Result<(), Unusable> {
        chunk::content(delta.reasoning_content.or(delta.reasoning), &mut |text| {
            if !text.is_empty() {
                listener(Progress::Reasoning(text));
            }
        });
        for field in [delta.content, delta.refusal] {
            chunk::content(field, &mut |text| {
                if !text.is_empty() {
                    self.content.push_str(text);
                    listener(Progress::Text(text));
                }
            });
        }
        let mut outcome = Ok(());
        chunk::elements(delta.tool_calls, &mut |piece: CallDelta<'_>| {
            outcome = self.calls.take(&piece);
            outcome.is_ok()
        });
        outcome?;
        if delta.function_call.is_some() {
            self.calls.take_legacy(&chunk::object(delta.function_call))?;
        }
        Ok(())
    }

    /// Refuses an answer in which nobody said anything.
    fn check(&self) -> Result<(), Unusable> {
        if self.any_message || !self.calls.is_empty() { Ok(()) } else { Err(no_message()) }
    }
}

fn no_message() -> Unusable {
    Unusable::Malformed("there is no message in it".to_owned())
}

/// What a reason means. Calls count more than the word: several servers say `stop` beside them.
fn finish_reason(word: &str, has_calls: bool) -> FinishReason {
    match word {
        "length" | "max_tokens" | "model_length" => FinishReason::Length,
        "content_filter" | "safety" => FinishReason::ContentFilter,
        _ if has_calls => FinishReason::ToolCalls,
        "stop" | "eos" | "eos_token" | "end_turn" | "stop_sequence" => FinishReason::Stop,
        "" => FinishReason::Other(None),
        other => FinishReason::Other(Some(other.chars().take(64).collect())),
    }
}
