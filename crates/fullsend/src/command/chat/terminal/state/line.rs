//! Lines that a person enters, and what is said about sessions.

use fullsend_chat::protocol::{SessionState, SessionStatus, TurnUsage};

use super::{Chat, Effect};

/// How much of what was said first names a session.
const MOST_WORDS: usize = 60;

const HELP: &str = "\
/help           this text
/new            begin another session with what is said next
/sessions       the sessions of the database
/resume ID      go on with one of them; the beginning of its id is enough
/status         how this session stands, and what it has used
/quit           leave; the session stays in the database

Enter sends; Alt-Enter, or a backslash at the end, begins another line. Up and Down bring back what was typed before.
PageUp and PageDown scroll. Ctrl-O unfolds the last call of a tool, or the one chosen with Tab and Shift-Tab.
Ctrl-C ends the turn that is under way. Ctrl-D leaves. A text that begins with a blank is never a command.";

impl Chat {
    /// Takes a line of a terminal that has only lines: it answers a question if there is one.
    pub(in super::super) fn line(&mut self, text: &str) -> Vec<Effect> {
        if std::mem::take(&mut self.is_leaving) {
            let leaves = matches!(text.trim(), "y" | "Y" | "yes");
            return if leaves { vec![Effect::Leave] } else { Vec::new() };
        }
        match self.question() {
            Some(_) => self.answered_with(text),
            None => self.entered(text),
        }
    }

    /// Takes a text that a person has entered.
    pub(in super::super) fn entered(&mut self, text: &str) -> Vec<Effect> {
        let command = text.strip_prefix('/').map(|rest| rest.split_once(' ').unwrap_or((rest, "")));
        let text = match command {
            Some((name, argument)) => {
                self.recall.add(text);
                let mut effects = vec![Effect::Remember(text.to_owned())];
                effects.extend(self.command(name.trim(), argument.trim()));
                return effects;
            }
            None => text.trim(),
        };
        if text.is_empty() {
            return Vec::new();
        }
        if self.is_busy() {
            self.hint = Some("a turn is under way; Ctrl-C ends it".to_owned());
            self.editor.set(text.to_owned());
            return Vec::new();
        }
        self.recall.add(text);
        self.starting = Some(text.to_owned());
        vec![Effect::Remember(text.to_owned()), Effect::Say(text.to_owned())]
    }

    fn command(&mut self, name: &str, argument: &str) -> Option<Effect> {
        // Another session cannot be looked at while this one has something to tell.
        let is_busy =
            self.running.as_ref().is_some_and(|running| !running.is_elsewhere) || self.starting.is_some();
        match (name, argument) {
            ("help", "") => self.note(HELP),
            ("sessions", "") => return Some(Effect::ListSessions),
            ("status", "") if self.session.is_some() => return Some(Effect::AskStatus),
            ("status", "") => self.note("There is no session yet: it begins with what is said first."),
            ("quit" | "exit", "") => return Some(Effect::Leave),
            ("new" | "resume", _) if is_busy => {
                self.problem("A turn is under way; end it with Ctrl-C first.");
            }
            ("new", "") => self.start_over(),
            ("resume", "") => self.problem("Which one? /sessions lists them: /resume ID"),
            ("resume", id) => return Some(Effect::Resume(id.to_owned())),
            ("help" | "sessions" | "status" | "quit" | "exit" | "new", _) => {
                self.problem(format!("/{name} takes nothing else."));
            }
            _ => self.problem(format!(
                "There is no command /{name}; /help lists all. A text that begins with a blank is no command."
            )),
        }
        None
    }
}

/// A session in a line.
pub(super) fn session(session: &SessionStatus, first: Option<&str>, here: Option<&str>) -> String {
    let mark = if here == Some(session.session_id.as_str()) { "*" } else { " " };
    let words = first.unwrap_or("(nothing was said)").split_whitespace().collect::<Vec<_>>().join(" ");
    let mut letters = words.chars();
    let mut words: String = letters.by_ref().take(MOST_WORDS).collect();
    if letters.next().is_some() {
        words.push('…');
    }
    let since = session.created_at.get(..16).unwrap_or(&session.created_at).replace('T', " ");
    let turns =
        if session.turn_count == 1 { "1 turn".to_owned() } else { format!("{} turns", session.turn_count) };
    format!("{mark} {}  {since}  {turns}, {}  {words}", session.session_id, state(session.status))
}

/// How a session stands, in lines.
pub(super) fn status(session: &SessionStatus, used: &TurnUsage) -> String {
    let mut lines = vec![
        format!("session    {}", session.session_id),
        format!("state      {}, {} turns", state(session.status), session.turn_count),
        format!("workspace  {}", session.workspace.host_path),
    ];
    lines.extend(session.model.as_ref().map(|model| format!("model      {model}")));
    lines.extend(session.harness_run_id.as_ref().map(|run| format!("run        {run}")));
    lines.push(format!("used       {}", self::used(used)));
    lines.join("\n")
}

/// What was used, in words.
pub(super) fn used(used: &TurnUsage) -> String {
    let cost = used.cost_usd.map(|cost| format!(", ${cost:.4}")).unwrap_or_default();
    format!("{} tokens{cost}", used.total_tokens)
}

fn state(state: SessionState) -> &'static str {
    match state {
        SessionState::Idle => "idle",
        SessionState::TurnRunning => "a turn is under way",
        SessionState::Canceling => "a turn is being ended",
        SessionState::Closed => "closed",
        SessionState::Failed => "cannot go on",
    }
}
