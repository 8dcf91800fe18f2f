//! The rules about where a request may go.
//!
//! [`admit`] decides on the URL alone, before any packet is sent; [`pin_addresses`] decides on everything that the
//! resolver answered. One bad address refuses the request: a server that answers with a public address today and
//! `127.0.0.1` beside it is trying something.

use std::io;
use std::net::{IpAddr, SocketAddr};

use fullsend_origin::{HttpsUrl, classify, is_metadata};
use rustls::pki_types::ServerName;

use super::rules::HTTPS_PORT;
use super::{FetchError, FetchRules, Mode};

/// A place that the rules allow to be asked.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// In lower case; an IPv6 address without brackets.
    pub(super) host: String,
    /// The port.
    pub(super) port: u16,
    /// What the certificate must be for.
    pub(super) name: ServerName<'static>,
    /// The address, if the host is one.
    pub(super) address: Option<IpAddr>,
}

impl Target {
    /// The value of the `Host` header.
    pub(super) fn authority(&self) -> String {
        let host = match self.address {
            Some(IpAddr::V6(_)) => format!("[{}]", self.host),
            Some(IpAddr::V4(_)) | None => self.host.clone(),
        };
        if self.port == HTTPS_PORT { host } else { format!("{host}:{}", self.port) }
    }
}

/// Checks everything that needs no network.
pub(super) fn admit(url: &HttpsUrl, rules: &FetchRules) -> Result<Target, FetchError> {
    let host = url.host().to_owned();
    if rules.mode == Mode::Offline {
        return Err(FetchError::Offline { host });
    }
    if !rules.allowed_hosts.iter().any(|pattern| pattern.matches(&host)) {
        return Err(FetchError::HostNotAllowed { host });
    }
    let port = match url.port() {
        Ok(port) => port.unwrap_or(HTTPS_PORT),
        Err(_) => return Err(FetchError::Request { part: "port" }),
    };
    if port != HTTPS_PORT && rules.private(&host, port).next().is_none() {
        return Err(FetchError::PortNotAllowed { host, port });
    }
    match ServerName::try_from(host.clone()) {
        Ok(name) => Ok(Target { host, port, name, address: url.ip() }),
        Err(_) => Err(FetchError::HostName { host }),
    }
}

/// Checks all addresses of a host; only these will be connected to.
pub(super) fn pin_addresses(
    target: &Target,
    addresses: &[IpAddr],
    rules: &FetchRules,
) -> Result<Vec<SocketAddr>, FetchError> {
    if addresses.is_empty() {
        let source = io::Error::new(io::ErrorKind::NotFound, "the host has no addresses");
        return Err(FetchError::Dns { host: target.host.clone(), source });
    }
    let mut pinned = Vec::new();
    for address in addresses {
        check_address(target, *address, rules)?;
        let socket = SocketAddr::new(*address, target.port);
        if !pinned.contains(&socket) {
            pinned.push(socket);
        }
    }
    Ok(pinned)
}

/// Refuses an address that is neither public nor opened for this host and port.
pub(super) fn check_address(target: &Target, address: IpAddr, rules: &FetchRules) -> Result<(), FetchError> {
    let host = || target.host.clone();
    // Ranges are written for the plain form of an address, so `::ffff:10.0.0.1` is judged as `10.0.0.1`.
    let plain = address.to_canonical();
    if is_metadata(address) || is_metadata(plain) {
        return Err(FetchError::MetadataAddress { host: host(), address });
    }
    let class = classify(address);
    let opened = rules.private(&target.host, target.port).any(|entry| entry.cidr.contains(&plain));
    if class.is_global() || opened {
        Ok(())
    } else {
        Err(FetchError::AddressRefused { host: host(), address, class })
    }
}

#[cfg(test)]
mod tests;
