//! The address of a service.

use std::fmt;
use std::net::IpAddr;

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper::http::uri::PathAndQuery;

use super::error::ServiceUrlError;

/// What may travel to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Secrets: `https`, or `http` to this machine.
    Confidential,
    /// Nothing secret, or whatever the operator sends over `http` on purpose.
    Any,
}

/// The address of a service: `https` or `http`, a host, a path.
#[derive(Clone, PartialEq, Eq)]
pub struct ServiceUrl {
    pub(super) secure: bool,
    /// Whether the host must turn out to be this machine.
    pub(super) loopback_only: bool,
    /// The name or address; an IPv6 address without brackets.
    host: String,
    pub(super) port: u16,
    authority: String,
    path: String,
    query: Option<String>,
}

impl ServiceUrl {
    /// Reads an address, which must be fit for the channel.
    pub fn parse(text: &str, channel: Channel) -> Result<Self, ServiceUrlError> {
        let text = text.trim();
        if text.contains('#') {
            return Err(ServiceUrlError::Fragment);
        }
        let uri: Uri = text.parse().map_err(|_| ServiceUrlError::Unreadable)?;
        let secure = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            Some(_) => return Err(ServiceUrlError::Scheme),
            None => return Err(ServiceUrlError::Unreadable),
        };
        let authority = uri.authority().ok_or(ServiceUrlError::Unreadable)?;
        if authority.as_str().contains('@') {
            return Err(ServiceUrlError::UserInfo);
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        let port = match authority.port_u16() {
            Some(port) => port,
            // `host:` and `host:99999` must not become another port than the one that was meant.
            None if authority.as_str() != authority.host() => return Err(ServiceUrlError::Port),
            None if secure => 443,
            None => 80,
        };
        if host.is_empty() || HeaderValue::from_str(authority.as_str()).is_err() {
            return Err(ServiceUrlError::Unreadable);
        }
        let loopback_only = channel == Channel::Confidential && !secure;
        if loopback_only && !may_be_loopback(&host) {
            return Err(ServiceUrlError::NotConfidential);
        }
        Ok(Self {
            secure,
            loopback_only,
            port,
            authority: authority.as_str().to_owned(),
            path: uri.path().to_owned(),
            query: uri.query().map(str::to_owned),
            host,
        })
    }

    /// The address of something below this one. None if `path` is not fit for an address.
    pub fn below(&self, path: &str) -> Option<Self> {
        let joined = format!("{}{path}", self.path.trim_end_matches('/'));
        let fit = path.starts_with('/') && !path.contains(['?', '#']);
        let readable = fit && PathAndQuery::try_from(joined.as_str()).is_ok();
        readable.then(|| Self { path: joined, ..self.clone() })
    }

    /// The same address with another value in its query. Characters with a meaning there are escaped.
    #[must_use]
    pub fn with_query(&self, name: &str, value: &str) -> Self {
        let pair = format!("{}={}", escaped(name), escaped(value));
        let query = match self.query.as_deref().filter(|query| !query.is_empty()) {
            Some(query) => format!("{query}&{pair}"),
            None => pair,
        };
        Self { query: Some(query), ..self.clone() }
    }

    /// The name or address of the host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Scheme, host and port: whom a credential is for.
    pub fn origin(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        format!("{scheme}://{}", self.authority)
    }

    /// What stands in the first line of a request.
    pub(super) fn target(&self) -> Option<Uri> {
        let target = match &self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        };
        PathAndQuery::try_from(target).ok().map(Uri::from)
    }

    /// The value of the `Host` header.
    pub(super) fn authority(&self) -> &str {
        &self.authority
    }
}

/// Without the query, which may hold a secret.
impl fmt::Display for ServiceUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.origin(), self.path)
    }
}

impl fmt::Debug for ServiceUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ServiceUrl({self})")
    }
}

/// Whether a host is this machine by its address, or by a name whose addresses are looked at later.
fn may_be_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(char::from(byte));
            }
            other => escaped.push_str(&format!("%{other:02X}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{Channel, ServiceUrl, ServiceUrlError};

    fn parse(text: &str, channel: Channel) -> Result<String, ServiceUrlError> {
        ServiceUrl::parse(text, channel).map(|url| url.to_string())
    }

    #[test]
    fn secrets_travel_encrypted_or_not_at_all() {
        for (text, fit) in [
            ("https://api.example.com/x", true),
            ("http://127.0.0.1:8080", true),
            ("http://[::1]:8080/", true),
            ("http://localhost:1/", true),
            ("http://api.example.com/", false),
            ("http://10.0.0.1/", false),
            ("http://127.0.0.1.evil.example/", false),
            ("http://localhost.evil.example/", false),
            ("http://2130706433/", false),
        ] {
            assert_eq!(parse(text, Channel::Confidential).is_ok(), fit, "{text}");
            assert!(parse(text, Channel::Any).is_ok(), "{text}");
        }
    }

    #[test]
    fn an_address_says_exactly_one_place() {
        for (text, problem) in [
            ("", ServiceUrlError::Unreadable),
            ("/path", ServiceUrlError::Unreadable),
            ("host", ServiceUrlError::Unreadable),
            ("https:///x", ServiceUrlError::Unreadable),
            ("ftp://host/", ServiceUrlError::Scheme),
            ("https://user:secret@host/", ServiceUrlError::UserInfo),
            ("https://host/#x", ServiceUrlError::Fragment),
            ("https://host:/", ServiceUrlError::Port),
            ("https://host:99999/", ServiceUrlError::Port),
        ] {
            assert_eq!(parse(text, Channel::Any), Err(problem), "{text}");
        }
    }

    #[test]
    fn what_is_shown_has_no_query() {
        let url = ServiceUrl::parse("https://Host.example/a?key=s3cret", Channel::Confidential).unwrap();
        assert!(!format!("{url} {url:?}").contains("s3cret"));
        assert_eq!(url.host(), "host.example");
        assert_eq!(url.target().unwrap().to_string(), "/a?key=s3cret");
        let more = url.with_query("audience", "https://m/?a&b");
        assert_eq!(more.target().unwrap().to_string(), "/a?key=s3cret&audience=https%3A%2F%2Fm%2F%3Fa%26b");
    }

    #[test]
    fn paths_are_joined_and_cannot_change_the_rest() {
        let url = ServiceUrl::parse("https://host/api/", Channel::Any).unwrap();
        assert_eq!(url.below("/repos/a/b").unwrap().to_string(), "https://host/api/repos/a/b");
        for path in ["repos", "/a?b", "/a#b", "/a b", "/a\r\nHost: x"] {
            assert!(url.below(path).is_none(), "{path:?}");
        }
    }
}
