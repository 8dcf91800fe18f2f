//! What was said and done, in order, and the rows that it makes.
//!
//! The first two columns are ours: no text of a model, a tool or a file begins there, so none can pass for a line of ours.

mod shown;

use fullsend_chat::protocol::{ApprovalRequest, Decision, ToolRef, ToolStatus};

pub(super) use self::shown::lines;
use super::text::{Line, Row, Style};

/// Something that was said or done.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    /// By the person.
    Said(String),
    /// By the model; open while more of it comes.
    Answer { text: String, is_open: bool },
    /// A call of a tool.
    Tool(Call),
    /// A question to the person, and the answer with where it came from.
    Question { request: ApprovalRequest, answer: Option<(Decision, String)> },
    /// A remark of ours.
    Note(String),
    /// Something that went wrong.
    Problem(String),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) tool: ToolRef,
    pub(super) summary: String,
    /// What the subagent is that it started.
    pub(super) subagent: Option<String>,
    pub(super) end: Option<CallEnd>,
    pub(super) is_folded: bool,
}

/// How a call has ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CallEnd {
    pub(super) status: ToolStatus,
    pub(super) result: String,
    pub(super) diff: Option<String>,
    pub(super) reason: Option<String>,
}

impl Call {
    pub(super) fn new(tool: ToolRef, summary: String) -> Self {
        Self { tool, summary, subagent: None, end: None, is_folded: true }
    }
}

/// An item, and its rows at the width for which they were last asked.
#[derive(Debug)]
struct Entry {
    item: Item,
    rows: Vec<Row>,
    drawn_for: Option<usize>,
}

/// All items.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    entries: Vec<Entry>,
}

impl Transcript {
    pub(super) fn push(&mut self, item: Item) {
        self.entries.push(Entry { item, rows: Vec::new(), drawn_for: None });
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    pub(super) fn item(&self, index: usize) -> Option<&Item> {
        self.entries.get(index).map(|entry| &entry.item)
    }

    /// The item, to be changed.
    pub(super) fn change(&mut self, index: usize) -> Option<&mut Item> {
        let entry = self.entries.get_mut(index)?;
        entry.drawn_for = None;
        Some(&mut entry.item)
    }

    /// The last item of which something is true.
    pub(super) fn last(&self, is_wanted: impl Fn(&Item) -> bool) -> Option<usize> {
        self.entries.iter().rposition(|entry| is_wanted(&entry.item))
    }

    /// The calls of tools.
    pub(super) fn calls(&self) -> Vec<usize> {
        let calls = self.entries.iter().enumerate();
        calls.filter(|(_, entry)| matches!(entry.item, Item::Tool(_))).map(|(index, _)| index).collect()
    }

    /// The lines of an item.
    pub(super) fn lines(&self, index: usize) -> Vec<Line> {
        let lines = self.item(index).map(lines).unwrap_or_default();
        let gap = self.is_apart(index).then(Line::default);
        gap.into_iter().chain(lines).collect()
    }

    /// Whether a blank line stands before an item. Calls that follow each other stay together.
    fn is_apart(&self, index: usize) -> bool {
        let before = index.checked_sub(1).and_then(|before| self.item(before));
        let is_call = |item: &Item| matches!(item, Item::Tool(_));
        before.is_some_and(|before| !(is_call(before) && self.item(index).is_some_and(is_call)))
    }

    /// Makes all rows for a width, and returns how many there are.
    pub(super) fn lay_out(&mut self, width: usize) -> usize {
        for index in 0..self.entries.len() {
            let is_drawn = self.entries.get(index).is_some_and(|entry| entry.drawn_for == Some(width));
            if !is_drawn {
                let rows = self.lines(index).iter().flat_map(|line| line.rows(width)).collect();
                if let Some(entry) = self.entries.get_mut(index) {
                    (entry.rows, entry.drawn_for) = (rows, Some(width));
                }
            }
        }
        self.entries.iter().map(|entry| entry.rows.len()).sum()
    }

    /// Rows that were made: `count` of them after `skip`. The selected item stands out.
    pub(super) fn rows(&self, skip: usize, count: usize, selected: Option<usize>) -> Vec<Row> {
        let highlight = Style { reverse: true, ..Style::PLAIN };
        let all = self.entries.iter().enumerate().flat_map(|(index, entry)| {
            let head = usize::from(self.is_apart(index));
            let is_selected = selected == Some(index);
            entry.rows.iter().enumerate().map(move |(at, row)| (row, is_selected && at == head))
        });
        let styled = |(row, stands_out): (&Row, bool)| match stands_out {
            true => row.clone().styled(highlight),
            false => row.clone(),
        };
        all.skip(skip).take(count).map(styled).collect()
    }

    /// In which row an item begins.
    pub(super) fn start_of(&self, index: usize) -> usize {
        let before: usize = self.entries.iter().take(index).map(|entry| entry.rows.len()).sum();
        before + usize::from(self.is_apart(index))
    }
}

#[cfg(test)]
mod tests;
