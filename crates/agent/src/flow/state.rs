//! What a run must remember of its flows. All of it follows from the journal.

use std::collections::BTreeMap;

use fullsend_flow::{GrantLedger, Label, LabelId, LabelTable};

use crate::store::Row;

/// Something that is kept from the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handle {
    /// The tool whose result it is.
    pub tool: String,
    /// Where the result came from.
    pub label: LabelId,
}

/// What a run must remember of its flows: the same whether it is kept up row by row or read from a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowState {
    ledger: GrantLedger,
    handles: BTreeMap<String, Handle>,
    inspected: u64,
    context: Label,
}

impl Default for FlowState {
    fn default() -> Self {
        Self {
            ledger: GrantLedger::default(),
            handles: BTreeMap::new(),
            inspected: 0,
            context: Label::bottom(),
        }
    }
}

impl FlowState {
    /// How often each exception was used.
    pub fn ledger(&self) -> &GrantLedger {
        &self.ledger
    }

    /// What is kept from the model under this name.
    pub fn handle(&self, id: &str) -> Option<&Handle> {
        self.handles.get(id)
    }

    /// The names of all that is kept from the model.
    pub fn handles(&self) -> impl Iterator<Item = &str> {
        self.handles.keys().map(String::as_str)
    }

    /// How many bytes of hidden values the model has looked at.
    pub fn inspected(&self) -> u64 {
        self.inspected
    }

    /// The label of all that the model has seen.
    pub fn context(&self) -> &Label {
        &self.context
    }

    /// Takes notice of a message with this label.
    pub(crate) fn saw(&mut self, label: &Label) {
        if self.context.join(label) != self.context {
            self.context = self.context.join(label);
        }
    }

    /// Takes notice of a row, which may refer to labels of this table.
    pub fn see(&mut self, row: &Row, labels: &LabelTable) {
        match row {
            Row::CallStarted { grants, .. } => {
                for grant in grants {
                    self.ledger.charge(grant);
                }
            }
            Row::Hidden { output_id, tool, label, .. } => {
                self.handles.insert(output_id.clone(), Handle { tool: tool.clone(), label: *label });
            }
            Row::Inspected { bytes, .. } => self.inspected = self.inspected.saturating_add(*bytes),
            Row::Message { label, .. } => {
                // A number that is in no table is refused by whoever reads the journal.
                if let Ok(label) = labels.get(*label) {
                    self.saw(label);
                }
            }
            Row::Started { .. }
            | Row::Resumed { .. }
            | Row::Label { .. }
            | Row::Opened
            | Row::PolicySnapshot { .. }
            | Row::ModelAttempt { .. }
            | Row::Usage { .. }
            | Row::CallFinished(_)
            | Row::Decision(_)
            | Row::PolicyEvent(_)
            | Row::Failure(_)
            | Row::Cwd { .. }
            | Row::SkillActivated { .. }
            | Row::SkillRead { .. }
            | Row::SkillExecuted { .. }
            | Row::Subagent(_)
            | Row::Provenance(_)
            | Row::InvocationContext { .. }
            | Row::Ended(_) => {}
        }
    }
}
