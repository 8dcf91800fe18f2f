//! A span, with attributes that stay in bounds.

use jiff::Timestamp;
use uuid::Uuid;

use super::context::TraceParent;

/// The longest attribute, in characters, unless the operator says otherwise.
pub(super) const LONGEST_ATTRIBUTE: usize = 8192;

/// The longest message of a status, in bytes.
const LONGEST_STATUS: usize = 2000;

#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) attribute: Option<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum Attribute {
    Text(String),
    Int(i64),
    Float(f64),
    Flag(bool),
}

#[derive(Clone, Debug)]
pub(super) enum Status {
    Unset,
    Ok,
    Error(String),
}

#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) name: &'static str,
    pub(super) trace_id: String,
    pub(super) span_id: String,
    pub(super) parent: Option<String>,
    /// Whether the parent is another program's.
    pub(super) remote: bool,
    pub(super) sampled: bool,
    pub(super) state: Option<String>,
    pub(super) start: Timestamp,
    pub(super) attributes: Vec<(&'static str, Attribute)>,
    pub(super) status: Status,
    bounds: Bounds,
}

fn id(length: usize) -> String {
    let digits = Uuid::new_v4().simple().to_string();
    // The digits of the version are not random; those before them are, and enough for a span.
    digits.get(..length).unwrap_or_default().to_owned()
}

impl Span {
    pub(super) fn root(
        name: &'static str,
        parent: Option<&TraceParent>,
        start: Timestamp,
        bounds: Bounds,
    ) -> Self {
        Self {
            name,
            trace_id: parent.map_or_else(|| id(32), |parent| parent.trace_id.clone()),
            span_id: id(16),
            parent: parent.map(|parent| parent.span_id.clone()),
            remote: parent.is_some(),
            sampled: parent.is_none_or(|parent| parent.sampled),
            state: parent.and_then(|parent| parent.state.clone()),
            start,
            attributes: Vec::new(),
            status: Status::Unset,
            bounds,
        }
    }

    pub(super) fn child(&self, name: &'static str, start: Timestamp) -> Self {
        Self {
            name,
            trace_id: self.trace_id.clone(),
            span_id: id(16),
            parent: Some(self.span_id.clone()),
            remote: false,
            sampled: self.sampled,
            state: self.state.clone(),
            start,
            attributes: Vec::new(),
            status: Status::Unset,
            bounds: self.bounds,
        }
    }

    pub(super) fn traceparent(&self) -> String {
        format!("00-{}-{}-{:02x}", self.trace_id, self.span_id, u8::from(self.sampled))
    }

    pub(super) fn attribute(&mut self, name: &'static str, value: Attribute) {
        self.attributes.push((name, value));
    }

    pub(super) fn text(&mut self, name: &'static str, value: &str) {
        let cut = self.bounds.attribute.and_then(|most| value.char_indices().nth(most)).map(|(at, _)| at);
        let value = cut.and_then(|at| value.get(..at)).unwrap_or(value);
        self.attribute(name, Attribute::Text(value.to_owned()));
    }

    pub(super) fn number(&mut self, name: &'static str, value: i64) {
        self.attribute(name, Attribute::Int(value));
    }

    pub(super) fn count(&mut self, name: &'static str, value: u64) {
        self.number(name, i64::try_from(value).unwrap_or(i64::MAX));
    }

    pub(super) fn flag(&mut self, name: &'static str, value: bool) {
        self.attribute(name, Attribute::Flag(value));
    }
}

/// A message that is not too long, with the sign that it was longer.
pub(super) fn bounded_status(message: &str) -> String {
    if message.len() <= LONGEST_STATUS {
        return message.to_owned();
    }
    let room = LONGEST_STATUS - '…'.len_utf8();
    let end = (0..=room).rev().find(|at| message.is_char_boundary(*at)).unwrap_or_default();
    format!("{}…", message.get(..end).unwrap_or_default())
}
