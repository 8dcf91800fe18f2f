//! A network policy, checked once and ready to decide.

use std::collections::BTreeSet;
use std::net::IpAddr;

use fullsend_origin::{HostPattern, classify, is_metadata};
use ipnet::IpNet;

use super::refusal::Refusal;
use super::rules::{RequestRule, allows};
use super::target::{Host, Target, split_port};
use crate::error::SandboxError;
use crate::spec::{HttpRule, NetworkPolicy, PrivateHost};

/// What an entry without a port opens.
const DEFAULT_PORTS: [u16; 2] = [80, 443];
/// Names under which clouds offer their metadata services; everything below them counts too.
const METADATA_NAMES: [&str; 7] = [
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.internal",
    "metadata.tencentyun.com",
    "instance-data",
    "instance-data.ec2.internal",
];

/// A [`NetworkPolicy`] in which every entry has been understood.
#[derive(Clone, Debug, Default)]
pub struct CompiledPolicy {
    allowed: Vec<Entry>,
    denied: Vec<Entry>,
    rules: Vec<(Entry, RequestRule)>,
    private: Vec<(Host, IpNet)>,
}

/// A host pattern with an optional port.
#[derive(Clone, Debug)]
struct Entry {
    pattern: HostPattern,
    port: Option<u16>,
    text: String,
}

impl CompiledPolicy {
    /// Reads a policy. An entry that cannot be understood or must not be granted is an error, never ignored.
    pub fn compile(policy: &NetworkPolicy) -> Result<Self, SandboxError> {
        let NetworkPolicy::Limited { allowed_hosts, denied_hosts, http_rules, private_hosts } = policy else {
            return Err(SandboxError::NetworkPolicy(
                "the egress proxy enforces lists of hosts; an unrestricted session uses the host's network instead"
                    .to_owned(),
            ));
        };
        let compiled = Self {
            allowed: entries("allowed_hosts", allowed_hosts)?,
            denied: entries("denied_hosts", denied_hosts)?,
            rules: http_rules.iter().map(rule).collect::<Result<_, _>>()?,
            private: private_hosts.iter().map(private).collect::<Result<_, _>>()?,
        };
        let granted = compiled.allowed.iter().find(|entry| entry.names_metadata());
        match granted {
            Some(entry) => {
                Err(bad("allowed_hosts", &entry.text, "it is a metadata service, which no policy opens"))
            }
            None => Ok(compiled),
        }
    }

    /// The ports that some host is open on, in order; none if nothing is allowed.
    pub fn ports(&self) -> Vec<u16> {
        let ports = |entry: &Entry| entry.port.map_or(DEFAULT_PORTS.to_vec(), |port| vec![port]);
        let found: BTreeSet<u16> = self.allowed.iter().flat_map(ports).collect();
        found.into_iter().collect()
    }

    /// Whether connections to `target` are allowed, as far as its name and port tell.
    pub(super) fn judge(&self, target: &Target) -> Result<(), Refusal> {
        if is_metadata_host(&target.host) {
            return Err(metadata(target));
        }
        if let Some(entry) = self.denied.iter().find(|entry| entry.denies(target)) {
            let sentence = format!("`{target}` is refused by `{}` in denied_hosts", entry.text);
            let remedy = format!("take `{}` out of denied_hosts", entry.text);
            return Err(Refusal::policy("host-denied", sentence, Some(remedy)));
        }
        if self.allowed.iter().any(|entry| entry.allows(target)) {
            return Ok(());
        }
        let (code, sentence) = match (&target.host, self.knows(&target.host)) {
            (_, true) => (
                "port-not-allowed",
                format!("port {} of `{}` is not on the allow-list", target.port, target.host),
            ),
            (Host::Name(name), false) => ("host-not-allowed", format!("`{name}` is not on the allow-list")),
            (Host::Address(_), false) => (
                "address-not-allowed",
                format!(
                    "`{}` is an address, and addresses must be on the allow-list themselves",
                    target.host
                ),
            ),
        };
        Err(Refusal::policy(code, sentence, Some(open_host(target))))
    }

    /// Whether the name may be asked for in DNS: some port of it is open.
    pub(super) fn judge_name(&self, host: &Host) -> Result<(), Refusal> {
        let target = Target { host: host.clone(), port: DEFAULT_PORTS[1] };
        let everywhere = |entry: &&Entry| entry.port.is_none() && entry.matches(host);
        let open = self.knows(host)
            && !is_metadata_host(host)
            && !self.denied.iter().any(|entry| everywhere(&entry));
        if open { Ok(()) } else { self.judge(&target) }
    }

    /// Whether some port of the host is on the allow-list.
    fn knows(&self, host: &Host) -> bool {
        self.allowed.iter().any(|entry| entry.matches(host))
    }

    /// Whether `address` is a place where the host may be. `own` are the addresses of this machine.
    pub(super) fn judge_address(
        &self,
        target: &Target,
        address: IpAddr,
        own: &[IpAddr],
    ) -> Result<(), Refusal> {
        // Ranges are written for the plain form of an address, so `::ffff:10.0.0.1` is judged as `10.0.0.1`.
        let plain = address.to_canonical();
        if is_metadata(address) || is_metadata(plain) {
            return Err(metadata(target));
        }
        let class = classify(address);
        let opened =
            self.private.iter().any(|(host, network)| *host == target.host && network.contains(&plain));
        let is_own = own.iter().any(|own| own.to_canonical() == plain);
        if opened || (class.is_global() && !is_own) {
            return Ok(());
        }
        let what = if is_own && class.is_global() { "an address of this machine" } else { class.describe() };
        let sentence = format!("`{}` is at {address}, which is {what}", target.host);
        let network = IpNet::from(plain);
        let remedy =
            format!("private_hosts: [{{\"host\": \"{}\", \"network\": \"{network}\"}}]", target.host.plain());
        Err(Refusal::policy("address-not-public", sentence, Some(remedy)))
    }

