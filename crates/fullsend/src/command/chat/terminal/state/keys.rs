//! Keys that a person presses.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use fullsend_chat::protocol::Decision;

use super::super::editor::Move;
use super::super::transcript::Item;
use super::{Chat, Effect, Scroll};

impl Chat {
    /// Takes a key.
    pub(in super::super) fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        self.hint = None;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match (control, key.code) {
            (true, KeyCode::Char('c')) => return self.interrupted(),
            (true, KeyCode::Char('l')) => return vec![Effect::Redraw],
            (true, KeyCode::Char('d')) if self.editor.is_empty() => return vec![Effect::Leave],
            _ => {}
        }
        if std::mem::take(&mut self.is_leaving) {
            let leaves = !control && matches!(key.code, KeyCode::Char('y' | 'Y'));
            return if leaves { vec![Effect::Leave] } else { Vec::new() };
        }
        if self.look(control, key.code) {
            return Vec::new();
        }
        if self.question().is_some() {
            return self.answer_key(control, key.code);
        }
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match (control, alt, key.code) {
            (false, false, KeyCode::Enter) => return self.enter(),
            (false, true, KeyCode::Enter) | (true, _, KeyCode::Char('j')) => self.type_text("\n"),
            _ => self.edit(control, alt, key.code),
        }
        Vec::new()
    }

    /// Takes text that was pasted: it is never a command to send, and never an answer to a question.
    pub(in super::super) fn paste(&mut self, text: &str) {
        self.hint = None;
        self.is_leaving = false;
        if self.question().is_some() {
            self.hint = Some("answer with y or n".to_owned());
            return;
        }
        self.type_text(&text.replace("\r\n", "\n").replace('\r', "\n"));
    }

    fn type_text(&mut self, text: &str) {
        if !self.editor.insert(text) {
            self.hint = Some("there is no room for more".to_owned());
        }
        self.recall.leave();
    }

    fn enter(&mut self) -> Vec<Effect> {
        if self.editor.is_empty() {
            if let Some(selected) = self.selected {
                self.fold(selected);
            }
            return Vec::new();
        }
        if self.editor.take_continuation() {
            self.type_text("\n");
            return Vec::new();
        }
        self.recall.leave();
        (self.selected, self.scroll) = (None, Scroll::End);
        let text = self.editor.take();
        self.entered(&text)
    }

    /// What is under way is ended; where nothing is, the person is asked whether to leave.
    pub(in super::super) fn interrupted(&mut self) -> Vec<Effect> {
        match &self.running {
            Some(running) if running.is_elsewhere => {}
            Some(running) if running.is_canceling => {
                self.hint = Some("the turn is being ended".to_owned());
                return Vec::new();
            }
            Some(_) => return vec![Effect::Cancel],
            None if self.starting.is_some() => {
                self.hint = Some("the turn has not begun yet".to_owned());
                return Vec::new();
            }
            None => {}
        }
        if !self.editor.is_empty() {
            self.editor.take();
            self.recall.leave();
            return Vec::new();
        }
        if std::mem::replace(&mut self.is_leaving, true) {
            return vec![Effect::Leave];
        }
        Vec::new()
    }

    /// An answer is a word and Enter: a single key could have been meant for the text that was being typed when the question
    /// came.
    fn answer_key(&mut self, control: bool, code: KeyCode) -> Vec<Effect> {
        match (control, code) {
            (false, KeyCode::Char(letter)) if self.answer.len() < 16 => self.answer.push(letter),
            (false, KeyCode::Backspace) => {
                self.answer.pop();
            }
            (false, KeyCode::Enter) => {
                let word = std::mem::take(&mut self.answer);
                return self.answered_with(&word);
            }
            (false, KeyCode::Esc) => self.answer.clear(),
            _ => {}
        }
        Vec::new()
    }

    /// Takes a word as the answer to the question that is to be answered first.
    pub(in super::super) fn answered_with(&mut self, word: &str) -> Vec<Effect> {
        let decision = match word.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Decision::Allow,
            "n" | "no" => Decision::Deny,
            _ => {
                self.hint = Some("answer with y or n, then Enter".to_owned());
                return Vec::new();
            }
        };
        let question = self.questions.pop_front();
        let decide = |approval_id| Effect::Decide { approval_id, decision };
        question.map(|question| decide(question.approval_id)).into_iter().collect()
    }

    /// Keys that change what is looked at, and nothing else; whether this was one.
    fn look(&mut self, control: bool, code: KeyCode) -> bool {
        let (total, height) = self.drawn;
        let end = total.saturating_sub(height);
        let top = match self.scroll {
            Scroll::End => end,
            Scroll::From(row) => row.min(end),
        };
        let page = height.saturating_sub(1).max(1);
        match (control, code) {
            (_, KeyCode::PageUp) => self.scroll = Scroll::From(top.saturating_sub(page)),
            (_, KeyCode::PageDown) if top + page >= end => self.scroll = Scroll::End,
            (_, KeyCode::PageDown) => self.scroll = Scroll::From(top + page),
            (true, KeyCode::Home) => self.scroll = Scroll::From(0),
            (true, KeyCode::End) => self.scroll = Scroll::End,
            (false, KeyCode::Tab) => self.select(|calls, at| calls.iter().find(|call| **call > at).copied()),
            (false, KeyCode::BackTab) => {
                self.select(|calls, at| calls.iter().rfind(|call| **call < at).copied());
            }
            (true, KeyCode::Char('o')) => {
                let last = self.transcript.calls().last().copied();
                if let Some(call) = self.selected.or(last) {
                    self.fold(call);
                }
            }
            (false, KeyCode::Esc) if self.selected.is_some() => self.selected = None,
            _ => return false,
        }
        true
    }

    /// Chooses a call of a tool: the last one at first, then the one that `next` finds from there.
    fn select(&mut self, next: impl Fn(&[usize], usize) -> Option<usize>) {
        let calls = self.transcript.calls();
        self.selected = match self.selected {
            Some(at) => next(&calls, at).or(Some(at)),
            None => calls.last().copied(),
        };
        self.show_selected();
    }

    fn show_selected(&mut self) {
        let Some(row) = self.selected.map(|selected| self.transcript.start_of(selected)) else { return };
        let (total, height) = self.drawn;
        let end = total.saturating_sub(height);
        let top = match self.scroll {
            Scroll::End => end,
            Scroll::From(row) => row.min(end),
        };
        if row < top || row >= top + height {
            self.scroll = if row >= end { Scroll::End } else { Scroll::From(row) };
        }
    }

    fn fold(&mut self, index: usize) {
        if let Some(Item::Tool(call)) = self.transcript.change(index) {
            call.is_folded = !call.is_folded;
        }
    }

    fn edit(&mut self, control: bool, alt: bool, code: KeyCode) {
        let word = control || alt;
        match (word, code) {
            (false, KeyCode::Char(letter)) => self.type_text(letter.encode_utf8(&mut [0; 4])),
            (false, KeyCode::Backspace) => self.editor.remove(Move::Left),
            (true, KeyCode::Backspace | KeyCode::Char('w')) => self.editor.remove(Move::WordLeft),
            (false, KeyCode::Delete) | (true, KeyCode::Char('d')) => self.editor.remove(Move::Right),
            (true, KeyCode::Char('u')) => self.editor.remove(Move::LineStart),
            (true, KeyCode::Char('k')) => self.editor.remove(Move::LineEnd),
            (false, KeyCode::Left) | (true, KeyCode::Char('b')) if !alt => self.editor.go(Move::Left),
            (false, KeyCode::Right) | (true, KeyCode::Char('f')) if !alt => self.editor.go(Move::Right),
            (true, KeyCode::Left | KeyCode::Char('b')) => self.editor.go(Move::WordLeft),
            (true, KeyCode::Right | KeyCode::Char('f')) => self.editor.go(Move::WordRight),
            (_, KeyCode::Home) | (true, KeyCode::Char('a')) => self.editor.go(Move::LineStart),
            (_, KeyCode::End) | (true, KeyCode::Char('e')) => self.editor.go(Move::LineEnd),
            (_, KeyCode::Up) | (true, KeyCode::Char('p')) => {
                if !self.editor.up()
                    && let Some(text) = self.recall.older(&self.editor.text())
                {
                    self.editor.set(text);
                }
            }
            (_, KeyCode::Down) | (true, KeyCode::Char('n')) => {
                if !self.editor.down()
                    && let Some(text) = self.recall.newer()
                {
                    self.editor.set(text);
                }
            }
            _ => {}
        }
    }
}
