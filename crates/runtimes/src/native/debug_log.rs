//! The debug log of the built-in agent: when what was asked, answered and called. What was said is in the journal; here is
//! nothing that could be a secret.

use std::fmt::Arguments;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Instant;

use fullsend_agent::event::Event;
use fullsend_guard::hook::Runtime;
use fullsend_guard::{Clock as _, SystemClock};

use crate::runtime::{RuntimeError, Wanted};

/// The longest name of a tool that is written; models make names up.
const LONGEST_NAME: usize = 100;

/// What the log is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Topics {
    model: bool,
    tools: bool,
}

/// The log of one iteration.
#[derive(Debug)]
pub(super) struct DebugLog {
    file: BufWriter<File>,
    topics: Topics,
    start: Instant,
}

/// Refuses a filter that names something else.
pub(super) fn check(runtime: Runtime, wanted: &Wanted) -> Result<(), RuntimeError> {
    wanted.debug.as_deref().map_or(Ok(()), |filter| topics(runtime, filter).map(drop))
}

/// What a filter names: `*`, or some of `model` and `tools`.
fn topics(runtime: Runtime, filter: &str) -> Result<Topics, RuntimeError> {
    let mut topics = Topics { model: false, tools: false };
    for word in filter.split(',').map(str::trim) {
        match word {
            "*" => topics = Topics { model: true, tools: true },
            "model" => topics.model = true,
            "tools" => topics.tools = true,
            other => {
                return Err(RuntimeError::Unsupported {
                    runtime: runtime.as_str(),
                    problem: format!(
                        "has no debug log of `{}`; use `--debug`, or `--debug=` with `model`, `tools`, or both",
                        other.escape_debug()
                    ),
                });
            }
        }
    }
    Ok(topics)
}

impl DebugLog {
    /// The log that is asked for, if one is.
    pub(super) fn open(runtime: Runtime, wanted: &Wanted, path: &Path) -> Result<Option<Self>, RuntimeError> {
        let Some(filter) = &wanted.debug else { return Ok(None) };
        let topics = topics(runtime, filter)?;
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
        let failed = |source| RuntimeError::Io { doing: format!("write `{}`", path.display()), source };
        let mut log = Self { file: BufWriter::new(file.map_err(failed)?), topics, start: Instant::now() };
        log.line(format_args!("start {} {}", SystemClock.now(), runtime.as_str()));
        Ok(Some(log))
    }

    /// Writes down what the loop tells.
    pub(super) fn hear(&mut self, event: &Event<'_>) {
        let Topics { model, tools } = self.topics;
        match event {
            Event::TurnBegan { turn, budget } if model => {
                let tokens = budget.usage().input_tokens.unwrap_or_default();
                self.line(format_args!("request turn={turn} input_tokens_so_far={tokens}"));
            }
            Event::Restarted if model => self.line(format_args!("request again")),
            Event::Answered { content, calls } if model => {
                self.line(format_args!("answer text_bytes={} calls={}", content.len(), calls.len()));
            }
            Event::CallBegan { call } if tools => {
                let (name, bytes) = (named(&call.name), call.arguments.len());
                self.line(format_args!("call tool={name} argument_bytes={bytes}"));
            }
            Event::CallEnded { call, done, .. } if tools => {
                self.line(format_args!("result tool={} done={done}", named(&call.name)));
            }
            Event::Denied { call, by, .. } if tools => {
                self.line(format_args!("denied tool={} by={by:?}", named(&call.name)));
            }
            Event::TurnBegan { .. }
            | Event::Denied { .. }
            | Event::Text(_)
            | Event::Reasoning(_)
            | Event::Restarted
            | Event::Answered { .. }
            | Event::CallBegan { .. }
            | Event::CallEnded { .. }
            | Event::Told { .. } => {}
        }
    }

    /// Writes how it ended.
    pub(super) fn end(mut self, word: &str) {
        self.line(format_args!("end {word}"));
    }

    /// One line with the time since the start. It is flushed, so that the log of what hangs or dies says where.
    fn line(&mut self, what: Arguments<'_>) {
        let since = self.start.elapsed().as_secs_f64();
        let _nothing_depends_on_it =
            writeln!(self.file, "{since:10.3}s {what}").and_then(|()| self.file.flush());
    }
}

fn named(name: &str) -> String {
    name.escape_debug().take(LONGEST_NAME).collect()
}
