//! Names that do not lead to the public internet, or only seem to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::verdict::SpecialName;

/// What a name is, before anyone resolves it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NameClass {
    /// Nothing special.
    Ordinary,
    /// A cloud metadata service.
    Metadata,
    /// A name that must not be requested.
    Special(SpecialName),
    /// Outside the public name system, and decided elsewhere.
    Private,
    /// A public service answers with the addresses written in the name.
    Carries(Vec<IpAddr>),
}

/// Cloud metadata services, with every name below them.
const METADATA: &[&str] = &[
    "instance-data",
    "instance-data.ec2.internal",
    "metadata",
    "metadata.azure.com",
    "metadata.azure.internal",
    "metadata.goog",
    "metadata.google.internal",
    "metadata.packet.net",
    "metadata.platformequinix.com",
    "metadata.tencentyun.com",
    "rancher-metadata",
];

/// This machine, as `/etc/hosts` files and resolvers have it.
const THIS_MACHINE: &[&str] = &[
    "_localdnsproxy",
    "_localdnsstub",
    "broadcasthost",
    "ip6-allhosts",
    "ip6-allnodes",
    "ip6-allrouters",
    "ip6-localhost",
    "ip6-localnet",
    "ip6-loopback",
    "ip6-mcastprefix",
    "ipv6-localhost",
    "ipv6-loopback",
    "localhost4",
    "localhost6",
    "loopback",
];

/// Domains of which every name is this machine.
const THIS_MACHINE_DOMAINS: &[&str] = &["localdomain", "localdomain4", "localdomain6", "localhost"];

/// Public domains with records that say loopback.
const PUBLIC_LOOPBACK: &[&str] = &[
    "127-0-0-1.org.uk",
    "fuf.me",
    "lacolhost.com",
    "local.gd",
    "localho.st",
    "localhost.direct",
    "localtest.me",
    "lvh.me",
    "smackaho.st",
    "ulh.us",
    "vcap.me",
    "yoogle.com",
];

/// Names and domains of private networks: link-local naming, the private-use domain, home networks, clusters.
const PRIVATE_NETWORK: &[&str] =
    &["home.arpa", "internal", "kubernetes", "kubernetes.default", "local", "svc", "_gateway", "_outbound"];

/// Domains that answer differently from one question to the next, to get past a check.
const REBINDING: &[&str] = &["1u.ms", "rbndr.us", "rebind.it", "rebind.network"];

/// Domains that are not in the public name system and may mean anything here.
const PRIVATE: &[&str] =
    &["consul", "corp", "home", "i2p", "intranet", "lan", "onion", "private", "workgroup"];

/// Domains that answer with the address written in the name.
const CARRIERS: &[&str] = &[
    "backname.io",
    "ip.addr.tools",
    "local-ip.co",
    "local-ip.medicmobile.org",
    "local-ip.sh",
    "nip.io",
    "sslip.io",
    "traefik.me",
    "xip.io",
];

/// What `name`, in lower case and without a final dot, is.
pub(super) fn classify(name: &str) -> NameClass {
    let below = |domains: &[&str]| domains.iter().any(|domain| labels_below(name, domain).is_some());
    if below(METADATA) {
        NameClass::Metadata
    } else if THIS_MACHINE.contains(&name) || below(THIS_MACHINE_DOMAINS) {
        NameClass::Special(SpecialName::ThisMachine)
    } else if below(PUBLIC_LOOPBACK) {
        NameClass::Special(SpecialName::PublicLoopback)
    } else if below(REBINDING) {
        NameClass::Special(SpecialName::Rebinding)
    } else if below(PRIVATE_NETWORK) {
        NameClass::Special(SpecialName::PrivateNetwork)
    } else if below(PRIVATE) {
        NameClass::Private
    } else {
        let labels = CARRIERS.iter().find_map(|domain| labels_below(name, domain));
        labels.map_or(NameClass::Ordinary, |labels| NameClass::Carries(carried(labels)))
    }
}

/// What stands in front of `domain` in `name`; empty for the domain itself.
fn labels_below<'a>(name: &'a str, domain: &str) -> Option<&'a str> {
    let labels = name.strip_suffix(domain)?;
    if labels.is_empty() { Some(labels) } else { labels.strip_suffix('.') }
}

/// Every address that one of the services may find in the labels: with dots or dashes, in hexadecimal, as IPv6.
fn carried(labels: &str) -> Vec<IpAddr> {
    let parts: Vec<&str> = labels.split(['.', '-']).collect();
    let quads = parts.windows(4).filter_map(|parts| parts.join(".").parse().ok()).map(IpAddr::V4);
    let hexadecimal = parts.iter().filter(|part| part.len() == 8);
    let hexadecimal = hexadecimal.filter_map(|part| u32::from_str_radix(part, 16).ok());
    let wide = labels.split('.').filter_map(|label| label.replace('-', ":").parse::<Ipv6Addr>().ok());
    let hexadecimal = hexadecimal.map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits)));
    quads.chain(hexadecimal).chain(wide.map(IpAddr::V6)).collect()
}
