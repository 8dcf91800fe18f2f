//! What goes wrong between a run and a service. No message holds a credential, a query or a body.

use std::io;

use thiserror::Error;

/// Why a text is not the address of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ServiceUrlError {
    /// It cannot be read.
    #[error("is not an absolute URL; write `https://host/path`")]
    Unreadable,
    /// Another scheme.
    #[error("has an unknown scheme; use `https`, or `http` where that is allowed")]
    Scheme,
    /// Anybody on the way could read what is sent.
    #[error("would send a secret without encryption; use `https` (`http` is for this machine only)")]
    NotConfidential,
    /// A user name or password.
    #[error("has a user name or password, which would end up in messages; give the credential separately")]
    UserInfo,
    /// A fragment, which is never sent.
    #[error("has a fragment; remove everything from `#` on")]
    Fragment,
    /// A port that is none.
    #[error("has a port that is none; use a number up to 65535")]
    Port,
}

/// Why there is no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The name leads nowhere.
    #[error("the address of `{host}` cannot be found")]
    Lookup {
        /// The host.
        host: String,
        /// Why.
        source: io::Error,
    },
    /// The name of this machine leads elsewhere, where a secret may not go without encryption.
    #[error("`{host}` is not this machine, so nothing secret is sent there over `http`")]
    NotLoopback {
        /// The host.
        host: String,
    },
    /// Nothing accepts connections there.
    #[error("`{host}` cannot be reached")]
    Connect {
        /// The host.
        host: String,
        /// Why.
        source: io::Error,
    },
    /// Somebody else is there.
    #[error("`{host}` cannot prove its name")]
    Tls {
        /// The host.
        host: String,
        /// Why.
        source: io::Error,
    },
    /// It takes too long.
    #[error("`{host}` did not answer in time")]
    Timeout {
        /// The host.
        host: String,
    },
    /// The connection broke, or the other side does not speak HTTP.
    #[error("the conversation with `{host}` broke off")]
    Broken {
        /// The host.
        host: String,
        /// Why.
        source: hyper::Error,
    },
    /// The answer is too long.
    #[error("`{host}` answered with more than {limit} bytes")]
    TooLarge {
        /// The host.
        host: String,
        /// The most that is read.
        limit: usize,
    },
    /// The answer is encoded in a way that was not asked for.
    #[error("`{host}` encoded its answer, which was not asked for")]
    Encoding {
        /// The host.
        host: String,
    },
    /// It sends us elsewhere, and credentials do not go there.
    #[error("`{host}` answered {status}, a redirect, and none is followed; name the final address")]
    Redirect {
        /// The host.
        host: String,
        /// The status.
        status: u16,
    },
}

impl ServiceError {
    /// Whether the same request may work a moment later.
    pub const fn may_pass(&self) -> bool {
        match self {
            Self::Lookup { .. } | Self::Connect { .. } | Self::Timeout { .. } | Self::Broken { .. } => true,
            Self::NotLoopback { .. }
            | Self::Tls { .. }
            | Self::TooLarge { .. }
            | Self::Encoding { .. }
            | Self::Redirect { .. } => false,
        }
    }
}
