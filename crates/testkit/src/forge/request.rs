//! Requests, taken apart.

use crate::Recorded;

/// What a request asks for, decoded.
#[derive(Debug)]
pub(super) struct Asked {
    /// The segments of the path; an escaped slash is part of a segment.
    pub(super) segments: Vec<String>,
    /// The pairs of the query.
    query: Vec<(String, String)>,
}

impl Asked {
    /// Takes the target of a request apart.
    pub(super) fn read(request: &Recorded) -> Self {
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        };
        Self {
            segments: path.split('/').filter(|segment| !segment.is_empty()).map(decode).collect(),
            query: query.split('&').filter(|text| !text.is_empty()).map(pair).collect(),
        }
    }

    /// A value of the query.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Decodes the escapes of a URL.
fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let escape = (*first == b'%').then(|| tail.split_at_checked(2)).flatten();
        let value =
            escape.and_then(|(digits, _)| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        match (value, escape) {
            (Some(value), Some((_, after))) => {
                bytes.push(value);
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).expect("a target in UTF-8")
}