    /// Whether requests to `target` are restricted, so that traffic nobody can read must not pass.
    pub(super) fn has_rules(&self, target: &Target) -> bool {
        self.rules.iter().any(|(entry, _)| entry.allows(target))
    }

    /// Whether a request is allowed on a host that is.
    pub(super) fn judge_request(&self, target: &Target, method: &str, path: &str) -> Result<(), Refusal> {
        let applying = self.rules.iter().filter(|(entry, _)| entry.allows(target)).map(|(_, rule)| rule);
        allows(applying, method, path).map_err(|mut refusal| {
            refusal.remedy =
                refusal.remedy.map(|rule| format!("http_rules: [{{\"host\": \"{target}\", {rule}}}]"));
            refusal
        })
    }
}

impl Entry {
    fn parse(list: &str, text: &str) -> Result<Self, SandboxError> {
        if text == "*" || text.starts_with("*:") {
            return Err(bad(
                list,
                text,
                "there is no entry for all hosts; use the mode `unrestricted` if that is meant",
            ));
        }
        let (host, port) = split_port(text).ok_or_else(|| {
            bad(list, text, "write `host`, `*.domain`, an IPv4 address or an IPv6 address in brackets, and `:port` if needed")
        })?;
        if !host.is_ascii() {
            return Err(bad(list, text, "write an international name in its `xn--` form"));
        }
        let host = host.strip_suffix('.').unwrap_or(host);
        let pattern = HostPattern::parse(host).map_err(|error| {
            let help = error.help().map(|help| format!("; {help}")).unwrap_or_default();
            bad(list, text, &format!("{error}{help}"))
        })?;
        if let Some(Host::Address(address)) = Host::parse(host)
            && address != address.to_canonical()
        {
            return Err(bad(list, text, "write the IPv4 address itself"));
        }
        Ok(Self { pattern, port, text: text.to_owned() })
    }

    fn matches(&self, host: &Host) -> bool {
        self.pattern.matches(&host.plain())
    }

    fn allows(&self, target: &Target) -> bool {
        let port = self.port.map_or_else(|| DEFAULT_PORTS.contains(&target.port), |port| port == target.port);
        port && self.matches(&target.host)
    }

    /// Without a port an entry denies all ports: a list that forbids must not leave a side door.
    fn denies(&self, target: &Target) -> bool {
        self.port.is_none_or(|port| port == target.port) && self.matches(&target.host)
    }

    fn names_metadata(&self) -> bool {
        Host::parse(self.pattern.as_str()).is_some_and(|host| is_metadata_host(&host))
    }
}

fn entries(list: &str, texts: &[String]) -> Result<Vec<Entry>, SandboxError> {
    texts.iter().map(|text| Entry::parse(list, text)).collect()
}

fn rule(rule: &HttpRule) -> Result<(Entry, RequestRule), SandboxError> {
    let entry = Entry::parse("http_rules", &rule.host)?;
    let compiled = RequestRule::compile(rule).map_err(|why| bad("http_rules", &rule.host, &why))?;
    Ok((entry, compiled))
}

fn private(entry: &PrivateHost) -> Result<(Host, IpNet), SandboxError> {
    let refused = |why: &str| bad("private_hosts", &entry.host, why);
    let host = Host::parse(&entry.host).ok_or_else(|| refused("write one exact host name or address"))?;
    if is_metadata_host(&host) {
        return Err(refused("it is a metadata service, which no policy opens"));
    }
    let network =
        entry.network.parse::<IpNet>().or_else(|_| entry.network.parse::<IpAddr>().map(IpNet::from));
    let network = network.map_err(|_| {
        refused(&format!("its network `{}` is not of the form `10.1.0.0/16`", entry.network.escape_debug()))
    })?;
    if network.prefix_len() == network.max_prefix_len() && is_metadata(network.addr()) {
        return Err(refused("its network is a metadata service, which no policy opens"));
    }
    Ok((host, network.trunc()))
}

fn is_metadata_host(host: &Host) -> bool {
    match host {
        Host::Address(address) => is_metadata(*address) || is_metadata(address.to_canonical()),
        Host::Name(name) => METADATA_NAMES
            .iter()
            .any(|known| name.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))),
    }
}

fn metadata(target: &Target) -> Refusal {
    let sentence = format!("`{}` is a metadata service, which no policy opens", target.host);
    Refusal::policy("metadata-service", sentence, None)
}

/// The entry that opens a host and port, both ways in which it can be written.
pub(super) fn open_host(target: &Target) -> String {
    let entry =
        if DEFAULT_PORTS.contains(&target.port) { target.host.to_string() } else { target.to_string() };
    format!("allowed_hosts: [\"{entry}\"] or --allow-host {entry}")
}

/// Whether only HTTP and TLS may pass: on these ports nothing else has any business.
pub(super) fn is_default_port(port: u16) -> bool {
    DEFAULT_PORTS.contains(&port)
}

fn bad(list: &str, entry: &str, why: &str) -> SandboxError {
    SandboxError::NetworkPolicy(format!("{list}: `{}`: {why}", entry.escape_debug()))
}

#[cfg(test)]
mod tests;
