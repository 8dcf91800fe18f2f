//! Why something could not be fetched.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

use fullsend_origin::{AddressClass, Sha256Digest};
use thiserror::Error;

use super::ResponseHeaders;

/// Why a URL could not be fetched.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The network may not be used.
    #[error("the network is off, so `{host}` cannot be asked")]
    Offline {
        /// The host of the URL.
        host: String,
    },
    /// The host is not on the list.
    #[error("the host `{host}` is not allowed")]
    HostNotAllowed {
        /// The host of the URL.
        host: String,
    },
    /// The host is not a name that certificates can carry.
    #[error("the host `{host}` cannot be looked up")]
    HostName {
        /// The host of the URL.
        host: String,
    },
    /// The port is neither 443 nor opened for this host.
    #[error("port {port} of `{host}` is not allowed")]
    PortNotAllowed {
        /// The host of the URL.
        host: String,
        /// Its port.
        port: u16,
    },
    /// The host has no addresses, or the resolver failed.
    #[error("the address of `{host}` cannot be found")]
    Dns {
        /// The host of the URL.
        host: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// One of the host's addresses is not on the public internet.
    #[error("`{host}` has the address {address}, {class}")]
    AddressRefused {
        /// The host of the URL.
        host: String,
        /// The first address that was refused.
        address: IpAddr,
        /// What kind of address that is.
        class: AddressClass,
    },
    /// One of the host's addresses hands out the credentials of the machine.
    #[error("`{host}` has the address {address}, a cloud metadata service")]
    MetadataAddress {
        /// The host of the URL.
        host: String,
        /// The address.
        address: IpAddr,
    },
    /// No address of the host accepted a connection.
    #[error("cannot connect to `{host}`")]
    Connect {
        /// The host of the URL.
        host: String,
        /// The failure at the address tried last.
        source: io::Error,
    },
    /// The connection ended somewhere else than intended.
    #[error("the connection to `{host}` ended at {address}, which was not asked for")]
    Peer {
        /// The host of the URL.
        host: String,
        /// The address of the other side.
        address: IpAddr,
    },
    /// The server could not prove who it is.
    #[error("the server cannot prove that it is `{host}`")]
    Tls {
        /// The host of the URL.
        host: String,
        /// What is wrong with its certificate or its handshake.
        source: io::Error,
    },
    /// Something took too long.
    #[error("`{host}` was too slow: {phase}")]
    Timeout {
        /// The host of the URL.
        host: String,
        /// What took too long.
        phase: Phase,
    },
    /// The server sent the client elsewhere.
    #[error("`{host}` answered with a redirect ({status}) to `{target}`, and redirects are not followed")]
    Redirect {
        /// The host of the URL.
        host: String,
        /// The status code.
        status: u16,
        /// The host that it points to, or what little can be said about it.
        target: String,
    },
    /// The server answered with something other than success.
    #[error("`{host}` answered with status {}", refusal.status)]
    Status {
        /// The host of the URL.
        host: String,
        /// The answer.
        refusal: Box<Refusal>,
    },
    /// The body is larger than allowed.
    #[error("the response of `{host}` is larger than {limit} bytes")]
    TooLarge {
        /// The host of the URL.
        host: String,
        /// The largest size allowed.
        limit: u64,
    },
    /// The body is encoded although that was not asked for.
    #[error("`{host}` sent the encoding `{encoding}`, which was not asked for")]
    Encoding {
        /// The host of the URL.
        host: String,
        /// The encoding, shortened.
        encoding: String,
    },
    /// The connection broke before the response was complete.
    #[error("the connection to `{host}` broke after {received} bytes of the body")]
    Interrupted {
        /// The host of the URL.
        host: String,
        /// How much of the body had arrived.
        received: u64,
        /// What happened.
        source: hyper::Error,
    },
    /// More arrived than the response announced.
    #[error("`{host}` sent more than the length it announced")]
    Length {
        /// The host of the URL.
        host: String,
    },
    /// What arrived is not a response, or its headers are too large.
    #[error("`{host}` did not answer in proper HTTP")]
    Protocol {
        /// The host of the URL.
        host: String,
        /// What is wrong.
        source: hyper::Error,
    },
    /// The request cannot be written as HTTP.
    #[error("the request cannot be sent: its {part} is not valid in HTTP")]
    Request {
        /// The offending part.
        part: &'static str,
    },
    /// The content is not the content that was pinned.
    #[error("the content has the digest {found}, but {expected} was asked for")]
    Digest {
        /// The digest in the pin.
        expected: Sha256Digest,
        /// The digest of what arrived.
        found: Sha256Digest,
    },
}

