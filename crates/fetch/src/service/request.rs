//! What is sent to a service, and what comes back.

use std::fmt;

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use thiserror::Error;

use super::url::ServiceUrl;

/// How much of what a service says about a refusal is quoted, in characters.
const LONGEST_QUOTE: usize = 200;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceMethod {
    /// Something is asked for.
    Get,
    /// Something is made.
    Post,
    /// Something is changed in part.
    Patch,
    /// Something is replaced.
    Put,
}

/// A header that cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the header `{name}` cannot be sent: its name or value has characters that no header has")]
pub struct WrongHeader {
    /// Its name, made harmless.
    pub name: String,
}

/// A request.
#[derive(Clone)]
pub struct ServiceRequest<'a> {
    pub(super) method: ServiceMethod,
    pub(super) url: &'a ServiceUrl,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl<'a> ServiceRequest<'a> {
    /// A request without anything special.
    pub fn new(method: ServiceMethod, url: &'a ServiceUrl) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: Bytes::new() }
    }

    /// Sends a document in JSON.
    #[must_use]
    pub fn json(mut self, document: &Value) -> Self {
        self.body = Bytes::from(document.to_string());
        self.headers.insert(hyper::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self
    }

    /// Adds a header, whose value is in no message.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, WrongHeader> {
        let wrong = || WrongHeader { name: name.chars().filter(char::is_ascii_graphic).take(80).collect() };
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        self.headers.insert(header, value);
        Ok(self)
    }

    /// Adds a token for an `Authorization: Bearer` header.
    pub fn bearer(self, token: &str) -> Result<Self, WrongHeader> {
        self.header("authorization", &format!("Bearer {token}"))
    }

    /// The secrets in it: every word of a header that was added.
    pub(super) fn secrets(&self) -> Vec<String> {
        let values = self.headers.values().filter(|value| value.is_sensitive());
        let words = values.filter_map(|value| value.to_str().ok()).flat_map(str::split_whitespace);
        words.filter(|word| word.len() >= 8).map(str::to_owned).collect()
    }
}

impl fmt::Debug for ServiceRequest<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = (&self.method, self.url);
        formatter.debug_struct("ServiceRequest").field("request", &fields).finish_non_exhaustive()
    }
}

/// An answer, of any status but a redirect. What it holds may be a secret, so it is not shown.
#[derive(Clone)]
pub struct ServiceAnswer {
    /// The status.
    pub status: u16,
    /// The whole body.
    pub body: Vec<u8>,
    pub(super) secrets: Vec<String>,
}

impl ServiceAnswer {
    /// Whether the service did what it was asked.
    pub const fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }

    /// The body as JSON, if it is that.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// What a service that refuses says about it in the usual members of its answer: one short line, harmless to print,
    /// without what was sent as a header.
    pub fn reason(&self) -> Option<String> {
        let document = self.json()?;
        let said =
            ["message", "error", "error_description"].iter().find_map(|key| document.get(key)?.as_str());
        let said =
            self.secrets.iter().fold(said?.to_owned(), |said, secret| said.replace(secret, "[secret]"));
        let words: Vec<&str> =
            said.split(|letter: char| letter.is_whitespace() || letter.is_control()).collect();
        let line: String = words.join(" ").chars().filter(char::is_ascii).take(LONGEST_QUOTE).collect();
        Some(line.trim().to_owned()).filter(|line| !line.is_empty())
    }
}

impl fmt::Debug for ServiceAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ServiceAnswer").field("status", &self.status).finish_non_exhaustive()
    }
}
