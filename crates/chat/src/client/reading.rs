//! Reads what a service says, line by line, and never more of a line than is allowed.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};

use super::waiting::Waiting;
use super::{ConnectionError, LONGEST_LINE};
use crate::protocol::{ChatError, EVENT, EventEnvelope, PROTOCOL_VERSION, RESPONSE};

/// What every line has.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Heading<'a> {
    #[serde(rename = "type", borrow)]
    tag: Cow<'a, str>,
    protocol_version: u32,
}

/// An answer whose result is read by who knows its form.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reply {
    request_id: Option<String>,
    ok: bool,
    #[serde(default)]
    result: Option<Box<RawValue>>,
    #[serde(default)]
    error: Option<ChatError>,
}

/// Reads until the service ends or says something that it must not say.
pub(super) async fn read<R: AsyncRead + Unpin>(reader: R, waiting: Arc<Waiting>) {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    let mut heard = Heard { line: 0, sequence: 0 };
    let why = loop {
        waiting.room().await;
        if let Err(why) = next_line(&mut reader, &mut line, heard.line).await {
            break why;
        }
        if let Err(why) = heard.take(&line, &waiting) {
            break why;
        }
    };
    waiting.end(why);
}

/// The next line without its end. The buffer is kept from line to line, unless a long one has made it large.
async fn next_line<R: AsyncRead + Unpin>(
    reader: &mut BufReader<R>,
    line: &mut Vec<u8>,
    before: u64,
) -> Result<(), ConnectionError> {
    const KEPT: usize = 1 << 20;
    line.clear();
    line.shrink_to(KEPT);
    let most = u64::try_from(LONGEST_LINE).unwrap_or(u64::MAX).saturating_add(1);
    let read = reader.take(most).read_until(b'\n', line).await;
    read.map_err(|error| ConnectionError::Read(Arc::new(error)))?;
    if line.pop_if(|byte| *byte == b'\n').is_some() {
        line.pop_if(|byte| *byte == b'\r');
        return Ok(());
    }
    Err(match line.len() {
        0 => ConnectionError::Ended,
        bytes if bytes > LONGEST_LINE => ConnectionError::TooLong { line: before.saturating_add(1) },
        bytes => ConnectionError::CutOff { bytes },
    })
}

/// How far the service was heard.
struct Heard {
    line: u64,
    sequence: u64,
}

impl Heard {
    fn take(&mut self, line: &[u8], waiting: &Waiting) -> Result<(), ConnectionError> {
        self.line = self.line.saturating_add(1);
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let heading: Heading<'_> = serde_json::from_slice(line).map_err(|error| self.no_protocol(error))?;
        if heading.protocol_version != PROTOCOL_VERSION {
            let version = heading.protocol_version;
            return Err(self.no_protocol(format!("its version is {version}, not {PROTOCOL_VERSION}")));
        }
        match &*heading.tag {
            EVENT => self.event(line, waiting),
            RESPONSE => self.reply(line, waiting),
            other => Err(self.no_protocol(format!("its type is {other:?}, not {EVENT:?} or {RESPONSE:?}"))),
        }
    }

    fn event(&mut self, line: &[u8], waiting: &Waiting) -> Result<(), ConnectionError> {
        let event: EventEnvelope = serde_json::from_slice(line).map_err(|error| self.no_protocol(error))?;
        let sequence = event.sequence;
        if sequence <= self.sequence {
            let (line, previous) = (self.line, self.sequence);
            return Err(ConnectionError::OutOfOrder { line, previous, sequence });
        }
        self.sequence = sequence;
        waiting.tell(event);
        Ok(())
    }

    fn reply(&self, line: &[u8], waiting: &Waiting) -> Result<(), ConnectionError> {
        let reply: Reply = serde_json::from_slice(line).map_err(|error| self.no_protocol(error))?;
        let answer = match (reply.ok, reply.result, reply.error) {
            (true, Some(result), None) => Ok(result),
            (false, None, Some(error)) => Err(error.into()),
            (true, ..) => return Err(self.no_protocol("an answer that is ok has a result and no error")),
            (false, ..) => {
                return Err(self.no_protocol("an answer that is not ok has an error and no result"));
            }
        };
        let unasked = || ConnectionError::Unasked { line: self.line, request_id: reply.request_id.clone() };
        let id = reply.request_id.as_deref().ok_or_else(unasked)?;
        waiting.answer(id, answer).map_err(|_| unasked())
    }

    fn no_protocol(&self, reason: impl ToString) -> ConnectionError {
        ConnectionError::NotProtocol { line: self.line, reason: reason.to_string() }
    }
}
