//! What comes back.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use fullsend_origin::Sha256Digest;
use hyper::HeaderMap;

/// Headers that clients of forge APIs act on.
const KEPT: [&str; 5] = ["content-type", "etag", "link", "retry-after", "x-next-page"];
/// Families of headers that say how much of a quota is left.
const KEPT_PREFIXES: [&str; 2] = ["ratelimit-", "x-ratelimit-"];

/// A complete response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The body.
    pub bytes: Vec<u8>,
    /// Its digest, computed while it arrived.
    pub digest: Sha256Digest,
    /// The headers that clients act on.
    pub headers: ResponseHeaders,
    /// The address that answered.
    pub peer: SocketAddr,
}

/// The few headers of a response that are kept; everything else a server says is dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseHeaders(BTreeMap<String, String>);

impl ResponseHeaders {
    /// The value of a header; `name` in lower case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All kept headers by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Picks the headers to keep; a value that is not printable ASCII is dropped.
    pub(super) fn select(headers: &HeaderMap) -> Self {
        let mut kept = BTreeMap::new();
        for (name, value) in headers {
            let name = name.as_str();
            let wanted = KEPT.contains(&name) || KEPT_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
            if let (true, Ok(value)) = (wanted, value.to_str()) {
                kept.entry(name.to_owned()).or_insert_with(|| value.to_owned());
            }
        }
        Self(kept)
    }
}
