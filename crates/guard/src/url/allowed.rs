//! What the operator allows although it is not public.

use std::net::IpAddr;
use std::str::FromStr;

use fullsend_origin::{HostPattern, HostPatternError, classify, is_metadata};
use ipnet::IpNet;
use thiserror::Error;

/// Hosts that the configuration opens. Metadata services are never among them, whatever the entries say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    hosts: Vec<AllowedHost>,
    private: Vec<PrivateHost>,
}

/// An entry of the allow-list that the egress proxy has too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHost {
    /// Which hosts.
    pub pattern: HostPattern,
    /// The port; none for any.
    pub port: Option<u16>,
}

/// A host that may have addresses which are not public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateHost {
    /// The exact name or address.
    pub host: HostPattern,
    /// The addresses it may have.
    pub network: IpNet,
}

impl Allowed {
    /// Opens these hosts, and these hosts at private addresses.
    pub fn new(hosts: Vec<AllowedHost>, private: Vec<PrivateHost>) -> Self {
        Self { hosts, private }
    }

    /// Nothing but what is public.
    pub const fn nothing_more() -> Self {
        Self { hosts: Vec::new(), private: Vec::new() }
    }

    /// Whether a special name or address is opened. A request without a port may be for any.
    pub(super) fn opens(&self, host: &str, port: Option<u16>) -> bool {
        let listed = self.hosts.iter().any(|entry| {
            entry.pattern.matches(host) && entry.port.is_none_or(|open| port.is_none_or(|port| port == open))
        });
        listed || self.private.iter().any(|entry| entry.host.matches(host))
    }

    /// Whether `host` may be at `address`.
    pub(super) fn admits(&self, host: &str, address: IpAddr) -> bool {
        let plain = address.to_canonical();
        if is_metadata(address) || is_metadata(plain) {
            return false;
        }
        let opened = |entry: &PrivateHost| entry.host.matches(host) && entry.network.contains(&plain);
        classify(address).is_global() || self.private.iter().any(opened)
    }
}

impl FromStr for AllowedHost {
    type Err = AllowedHostError;

    /// Reads `host`, `host:port`, `[address]` or `[address]:port`; the host may be `*.` and a domain.
    fn from_str(text: &str) -> Result<Self, AllowedHostError> {
        let host_ends = match text.strip_prefix('[') {
            Some(rest) => rest.find(']').map_or(text.len(), |at| at + 2),
            None => text.find(':').unwrap_or(text.len()),
        };
        let (host, port) = text.split_at_checked(host_ends).unwrap_or((text, ""));
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => None,
            None => return Err(AllowedHostError::Port),
            Some(digits) => Some(digits.parse().map_err(|_| AllowedHostError::Port)?),
        };
        Ok(Self { pattern: HostPattern::parse(host)?, port })
    }
}

/// Why a text is no entry of an allow-list.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AllowedHostError {
    /// The host is no pattern.
    #[error(transparent)]
    Host(#[from] HostPatternError),
    /// What follows the host is no port.
    #[error("what follows the host is not a port; write `host:443`")]
    Port,
}
