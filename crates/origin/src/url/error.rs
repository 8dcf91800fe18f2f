//! What can be wrong with a URL.

use std::fmt;

use thiserror::Error;

/// A part of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlPart {
    /// From the first `/` after the host.
    Path,
    /// After `#`.
    Fragment,
}

impl fmt::Display for UrlPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Path => "path",
            Self::Fragment => "fragment",
        })
    }
}

/// A spelling that different readers of the same URL may understand differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Hazard {
    /// `%25`: decoding twice gives another URL than decoding once.
    #[error("it holds `%25`, so decoding it twice gives another URL")]
    DoubleEncoding,
    /// A segment `.` or `..`, also when escaped.
    #[error("its path has a `.` or `..` segment")]
    DotSegment,
    /// A backslash, which some readers take for a slash.
    #[error("its path has a backslash")]
    Backslash,
    /// An escaped slash or backslash, which hides a segment boundary.
    #[error("its path has an escaped slash or backslash")]
    EncodedSeparator,
    /// An escaped control character.
    #[error("its path has an escaped control character")]
    EncodedControl,
    /// A host with a dot at the start or two dots in a row.
    #[error("its host has an empty label")]
    EmptyHostLabel,
    /// A host with a dot at the end: the same host under another name.
    #[error("its host ends in a dot")]
    TrailingDot,
    /// A host that some resolvers read as an IPv4 address.
    #[error("its host is a number that some resolvers take for an address")]
    NumericHost,
    /// An IPv6 address with a zone, which means something on one machine only.
    #[error("its host is an address with a zone")]
    ZoneIdentifier,
    /// A port that cannot exist, or is empty, or has leading zeros.
    #[error("its port is not a plain number from 1 to 65535")]
    Port,
}

impl Hazard {
    /// Stable name of this hazard for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::DoubleEncoding => "url-double-encoding",
            Self::DotSegment => "url-dot-segment",
            Self::Backslash => "url-backslash",
            Self::EncodedSeparator => "url-encoded-separator",
            Self::EncodedControl => "url-encoded-control",
            Self::EmptyHostLabel => "url-empty-host-label",
            Self::TrailingDot => "url-trailing-dot",
            Self::NumericHost => "url-numeric-host",
            Self::ZoneIdentifier => "url-zone-identifier",
            Self::Port => "url-port",
        }
    }

    /// What to do when no corrected spelling is known.
    const fn advice(self) -> &'static str {
        match self {
            Self::DoubleEncoding | Self::EncodedControl => {
                "rename the resource so that its URL needs no such escape"
            }
            Self::DotSegment => "write the path without `.` and `..`",
            Self::Backslash => "write `/` between segments",
            Self::EncodedSeparator => "write the path with plain `/` between segments",
            Self::EmptyHostLabel => "write the host with single dots between its labels",
            Self::TrailingDot => "remove the dot at the end of the host",
            Self::NumericHost => "write the host name, or the address as four decimal numbers",
            Self::ZoneIdentifier => "write the address without its zone",
            Self::Port => "write the port as a plain number from 1 to 65535, or leave out the colon",
        }
    }
}

