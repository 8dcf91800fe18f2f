//! The name of a run.

use std::fmt;
use std::str::FromStr;

use fullsend_guard::Clock;
use serde::{Deserialize, Serialize};
use uuid::{NoContext, Timestamp, Uuid};

/// The longest name of a run, in bytes. Names of runs are parts of file names, which end at 255.
const LONGEST: usize = 128;

/// The name of a run, which is also the name of its directory: nothing in it leads anywhere else.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

impl RunId {
    /// A name that nobody has, which sorts by the time.
    pub fn new(clock: &dyn Clock) -> Self {
        let now = clock.now();
        let seconds = u64::try_from(now.as_second()).unwrap_or_default();
        let nanoseconds = u32::try_from(now.subsec_nanosecond()).unwrap_or_default();
        Self(Uuid::new_v7(Timestamp::from_unix(NoContext, seconds, nanoseconds)).to_string())
    }

    /// The name of the `number`th run that this one starts.
    pub fn child(&self, number: u64) -> Result<Self, InvalidRunId> {
        format!("{self}.subagent.{number}").parse()
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RunId {
    type Err = InvalidRunId;

    fn from_str(text: &str) -> Result<Self, InvalidRunId> {
        Self::try_from(text.to_owned())
    }
}

impl TryFrom<String> for RunId {
    type Error = InvalidRunId;

    fn try_from(text: String) -> Result<Self, InvalidRunId> {
        let fits = !text.is_empty() && text.len() <= LONGEST && text.bytes().all(is_plain);
        if fits && text != "." && text != ".." { Ok(Self(text)) } else { Err(InvalidRunId(text)) }
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A name that no run can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` cannot name a run: use 1 to {LONGEST} of the characters A-Z a-z 0-9 . _ - and not `.` or `..`",
    .0.escape_debug().take(200).collect::<String>()
)]
pub struct InvalidRunId(pub String);

/// Whether a byte stands for itself in the names of files.
pub(super) const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}
