//! The special-purpose address registries of IANA, with the multicast and deprecated ranges they leave out.
//!
//! The first row that holds an address decides, so narrow rows stand before the wide ones around them. Ranges that
//! the registries call globally reachable are here too: they are infrastructure, and no resource is served from them.

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

use super::AddressClass::{
    self, Benchmarking, Broadcast, Discard, Documentation, Identifier, InfrastructureAnycast, Ipv4Compatible,
    Ipv4Translated, LinkLocal, Loopback, Multicast, Nat64, Private, ProtocolAssignment, Reserved,
    SegmentRouting, SharedAddressSpace, SiteLocal, SixToFour, Teredo, ThisNetwork, Unspecified,
};

/// An IPv4 range. Bad prefix lengths do not compile.
const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

/// An IPv6 range. Bad prefix lengths do not compile.
const fn v6(segments: [u16; 8], prefix: u8) -> Ipv6Net {
    let [a, b, c, d, e, f, g, h] = segments;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), prefix)
}

/// Special ranges of IPv4.
#[rustfmt::skip]
pub(super) const IPV4: &[(Ipv4Net, AddressClass)] = &[
    (v4(127, 0, 0, 0, 8), Loopback),                   // RFC 1122
    (v4(10, 0, 0, 0, 8), Private),                     // RFC 1918
    (v4(172, 16, 0, 0, 12), Private),                  // RFC 1918
    (v4(192, 168, 0, 0, 16), Private),                 // RFC 1918
    (v4(169, 254, 0, 0, 16), LinkLocal),               // RFC 3927
    (v4(224, 0, 0, 0, 24), LinkLocal),                 // RFC 5771, local network control
    (v4(233, 252, 0, 0, 24), Documentation),           // RFC 6676, MCAST-TEST-NET
    (v4(224, 0, 0, 0, 4), Multicast),                  // RFC 5771
    (v4(0, 0, 0, 0, 32), Unspecified),                 // RFC 1122
    (v4(0, 0, 0, 0, 8), ThisNetwork),                  // RFC 791
    (v4(100, 64, 0, 0, 10), SharedAddressSpace),       // RFC 6598
    (v4(192, 0, 0, 9, 32), InfrastructureAnycast),     // RFC 7723, PCP
    (v4(192, 0, 0, 10, 32), InfrastructureAnycast),    // RFC 8155, TURN
    (v4(192, 0, 0, 170, 31), Nat64),                   // RFC 7050, NAT64 discovery
    (v4(192, 0, 0, 0, 24), ProtocolAssignment),        // RFC 6890; holds 192.0.0.0/29 (RFC 7335), 192.0.0.8 (RFC 7600)
    (v4(192, 0, 2, 0, 24), Documentation),             // RFC 5737, TEST-NET-1
    (v4(192, 31, 196, 0, 24), InfrastructureAnycast),  // RFC 7535, AS112
    (v4(192, 52, 193, 0, 24), InfrastructureAnycast),  // RFC 7450, AMT
    (v4(192, 88, 99, 0, 24), SixToFour),               // RFC 7526, relay anycast; holds 192.88.99.2 (RFC 6751)
    (v4(192, 175, 48, 0, 24), InfrastructureAnycast),  // RFC 7534, AS112
    (v4(198, 18, 0, 0, 15), Benchmarking),             // RFC 2544
    (v4(198, 51, 100, 0, 24), Documentation),          // RFC 5737, TEST-NET-2
    (v4(203, 0, 113, 0, 24), Documentation),           // RFC 5737, TEST-NET-3
    (v4(255, 255, 255, 255, 32), Broadcast),           // RFC 919
    (v4(240, 0, 0, 0, 4), Reserved),                   // RFC 1112
];

/// Special ranges of IPv6. IPv4-mapped addresses never get here; they are unwrapped first.
#[rustfmt::skip]
pub(super) const IPV6: &[(Ipv6Net, AddressClass)] = &[
    (v6([0, 0, 0, 0, 0, 0, 0, 1], 128), Loopback),                           // RFC 4291
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 128), Unspecified),                        // RFC 4291
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 96), Ipv4Compatible),                      // RFC 4291, deprecated
    (v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96), Ipv4Translated),                 // RFC 2765
    (v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96), Nat64),                       // RFC 6052
    (v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), Nat64),                       // RFC 8215
    (v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64), Discard),                         // RFC 6666
    (v6([0x100, 0, 0, 1, 0, 0, 0, 0], 64), Discard),                         // RFC 9780, dummy prefix
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32), Teredo),                         // RFC 4380
    (v6([0x2001, 1, 0, 0, 0, 0, 0, 1], 128), InfrastructureAnycast),         // RFC 7723, PCP
    (v6([0x2001, 1, 0, 0, 0, 0, 0, 2], 128), InfrastructureAnycast),         // RFC 8155, TURN
    (v6([0x2001, 1, 0, 0, 0, 0, 0, 3], 128), InfrastructureAnycast),         // RFC 9665, DNS-SD SRP
    (v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48), Benchmarking),                   // RFC 5180
    (v6([0x2001, 3, 0, 0, 0, 0, 0, 0], 32), InfrastructureAnycast),          // RFC 7450, AMT
    (v6([0x2001, 4, 0x112, 0, 0, 0, 0, 0], 48), InfrastructureAnycast),      // RFC 7535, AS112
    (v6([0x2001, 0x10, 0, 0, 0, 0, 0, 0], 28), Identifier),                  // RFC 4843, ORCHID, deprecated
    (v6([0x2001, 0x20, 0, 0, 0, 0, 0, 0], 28), Identifier),                  // RFC 7343, ORCHIDv2
    (v6([0x2001, 0x30, 0, 0, 0, 0, 0, 0], 28), Identifier),                  // RFC 9374, drone remote identifiers
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), ProtocolAssignment),             // RFC 2928
    (v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), Documentation),              // RFC 3849
    (v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), SixToFour),                      // RFC 3056
    (v6([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48), InfrastructureAnycast),  // RFC 7534, AS112
    (v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), Documentation),                  // RFC 9637
    (v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16), SegmentRouting),                 // RFC 9602
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), Private),                         // RFC 4193
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), LinkLocal),                      // RFC 4291
    (v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), SiteLocal),                      // RFC 3879, deprecated
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), Multicast),                       // RFC 4291
];
