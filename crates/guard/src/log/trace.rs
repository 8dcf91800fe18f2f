//! The name of a run in everything that is recorded about it.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use uuid::Uuid;

/// The lengths of the groups of hexadecimal digits between hyphens.
const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

/// The name of a run: a UUID in lower case, safe to put on a command line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TraceId(String);

impl TraceId {
    /// A new random one.
    pub fn generate() -> Self {
        Self(Uuid::new_v4().to_string())
    }

    /// The text form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is a random UUID (version 4), as [`TraceId::generate`] makes them. Those adopted from other tracing
    /// systems need not be.
    pub fn is_v4(&self) -> bool {
        is_v4(&self.0)
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl FromStr for TraceId {
    type Err = NotATraceId;

    /// Takes a UUID of any version.
    fn from_str(text: &str) -> Result<Self, NotATraceId> {
        if is_shell_safe(text) { Ok(Self(text.to_owned())) } else { Err(NotATraceId) }
    }
}

/// Whether `text` is a UUID of any version in lower case, in which a shell sees nothing but a word.
pub fn is_shell_safe(text: &str) -> bool {
    let hexadecimal = |group: &str| group.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    text.len() == GROUPS.iter().sum::<usize>() + GROUPS.len() - 1
        && text.split('-').map(str::len).eq(GROUPS)
        && text.split('-').all(hexadecimal)
}

/// Whether `text` is a random UUID (version 4) in lower case.
pub fn is_v4(text: &str) -> bool {
    let digit = |at: usize| text.as_bytes().get(at).copied();
    is_shell_safe(text) && digit(14) == Some(b'4') && matches!(digit(19), Some(b'8' | b'9' | b'a' | b'b'))
}

/// A text that is not a UUID in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "a trace id is a UUID in lower case: groups of 8, 4, 4, 4 and 12 hexadecimal digits with hyphens between"
)]
pub struct NotATraceId;
