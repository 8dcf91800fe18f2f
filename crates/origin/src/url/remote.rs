//! URLs that everyone reads the same way.
//!
//! A URL passes through an allow-list, a cache, perhaps a proxy, and a server, and each may decode or clean it once
//! more than the one before. `/skills/%2e%2e/evil` is inside `/skills/` for a reader that does not decode and outside
//! for one that does. [`RemoteUrl`] holds only URLs on which such readers cannot differ.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use super::{Hazard, HttpsUrl, UrlError, normalize_path};
use crate::percent;

/// An `https` URL without a fragment and without any [`Hazard`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RemoteUrl(HttpsUrl);

impl RemoteUrl {
    /// Reads `text`, refusing hazards and fragments.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        Self::try_from(HttpsUrl::parse(text)?)
    }

    /// The same URL without the stricter promise.
    pub fn as_https(&self) -> &HttpsUrl {
        &self.0
    }

    /// The URL as it was written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The last path segment, decoded; `None` when the URL has no path or the segment is not UTF-8.
    pub fn base_name(&self) -> Option<String> {
        let segment = self.0.raw_path().trim_end_matches('/').rsplit('/').next()?;
        let decoded = percent::decode(segment.as_bytes()).ok()?;
        String::from_utf8(decoded).ok().filter(|name| !name.is_empty())
    }
}

impl TryFrom<HttpsUrl> for RemoteUrl {
    type Error = UrlError;

    fn try_from(url: HttpsUrl) -> Result<Self, UrlError> {
        if url.fragment().is_some() {
            return Err(UrlError::Fragment);
        }
        refuse_hazard(&url)?;
        Ok(Self(url))
    }
}

impl AsRef<HttpsUrl> for RemoteUrl {
    fn as_ref(&self) -> &HttpsUrl {
        &self.0
    }
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RemoteUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        Self::parse(text)
    }
}

/// Fails with the hazard of `url`, if any, and with the spelling that has none, if there is one.
pub(crate) fn refuse_hazard(url: &HttpsUrl) -> Result<(), UrlError> {
    match hazard(url) {
        None => Ok(()),
        Some(hazard) => Err(UrlError::Hazard { hazard, corrected: safe_spelling(url) }),
    }
}

/// The cleaned spelling, unless that has a hazard too.
fn safe_spelling(url: &HttpsUrl) -> Option<String> {
    let corrected = normalize_path(url.as_str())?;
    let safe = HttpsUrl::parse(&corrected).is_ok_and(|url| hazard(&url).is_none());
    safe.then_some(corrected)
}

/// The first reason why readers may differ about `url`.
pub(crate) fn hazard(url: &HttpsUrl) -> Option<Hazard> {
    host_hazard(url)
        .or_else(|| port_hazard(url))
        .or_else(|| double_encoding(url))
        .or_else(|| path_hazard(url))
}

/// What is wrong with the host.
pub(super) fn host_hazard(url: &HttpsUrl) -> Option<Hazard> {
    if url.authority.has_zone {
        return Some(Hazard::ZoneIdentifier);
    }
    if url.ip().is_some() {
        return None;
    }
    let host = url.host();
    let name = host.strip_suffix('.').unwrap_or(host);
    if name.split('.').any(str::is_empty) {
        Some(Hazard::EmptyHostLabel)
    } else if name.len() < host.len() {
        Some(Hazard::TrailingDot)
    } else if ends_in_number(name) {
        Some(Hazard::NumericHost)
    } else {
        None
    }
}

/// Whether a host that is not an IPv4 address in four decimal parts still looks like a number to some resolvers.
///
/// `0x7f.1`, `2130706433` and `0177.0.0.1` all mean 127.0.0.1 to the classic C routines. No top-level domain is a
/// number, so such a name is never a real one.
pub(crate) fn ends_in_number(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or(host);
    let digits = last.bytes().all(|byte| byte.is_ascii_digit());
    let hex = last.get(..2).is_some_and(|prefix| prefix.eq_ignore_ascii_case("0x"))
        && last.bytes().skip(2).all(|byte| byte.is_ascii_hexdigit());
    (digits || hex) && host.parse::<Ipv4Addr>().is_err()
}

/// A port that cannot exist, or a second spelling of one that can.
fn port_hazard(url: &HttpsUrl) -> Option<Hazard> {
    (url.port_text() == Some("") || url.port().is_err()).then_some(Hazard::Port)
}

/// An escaped `%` in path or query.
fn double_encoding(url: &HttpsUrl) -> Option<Hazard> {
    let twice = url.raw_path().contains("%25") || url.query().is_some_and(|query| query.contains("%25"));
    twice.then_some(Hazard::DoubleEncoding)
}

/// What is wrong with the path.
fn path_hazard(url: &HttpsUrl) -> Option<Hazard> {
    if url.raw_path().contains('\\') {
        return Some(Hazard::Backslash);
    }
    url.raw_path().split('/').find_map(segment_hazard)
}

/// What is wrong with one segment once it is decoded.
fn segment_hazard(raw: &str) -> Option<Hazard> {
    // The reader has checked every escape; a failure here would mean a segment nobody may trust.
    let Ok(decoded) = percent::decode(raw.as_bytes()) else {
        return Some(Hazard::DoubleEncoding);
    };
    if decoded == b"." || decoded == b".." {
        Some(Hazard::DotSegment)
    } else if decoded.iter().any(|byte| matches!(byte, b'/' | b'\\')) {
        Some(Hazard::EncodedSeparator)
    } else if decoded.iter().any(u8::is_ascii_control) {
        Some(Hazard::EncodedControl)
    } else {
        None
    }
}
