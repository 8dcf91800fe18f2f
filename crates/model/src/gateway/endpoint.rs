//! Where requests go.

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper::http::uri::PathAndQuery;

use super::config::GatewayError;

/// What is asked at the end of every base.
const CHAT: &str = "/chat/completions";

/// The one place that requests, and the key, go to.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    /// Whether the server has to prove its name.
    pub(super) secure: bool,
    /// The name or address; an IPv6 address without brackets.
    pub(super) host: String,
    /// The port.
    pub(super) port: u16,
    /// The value of the `Host` header.
    pub(super) authority: HeaderValue,
    /// The request target.
    pub(super) target: Uri,
    /// All of it, for messages and records.
    pub(super) url: String,
}

impl Endpoint {
    /// Finds the endpoint for a base URL.
    pub(super) fn parse(base: &str) -> Result<Self, GatewayError> {
        let base = base.trim();
        let wrong = |problem| GatewayError::BaseUrl { url: presentable(base), problem };
        if base.contains('#') {
            return Err(wrong("has a fragment; remove everything from `#` on"));
        }
        let unreadable = "is not an absolute URL; write `http://host:port` or `https://host/path`";
        let uri: Uri = base.parse().map_err(|_| wrong(unreadable))?;
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            Some(_) => return Err(wrong("has an unknown scheme; use `http` or `https`")),
            None => return Err(wrong(unreadable)),
        };
        let authority = uri.authority().ok_or_else(|| wrong(unreadable))?;
        if authority.as_str().contains('@') {
            return Err(wrong("has a user name or password; give the key separately"));
        }
        if uri.query().is_some() {
            return Err(wrong("has a query; remove everything from `?` on"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err(wrong("has no host; write `http://host:port` or `https://host/path`"));
        }
        let port = match (authority.port_u16(), secure) {
            (Some(port), _) => port,
            // `host:` and `host:99999` must not become another port than the one that was meant.
            (None, _) if authority.as_str() != authority.host() => {
                return Err(wrong("has a port that is none; use a number up to 65535"));
            }
            (None, true) => 443,
            (None, false) => 80,
        };
        let path = chat_path(uri.path());
        let target = PathAndQuery::try_from(path.as_str()).map_err(|_| wrong(unreadable))?;
        let scheme = if secure { "https" } else { "http" };
        Ok(Self {
            secure,
            host,
            port,
            authority: HeaderValue::from_str(authority.as_str()).map_err(|_| wrong(unreadable))?,
            target: Uri::from(target),
            url: format!("{scheme}://{authority}{path}"),
        })
    }
}

/// The path of the base with what is missing at its end.
fn chat_path(base: &str) -> String {
    let base = base.trim_end_matches('/');
    if base.ends_with(CHAT) {
        base.to_owned()
    } else if base.ends_with("/v1") {
        format!("{base}{CHAT}")
    } else {
        format!("{base}/v1{CHAT}")
    }
}

/// A wrong URL for a message: without a password, a query or a fragment, and not too long.
fn presentable(base: &str) -> String {
    let end = base.find(['?', '#']).unwrap_or(base.len());
    let base = base.get(..end).unwrap_or_default();
    let (scheme, rest) = base.split_once("://").map_or(("", base), |(scheme, rest)| (scheme, rest));
    let rest = rest.rsplit_once('@').map_or(rest, |(_secret, rest)| rest);
    let shown = if scheme.is_empty() { rest.to_owned() } else { format!("{scheme}://{rest}") };
    shown.chars().filter(|letter| !letter.is_control()).take(200).collect()
}