impl FetchError {
    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Offline { .. } => "fetch-offline",
            Self::HostNotAllowed { .. } => "fetch-host-not-allowed",
            Self::HostName { .. } => "fetch-host-name",
            Self::PortNotAllowed { .. } => "fetch-port-not-allowed",
            Self::Dns { .. } => "fetch-dns",
            Self::AddressRefused { .. } => "fetch-address-refused",
            Self::MetadataAddress { .. } => "fetch-metadata-address",
            Self::Connect { .. } => "fetch-connect",
            Self::Peer { .. } => "fetch-peer",
            Self::Tls { .. } => "fetch-tls",
            Self::Timeout { .. } => "fetch-timeout",
            Self::Redirect { .. } => "fetch-redirect",
            Self::Status { .. } => "fetch-status",
            Self::TooLarge { .. } => "fetch-too-large",
            Self::Encoding { .. } => "fetch-encoding",
            Self::Interrupted { .. } => "fetch-interrupted",
            Self::Length { .. } => "fetch-length",
            Self::Protocol { .. } => "fetch-protocol",
            Self::Request { .. } => "fetch-request",
            Self::Digest { .. } => "fetch-digest",
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Offline { .. } => "run once without `--offline` to fill the cache".to_owned(),
            Self::HostNotAllowed { host } => format!("allow a URL prefix of `{host}` in the configuration"),
            Self::HostName { .. } => "write the host in its `xn--` form".to_owned(),
            Self::PortNotAllowed { host, port } => {
                format!("use port 443, or name `{host}` with port {port} under `private_hosts`")
            }
            Self::AddressRefused { host, address, .. } => {
                format!(
                    "if `{host}` is yours, name it under `private_hosts` with a range that holds {address}"
                )
            }
            Self::Redirect { .. } => "use the URL that the content finally has".to_owned(),
            Self::Digest { found, .. } => {
                format!("if the new content is what you want, review it and pin `#sha256={found}`")
            }
            Self::Tls { .. } => {
                "if your network has its own certificate authority, name its file in `SSL_CERT_FILE`"
                    .to_owned()
            }
            Self::Dns { .. } | Self::Connect { .. } | Self::Timeout { .. } | Self::Interrupted { .. } => {
                "check the network and try again".to_owned()
            }
            Self::Status { refusal, .. } => return refusal.help(),
            Self::MetadataAddress { .. }
            | Self::Peer { .. }
            | Self::TooLarge { .. }
            | Self::Encoding { .. }
            | Self::Length { .. }
            | Self::Protocol { .. }
            | Self::Request { .. } => return None,
        })
    }

    /// The answer of the server, when it refused.
    pub fn refusal(&self) -> Option<&Refusal> {
        if let Self::Status { refusal, .. } = self { Some(refusal) } else { None }
    }
}

/// What took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Connecting, TLS included.
    Connect,
    /// Waiting for the response headers.
    Headers,
    /// Waiting for more of the body.
    Body,
    /// Everything together.
    Total,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "no connection in time",
            Self::Headers => "no complete headers in time",
            Self::Body => "the body stopped arriving",
            Self::Total => "the whole request took too long",
        })
    }
}

/// The answer of a server that did not say 200.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status code.
    pub status: u16,
    /// The headers that clients act on.
    pub headers: ResponseHeaders,
    /// The start of the body, if it was asked for. It was written by the server: never trust it.
    pub excerpt: String,
}

impl Refusal {
    /// What the user can do about it.
    fn help(&self) -> Option<String> {
        let help = match self.status {
            401 => "check the token for this host",
            403 | 429 => "wait, or use a token with a larger quota and access to the resource",
            404 => "check the URL; a private resource needs a token",
            500..=599 => "try again later",
            _ => return None,
        };
        Some(help.to_owned())
    }
}

/// Why a fetcher could not be made from its rules.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RulesError {
    /// A file of certificate authorities could not be read.
    #[error("cannot read the certificate authorities in `{}`", path.display())]
    RootsFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The certificate authorities hold no certificate, or one that cannot be read.
    #[error("the additional certificate authorities are not certificates in PEM form")]
    Roots,
    /// The TLS library refused its own defaults.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
}

impl RulesError {
    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::RootsFile { .. } => "fetch-roots-file",
            Self::Roots => "fetch-roots",
            Self::Tls(_) => "fetch-tls-setup",
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::RootsFile { .. } | Self::Roots => {
                Some("name a readable file of PEM certificates".to_owned())
            }
            Self::Tls(_) => None,
        }
    }
}
