//! Addresses of pages, read as browsers read them: whatever spelling of an address there is, this is what is judged.

use std::fmt;
use std::net::IpAddr;

use url::{Host, Url};

use super::VisitError;

/// Names that lead to this machine or to the network around it, whatever a name server says.
const LOCAL_NAMES: [&str; 2] = ["localhost", "host.docker.internal"];
/// The ends of such names.
const LOCAL_ENDS: [&str; 2] = [".localhost", ".local"];

/// The longest URL, in bytes.
const LONGEST: usize = 8 * 1024;

/// An `http` or `https` URL with a host and without credentials, in normal form.
#[derive(Clone, PartialEq, Eq)]
pub struct PageUrl(Url);

impl PageUrl {
    /// Reads a URL.
    pub fn parse(text: &str) -> Result<Self, VisitError> {
        if text.len() > LONGEST {
            return Err(VisitError::InvalidUrl { reason: "it is too long" });
        }
        let url = Url::parse(text).map_err(|_| VisitError::InvalidUrl { reason: "it cannot be read" })?;
        let parsed = Self::of(url).ok_or(VisitError::InvalidUrl { reason: "it is not http or https" })?;
        if parsed.has_credentials() {
            let reason = "it holds a user name or a password".to_owned();
            return Err(VisitError::Blocked { at: parsed.without_credentials(), reason });
        }
        Ok(parsed)
    }

    /// The URL that a reference on this page leads to; none if that is no page, or holds credentials.
    pub fn join(&self, reference: &str) -> Option<Self> {
        if reference.len() > LONGEST {
            return None;
        }
        Self::of(self.0.join(reference).ok()?).filter(|url| !url.has_credentials())
    }

    fn of(mut url: Url) -> Option<Self> {
        let web = matches!(url.scheme(), "http" | "https") && url.host().is_some();
        url.set_fragment(None);
        web.then_some(Self(url))
    }

    fn has_credentials(&self) -> bool {
        !self.0.username().is_empty() || self.0.password().is_some()
    }

    fn without_credentials(mut self) -> Self {
        // Fails only for URLs without a host, of which this is none.
        let _ = self.0.set_username("");
        let _ = self.0.set_password(None);
        self
    }

    /// The URL as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The host: in lower case, without a dot at the end; an IPv6 address without brackets.
    pub fn host(&self) -> String {
        match self.0.host() {
            Some(Host::Domain(name)) => name.strip_suffix('.').unwrap_or(name).to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            None => String::new(),
        }
    }

    /// The address, if the host is written as one.
    pub fn address(&self) -> Option<IpAddr> {
        match self.0.host()? {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
        }
    }

    /// The port, written or not.
    pub fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether the host is a name that leads to this machine or to the network around it.
    pub fn names_this_machine(&self) -> bool {
        let host = self.host();
        LOCAL_NAMES.contains(&host.as_str()) || LOCAL_ENDS.iter().any(|end| host.ends_with(end))
    }

    /// What stands in the first line of the request.
    pub(super) fn request_target(&self) -> String {
        self.0.query().map_or_else(|| self.0.path().to_owned(), |query| format!("{}?{query}", self.0.path()))
    }

    /// The value of the `Host` header.
    pub(super) fn authority(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }
}

impl fmt::Display for PageUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for PageUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}
