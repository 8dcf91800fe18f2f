//! Leases: which browser may be driven, until when, and with whose accounts.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use jiff::Timestamp;

/// The names of this machine that an endpoint may have.
const LOCAL_HOSTS: [&str; 4] = ["127.0.0.1", "[::1]", "localhost", "host.docker.internal"];
/// The port that is not written in an address, so that an endpoint with it never looks explicit.
const UNWRITTEN_PORT: u16 = 80;

/// The right to drive one browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    endpoint: LocalOrigin,
    expires_at: Option<Timestamp>,
    mode: ProfileMode,
    account: AccountAccess,
}

/// Whether what a page leaves behind outlives the lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProfileMode {
    /// Pages use the profile of the browser.
    Persistent,
    /// Pages use a profile of their own that ends with the connection.
    #[default]
    Transient,
}

/// Whether the accounts that the browser is signed in to are lent with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccountAccess {
    /// They are.
    Available,
    /// They are not: pages see none of the browser's cookies.
    #[default]
    None,
}

/// Why there is no lease to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// The endpoint is not on this machine, or is more than an origin.
    #[error(
        "the browser endpoint must be a local origin such as http://127.0.0.1:9222: http, one of 127.0.0.1, [::1], \
         localhost and host.docker.internal, a port other than 80, and nothing after it"
    )]
    NotLocalOrigin,
    /// The moment of expiry cannot be read, so the lease may be over.
    #[error("Browser Access lease expiry is invalid; write it like 2026-01-31T12:00:00Z")]
    InvalidExpiry,
    /// The lease is over.
    #[error("Browser Access lease has expired")]
    Expired,
}

impl Lease {
    /// A lease of the browser at `endpoint`, without end, with a profile of its own and without accounts.
    pub fn new(endpoint: &str) -> Result<Self, LeaseError> {
        let endpoint = LocalOrigin::parse(endpoint)?;
        let (mode, account) = (ProfileMode::default(), AccountAccess::default());
        Ok(Self { endpoint, expires_at: None, mode, account })
    }

    /// The same lease until this moment (RFC 3339). A blank says nothing.
    pub fn until(mut self, expires_at: &str) -> Result<Self, LeaseError> {
        let text = expires_at.trim();
        if !text.is_empty() {
            self.expires_at = Some(text.parse().map_err(|_| LeaseError::InvalidExpiry)?);
        }
        Ok(self)
    }

    /// The same lease with this kind of profile.
    #[must_use]
    pub fn with_mode(self, mode: ProfileMode) -> Self {
        Self { mode, ..self }
    }

    /// The same lease with, or without, accounts.
    #[must_use]
    pub fn with_account(self, account: AccountAccess) -> Self {
        Self { account, ..self }
    }

    /// Where the browser listens.
    pub fn endpoint(&self) -> &LocalOrigin {
        &self.endpoint
    }

    /// When it ends, if it does.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.expires_at
    }

    /// Whether the browser may be used at this moment.
    pub fn check(&self, now: Timestamp) -> Result<(), LeaseError> {
        match self.expires_at {
            Some(end) if end <= now => Err(LeaseError::Expired),
            Some(_) | None => Ok(()),
        }
    }

    /// Whether pages get cookies and storage of their own. A lease that lends the profile but not the accounts in it
    /// cannot be kept by using the profile.
    pub(super) fn is_isolated(&self) -> bool {
        self.mode == ProfileMode::Transient || self.account == AccountAccess::None
    }
}

/// A place on this machine where a browser listens: `http`, a local host, a port.
#[derive(Clone, PartialEq, Eq)]
pub struct LocalOrigin {
    host: &'static str,
    port: u16,
}

impl LocalOrigin {
    /// Reads an origin. Other spellings of the same address are refused rather than understood.
    pub fn parse(text: &str) -> Result<Self, LeaseError> {
        Self::read(text).ok_or(LeaseError::NotLocalOrigin)
    }

    fn read(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let (host, port) = rest.strip_suffix('/').unwrap_or(rest).rsplit_once(':')?;
        let host = LOCAL_HOSTS.into_iter().find(|local| local.eq_ignore_ascii_case(host))?;
        if !scheme.eq_ignore_ascii_case("http") || !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let port = port.parse().ok().filter(|port| ![0, UNWRITTEN_PORT].contains(port))?;
        Some(Self { host, port })
    }

    /// The name or address, IPv6 in brackets.
    pub(super) fn host(&self) -> &'static str {
        self.host
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The addresses, where the name alone says them. What a name server says about `localhost` is not asked for.
    pub(super) fn fixed_addresses(&self) -> Option<&'static [IpAddr]> {
        const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
        const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);
        match self.host {
            "127.0.0.1" => Some(&[V4]),
            "[::1]" => Some(&[V6]),
            "localhost" => Some(&[V4, V6]),
            _ => None,
        }
    }
}

impl fmt::Display for LocalOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}:{}", self.host, self.port)
    }
}

impl fmt::Debug for LocalOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}
