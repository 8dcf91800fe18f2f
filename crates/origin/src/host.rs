//! Host patterns: one host, or every host below a domain.
//!
//! Network policies list hosts. Suffix matching is where such lists leak: `*.example.com` must not admit
//! `notexample.com` or `.example.com`, and a lone `*` would admit everything. A pattern is either one exact host (or
//! address) or `*.` and a domain, and nothing else parses.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use thiserror::Error;

use crate::url::{ends_in_number, is_name_character};

/// Longest label of a host name, by RFC 1035.
const MAX_LABEL: usize = 63;
/// Longest host name, by RFC 1035.
const MAX_NAME: usize = 253;

/// Matches one host, or all hosts below a domain but not the domain itself. ASCII case does not matter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPattern {
    text: String,
    matcher: Matcher,
}

/// What a pattern compares; names are in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Matcher {
    Address(IpAddr),
    Name(String),
    Below(String),
}

impl HostPattern {
    /// Reads a host name, an IP address (IPv6 with or without brackets), or `*.` and a domain.
    pub fn parse(text: &str) -> Result<Self, HostPatternError> {
        let matcher = match (text.strip_prefix("*."), parse_address(text)) {
            (Some(domain), _) => Matcher::Below(checked_name(domain)?),
            (None, Some(address)) => Matcher::Address(address),
            (None, None) => Matcher::Name(checked_name(text)?),
        };
        Ok(Self { text: text.to_owned(), matcher })
    }

    /// Whether `host` (no port; IPv6 with or without brackets) is covered.
    ///
    /// A host with an empty label, such as one that ends in a dot, is never covered.
    pub fn matches(&self, host: &str) -> bool {
        match &self.matcher {
            Matcher::Address(address) => parse_address(host) == Some(*address),
            Matcher::Name(name) => host.eq_ignore_ascii_case(name),
            Matcher::Below(domain) => is_below(&host.to_ascii_lowercase(), domain),
        }
    }

    /// Whether the pattern can match more than one host.
    pub fn is_wildcard(&self) -> bool {
        matches!(self.matcher, Matcher::Below(_))
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for HostPattern {
    type Err = HostPatternError;

    fn from_str(text: &str) -> Result<Self, HostPatternError> {
        Self::parse(text)
    }
}

/// Whether `host` is `domain` with more labels in front.
fn is_below(host: &str, domain: &str) -> bool {
    let labels = host.strip_suffix(domain).and_then(|rest| rest.strip_suffix('.'));
    labels.is_some_and(|labels| labels.split('.').all(|label| !label.is_empty()))
}

/// Reads an address, with the brackets of an IPv6 address optional.
fn parse_address(text: &str) -> Option<IpAddr> {
    match text.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?.parse().ok().map(IpAddr::V6),
        None => text.parse().ok(),
    }
}

/// Checks a host name and gives it in lower case.
fn checked_name(name: &str) -> Result<String, HostPatternError> {
    if name.is_empty() {
        return Err(HostPatternError::Empty);
    }
    if name.contains('*') {
        return Err(HostPatternError::Wildcard);
    }
    if name.contains(':') {
        return Err(HostPatternError::Port);
    }
    if let Some(character) = name.chars().find(|c| !is_name_character(*c)) {
        return Err(HostPatternError::Character { character });
    }
    if name.split('.').any(str::is_empty) {
        return Err(HostPatternError::EmptyLabel);
    }
    if name.len() > MAX_NAME || name.split('.').any(|label| label.len() > MAX_LABEL) {
        return Err(HostPatternError::TooLong);
    }
    if ends_in_number(name) || parse_address(name).is_some() {
        return Err(HostPatternError::Numeric);
    }
    Ok(name.to_ascii_lowercase())
}

/// Why a text is not a host pattern.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HostPatternError {
    /// There is no host.
    #[error("the host is empty")]
    Empty,
    /// A `*` stands somewhere other than alone in front of the first dot.
    #[error("`*` may only stand in front, as in `*.example.com`")]
    Wildcard,
    /// A colon, so probably a port.
    #[error("a host pattern has no port")]
    Port,
    /// A character that no host has.
    #[error("{character:?} cannot be part of a host")]
    Character {
        /// The first such character.
        character: char,
    },
    /// A dot at the start or the end, or two in a row.
    #[error("the host has an empty label")]
    EmptyLabel,
    /// The name or one of its labels is longer than names can be.
    #[error("the host is longer than 253 bytes or has a label longer than 63")]
    TooLong,
    /// A number that is not an address in its usual form, or an address after `*.`.
    #[error("the host is a number but not an IP address in its usual form")]
    Numeric,
}

impl HostPatternError {
    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Empty => "host-empty",
            Self::Wildcard => "host-wildcard",
            Self::Port => "host-port",
            Self::Character { .. } => "host-character",
            Self::EmptyLabel => "host-empty-label",
            Self::TooLong => "host-too-long",
            Self::Numeric => "host-numeric",
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::Empty => "write a host such as `example.com`, or `*.example.com`",
            Self::Wildcard => "list each domain as `*.domain`; there is no pattern for all hosts",
            Self::Port => "write the host alone",
            Self::Character { .. } => "write the host alone, without scheme or path, or in its `xn--` form",
            Self::EmptyLabel => "write single dots between labels and none at either end",
            Self::TooLong => return None,
            Self::Numeric => "write an IPv4 address as four decimal numbers, without `*`",
        };
        Some(help.to_owned())
    }
}

#[cfg(test)]
mod tests;
