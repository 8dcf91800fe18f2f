//! Calls put together from pieces.

use std::collections::{HashMap, HashSet};

use crate::conversation::{Conversation, Message, ToolCall};

use super::chunk::{CallDelta, FunctionDelta, number, object, text};

/// More calls than this in one answer are an attack or a loop.
pub(super) const MAX_CALLS: usize = 4096;

/// The longest id that is kept, in bytes. Results carry it, and so does every row of the record about the call.
const LONGEST_ID: usize = 256;
/// The longest name that is kept, in characters. No tool has one that is as long.
const LONGEST_NAME: usize = 256;

/// There are more calls than make sense.
#[derive(Debug)]
pub(super) struct TooManyCalls;

/// A call under way.
#[derive(Debug, Default)]
struct Draft {
    id: String,
    name: String,
    arguments: String,
}

/// The calls of an answer under way, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls {
    drafts: Vec<Draft>,
    by_index: HashMap<u64, usize>,
    by_id: HashMap<String, usize>,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.drafts.is_empty()
    }

    /// Takes a piece.
    pub(super) fn take(&mut self, piece: &CallDelta<'_>) -> Result<(), TooManyCalls> {
        let function: FunctionDelta<'_> = object(piece.function);
        let id = text(piece.id).unwrap_or_default();
        self.take_function(number(piece.index), &id, &function)
    }

    /// Takes a piece of a call in the form that had room for one call only.
    pub(super) fn take_legacy(&mut self, function: &FunctionDelta<'_>) -> Result<(), TooManyCalls> {
        self.take_function(Some(0), "", function)
    }

    fn take_function(
        &mut self,
        index: Option<u64>,
        id: &str,
        function: &FunctionDelta<'_>,
    ) -> Result<(), TooManyCalls> {
        let name = text(function.name).unwrap_or_default();
        let arguments = function.arguments;
        if id.is_empty() && name.is_empty() && arguments.is_none() {
            return Ok(());
        }
        let known = match index {
            Some(index) => self.by_index.get(&index).copied(),
            None if !id.is_empty() => self.by_id.get(id).copied(),
            None => self.drafts.len().checked_sub(1),
        };
        let slot = match known.filter(|slot| self.continues(*slot, id, &name)) {
            Some(slot) => slot,
            None => self.begin(index, id)?,
        };
        let Some(draft) = self.drafts.get_mut(slot) else { return Ok(()) };
        if draft.id.is_empty() && !id.is_empty() {
            id.clone_into(&mut draft.id);
            self.by_id.entry(id.to_owned()).or_insert(slot);
        }
        if draft.name.is_empty() {
            draft.name = name.into_owned();
        }
        match text(arguments) {
            Some(more) => draft.arguments.push_str(&more),
            // Some servers send the arguments themselves instead of their text.
            None => draft.arguments.push_str(arguments.map_or("", |raw| raw.get())),
        }
        Ok(())
    }

    /// Whether a piece belongs to a call that has begun. Servers that do not number calls give all of them the same index,
    /// or none, and then another id or another name is the only sign of another call.
    fn continues(&self, slot: usize, id: &str, name: &str) -> bool {
        let Some(draft) = self.drafts.get(slot) else { return false };
        if !id.is_empty() && !draft.id.is_empty() {
            return id == draft.id;
        }
        name.is_empty() || draft.name.is_empty() || draft.name == name && !draft.arguments.ends_with('}')
    }

    fn begin(&mut self, index: Option<u64>, id: &str) -> Result<usize, TooManyCalls> {
        let slot = self.drafts.len();
        if slot == MAX_CALLS {
            return Err(TooManyCalls);
        }
        self.drafts.push(Draft::default());
        if let Some(index) = index {
            self.by_index.insert(index, slot);
        }
        if !id.is_empty() {
            self.by_id.insert(id.to_owned(), slot);
        }
        Ok(slot)
    }

    /// The calls, each with an id that no other call of the conversation has: results are matched by it.
    pub(super) fn finish(self, conversation: &Conversation) -> Vec<ToolCall> {
        if self.drafts.is_empty() {
            return Vec::new();
        }
        let mut taken: HashSet<String> = HashSet::new();
        for message in conversation.messages() {
            if let Message::Assistant(said) = message {
                taken.extend(said.tool_calls.iter().map(|call| call.id.clone()));
            }
        }
        let turn = conversation.messages().len();
        let mut calls = Vec::with_capacity(self.drafts.len());
        for (position, draft) in self.drafts.into_iter().enumerate() {
            let unusable = draft.id.is_empty() || draft.id.len() > LONGEST_ID;
            let id = if unusable || taken.contains(&draft.id) {
                made_up(turn, position, &taken)
            } else {
                draft.id
            };
            taken.insert(id.clone());
            let arguments = if draft.arguments.trim().is_empty() { "{}".to_owned() } else { draft.arguments };
            calls.push(ToolCall { id, name: cut(draft.name), arguments });
        }
        calls
    }
}

/// A name that is not too long to be repeated.
fn cut(name: String) -> String {
    match name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => name.get(..end).unwrap_or_default().to_owned(),
        None => name,
    }
}

/// The same id for the same place of a conversation each time.
fn made_up(turn: usize, position: usize, taken: &HashSet<String>) -> String {
    let mut id = format!("call_{turn}_{position}");
    while taken.contains(&id) {
        id.push('x');
    }
    id
}
