//! Keeps a chat going: what it waits for goes in, what it wants is done, what it looks like is shown.

use std::io::{self, Write};

use anyhow::{Result, bail};
use crossterm::event::{Event, KeyEventKind};
use crossterm::terminal;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::history::HistoryFile;
use super::input::Input;
use super::link::Link;
use super::plain::Printed;
use super::screen::Screen;
use super::state::{Chat, Effect};

/// Why a chat has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The person has left.
    Left,
    /// A signal, by its number.
    Signal(i32),
}

/// A chat and what it needs to go on.
#[derive(Debug)]
pub(super) struct Drive {
    pub(super) chat: Chat,
    pub(super) link: Link,
    pub(super) inputs: mpsc::Receiver<Input>,
    pub(super) history: Option<HistoryFile>,
    /// Whether the service has ended.
    pub(super) is_over: bool,
}

impl Drive {
    /// On a whole screen.
    pub(super) async fn on_screen<W: Write>(&mut self, screen: &mut Screen<W>) -> Result<Ended> {
        loop {
            let (columns, rows) = terminal::size()?;
            screen.draw(self.chat.frame(columns, rows))?;
            let Some(first) = self.inputs.recv().await else { return Ok(Ended::Left) };
            // All that is there is taken in before anything is drawn: a model can say more than a terminal can show.
            let mut next = Some(first);
            while let Some(input) = next {
                let is_resized = matches!(input, Input::Terminal(Event::Resize(..)));
                let effects = self.take(input)?;
                if is_resized || effects.contains(&Effect::Redraw) {
                    screen.forget()?;
                }
                if let Some(ended) = self.perform(effects) {
                    return Ok(ended);
                }
                next = self.inputs.try_recv().ok();
            }
        }
    }

    /// Line by line.
    pub(super) async fn by_lines(&mut self, out: &mut impl Write) -> Result<Ended> {
        let mut printed = Printed::default();
        let mut begun = String::new();
        loop {
            out.write_all(printed.news(&mut self.chat, &begun).as_bytes())?;
            out.flush()?;
            let Some(mut input) = self.inputs.recv().await else { return Ok(Ended::Left) };
            if let Input::Line(line) = &mut input {
                printed.was_typed();
                begun.push_str(line);
                if begun.ends_with('\\') && self.chat.question().is_none() {
                    begun.pop();
                    begun.push('\n');
                    continue;
                }
                *line = std::mem::take(&mut begun);
            }
            let effects = self.take(input)?;
            if let Some(ended) = self.perform(effects) {
                return Ok(ended);
            }
        }
    }

    fn take(&mut self, input: Input) -> Result<Vec<Effect>> {
        Ok(match input {
            Input::Terminal(Event::Key(key)) if key.kind != KeyEventKind::Release => self.chat.key(key),
            Input::Terminal(Event::Paste(text)) => {
                self.chat.paste(&text);
                Vec::new()
            }
            Input::Terminal(_) => Vec::new(),
            Input::Line(line) => self.chat.line(&line),
            Input::NoMore => vec![Effect::Leave],
            Input::Event(event) => {
                self.chat.happened(&event);
                Vec::new()
            }
            Input::Reply(reply) => {
                self.chat.reply(reply);
                Vec::new()
            }
            Input::Interrupt => self.chat.interrupted(),
            Input::Ending(signal) => vec![Effect::End(signal)],
            Input::ServiceEnded(error) => {
                self.is_over = true;
                match error {
                    Some(error) => return Err(error.into()),
                    None => bail!("the chat service has ended"),
                }
            }
        })
    }

    /// Does what is wanted; says so if that is the end.
    fn perform(&mut self, effects: Vec<Effect>) -> Option<Ended> {
        for effect in effects {
            let session = self.chat.session().map(|session| session.session_id.clone());
            match (effect, session) {
                (Effect::Leave, _) => return Some(Ended::Left),
                (Effect::End(signal), _) => return Some(Ended::Signal(signal)),
                (Effect::Say(text), session) => {
                    let turn_id = Uuid::new_v4().to_string();
                    self.chat.begins(&turn_id, &text);
                    self.link.say(session, turn_id, text);
                }
                (Effect::ListSessions, _) => self.link.list_sessions(),
                (Effect::Resume(id), _) => self.link.resume(id),
                (Effect::Remember(text), _) => self.remember(&text),
                (Effect::Cancel, Some(session)) => self.link.cancel(session),
                (Effect::Decide { approval_id, decision }, Some(session)) => {
                    self.link.decide(session, approval_id, decision);
                }
                (Effect::AskStatus, Some(session)) => self.link.ask_status(session),
                (Effect::Cancel | Effect::Decide { .. } | Effect::AskStatus, None) | (Effect::Redraw, _) => {}
            }
        }
        None
    }

    fn remember(&mut self, text: &str) {
        let kept = self.history.as_ref().map_or(Ok(()), |history| history.add(text));
        if let Err(error) = kept {
            self.history = None;
            self.chat.problem(format!("What is typed cannot be kept: {error}"));
        }
    }
}

/// Standard output, which is the terminal.
pub(super) fn output() -> io::BufWriter<io::Stdout> {
    io::BufWriter::with_capacity(1 << 16, io::stdout())
}
