//! What goes on beside the loop of a run, and belongs on its record.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fullsend_guard::Clock;
use serde_json::{Map, Value};

use super::error::StoreError;
use super::journal::Journal;
use super::row::Row;
use super::subagent::SubagentRun;
use super::time;
use crate::sources::Sources;

/// Puts on record what happens beside the loop: how the runs stand that this one has started, and what they do to files.
/// Nothing of it refers to other rows, so that it may come between any two.
#[derive(Clone, Debug)]
pub struct Recorder {
    journal: Arc<Mutex<Journal>>,
    clock: Arc<dyn Clock>,
}

impl Recorder {
    pub(super) fn new(journal: Arc<Mutex<Journal>>, clock: Arc<dyn Clock>) -> Self {
        Self { journal, clock }
    }

    /// Writes down how a run stands. When this fails, what is announced must not happen.
    pub fn subagent(&self, run: &SubagentRun) -> Result<(), StoreError> {
        let row = Row::Subagent(Box::new(run.clone()));
        lock(&self.journal).append(&time::now(&*self.clock), &row)?;
        Ok(())
    }

    /// Writes down what a runtime is about to be told of a command. When this fails, the command must not run.
    pub(crate) fn invocation_context(&self, context: &Map<String, Value>) -> Result<(), StoreError> {
        let row = Row::InvocationContext { context: context.clone() };
        lock(&self.journal).append(&time::now(&*self.clock), &row)?;
        Ok(())
    }

    /// Writes down what is new about files, whoever learned it. Several loops may ask at once.
    pub(super) fn keep_sources(&self, sources: &Sources) -> Result<(), StoreError> {
        let mut journal = lock(&self.journal);
        for row in sources.rows_after(journal.facts) {
            journal.append(&time::now(&*self.clock), &row)?;
            journal.facts += 1;
        }
        Ok(())
    }

    /// The clock that rows are dated by.
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }
}

/// Rows are whole or not there at all, also after a panic.
pub(super) fn lock(journal: &Mutex<Journal>) -> MutexGuard<'_, Journal> {
    journal.lock().unwrap_or_else(PoisonError::into_inner)
}
