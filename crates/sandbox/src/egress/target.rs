//! Which host and port a request is for, read once and strictly.
//!
//! Everything that reaches the proxy (request lines, `Host` headers, server names in TLS, names in DNS) becomes one of
//! these types before anything is decided, so that the text that is judged is the text that is resolved.

use std::fmt;
use std::net::IpAddr;

use fullsend_origin::HostPattern;

/// How much of a text that is no host goes into messages and logs.
pub(super) const MAX_QUOTE: usize = 253;

/// A host in the one form that is compared: a lower-case ASCII name without a final dot, or an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Host {
    /// A name.
    Name(String),
    /// An address literal.
    Address(IpAddr),
}

impl Host {
    /// Reads a name or an address, IPv6 with or without brackets. Nothing is repaired but case and one final dot.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.strip_suffix('.').unwrap_or(text);
        if !text.is_ascii() {
            return None;
        }
        if let Some(inner) = text.strip_prefix('[') {
            let address = inner.strip_suffix(']')?.parse().ok()?;
            return Some(Self::Address(IpAddr::V6(address)));
        }
        if let Ok(address) = text.parse() {
            return Some(Self::Address(address));
        }
        let pattern = HostPattern::parse(text).ok()?;
        (!pattern.is_wildcard()).then(|| Self::Name(text.to_ascii_lowercase()))
    }

    /// The host without brackets, as resolvers and patterns take it.
    pub(super) fn plain(&self) -> String {
        match self {
            Self::Name(name) => name.clone(),
            Self::Address(address) => address.to_string(),
        }
    }
}

/// As in a URL: IPv6 addresses have brackets.
impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(formatter),
            Self::Address(IpAddr::V6(address)) => write!(formatter, "[{address}]"),
        }
    }
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Target {
    /// The host.
    pub(super) host: Host,
    /// The port; never 0.
    pub(super) port: u16,
}

impl Target {
    /// Reads `host:port`; the port is `default` where there is none. User information, paths and spaces do not parse.
    pub(super) fn parse(authority: &str, default: Option<u16>) -> Option<Self> {
        let (host, port) = split_port(authority)?;
        let port = port.or(default)?;
        Some(Self { host: Host::parse(host)?, port })
    }

    /// The value of a `Host` header for plain HTTP.
    pub(super) fn authority(&self) -> String {
        if self.port == 80 { self.host.to_string() } else { self.to_string() }
    }

    /// Whether a `Host` header means this target: the same host, and the same port where it names one.
    pub(super) fn is_meant_by(&self, header: &str) -> bool {
        Self::parse(header, Some(self.port)).as_ref() == Some(self)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.host, self.port)
    }
}

/// Splits `host`, `host:port`, `[v6]` or `[v6]:port`; an address without brackets has no port.
pub(super) fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let host_ends = match text.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => text.find(':').unwrap_or(text.len()),
    };
    let (host, rest) = text.split_at_checked(host_ends)?;
    match rest.strip_prefix(':') {
        None if rest.is_empty() => Some((host, None)),
        None => None,
        Some(digits) => Some((host, Some(parse_port(digits)?))),
    }
}

/// A port in plain decimal; there is no port 0, and no sign or leading zero.
fn parse_port(digits: &str) -> Option<u16> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    if plain { digits.parse().ok() } else { None }
}

/// A text from the session for messages and logs: printable, and not long.
pub(super) fn quote(text: &str, most: usize) -> String {
    text.chars().take(most).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::{Host, Target};

    #[test]
    fn hosts_have_one_form() {
        for (text, form) in [
            ("ok.test", "ok.test"),
            ("OK.Test.", "ok.test"),
            ("192.0.2.1", "192.0.2.1"),
            ("[2001:DB8::1]", "[2001:db8::1]"),
            ("2001:db8::1", "[2001:db8::1]"),
            ("xn--bcher-kva.test", "xn--bcher-kva.test"),
        ] {
            assert_eq!(Host::parse(text).unwrap().to_string(), form, "{text}");
        }
        for text in [
            "",
            ".",
            "ok.test..",
            ".ok.test",
            "a..b",
            "ok.test ",
            " ok.test",
            "ok test",
            "ok.test%00.evil",
            "ok.test\0.evil",
            "u@ok.test",
            "ok.test/",
            "bücher.test",
            "*.test",
            "*",
            "0x7f.1",
            "127.1",
            "1.2.3.4.5",
            "[::1",
            "[192.0.2.1]",
            "fe80::1%lo",
            "a_b.test",
            "ok.test\r\nx",
            "ok。test",
        ] {
            assert_eq!(Host::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn ports_are_plain_numbers() {
        assert_eq!(Target::parse("ok.test:8443", None).unwrap().to_string(), "ok.test:8443");
        assert_eq!(Target::parse("ok.test", Some(80)).unwrap().to_string(), "ok.test:80");
        assert_eq!(Target::parse("[::1]:1", None).unwrap().to_string(), "[::1]:1");
        for text in [
            "ok.test",
            "ok.test:",
            "ok.test:0",
            "ok.test:080",
            "ok.test:+80",
            "ok.test:65536",
            "ok.test:80:80",
            "[::1]x:80",
            "::1:80",
            "user:pass@ok.test:80",
            "ok.test:80/",
        ] {
            assert_eq!(Target::parse(text, None), None, "{text}");
        }
    }

    #[test]
    fn a_host_header_may_leave_out_the_port() {
        let target = Target::parse("ok.test:8080", None).unwrap();
        assert!(target.is_meant_by("ok.test") && target.is_meant_by("OK.test.:8080"));
        assert!(
            !target.is_meant_by("ok.test:80") && !target.is_meant_by("evil.test") && !target.is_meant_by("")
        );
    }
}
