//! What is said about one request target.

use std::fmt;
use std::net::IpAddr;

use fullsend_origin::AddressClass;

use super::rules;
use crate::finding::Finding;
use crate::rule::Rule;
use crate::severity::Severity;

/// What may happen with a request to a target.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// The host is an ordinary public address, or one that the operator allows.
    Allow {
        /// The address.
        host: String,
    },
    /// The name is acceptable; every address it resolves to must be judged too.
    Resolve {
        /// The name in lower case, without a final dot.
        host: String,
    },
    /// Suspicious: a person or a strict policy decides.
    Ask {
        /// Why.
        reason: Suspicion,
        /// The host that most programs would see.
        host: String,
    },
    /// No target that is accepted at all: programs would read it differently.
    Reject {
        /// What is wrong with it.
        reason: Malformed,
    },
    /// It must not be requested.
    Block {
        /// Why.
        reason: BlockReason,
        /// The host; empty when there is none.
        host: String,
    },
}

/// Why a target is not accepted at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Malformed {
    /// There is nothing.
    Empty,
    /// What stands in front of `://` is no scheme.
    Scheme,
    /// There is no host, at least for some programs.
    NoHost,
    /// Brackets without an IPv6 address in them.
    Brackets,
    /// More colons than a host with a port has.
    Colons,
    /// More than one `@` in front of the path.
    SeveralAts,
    /// A port that is no number from 1 to 65535.
    Port,
    /// A host in the form of a number that is no address, or that some programs wrap around.
    Number,
    /// Two dots in a row, or one in front.
    EmptyLabel,
    /// A character that no host has.
    Character,
    /// An escape in the host that is broken, doubled or not UTF-8.
    Escape,
    /// A label that claims to be an encoded name and is none.
    Punycode,
    /// A host longer than hosts can be.
    TooLong,
}

impl Malformed {
    /// What is wrong, for messages.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Empty => "the target is empty",
            Self::Scheme => "what stands in front of `://` is no scheme",
            Self::NoHost => "the target has no host",
            Self::Brackets => "what stands in brackets is not an IPv6 address",
            Self::Colons => "the host has too many colons",
            Self::SeveralAts => "several `@` stand in front of the path",
            Self::Port => "the port is not a number from 1 to 65535",
            Self::Number => "the host is a number that is not an IP address",
            Self::EmptyLabel => "the host has an empty label",
            Self::Character => "the host has a character that no host has",
            Self::Escape => "the host has an escape that does not stand for a character",
            Self::Punycode => "the host has an `xn--` label that does not encode a name",
            Self::TooLong => "the host is longer than hosts can be",
        }
    }
}

/// Why a target is suspicious.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Suspicion {
    /// Tabs, line ends or other controls, which some programs drop.
    Control,
    /// A `\`, which some programs read as `/`.
    Backslash,
    /// What stands in front of `@` looks like another host.
    UserLooksLikeHost,
    /// An `@` behind the host leads to another host for old programs.
    AtBehindHost,
    /// The host is written with escapes or with characters that turn into others.
    DisguisedHost,
    /// The address is written in an unusual number format.
    UnusualNumber,
    /// The name looks like another one.
    LookAlike,
    /// The name lies outside the public name system.
    PrivateName,
    /// A public service turns the name into any address that is written in it.
    AddressInName,
    /// A port that no web server uses.
    Port,
    /// The rest of the URL carries another one, which leads inside.
    NestedTarget,
}

impl Suspicion {
    /// What is suspicious, for messages.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Control => "control characters stand in the target",
            Self::Backslash => "a backslash stands where some programs end the host and others do not",
            Self::UserLooksLikeHost => "what stands in front of `@` looks like a host",
            Self::AtBehindHost => "an `@` behind the host makes old programs see another host",
            Self::DisguisedHost => "the host is written with escapes or characters that turn into others",
            Self::UnusualNumber => "the address is written in an unusual number format",
            Self::LookAlike => "the host looks like another name",
            Self::PrivateName => "the name lies outside the public name system",
            Self::AddressInName => "the name stands for whatever address is written in it",
            Self::Port => "the port is not one of a web server",
            Self::NestedTarget => "the URL carries another one that leads to a private place",
        }
    }
}

/// Why a target must not be requested.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockReason {
    /// The scheme reads files, runs code or speaks raw protocols.
    BlockedScheme {
        /// The scheme in lower case.
        scheme: String,
        /// Whether the host would be blocked under any scheme.
        host_too: bool,
    },
    /// The scheme is not one for requests.
    DisallowedScheme {
        /// The scheme in lower case.
        scheme: String,
        /// Whether the host would be blocked under any scheme.
        host_too: bool,
    },
    /// A cloud metadata service. No configuration opens these.
    Metadata,
    /// A special name.
    Name(SpecialName),
    /// A public name that stands for an address written in it.
    NameOfAddress {
        /// The address.
        address: IpAddr,
        /// What it is.
        class: AddressClass,
    },
    /// An address that is not an ordinary public one.
    Address {
        /// The address.
        address: IpAddr,
        /// What it is.
        class: AddressClass,
    },
}

