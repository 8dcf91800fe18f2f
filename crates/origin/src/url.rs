//! A strict reader for `https` URLs.
//!
//! Checks and connections must agree on what the host of a URL is. Readers that repair their input (trim spaces, drop
//! tabs, read `\` as `/`, invent missing slashes) disagree with readers that do not, and an attacker lives in the gap:
//! `https://good.example\@evil.example/` has two different hosts in two readers. [`HttpsUrl`] repairs nothing: a text
//! is an `https` URL by RFC 3986, or an error that names what is wrong with it.
//!
//! [`HttpsUrl`] answers "is this a URL at all". [`RemoteUrl`] also refuses spellings that servers, caches and
//! allow-lists may read differently; that is the type to hold for anything that will be fetched.
//! [`ApiUrl`] is composed of parts rather than read.

mod api;
mod authority;
mod error;
mod normalize;
mod remote;

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

pub use api::ApiUrl;
pub use error::{Hazard, UrlError, UrlPart};
pub use normalize::normalize_path;
pub use remote::RemoteUrl;

pub(crate) use authority::is_name_character;
pub(crate) use remote::{ends_in_number, hazard, refuse_hazard};

use crate::percent;
use authority::Authority;

/// An absolute `https` URL with a host and without user information, kept exactly as written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HttpsUrl {
    text: String,
    authority: Authority,
    path: String,
    query: Option<String>,
    fragment: Option<String>,
}

impl HttpsUrl {
    /// Reads `text` without repairing anything.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        refuse_controls(text)?;
        let (rest, fragment) = split_at_first(text, '#');
        if let Some(fragment) = fragment {
            check_escapes(fragment, UrlPart::Fragment)?;
        }
        let (rest, query) = split_at_first(rest, '?');
        let rest = strip_scheme(rest)?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let authority = Authority::parse(authority)?;
        check_escapes(path, UrlPart::Path)?;
        Ok(Self {
            text: text.to_owned(),
            authority,
            path: path.to_owned(),
            query: query.map(str::to_owned),
            fragment: fragment.map(str::to_owned),
        })
    }

    /// The URL as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host in lower case; an IPv6 address without its brackets.
    pub fn host(&self) -> &str {
        &self.authority.host
    }

    /// The address, when the host is an IP address rather than a name. An address with a zone is not one.
    pub fn ip(&self) -> Option<IpAddr> {
        self.authority.ip
    }

    /// The digits after the host's colon; empty when there is a colon only, `None` when there is no colon.
    pub fn port_text(&self) -> Option<&str> {
        self.authority.port.as_deref()
    }

    /// The explicit port as a number; `None` when the URL names no port.
    ///
    /// Fails for ports that cannot exist (0, above 65535) and for numbers with leading zeros.
    pub fn port(&self) -> Result<Option<u16>, UrlError> {
        match self.port_text() {
            None | Some("") => Ok(None),
            Some(text) => match text.parse() {
                Ok(port) if port != 0 && !text.starts_with('0') => Ok(Some(port)),
                Ok(_) | Err(_) => Err(UrlError::PortRange { text: text.to_owned() }),
            },
        }
    }

    /// The path as written: empty, or starting with `/`.
    pub fn raw_path(&self) -> &str {
        &self.path
    }

    /// What stands between `?` and the fragment.
    pub fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    /// What stands after the first `#`.
    pub fn fragment(&self) -> Option<&str> {
        self.fragment.as_deref()
    }

    /// The path and query as they go into an HTTP request line.
    ///
    /// Spaces, non-ASCII and other bytes that do not belong there are escaped; what is escaped already stays as it is.
    pub fn request_target(&self) -> String {
        let mut target = String::new();
        let path = if self.path.is_empty() { "/" } else { &self.path };
        percent::escape_into(&mut target, path.as_bytes(), is_request_byte);
        if let Some(query) = self.query() {
            target.push('?');
            percent::escape_into(&mut target, query.as_bytes(), is_request_byte);
        }
        target
    }
}

impl fmt::Display for HttpsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for HttpsUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        Self::parse(text)
    }
}

/// Whether `text` is an `https` URL.
pub fn is_https_url(text: &str) -> bool {
    HttpsUrl::parse(text).is_ok()
}

/// Whether `text` starts like a URL of any kind: a scheme name and `://`.
///
/// Such a text is never a local path, so that `http://host/x` cannot turn into a file name.
pub fn has_scheme(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme))
}

/// Whether `text` is a scheme name by RFC 3986.
fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte))
}

/// Refuses control bytes anywhere; readers that drop them see another URL.
fn refuse_controls(text: &str) -> Result<(), UrlError> {
    match text.bytes().enumerate().find(|(_, byte)| byte.is_ascii_control()) {
        Some((offset, byte)) => Err(UrlError::ControlByte { byte, offset }),
        None => Ok(()),
    }
}

/// Removes `https://` in any case.
fn strip_scheme(text: &str) -> Result<&str, UrlError> {
    if text.is_empty() {
        return Err(UrlError::Empty);
    }
    if text.starts_with(char::is_whitespace) {
        return Err(UrlError::LeadingSpace);
    }
    let (scheme, rest) =
        text.split_once(':').filter(|(scheme, _)| is_scheme(scheme)).ok_or(UrlError::MissingScheme)?;
    if !scheme.eq_ignore_ascii_case("https") {
        return Err(UrlError::UnsupportedScheme { scheme: scheme.to_ascii_lowercase() });
    }
    rest.strip_prefix("//").ok_or(UrlError::MissingSlashes)
}

/// Splits at the first `mark`, which belongs to neither part.
fn split_at_first(text: &str, mark: char) -> (&str, Option<&str>) {
    text.split_once(mark).map_or((text, None), |(before, after)| (before, Some(after)))
}

/// Refuses a `%` without two hexadecimal digits.
fn check_escapes(text: &str, part: UrlPart) -> Result<(), UrlError> {
    match percent::decode(text.as_bytes()) {
        Ok(_) => Ok(()),
        Err(percent::BadEscape(offset)) => Err(UrlError::MalformedEscape { part, offset }),
    }
}

/// Whether a byte may stand in a request line as it is.
fn is_request_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte)
}

#[cfg(test)]
mod tests;
