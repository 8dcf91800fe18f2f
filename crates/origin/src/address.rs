//! What kind of place an IP address is.
//!
//! A host name is only a promise; the address it resolves to is where a request really goes. Server-side request
//! forgery aims at addresses that mean something on *this* machine or network: loopback, private networks, cloud
//! metadata services, and every IPv6 form that smuggles one of those inside. The rule is therefore the reverse of a
//! block list: an address is usable when it is ordinary global unicast, and every special-purpose range of the IANA
//! registries is named in one table.
//!
//! Not recognised: translation prefixes that a network chose for itself and ISATAP interface identifiers. Both look
//! like ordinary addresses and cannot be told from them.

mod embedded;
mod table;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::Ipv6Net;

pub use embedded::embedded_ipv4;

/// The unicast space that is delegated to the registries. Everything else in IPv6 is special or unassigned.
const GLOBAL_UNICAST_V6: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Addresses at which clouds hand out credentials and instance data.
const METADATA: [IpAddr; 10] = [
    v4(169, 254, 169, 254), // AWS, Google Cloud, Azure, Oracle, DigitalOcean, Hetzner, OpenStack
    v4(169, 254, 170, 2),   // AWS ECS task roles
    v4(169, 254, 170, 23),  // AWS EKS pod identity
    v4(169, 254, 0, 23),    // Tencent Cloud
    v4(100, 100, 100, 200), // Alibaba Cloud
    v4(192, 0, 0, 192),     // Oracle Cloud, classic
    v4(168, 63, 129, 16),   // Azure platform services, in public address space
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)), // AWS
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)), // AWS EKS pod identity
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)), // Google Cloud
];

/// An IPv4 address in a constant.
const fn v4(a: u8, b: u8, c: u8, d: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(a, b, c, d))
}

/// The purpose of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AddressClass {
    /// Ordinary global unicast: the only class a remote resource may come from.
    Global,
    /// This machine.
    Loopback,
    /// RFC 1918 and unique local addresses.
    Private,
    /// Reachable on the same link only, multicast included.
    LinkLocal,
    /// One to many.
    Multicast,
    /// All zeros.
    Unspecified,
    /// `0.0.0.0/8`; many systems deliver it to this machine.
    ThisNetwork,
    /// Carrier-grade NAT.
    SharedAddressSpace,
    /// For use in documents.
    Documentation,
    /// For testing of network devices.
    Benchmarking,
    /// Set aside for protocols of the IETF.
    ProtocolAssignment,
    /// Anycast for infrastructure such as AS112, AMT, PCP or TURN; nobody serves files there.
    InfrastructureAnycast,
    /// Class E, kept for the future.
    Reserved,
    /// To every host on the link.
    Broadcast,
    /// `::a.b.c.d`, deprecated.
    Ipv4Compatible,
    /// `::ffff:0:a.b.c.d`, stateless translation.
    Ipv4Translated,
    /// NAT64, well-known or local-use prefix.
    Nat64,
    /// 6to4 and its relays.
    SixToFour,
    /// Teredo tunnels.
    Teredo,
    /// Names of hosts in the form of addresses (ORCHID, drone identifiers).
    Identifier,
    /// Where packets go to be dropped, and the dummy prefix.
    Discard,
    /// Segment routing identifiers.
    SegmentRouting,
    /// `fec0::/10`, deprecated.
    SiteLocal,
    /// IPv6 space outside global unicast without a purpose yet.
    Unassigned,
    /// Public by its number, but answered by the cloud's own platform.
    CloudPlatform,
}

impl AddressClass {
    /// Whether the address is ordinary global unicast.
    pub const fn is_global(self) -> bool {
        matches!(self, Self::Global)
    }

    /// A short text for messages: "… is a loopback address".
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Global => "a global address",
            Self::Loopback => "a loopback address",
            Self::Private => "a private address",
            Self::LinkLocal => "a link-local address",
            Self::Multicast => "a multicast address",
            Self::Unspecified => "the unspecified address",
            Self::ThisNetwork => "a \"this network\" address",
            Self::SharedAddressSpace => "a carrier-grade NAT address",
            Self::Documentation => "a documentation address",
            Self::Benchmarking => "a benchmarking address",
            Self::ProtocolAssignment => "an IETF protocol address",
            Self::InfrastructureAnycast => "an infrastructure anycast address",
            Self::Reserved => "a reserved address",
            Self::Broadcast => "the broadcast address",
            Self::Ipv4Compatible => "an IPv4-compatible address",
            Self::Ipv4Translated => "an IPv4-translated address",
            Self::Nat64 => "a NAT64 address",
            Self::SixToFour => "a 6to4 address",
            Self::Teredo => "a Teredo address",
            Self::Identifier => "an identifier in the form of an address",
            Self::Discard => "a discard-only address",
            Self::SegmentRouting => "a segment routing identifier",
            Self::SiteLocal => "a site-local address",
            Self::Unassigned => "an unassigned address",
            Self::CloudPlatform => "a cloud platform address",
        }
    }
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.describe())
    }
}

/// The class of `address`. An IPv4-mapped IPv6 address has the class of the IPv4 address in it.
pub fn classify(address: IpAddr) -> AddressClass {
    let class = match address.to_canonical() {
        IpAddr::V4(address) => classify_v4(address),
        IpAddr::V6(address) => classify_v6(address),
    };
    if class.is_global() && is_metadata(address) { AddressClass::CloudPlatform } else { class }
}

/// The first row that holds the address; no row means global.
fn classify_v4(address: Ipv4Addr) -> AddressClass {
    let row = table::IPV4.iter().find(|(range, _)| range.contains(&address));
    row.map_or(AddressClass::Global, |(_, class)| *class)
}

/// The first row that holds the address; no row means global inside global unicast only.
fn classify_v6(address: Ipv6Addr) -> AddressClass {
    // The scope is the fourth digit whatever the flags in the third say, which no single prefix can express.
    let [first, ..] = address.segments();
    if first & 0xff0f == 0xff02 {
        return AddressClass::LinkLocal;
    }
    match table::IPV6.iter().find(|(range, _)| range.contains(&address)) {
        Some((_, class)) => *class,
        None if GLOBAL_UNICAST_V6.contains(&address) => AddressClass::Global,
        None => AddressClass::Unassigned,
    }
}

/// Whether `address` is a cloud metadata or credential service, directly or inside an IPv6 transition address.
///
/// No configuration may open these: whoever reaches them holds the credentials of the machine.
pub fn is_metadata(address: IpAddr) -> bool {
    METADATA.contains(&address)
        || match address {
            IpAddr::V4(_) => false,
            IpAddr::V6(address) => {
                embedded_ipv4(address).into_iter().any(|inner| METADATA.contains(&IpAddr::V4(inner)))
            }
        }
}

#[cfg(test)]
mod tests;
