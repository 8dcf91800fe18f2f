//! The W3C trace context: what a run is part of, and what is part of it.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A `traceparent` of another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceParent {
    /// 32 hexadecimal digits.
    pub trace_id: String,
    /// 16 hexadecimal digits.
    pub span_id: String,
    /// Whether the other program keeps the trace.
    pub sampled: bool,
    /// What `TRACESTATE` says, handed on as it is.
    pub state: Option<String>,
}

/// A text that is no `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "not a W3C traceparent: version, trace id, span id and flags in lower-case hexadecimal with `-` between"
)]
pub struct NotATraceParent;

impl FromStr for TraceParent {
    type Err = NotATraceParent;

    fn from_str(text: &str) -> Result<Self, NotATraceParent> {
        let mut parts = text.trim().split('-');
        let mut part = |length: usize| {
            let part = parts.next().filter(|part| part.len() == length && part.bytes().all(is_hexadecimal));
            part.ok_or(NotATraceParent)
        };
        let (version, trace_id, span_id, flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
        let zeros = |text: &str| text.bytes().all(|byte| byte == b'0');
        // Later versions may have more parts; this one has not.
        let surplus = version == "00" && parts.next().is_some();
        if version == "ff" || surplus || zeros(trace_id) || zeros(span_id) {
            return Err(NotATraceParent);
        }
        let sampled = u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1);
        Ok(Self { trace_id: trace_id.to_owned(), span_id: span_id.to_owned(), sampled, state: None })
    }
}

fn is_hexadecimal(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

impl fmt::Display for TraceParent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "00-{}-{}-{:02x}", self.trace_id, self.span_id, u8::from(self.sampled))
    }
}

impl TraceParent {
    /// What the variables `TRACEPARENT` and `TRACESTATE` say; none when the first is missing or wrong.
    pub fn adopt(traceparent: Option<&str>, tracestate: Option<&str>) -> Option<Self> {
        let mut parent: Self = traceparent?.parse().ok()?;
        let short = |state: &&str| {
            !state.is_empty() && state.len() <= 512 && state.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        };
        parent.state = tracestate.map(str::trim).filter(short).map(str::to_owned);
        Some(parent)
    }
}
