//! Heads of requests and responses, read strictly and written anew.
//!
//! What goes on is always composed from what was understood, never the bytes that came in, so both sides of the proxy
//! see the same message.

use std::time::Duration;

use tokio::io::AsyncRead;
use tokio::time::{Instant, timeout_at};

use super::super::refusal::Refusal;
use super::super::stream::Source;

/// The largest head.
const MAX_HEAD: usize = 64 * 1024;
/// The most headers of a request.
const MAX_REQUEST_HEADERS: usize = 100;
/// The most headers of a response.
const MAX_RESPONSE_HEADERS: usize = 256;
/// How long the head of a request may take once it has begun.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);

/// Headers that concern one connection and are not passed on.
const HOP_BY_HOP: [&str; 8] = [
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
    "content-length",
];

/// Names and values in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Headers(pub(in super::super) Vec<(String, Vec<u8>)>);

impl Headers {
    fn from_parsed(parsed: &[httparse::Header<'_>]) -> Self {
        Self(parsed.iter().map(|header| (header.name.to_owned(), header.value.to_vec())).collect())
    }

    /// All values of a header, which must be text to be understood.
    pub(in super::super) fn values(&self, name: &str) -> Vec<&[u8]> {
        let same = |(key, _): &&(String, Vec<u8>)| key.eq_ignore_ascii_case(name);
        self.0.iter().filter(same).map(|(_, value)| value.as_slice()).collect()
    }

    /// Whether a comma-separated header has a word.
    pub(super) fn lists(&self, name: &str, word: &str) -> bool {
        self.listed(name).any(|item| item.eq_ignore_ascii_case(word.as_bytes()))
    }

    fn listed(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.values(name)
            .into_iter()
            .flat_map(|value| value.split(|byte| *byte == b','))
            .map(<[u8]>::trim_ascii)
    }

    /// Takes away what concerns one connection only, and what the proxy writes itself.
    pub(super) fn keep_end_to_end(&mut self) {
        let named: Vec<Vec<u8>> = self.listed("connection").map(<[u8]>::to_vec).collect();
        self.0.retain(|(name, _)| {
            let lower = name.to_ascii_lowercase();
            let nominated = named.iter().any(|other| other.eq_ignore_ascii_case(name.as_bytes()));
            !(nominated || HOP_BY_HOP.contains(&lower.as_str()) || lower.starts_with("proxy-"))
        });
    }

    /// Takes away all headers of one name.
    pub(super) fn remove(&mut self, name: &str) {
        self.0.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
    }

    /// Adds a header.
    pub(super) fn push(&mut self, name: &str, value: impl Into<Vec<u8>>) {
        self.0.push((name.to_owned(), value.into()));
    }
}

/// HTTP/1.0 or HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Version {
    /// Without chunks, and with one request per connection.
    Http10,
    /// The usual one.
    Http11,
}

/// A request without its body.
#[derive(Clone, Debug)]
pub(in super::super) struct Request {
    pub(in super::super) method: String,
    pub(in super::super) target: String,
    pub(in super::super) version: Version,
    pub(in super::super) headers: Headers,
}

/// A response without its body.
#[derive(Clone, Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) reason: String,
    pub(super) version: Version,
    pub(super) headers: Headers,
}

/// Reads the next request; `None` when the client is done or stays silent for `idle`.
pub(in super::super) async fn read_request<R: AsyncRead + Unpin>(
    source: &mut Source<R>,
    idle: Duration,
) -> Result<Option<Request>, Refusal> {
    if source.buffer.is_empty() && !matches!(source.fill(idle).await, Ok(1..)) {
        return Ok(None);
    }
    let deadline = Instant::now() + HEAD_PATIENCE;
    match timeout_at(deadline, fill_head(source)).await {
        Err(_) => {
            return Err(Refusal::request(
                "headers-too-slow",
                "the request's headers take too long to arrive",
            ));
        }
        Ok(Filled::Ended) => return Ok(None),
        Ok(Filled::TooLarge) => return Err(too_large()),
        Ok(Filled::Head) => {}
    }
    let mut storage = [httparse::EMPTY_HEADER; MAX_REQUEST_HEADERS];
    let mut parsed = httparse::Request::new(&mut storage);
    let length = match parsed.parse(&source.buffer) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Err(malformed()),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Refusal::request("too-many-headers", "the request has more than 100 headers"));
        }
        Err(_) => return Err(malformed()),
    };
    let (Some(method), Some(target), Some(version)) = (parsed.method, parsed.path, parsed.version) else {
        return Err(malformed());
    };
    let request = Request {
        method: method.to_owned(),
        target: target.to_owned(),
        version: version_of(version),
        headers: Headers::from_parsed(parsed.headers),
    };
    let plain = target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
    let _ = source.buffer.split_to(length);
    if plain { Ok(Some(request)) } else { Err(malformed()) }
}

