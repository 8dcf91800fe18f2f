//! Where a request is to go, by its first line and its headers.

use super::super::refusal::Refusal;
use super::super::target::{MAX_QUOTE, Target, quote};
use super::body::Framing;
use super::exchange::Outgoing;
use super::head::{Headers, Request, Version, write_head};

/// Headers by which a request means another method or path than its first line says, to servers that know them.
const OVERRIDES: [&str; 6] = [
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
    "x-original-uri",
];

/// A request whose meaning is clear.
#[derive(Debug)]
pub(super) struct Routed {
    /// The path without the query; `*` for a question about the server itself.
    pub(super) path: String,
    query: Option<String>,
    framing: Framing,
    request: Request,
}

/// The server that a first line names.
#[derive(Debug)]
pub(super) enum Form {
    /// `GET http://host/path`: the target, and the rest as an origin would see it.
    Absolute(Target, String),
    /// `GET /path`.
    Origin(String),
}

impl Form {
    /// Reads a request target.
    pub(super) fn of(request: &Request) -> Result<Self, Refusal> {
        let text = request.target.as_str();
        if text.starts_with('/') || text == "*" {
            return Ok(Self::Origin(text.to_owned()));
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(Refusal::request("request-target", "the request has no path and no URL"));
        };
        if !scheme.eq_ignore_ascii_case("http") {
            let sentence = "only `http` URLs can be asked for in the open; `https` needs CONNECT";
            return Err(Refusal::request("scheme-not-allowed", sentence));
        }
        let authority_ends = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(authority_ends);
        let target = Target::parse(authority, Some(80)).ok_or_else(|| malformed_host(authority))?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self::Absolute(target, path))
    }
}

/// The refusal of a host that is none.
pub(super) fn malformed_host(text: &str) -> Refusal {
    let sentence = format!("`{}` is not a host with an optional port", quote(text, MAX_QUOTE));
    Refusal::request("host-malformed", sentence)
}

/// Checks what must be true of every request.
pub(super) fn check(request: Request, origin: &str) -> Result<Routed, Refusal> {
    let framing = Framing::of_request(&request)?;
    if !request.headers.values("upgrade").is_empty() {
        return Err(Refusal::request("upgrade", "switching to another protocol is not possible"));
    }
    // It would send back the headers that were added on the way.
    if request.method.eq_ignore_ascii_case("TRACE") || request.method.eq_ignore_ascii_case("CONNECT") {
        return Err(Refusal::request(
            "method-not-allowed",
            format!("{} is not possible here", request.method),
        ));
    }
    let (path, query) = match origin.split_once('?') {
        Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
        None => (origin.to_owned(), None),
    };
    Ok(Routed { path, query, framing, request })
}

/// Checks that the `Host` header agrees with the target; HTTP/1.0 may do without.
pub(super) fn check_host(request: &Request, target: &Target) -> Result<(), Refusal> {
    match request.headers.values("host").as_slice() {
        [] if request.version == Version::Http10 || request.method == "CONNECT" => Ok(()),
        [] => Err(Refusal::request("host-missing", "the request has no `Host`")),
        [host] => match std::str::from_utf8(host) {
            Ok(text) if target.is_meant_by(text) => Ok(()),
            Ok(_) | Err(_) => {
                let named = quote(&String::from_utf8_lossy(host), MAX_QUOTE);
                let sentence = format!("the request is for `{target}`, but its `Host` is `{named}`");
                Err(Refusal::request("host-mismatch", sentence))
            }
        },
        [_, _, ..] => Err(Refusal::request("host-mismatch", "the request has several `Host` headers")),
    }
}

impl Routed {
    pub(super) fn method(&self) -> &str {
        &self.request.method
    }

    /// For places with rules about methods and paths: those of the first line must be the ones that are meant.
    pub(super) fn check_overrides(&self) -> Result<(), Refusal> {
        match OVERRIDES.iter().find(|name| !self.request.headers.values(name).is_empty()) {
            None => Ok(()),
            Some(name) => {
                let sentence =
                    format!("the header `{name}` could change the method or path that rules are about");
                Err(Refusal::request("override", sentence))
            }
        }
    }

    /// The request as it goes on: `base` in front of the path, `host` as the `Host`, `added` in place of headers of
    /// the same names.
    pub(super) fn outgoing(self, base: &str, host: &str, added: &[(String, Vec<u8>)]) -> Outgoing {
        let Request { method, version, mut headers, .. } = self.request;
        let closing = headers.lists("connection", "close") || headers.lists("proxy-connection", "close");
        headers.keep_end_to_end();
        headers.remove("host");
        for (name, _) in added {
            headers.remove(name);
        }
        let mut composed = Headers::default();
        composed.push("Host", host);
        composed.0.append(&mut headers.0);
        composed.0.extend(added.iter().cloned());
        self.framing.announce(&mut composed);
        let query = self.query.map(|query| format!("?{query}")).unwrap_or_default();
        let head = write_head(&format!("{method} {base}{}{query} HTTP/1.1", self.path), &composed);
        let keep = version == Version::Http11 && !closing;
        Outgoing { head, framing: self.framing, method, version, keep }
    }
}
