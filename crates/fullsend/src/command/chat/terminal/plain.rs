//! The chat on a terminal that can only print: every line once, as soon as it is complete.

use super::state::Chat;
use super::text::clean;
use super::transcript::{self, Call, Item};

/// What of a chat was printed already.
#[derive(Debug, Default)]
pub(super) struct Printed {
    epoch: u64,
    items: usize,
    /// How much of the answer that is still coming, in bytes.
    of_answer: usize,
    /// Whether the person has typed something since: what was said then stands on the terminal already.
    has_typed: bool,
    /// The request to type something, if that was the last thing printed.
    asking: Option<String>,
}

impl Printed {
    /// The person has ended a line.
    pub(super) fn was_typed(&mut self) {
        self.has_typed = true;
        self.asking = None;
    }

    /// What is to be printed next; `begun` is the text to which the next line will be added.
    pub(super) fn news(&mut self, chat: &mut Chat, begun: &str) -> String {
        if self.epoch != chat.epoch() {
            *self = Self { epoch: chat.epoch(), ..Self::default() };
        }
        let mut text = String::new();
        while let Some(item) = chat.transcript().item(self.items) {
            match item {
                Item::Answer { text: answer, is_open } => {
                    self.answer(answer, &mut text);
                    if *is_open {
                        break;
                    }
                    text.push('\n');
                    self.of_answer = 0;
                }
                // It is told when it has ended.
                Item::Tool(Call { end: None, .. }) if chat.is_busy() => break,
                Item::Said(_) if self.has_typed => {}
                Item::Said(_) | Item::Question { .. } | Item::Tool(_) | Item::Note(_) | Item::Problem(_) => {
                    text.push_str(&whole(item));
                }
            }
            self.items += 1;
        }
        if let Some(hint) = chat.take_hint() {
            text.push_str(&format!("· {hint}\n"));
        }
        let asked = asked(chat, begun);
        let is_asked_anew = asked.is_some() && asked != self.asking;
        if text.is_empty() && !is_asked_anew {
            return text;
        }
        // Ours begins in a line of its own.
        if self.asking.take().is_some() {
            text.insert(0, '\n');
        }
        text.push_str(asked.as_deref().unwrap_or_default());
        self.asking = asked;
        text
    }

    /// The next piece of an answer, moved away from where our own lines begin.
    fn answer(&mut self, answer: &str, text: &mut String) {
        if self.of_answer > answer.len() {
            text.push_str("\n· The model was asked again.\n");
            self.of_answer = 0;
        }
        let piece = answer.get(self.of_answer..).unwrap_or_default();
        if self.of_answer == 0 && !piece.is_empty() {
            text.push_str("  ");
        }
        let lines: Vec<String> = piece.split('\n').map(clean).collect();
        text.push_str(&lines.join("\n  "));
        self.of_answer = answer.len();
    }
}

/// What a person is asked to type, if anything can be.
fn asked(chat: &Chat, begun: &str) -> Option<String> {
    if chat.is_leaving() {
        return Some("? Leave the chat? y/n ".to_owned());
    }
    if let Some(question) = chat.question() {
        return Some(format!("? Allow {} as shown above? y/n ", clean(&question.tool.tool_id)));
    }
    let prompt = if begun.is_empty() { "> " } else { "  " };
    (!chat.is_busy()).then(|| prompt.to_owned())
}

/// All lines of an item; nothing is folded where nothing can be unfolded.
fn whole(item: &Item) -> String {
    let mut item = item.clone();
    if let Item::Tool(call) = &mut item {
        call.is_folded = false;
    }
    let lines = transcript::lines(&item);
    lines.into_iter().map(|line| format!("{}\n", line.plain().trim_end())).collect()
}