/// What a special name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpecialName {
    /// This machine, by convention.
    ThisMachine,
    /// This machine, by a public record.
    PublicLoopback,
    /// A host of the private network.
    PrivateNetwork,
    /// A service that changes its answer between two questions.
    Rebinding,
}

impl SpecialName {
    /// What it stands for, for messages.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::ThisMachine => "a name of this machine",
            Self::PublicLoopback => "a public name of this machine",
            Self::PrivateNetwork => "a name of the private network",
            Self::Rebinding => "a name of a rebinding service",
        }
    }
}

impl Verdict {
    /// Whether nothing speaks against the request so far.
    pub const fn passes(&self) -> bool {
        matches!(self, Self::Allow { .. } | Self::Resolve { .. })
    }

    /// Whether the request must not be made under any policy.
    pub const fn is_refused(&self) -> bool {
        matches!(self, Self::Reject { .. } | Self::Block { .. })
    }

    /// The host, where there is one.
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Allow { host } | Self::Resolve { host } | Self::Ask { host, .. } => Some(host),
            Self::Block { host, .. } => Some(host).filter(|host| !host.is_empty()).map(String::as_str),
            Self::Reject { .. } => None,
        }
    }

    /// The rule that the target breaks, and how badly.
    pub fn rule(&self) -> Option<(&'static Rule, Severity)> {
        let rule = match self {
            Self::Allow { .. } | Self::Resolve { .. } => return None,
            Self::Ask { .. } => &rules::SUSPICIOUS_URL,
            Self::Reject { reason: Malformed::NoHost } => &rules::EMPTY_HOSTNAME,
            Self::Reject { .. } => &rules::MALFORMED_URL,
            Self::Block { reason, .. } => return Some(reason.rule()),
        };
        Some((rule, rule.severity))
    }

    /// The finding about a target that does not pass.
    pub fn finding(&self) -> Option<Finding> {
        let (rule, severity) = self.rule()?;
        Some(Finding::new(rule, None, self.to_string()).with_severity(severity))
    }

    /// The worse of two readings of the same target.
    pub(super) fn worse(self, other: Self) -> Self {
        if other.rank() > self.rank() { other } else { self }
    }

    /// The same, but suspicious where it would pass.
    pub(super) fn at_least(self, reason: Suspicion) -> Self {
        match self {
            Self::Allow { host } | Self::Resolve { host } => Self::Ask { reason, host },
            Self::Ask { .. } | Self::Reject { .. } | Self::Block { .. } => self,
        }
    }

    fn rank(&self) -> (u8, Option<Severity>) {
        let kind = match self {
            Self::Allow { .. } => 0,
            Self::Resolve { .. } => 1,
            Self::Ask { .. } => 2,
            Self::Reject { .. } => 3,
            Self::Block { .. } => 4,
        };
        (kind, self.rule().map(|(_, severity)| severity))
    }
}

impl BlockReason {
    /// Whether the scheme alone decided.
    pub(super) const fn is_about_scheme(&self) -> bool {
        matches!(self, Self::BlockedScheme { .. } | Self::DisallowedScheme { .. })
    }

    /// The scheme is checked first, but a bad host makes the finding no less bad.
    fn rule(&self) -> (&'static Rule, Severity) {
        let (rule, host_too) = match self {
            Self::BlockedScheme { host_too, .. } => (&rules::BLOCKED_SCHEME, *host_too),
            Self::DisallowedScheme { host_too, .. } => (&rules::DISALLOWED_SCHEME, *host_too),
            Self::Metadata | Self::Name(_) | Self::NameOfAddress { .. } => (&rules::BLOCKED_HOSTNAME, false),
            Self::Address { .. } => (&rules::BLOCKED_IP, false),
        };
        (rule, if host_too { Severity::Critical } else { rule.severity })
    }
}

impl fmt::Display for BlockReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BlockedScheme { scheme, .. } => write!(formatter, "blocked scheme `{scheme}`"),
            Self::DisallowedScheme { scheme, .. } => write!(formatter, "disallowed scheme `{scheme}`"),
            Self::Metadata => formatter.write_str("a cloud metadata service"),
            Self::Name(name) => formatter.write_str(name.describe()),
            Self::NameOfAddress { address, class } => write!(formatter, "a name for {address}, {class}"),
            Self::Address { address, class } => write!(formatter, "{address} is {class}"),
        }
    }
}

/// Says what is wrong without the path, the query or the user, which may hold secrets.
impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow { host } | Self::Resolve { host } => write!(formatter, "host `{host}`"),
            Self::Ask { reason, host } => write!(formatter, "host `{host}`: {}", reason.describe()),
            Self::Reject { reason } => formatter.write_str(reason.describe()),
            Self::Block { reason, host } if host.is_empty() => reason.fmt(formatter),
            Self::Block { reason, host } => write!(formatter, "host `{host}`: {reason}"),
        }
    }
}
