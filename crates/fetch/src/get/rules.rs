//! What a fetcher may do.

use std::path::PathBuf;
use std::time::Duration;

use fullsend_origin::{AllowEntry, EffectiveAllowList, HostPattern};
use ipnet::IpNet;

/// The port of `https`.
pub(crate) const HTTPS_PORT: u16 = 443;

/// Everything that decides what may be fetched and how long it may take.
#[derive(Clone, Debug)]
pub struct FetchRules {
    /// Hosts that may be asked at all.
    pub allowed_hosts: Vec<HostPattern>,
    /// Exceptions to the rules about ports and addresses.
    pub private_hosts: Vec<PrivateHost>,
    /// The largest body, inclusive.
    pub max_bytes: u64,
    /// For connecting to one address, TLS included.
    pub connect_timeout: Duration,
    /// For the response headers, and between two pieces of the body.
    pub stall_timeout: Duration,
    /// For everything: name resolution, all attempts and the pauses between them.
    pub total_timeout: Duration,
    /// When to try again.
    pub retries: RetryRules,
    /// Whether the network may be used.
    pub mode: Mode,
    /// Certificate authorities to trust besides those of the system.
    pub extra_roots: Vec<ExtraRoots>,
}

impl FetchRules {
    /// The usual limits: 10 MiB, 30 seconds, two retries; for these hosts only.
    pub fn new(allowed_hosts: Vec<HostPattern>) -> Self {
        Self {
            allowed_hosts,
            private_hosts: Vec::new(),
            max_bytes: 10 * 1024 * 1024,
            connect_timeout: Duration::from_secs(10),
            stall_timeout: Duration::from_secs(10),
            total_timeout: Duration::from_secs(30),
            retries: RetryRules::default(),
            mode: Mode::Online,
            extra_roots: Vec::new(),
        }
    }

    /// The usual limits for the hosts that both lists name.
    ///
    /// The lists still decide about each URL; this only keeps all other hosts out of reach.
    pub fn for_allow_list(list: &EffectiveAllowList) -> Self {
        let in_org = |host: &str| list.org().iter().any(|entry| entry.host() == host);
        let hosts = list.harness().iter().map(AllowEntry::host).filter(|host| in_org(host));
        // A host that is no pattern is matched by nothing, so leaving it out changes nothing.
        Self::new(hosts.filter_map(|host| HostPattern::parse(host).ok()).collect())
    }

    /// The exceptions for one host and port.
    pub(crate) fn private<'a>(&'a self, host: &'a str, port: u16) -> impl Iterator<Item = &'a PrivateHost> {
        self.private_hosts.iter().filter(move |entry| entry.port == port && entry.host.matches(host))
    }
}

/// A host in a private network that the operator opened on purpose.
///
/// Addresses of cloud metadata services stay closed, whatever the range says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateHost {
    /// The host. It must be among the allowed hosts as well.
    pub host: HostPattern,
    /// The one port.
    pub port: u16,
    /// The addresses that the host may have.
    pub cidr: IpNet,
}

/// Whether the network may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It may.
    #[default]
    Online,
    /// It may not; every request is refused before anything else is looked at.
    Offline,
}

/// Certificate authorities, for networks with their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtraRoots {
    /// Certificates in PEM form.
    Pem(Vec<u8>),
    /// A file of certificates in PEM form.
    File(PathBuf),
}

/// When a failed request is tried again. Only failures that may pass by themselves are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryRules {
    /// How many times, after the first.
    pub max_retries: u32,
    /// The pause before the first retry; it doubles each time, and up to half of it is left out at random.
    pub base_delay: Duration,
    /// The longest pause.
    pub max_delay: Duration,
    /// The longest pause that a server may ask for; if it asks for more, its refusal is final.
    pub max_retry_after: Duration,
}

impl Default for RetryRules {
    fn default() -> Self {
        Self {
            max_retries: 2,
            base_delay: Duration::from_millis(250),
            max_delay: Duration::from_secs(5),
            max_retry_after: Duration::from_secs(10),
        }
    }
}

#[cfg(test)]
mod tests {
    use fullsend_origin::{AllowList, EffectiveAllowList};

    use super::FetchRules;

    #[test]
    fn hosts_come_from_both_allow_lists() {
        let harness = ["https://a.example/x/", "https://b.example/", "https://[2001:4860::1]/"];
        let org = ["https://A.example/", "https://c.example/", "https://[2001:4860::1]/"];
        let list =
            EffectiveAllowList::new(AllowList::parse(harness).unwrap(), AllowList::parse(org).unwrap());
        let rules = FetchRules::for_allow_list(&list);
        let hosts: Vec<&str> = rules.allowed_hosts.iter().map(|host| host.as_str()).collect();
        assert_eq!(hosts, ["a.example", "2001:4860::1"]);
    }
}
