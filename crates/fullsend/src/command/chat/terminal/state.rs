//! What a chat is at any moment: events of the service, keys and answers come in, what is to be done comes out. It knows no
//! terminal and waits for nothing.

mod happened;
mod keys;
mod line;
mod view;

use std::collections::{BTreeMap, VecDeque};

use fullsend_chat::protocol::{
    ApprovalRequest, ChatError, Decision, EventEnvelope, SessionState, SessionStatus, TurnRecord, TurnUsage,
};

pub(super) use self::view::Frame;
use super::editor::Editor;
use super::history::Recall;
use super::transcript::{Item, Transcript};

/// What is to be done for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Tell the model something; without a session, one begins.
    Say(String),
    /// End the turn that is under way.
    Cancel,
    /// Answer a question.
    Decide { approval_id: String, decision: Decision },
    /// Find out which sessions there are.
    ListSessions,
    /// Go on with a session: its id, or how it begins.
    Resume(String),
    /// Find out how the session stands.
    AskStatus,
    /// Keep what was typed.
    Remember(String),
    /// Draw everything anew.
    Redraw,
    /// End the program.
    Leave,
    /// End the program, as a signal wants.
    End(i32),
}

/// What came of it.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// A session began.
    Began(Box<SessionStatus>),
    /// The sessions that there are, with the first thing that was said in each.
    Sessions(Vec<(SessionStatus, Option<String>)>),
    /// How the session stands.
    Status(Box<SessionStatus>),
    /// All that is known of a session.
    Resumed { session: Box<SessionStatus>, turns: Vec<TurnRecord>, events: Vec<EventEnvelope> },
    /// It was not done.
    Refused(ChatError),
}

/// The turn that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Running {
    is_canceling: bool,
    /// Whether another process has it, so that nothing can be done about it here.
    is_elsewhere: bool,
}

/// What a person wants to look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Scroll {
    /// The end, as it comes.
    #[default]
    End,
    /// From this row on.
    From(usize),
}

/// A chat.
#[derive(Debug, Default)]
pub(super) struct Chat {
    greeting: String,
    session: Option<SessionStatus>,
    transcript: Transcript,
    /// What was said in which turn; events do not say it.
    inputs: BTreeMap<String, String>,
    running: Option<Running>,
    /// What was said and is not under way yet.
    starting: Option<String>,
    questions: VecDeque<ApprovalRequest>,
    /// What is being typed as an answer to a question.
    answer: String,
    /// Whether the person was asked whether to leave.
    is_leaving: bool,
    editor: Editor,
    recall: Recall,
    /// The call that the person looks at.
    selected: Option<usize>,
    scroll: Scroll,
    /// How many rows there were, and how many of them fit, when the chat was last drawn.
    drawn: (usize, usize),
    /// A remark that is gone with the next key.
    hint: Option<String>,
    used: TurnUsage,
    /// How many times the transcript was begun anew.
    epoch: u64,
}

impl Chat {
    /// A chat that begins with a remark.
    pub(super) fn new(greeting: String, typed_before: Vec<String>) -> Self {
        let mut chat = Self { greeting, recall: Recall::new(typed_before), ..Self::default() };
        chat.greet();
        chat
    }

    pub(super) fn session(&self) -> Option<&SessionStatus> {
        self.session.as_ref()
    }

    pub(super) fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Changes when the transcript is another one.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// What a person should read once.
    pub(super) fn take_hint(&mut self) -> Option<String> {
        self.hint.take()
    }

    /// Whether the person is asked whether to leave.
    pub(super) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// The question that is to be answered first.
    pub(super) fn question(&self) -> Option<&ApprovalRequest> {
        self.questions.front()
    }

    /// Whether something is under way that a person can end.
    pub(super) fn is_busy(&self) -> bool {
        self.starting.is_some() || self.running.is_some()
    }

    /// A turn is about to begin, with this id.
    pub(super) fn begins(&mut self, turn_id: &str, text: &str) {
        self.inputs.insert(turn_id.to_owned(), text.to_owned());
    }

    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.transcript.push(Item::Note(text.into()));
    }

    pub(super) fn problem(&mut self, text: impl Into<String>) {
        self.transcript.push(Item::Problem(text.into()));
    }

    fn greet(&mut self) {
        let greeting = self.greeting.clone();
        self.note(greeting);
    }

    /// Forgets the session; the next one begins with what is said next.
    fn start_over(&mut self) {
        self.transcript.clear();
        self.epoch += 1;
        self.inputs.clear();
        (self.session, self.running, self.starting) = (None, None, None);
        self.questions.clear();
        self.answer.clear();
        (self.selected, self.scroll, self.used) = (None, Scroll::End, TurnUsage::default());
        self.greet();
    }

    /// Takes what came of something.
    pub(super) fn reply(&mut self, reply: Reply) {
        match reply {
            // An event may have said more about it already.
            Reply::Began(session) => {
                self.session.get_or_insert(*session);
            }
            Reply::Sessions(sessions) => self.list(&sessions),
            Reply::Status(session) => {
                let text = line::status(&session, &self.used);
                self.session = Some(*session);
                self.note(text);
            }
            Reply::Resumed { session, turns, events } => self.resumed(*session, turns, &events),
            Reply::Refused(error) => self.refused(&error),
        }
    }

    fn refused(&mut self, error: &ChatError) {
        self.problem(error.message.clone());
        // What was said is given back, unless something else is being typed.
        if let Some(text) = self.starting.take()
            && self.editor.is_empty()
        {
            self.editor.set(text);
        }
    }

    fn list(&mut self, sessions: &[(SessionStatus, Option<String>)]) {
        if sessions.is_empty() {
            return self.note("There is no session yet.");
        }
        let here = self.session.as_ref().map(|session| session.session_id.as_str());
        let lines: Vec<String> =
            sessions.iter().map(|(session, first)| line::session(session, first.as_deref(), here)).collect();
        self.note(format!("{}\nGo on with one: /resume ID", lines.join("\n")));
    }

    fn resumed(&mut self, session: SessionStatus, turns: Vec<TurnRecord>, events: &[EventEnvelope]) {
        self.start_over();
        self.inputs = turns.into_iter().map(|turn| (turn.turn.turn_id, turn.input.text)).collect();
        self.session = Some(session.clone());
        for event in events {
            self.happened(event);
        }
        // What was asked then is asked no more.
        self.questions.clear();
        let place = &session.workspace.host_path;
        self.note(format!("This is session {}, working in {place}.", session.session_id));
        self.running = match session.status {
            SessionState::TurnRunning | SessionState::Canceling => {
                self.note("A turn is under way in another process; nothing can be said until it has ended.");
                Some(Running { is_canceling: false, is_elsewhere: true })
            }
            SessionState::Closed => {
                self.note(
                    "It is closed: it can be read, and nothing can be said in it. /new begins another.",
                );
                None
            }
            SessionState::Idle | SessionState::Failed => None,
        };
        self.session = Some(session);
    }
}

#[cfg(test)]
mod tests;
