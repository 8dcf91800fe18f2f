//! The chat on a terminal that can only print: every line once, as soon as it is complete.

use super::state::Chat;
use super::text::{Breaks, clean};
use super::transcript::{Call, Item};

/// What of a chat was printed already.
#[derive(Debug, Default)]
pub(super) struct Printed {
    items: usize,
    /// How much of the answer that is still coming, in bytes.
    of_answer: usize,
}

impl Printed {
    /// Begins again, with a chat that is another one now.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// What is to be printed next.
    pub(super) fn news(&mut self, chat: &Chat) -> String {
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
                Item::Tool(Call { end: None, .. }) => break,
                // The person has just typed it.
                Item::Said(_) => {}
                Item::Question { answer: Some(_), .. }
                | Item::Question { answer: None, .. }
                | Item::Tool(_)
                | Item::Note(_)
                | Item::Problem(_) => {
                    text.push_str(&whole(item));
                }
            }
            self.items += 1;
        }
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

/// All lines of an item; nothing is folded where nothing can be unfolded.
fn whole(item: &Item) -> String {
    let mut item = item.clone();
    if let Item::Tool(call) = &mut item {
        call.is_folded = false;
    }
    let lines = super::transcript::lines(&item);
    lines
        .into_iter()
        .map(|line| format!("{}\n", line.breaking(Breaks::Anywhere).plain().trim_end()))
        .collect()
}
