//! Everything that happened in a run, as lines of JSON: what `fullsend runs show` tells a story from.
//!
//! What the model thinks and says is not in it, only in the runtime's own stream. Secrets are masked.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use fullsend_guard::{Checks, Clock, Pipeline};
use fullsend_runtimes::RuntimeEvent;
use serde::Serialize;

use crate::durable;
use crate::event::Event;

/// Writes `events.jsonl`.
#[derive(Debug)]
pub struct EventLog {
    file: File,
    masks: Pipeline,
    clock: Arc<dyn Clock>,
}

#[derive(Serialize)]
struct Line<'e> {
    at: String,
    #[serde(flatten)]
    event: &'e Event,
}

impl EventLog {
    /// Begins the log at `path`, where nothing may be yet. What `checks` find in output is masked.
    pub fn create(path: &Path, checks: &Checks, clock: Arc<dyn Clock>) -> io::Result<Self> {
        Ok(Self { file: durable::create_new(path)?, masks: checks.output(), clock })
    }

    /// Masks what these checks find from now on.
    pub fn mask(&mut self, checks: &Checks) {
        self.masks = checks.output();
    }

    /// Adds a line, in one piece.
    pub fn write(&mut self, event: &Event) -> io::Result<()> {
        if let Event::Runtime { event: RuntimeEvent::Thinking { .. } | RuntimeEvent::Text { .. }, .. } = event
        {
            return Ok(());
        }
        let at = self.clock.now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        let line = serde_json::to_string(&Line { at, event })?;
        // String by string: the line stays JSON.
        let mut line = self.masks.run(&line).sanitized.unwrap_or(line);
        line.push('\n');
        self.file.write_all(line.as_bytes())
    }
}
