//! The part of a URL between `//` and the path: host and port.
//!
//! Every byte that some reader treats specially here (`@`, `\`, `%`, brackets, a second colon) is refused, because
//! this is where two readers come to see two hosts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::UrlError;

/// A host with an optional port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Authority {
    /// Lower case, IPv6 without brackets, a zone after `%`.
    pub(super) host: String,
    /// The address if the host is one and has no zone.
    pub(super) ip: Option<IpAddr>,
    /// Whether the host is an IPv6 address with a zone.
    pub(super) has_zone: bool,
    /// Digits only; empty for a colon without a number.
    pub(super) port: Option<String>,
}

impl Authority {
    /// Reads `text` as `host`, `host:port`, `[ipv6]` or `[ipv6]:port`.
    pub(super) fn parse(text: &str) -> Result<Self, UrlError> {
        if text.contains('@') {
            return Err(UrlError::Userinfo);
        }
        match text.strip_prefix('[') {
            Some(rest) => Self::parse_bracketed(rest),
            None => Self::parse_name(text),
        }
    }

    /// Reads what follows the opening bracket.
    fn parse_bracketed(rest: &str) -> Result<Self, UrlError> {
        let malformed = || UrlError::Ipv6Literal { text: format!("[{rest}") };
        let (literal, after) = rest.split_once(']').ok_or_else(malformed)?;
        let port = match after.strip_prefix(':') {
            Some(port) => Some(checked_port(port)?),
            None if after.is_empty() => None,
            None => return Err(malformed()),
        };
        let (address, zone) = literal.split_once("%25").map_or((literal, None), |(a, z)| (a, Some(z)));
        let ip: Ipv6Addr = address.parse().map_err(|_| malformed())?;
        let Some(zone) = zone else {
            let host = literal.to_ascii_lowercase();
            return Ok(Self { host, ip: Some(ip.into()), has_zone: false, port });
        };
        if zone.is_empty() || !zone.bytes().all(is_zone_byte) {
            return Err(malformed());
        }
        let host = format!("{address}%{zone}").to_ascii_lowercase();
        Ok(Self { host, ip: None, has_zone: true, port })
    }

    /// Reads a host name or IPv4 address.
    fn parse_name(text: &str) -> Result<Self, UrlError> {
        let (name, port) = text.rsplit_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
        if name.contains(':') {
            return Err(UrlError::ExtraColon);
        }
        if name.is_empty() {
            return Err(UrlError::EmptyHost);
        }
        if name.contains('%') {
            return Err(UrlError::HostEscape);
        }
        if let Some(character) = name.chars().find(|c| !is_name_character(*c)) {
            return Err(UrlError::HostCharacter { character });
        }
        let port = port.map(checked_port).transpose()?;
        let ip = name.parse::<Ipv4Addr>().ok().map(IpAddr::from);
        Ok(Self { host: name.to_ascii_lowercase(), ip, has_zone: false, port })
    }
}

/// A port must be digits; whether such a port exists is a later question.
fn checked_port(text: &str) -> Result<String, UrlError> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        Ok(text.to_owned())
    } else {
        Err(UrlError::PortNotNumeric { text: text.to_owned() })
    }
}

/// Whether a character may stand in a host name.
///
/// Non-ASCII letters are names in their own right. Everything else outside ASCII is refused: name preparation maps
/// some of it to `.`, `/` or digits (`U+FF0E`, `U+2100`, `U+2460`) and drops some of it (`U+00AD`), so that the host
/// that is checked is not the host that is looked up.
pub(crate) fn is_name_character(character: char) -> bool {
    if character.is_ascii() {
        character.is_ascii_alphanumeric() || matches!(character, '-' | '.')
    } else {
        character.is_alphabetic()
    }
}

/// Whether a byte may stand in the zone of an IPv6 address.
fn is_zone_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}