/// Reads the head of a response.
pub(super) async fn read_response<R: AsyncRead + Unpin>(
    source: &mut Source<R>,
    idle: Duration,
) -> Result<Response, Refusal> {
    let bad = |why: &str| {
        Refusal::upstream("response-malformed", format!("the server's answer is not HTTP/1: {why}"))
    };
    loop {
        match head_ends(&source.buffer) {
            true => break,
            false if source.buffer.len() > MAX_HEAD => return Err(bad("its headers are too large")),
            false => {}
        }
        match source.fill(idle).await {
            Ok(1..) => {}
            Ok(0) => {
                return Err(Refusal::upstream(
                    "response-missing",
                    "the server closed the connection without an answer",
                ));
            }
            Err(error) => {
                return Err(Refusal::upstream(
                    "response-missing",
                    format!("the server's answer did not come: {error}"),
                ));
            }
        }
    }
    let mut storage = [httparse::EMPTY_HEADER; MAX_RESPONSE_HEADERS];
    let mut parsed = httparse::Response::new(&mut storage);
    let Ok(httparse::Status::Complete(length)) = parsed.parse(&source.buffer) else {
        return Err(bad("it cannot be read"));
    };
    let (Some(status), Some(version)) = (parsed.code, parsed.version) else {
        return Err(bad("it has no status"));
    };
    let response = Response {
        status,
        reason: parsed.reason.unwrap_or_default().to_owned(),
        version: version_of(version),
        headers: Headers::from_parsed(parsed.headers),
    };
    let _ = source.buffer.split_to(length);
    Ok(response)
}

/// A head as bytes: its first line and headers.
pub(super) fn write_head(first_line: &str, headers: &Headers) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(512);
    bytes.extend(first_line.as_bytes());
    bytes.extend(b"\r\n");
    for (name, value) in &headers.0 {
        bytes.extend(name.as_bytes());
        bytes.extend(b": ");
        bytes.extend(value);
        bytes.extend(b"\r\n");
    }
    bytes.extend(b"\r\n");
    bytes
}

enum Filled {
    Head,
    Ended,
    TooLarge,
}

/// Reads until the buffer has a whole head.
async fn fill_head<R: AsyncRead + Unpin>(source: &mut Source<R>) -> Filled {
    let mut looked = 0;
    loop {
        // Only what is new is searched, so that single bytes cost little.
        if head_ends(source.buffer.get(looked..).unwrap_or_default()) {
            let end = head_length(&source.buffer);
            return if end > MAX_HEAD { Filled::TooLarge } else { Filled::Head };
        }
        if source.buffer.len() > MAX_HEAD {
            return Filled::TooLarge;
        }
        looked = source.buffer.len().saturating_sub(3);
        if !matches!(source.fill(HEAD_PATIENCE * 2).await, Ok(1..)) {
            return Filled::Ended;
        }
    }
}

/// Whether there is an empty line; lines may end in a bare newline, as the parser allows.
fn head_ends(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b"\n\n") || bytes.windows(3).any(|three| three == b"\n\r\n")
}

fn head_length(bytes: &[u8]) -> usize {
    let short = bytes.windows(2).position(|pair| pair == b"\n\n").map(|at| at + 2);
    let usual = bytes.windows(3).position(|three| three == b"\n\r\n").map(|at| at + 3);
    [short, usual].into_iter().flatten().min().unwrap_or(bytes.len())
}

fn version_of(minor: u8) -> Version {
    if minor == 0 { Version::Http10 } else { Version::Http11 }
}

fn malformed() -> Refusal {
    Refusal::request("request-malformed", "the request is not well-formed HTTP/1")
}

fn too_large() -> Refusal {
    Refusal::request("headers-too-large", "the request's headers are larger than 64 KiB")
}
