//! One entry of the log: its members, its line and its hash.

use std::fmt::{self, Write as _};

use fullsend_origin::digest::Sha256Hasher;
use serde::{Deserialize, Serialize};

use super::rules::LOG_SEALED;
use crate::hook::{Action, HookPhase};
use crate::severity::Severity;

/// The hash before the first entry.
pub const SEED: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// When in a run something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// In what the host hands to the agent.
    HostInput,
    /// In the files of the sandbox, before the agent starts.
    SandboxContext,
    /// In a tool call.
    #[serde(rename = "hook_pretool")]
    HookPreTool,
    /// In the output of a tool.
    #[serde(rename = "hook_posttool")]
    HookPostTool,
    /// In what the agent delivers.
    HostOutput,
    /// About the log itself.
    FindingsLog,
}

impl Phase {
    /// The name in the log.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HostInput => "host_input",
            Self::SandboxContext => "sandbox_context",
            Self::HookPreTool => "hook_pretool",
            Self::HookPostTool => "hook_posttool",
            Self::HostOutput => "host_output",
            Self::FindingsLog => "findings_log",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl From<HookPhase> for Phase {
    fn from(phase: HookPhase) -> Self {
        match phase {
            HookPhase::PreTool => Self::HookPreTool,
            HookPhase::PostTool => Self::HookPostTool,
        }
    }
}

/// What an entry says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Entry {
    /// The run it belongs to.
    pub trace_id: String,
    /// When it was written: RFC 3339, whole seconds, UTC.
    pub timestamp: String,
    /// When in the run.
    pub phase: Phase,
    /// Which check found it.
    pub scanner: String,
    /// Under which rule.
    pub rule: String,
    /// How bad it is.
    pub severity: Severity,
    /// What was found, in words.
    pub detail: String,
    /// The first byte of it; -1 when it is about the whole.
    pub position: i64,
    /// What was done about it.
    pub action: Option<Action>,
    /// The tool whose call or output it was found in.
    pub tool: Option<String>,
    /// The file it was found in.
    pub path: Option<String>,
}

impl Entry {
    /// The hash that chains the entry to the one whose hash is `prev_hash`.
    ///
    /// It is the SHA-256, in hexadecimal, of that hash and a JSON object: trace id, timestamp, phase, then `Scanner`,
    /// `Name`, `Severity`, `Detail` and `Position`, then action, tool and path where there are any. The number of the entry
    /// needs no place in it, since the chain itself fixes the order.
    pub fn hash(&self, prev_hash: &str) -> String {
        let mut canonical = String::with_capacity(256 + self.detail.len());
        let mut object = Object::new(&mut canonical);
        object.text("trace_id", &self.trace_id);
        object.text("timestamp", &self.timestamp);
        object.text("phase", self.phase.as_str());
        object.text("Scanner", &self.scanner);
        object.text("Name", &self.rule);
        object.text("Severity", self.severity.as_str());
        object.text("Detail", &self.detail);
        object.number("Position", self.position);
        self.extras(&mut object);
        object.end();
        let mut hasher = Sha256Hasher::new();
        hasher.update(prev_hash.as_bytes());
        hasher.update(canonical.as_bytes());
        hasher.finish().to_string()
    }

    /// Whether this closes a log.
    pub fn is_seal(&self) -> bool {
        self.scanner == LOG_SEALED.scanner.as_str() && self.rule == LOG_SEALED.id
    }

    fn extras(&self, object: &mut Object<'_>) {
        let action = self.action.map(Action::as_str);
        for (name, value) in
            [("action", action), ("tool", self.tool.as_deref()), ("path", self.path.as_deref())]
        {
            if let Some(value) = value {
                object.text(name, value);
            }
        }
    }
}

/// An entry in its place in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chained {
    /// How many entries are before it.
    pub seq: u64,
    /// What it says.
    pub entry: Entry,
    /// The hash of the entry before it, or [`SEED`].
    pub prev_hash: String,
    /// Its own hash.
    pub hash: String,
}

impl Chained {
    /// Puts `entry` behind the one with `prev_hash`.
    pub fn new(seq: u64, entry: Entry, prev_hash: String) -> Self {
        let hash = entry.hash(&prev_hash);
        Self { seq, entry, prev_hash, hash }
    }

    /// Reads a line without its end. Whether it is the line that would have been written is for the caller to compare:
    /// reading forgives spaces, order and members that are not known.
    pub fn read(line: &[u8]) -> Result<Self, serde_json::Error> {
        let Members { seq, entry, prev_hash, hash } = serde_json::from_slice(line)?;
        Ok(Self { seq, entry, prev_hash, hash })
    }

    /// The line, with its end.
    pub fn line(&self) -> String {
        let entry = &self.entry;
        let mut line = String::with_capacity(512 + entry.detail.len());
        let mut object = Object::new(&mut line);
        object.number("seq", self.seq);
        object.text("trace_id", &entry.trace_id);
        object.text("timestamp", &entry.timestamp);
        object.text("phase", entry.phase.as_str());
        object.text("scanner", &entry.scanner);
        object.text("rule", &entry.rule);
        object.text("severity", entry.severity.as_str());
        object.text("detail", &entry.detail);
        object.number("position", entry.position);
        entry.extras(&mut object);
        object.text("prev_hash", &self.prev_hash);
        object.text("hash", &self.hash);
        object.end();
        line.push('\n');
        line
    }
}

/// The members of a line.
#[derive(Deserialize)]
struct Members {
    seq: u64,
    #[serde(flatten)]
    entry: Entry,
    prev_hash: String,
    hash: String,
}

/// Writes a JSON object in the one spelling that is hashed.
struct Object<'a> {
    out: &'a mut String,
    separator: char,
}

impl<'a> Object<'a> {
    fn new(out: &'a mut String) -> Self {
        Self { out, separator: '{' }
    }

    fn name(&mut self, name: &str) {
        let separator = std::mem::replace(&mut self.separator, ',');
        let _infallible = write!(self.out, "{separator}\"{name}\":");
    }

    fn number(&mut self, name: &str, value: impl fmt::Display) {
        self.name(name);
        let _infallible = write!(self.out, "{value}");
    }

    fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        self.out.push('"');
        for character in value.chars() {
            self.character(character);
        }
        self.out.push('"');
    }

    /// Escapes what JSON asks for, and what a page or a script that shows the log could take for markup or a line end.
    fn character(&mut self, character: char) {
        match character {
            '"' => self.out.push_str("\\\""),
            '\\' => self.out.push_str("\\\\"),
            '\n' => self.out.push_str("\\n"),
            '\r' => self.out.push_str("\\r"),
            '\t' => self.out.push_str("\\t"),
            '\u{8}' => self.out.push_str("\\b"),
            '\u{c}' => self.out.push_str("\\f"),
            '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _infallible = write!(self.out, "\\u{:04x}", u32::from(character));
            }
            plain => self.out.push(plain),
        }
    }

    fn end(self) {
        self.out.push('}');
    }
}
