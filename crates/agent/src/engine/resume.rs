//! Going on with a run that was stopped, killed or finished.

use std::io;
use std::path::PathBuf;

use fullsend_model::{AssistantMessage, Image, Message, ToolCall};
use serde_json::{Value, json};

use super::pictures::{Pictures, read_unchanged};
use super::{Engine, Opening, RunError, RunParts, Watch};
use crate::event::Event;
use crate::store::{
    CallFinished, CallState, EndStatus, Ending, Execution, KeptMessage, Recorded, RecordedSettings, Row,
};
use crate::tool::{AttachedImage, Effect, Shown, ToolFault};

/// Why a run cannot be gone on with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// It is complete, and there is nothing new to say.
    #[error("the run `{0}` is complete; give it something more to do with --prompt")]
    Complete(String),
    /// It was killed before its prompt was on record, and has done nothing.
    #[error("the run `{0}` ended before its prompt was on record, and did nothing: start it again")]
    NeverOpened(String),
    /// The record cannot be read or written.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Why a call that was asked for has no result and gets none.
struct NotMade {
    kind: &'static str,
    detail: &'static str,
    execution: Execution,
    word: &'static str,
    line: &'static str,
}

const INTERRUPTED: NotMade = NotMade {
    kind: "fullsend.interrupted",
    detail: "the run was interrupted while this call was under way; it may have been carried out in part or as a whole, and \
             is not made again; look before you repeat it",
    execution: Execution::Interrupted,
    word: "interrupted",
    line: "interrupted; not made again",
};

const ABANDONED: NotMade = NotMade {
    kind: "fullsend.call-abandoned",
    detail: "the operator stopped you before this call was made; it was not made, and is not wanted unless the operator says so",
    execution: Execution::NotRun,
    word: "abandoned",
    line: "stopped before it was made",
};

impl<'w> Engine<'w> {
    /// A run that goes on: the conversation is that of the record, and nothing of it is done again.
    pub fn resume(
        parts: RunParts,
        recorded: Recorded,
        settings: &RecordedSettings,
        more: Vec<Opening>,
        watch: Watch<'w>,
    ) -> Result<Self, ResumeError> {
        if !recorded.opened {
            return Err(ResumeError::NeverOpened(recorded.run_id.to_string()));
        }
        let complete = recorded.ended.as_ref().is_some_and(|ending| ending.status == EndStatus::Completed);
        if complete && more.is_empty() {
            return Err(ResumeError::Complete(recorded.run_id.to_string()));
        }
        let mut engine = Self::new(parts, watch);
        engine.labels = recorded.labels;
        engine.current_dir.clone_from(&recorded.current_dir);
        engine.dangling = recorded.dangling;
        engine.reminders = recorded.reminders;
        engine.keeper.go_on(recorded.flow);
        for kept in recorded.messages {
            let message = engine.message_of(&kept.message)?;
            engine.retell(&kept.message);
            engine.conversation.push(message);
            if matches!(kept.message, KeptMessage::Assistant { .. }) {
                engine.answered = kept.label;
            }
            engine.context = engine.labels.join(engine.context, kept.label).unwrap_or(kept.label);
        }
        engine.more = more;
        // Nothing is wrong with the record, so that a run that is refused above stays as it was.
        for run in recorded.killed {
            engine.parts.store.append(&Row::Subagent(Box::new(run))).map_err(RunError::from)?;
        }
        engine.parts.store.resume(settings).map_err(RunError::from)?;
        Ok(engine)
    }

    /// Says what is new. An answer that was the last thing on record is the end, unless there is something more to say.
    pub(super) fn take_up(&mut self) -> Result<Option<Ending>, RunError> {
        if self.reminders.unanswered.is_none() || !self.more.is_empty() {
            return Ok(None);
        }
        let turn = u64::from(self.parts.budget.turns());
        self.settle(turn)
    }

    /// Answers the calls that were asked for and have no result: those that never began are made now, and so are reads;
    /// others may have done something already, and are not made twice.
    pub(super) async fn make_dangling_calls(&mut self) -> Result<(), RunError> {
        let turn = u64::from(self.parts.budget.turns());
        // Calls of one answer share what it was made of, also where only some were made before the run was stopped.
        let basis = self.basis(self.answered);
        let mut pictures = Pictures { images: self.unseen_images()?, label: self.context_label() };
        let mut open: Vec<ToolCall> = Vec::new();
        for dangling in std::mem::take(&mut self.dangling) {
            let call = dangling.call;
            match dangling.state {
                CallState::Interrupted { effect: Effect::Read, .. } | CallState::NeverStarted => {
                    open.push(call)
                }
                // What was refused is refused again.
                CallState::Finished { execution: Execution::NotRun, .. } => open.push(call),
                CallState::Abandoned => {
                    self.answer_calls(turn, &std::mem::take(&mut open), &basis, &mut pictures).await?;
                    self.answer_not_made(turn, &call, &ABANDONED)?;
                }
                CallState::Interrupted { .. } | CallState::Finished { .. } => {
                    self.answer_calls(turn, &std::mem::take(&mut open), &basis, &mut pictures).await?;
                    if let Ok(prepared) = self.parts.toolbox.prepare(&call) {
                        prepared.tool.clean_up(&prepared.input);
                    }
                    self.answer_not_made(turn, &call, &INTERRUPTED)?;
                }
            }
        }
        self.answer_calls(turn, &open, &basis, &mut pictures).await?;
        self.show_pictures(turn, pictures)?;
        let more = std::mem::take(&mut self.more);
        self.tell_model(more)
    }