/// Why a text is not an acceptable `https` URL.
///
/// Messages never repeat the URL: it may hold credentials.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UrlError {
    /// There is nothing to read.
    #[error("the URL is empty")]
    Empty,
    /// The URL holds a control byte.
    #[error("the URL holds the control byte 0x{byte:02x} at offset {offset}")]
    ControlByte {
        /// The first such byte.
        byte: u8,
        /// Its offset.
        offset: usize,
    },
    /// The URL starts with white space.
    #[error("the URL starts with white space")]
    LeadingSpace,
    /// There is no scheme.
    #[error("the URL does not start with `https://`")]
    MissingScheme,
    /// The scheme is not `https`.
    #[error("the scheme `{scheme}` is not `https`")]
    UnsupportedScheme {
        /// The scheme in lower case.
        scheme: String,
    },
    /// `https:` is not followed by two slashes.
    #[error("`https:` is not followed by `//`")]
    MissingSlashes,
    /// There is no host.
    #[error("the URL has no host")]
    EmptyHost,
    /// There is something, or nothing, before an `@` in front of the host.
    #[error("the URL has user information in front of its host")]
    Userinfo,
    /// The host holds a character that no host has.
    #[error("{character:?} cannot be part of a host")]
    HostCharacter {
        /// The first such character.
        character: char,
    },
    /// The host holds a percent escape.
    #[error("the host holds a percent escape")]
    HostEscape,
    /// There is more than one colon after the host.
    #[error("the host is followed by more than one colon")]
    ExtraColon,
    /// The port is not made of digits.
    #[error("the port `{text}` is not a number")]
    PortNotNumeric {
        /// The port as written.
        text: String,
    },
    /// The port does not exist.
    #[error("the port `{text}` is not a plain number from 1 to 65535")]
    PortRange {
        /// The port as written.
        text: String,
    },
    /// What is in brackets is not an IPv6 address.
    #[error("`{text}` is not an IPv6 address in brackets")]
    Ipv6Literal {
        /// The host as written.
        text: String,
    },
    /// A `%` is not followed by two hexadecimal digits.
    #[error("the {part} has a `%` without two hexadecimal digits at offset {offset}")]
    MalformedEscape {
        /// Where in the URL.
        part: UrlPart,
        /// Offset within that part.
        offset: usize,
    },
    /// The URL has a fragment where none belongs.
    #[error("the URL has a fragment")]
    Fragment,
    /// The URL can be read in more than one way.
    #[error("the URL is ambiguous: {hazard}")]
    Hazard {
        /// In what way.
        #[source]
        hazard: Hazard,
        /// A spelling with one meaning, where there is one.
        corrected: Option<String>,
    },
}

impl UrlError {
    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Empty => "url-empty",
            Self::ControlByte { .. } => "url-control-byte",
            Self::LeadingSpace => "url-leading-space",
            Self::MissingScheme => "url-missing-scheme",
            Self::UnsupportedScheme { .. } => "url-unsupported-scheme",
            Self::MissingSlashes => "url-missing-slashes",
            Self::EmptyHost => "url-empty-host",
            Self::Userinfo => "url-userinfo",
            Self::HostCharacter { .. } => "url-host-character",
            Self::HostEscape => "url-host-escape",
            Self::ExtraColon => "url-extra-colon",
            Self::PortNotNumeric { .. } => "url-port-not-numeric",
            Self::PortRange { .. } => "url-port",
            Self::Ipv6Literal { .. } => "url-ipv6-literal",
            Self::MalformedEscape { .. } => "url-malformed-escape",
            Self::Fragment => "url-fragment",
            Self::Hazard { hazard, .. } => hazard.code(),
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        if let Self::Hazard { corrected: Some(corrected), .. } = self {
            return Some(format!("write `{corrected}`"));
        }
        self.advice().map(str::to_owned)
    }

    /// Help that does not depend on the URL.
    const fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Self::Empty | Self::MissingScheme | Self::UnsupportedScheme { .. } | Self::MissingSlashes => {
                "write a URL that starts with `https://`"
            }
            Self::ControlByte { .. } => "remove tabs, line breaks and other control characters",
            Self::LeadingSpace => "remove the white space in front of the URL",
            Self::EmptyHost => "write a host after `https://`",
            Self::Userinfo => {
                "remove everything up to and including the `@`; credentials do not belong in a URL"
            }
            Self::HostCharacter { .. } | Self::HostEscape => {
                "write the host with letters, digits, `-` and `.`, or in its `xn--` form"
            }
            Self::ExtraColon => "write an IPv6 address in brackets, and at most one port",
            Self::PortNotNumeric { .. } | Self::PortRange { .. } => Hazard::Port.advice(),
            Self::Ipv6Literal { .. } => "write the address as in `https://[2001:db8::1]/`",
            Self::MalformedEscape { .. } => {
                "write a literal percent sign some other way; `%` starts an escape"
            }
            Self::Fragment => "remove the `#` and everything after it",
            Self::Hazard { hazard, .. } => hazard.advice(),
        })
    }
}