    /// Pictures of the last answer's calls that the model was told of and has not seen: they come after the last result.
    fn unseen_images(&self) -> Result<Vec<AttachedImage>, RunError> {
        let messages = self.conversation.messages();
        let last = messages.iter().rposition(|message| !matches!(message, Message::Tool { .. }));
        let results = messages.get(last.map_or(0, |last| last + 1)..).unwrap_or_default();
        let image = |message: &Message| {
            let Message::Tool { content, .. } = message else { return None };
            // Most results are not even read.
            let result: Value =
                content.contains("imageAttached").then(|| serde_json::from_str(content).ok())??;
            result.get("imageAttached")?.as_bool().filter(|attached| *attached)?;
            let text = |key: &str| result.get(key).and_then(Value::as_str);
            let media_type = known_media_type(text("mediaType")?)?;
            let digest = text("digest")?;
            Some(AttachedImage {
                snapshot: self.parts.store.artifacts().image(digest.strip_prefix("sha256:")?, media_type)?,
                bytes: Vec::new(),
                media_type,
                digest: digest.to_owned(),
                name: text("path")?.rsplit('/').next().unwrap_or_default().to_owned(),
            })
        };
        let read = |image: AttachedImage| {
            let bytes = read_unchanged(&image.snapshot, &image.digest)?;
            Ok(AttachedImage { bytes, ..image })
        };
        results.iter().filter_map(image).map(read).collect()
    }

    fn answer_not_made(&mut self, turn: u64, call: &ToolCall, why: &NotMade) -> Result<(), RunError> {
        (self.watch)(Event::CallBegan { call });
        let told = json!({"type": why.kind, "detail": why.detail});
        let finished = CallFinished {
            call_id: call.id.clone(),
            tool: call.name.clone(),
            output_id: None,
            execution: why.execution,
            duration_ms: 0,
            artifact: None,
            error_detail: Some(why.word.to_owned()),
        };
        self.parts.store.append(&Row::CallFinished(finished))?;
        let shown = Shown { line: why.line.to_owned(), diff: None };
        (self.watch)(Event::CallEnded { call, shown: &shown, done: false, hidden: false });
        let kept = KeptMessage::Tool {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: told.to_string(),
            result_ref: None,
        };
        let message = Message::Tool { call_id: call.id.clone(), content: told.to_string() };
        self.say(turn, kept, message, &fullsend_flow::Label::bottom())
    }

    /// A kept message as the model sees it. Pictures are read from their snapshots, which must be what they were.
    pub(super) fn message_of(&self, kept: &KeptMessage) -> Result<Message, RunError> {
        Ok(match kept {
            KeptMessage::System { content } => Message::System { content: content.clone() },
            KeptMessage::User { content, image_attachments } => {
                let load = |attachment| self.load(attachment);
                let images = image_attachments.iter().map(load).collect::<Result<_, _>>()?;
                Message::User { content: content.clone(), images }
            }
            KeptMessage::Assistant { content, tool_calls, .. } => Message::Assistant(AssistantMessage {
                content: content.clone(),
                tool_calls: tool_calls.clone(),
            }),
            KeptMessage::Tool { tool_call_id, content, .. } => {
                Message::Tool { call_id: tool_call_id.clone(), content: content.clone() }
            }
        })
    }

    fn load(&self, attachment: &crate::store::ImageAttachment) -> Result<Image, RunError> {
        let path: PathBuf = match &attachment.snapshot_path {
            Some(relative) => self.parts.store.run_dir().join(relative),
            None => attachment.host_path.clone(),
        };
        let fault = |source| RunError::Tool(ToolFault::Artifact { path: path.clone(), source });
        let bytes = read_unchanged(&path, &attachment.digest)?;
        let media_type = known_media_type(&attachment.media_type).ok_or_else(|| {
            fault(io::Error::new(io::ErrorKind::InvalidData, "not a picture of a known kind"))
        })?;
        Ok(Image { media_type, bytes })
    }

    /// Tells whoever watches what is on record.
    fn retell(&mut self, kept: &KeptMessage) {
        self.tell(kept);
        if let KeptMessage::Assistant { content, tool_calls, .. } = kept {
            (self.watch)(Event::Answered { content, calls: tool_calls });
        }
    }
}

fn known_media_type(media_type: &str) -> Option<&'static str> {
    ["image/png", "image/jpeg", "image/gif", "image/webp"].into_iter().find(|known| *known == media_type)
}
