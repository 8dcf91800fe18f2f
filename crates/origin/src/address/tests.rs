use proptest::prelude::*;

use super::AddressClass::*;
use super::*;

fn class(text: &str) -> AddressClass {
    classify(text.parse().unwrap())
}

/// For every range: the address before it and its class, the first, the last, the class inside, the address after.
#[rustfmt::skip]
const EDGES: &[(&str, AddressClass, &str, &str, AddressClass, &str, AddressClass)] = &[
    ("126.255.255.255", Global, "127.0.0.0", "127.255.255.255", Loopback, "128.0.0.0", Global),
    ("9.255.255.255", Global, "10.0.0.0", "10.255.255.255", Private, "11.0.0.0", Global),
    ("172.15.255.255", Global, "172.16.0.0", "172.31.255.255", Private, "172.32.0.0", Global),
    ("192.167.255.255", Global, "192.168.0.0", "192.168.255.255", Private, "192.169.0.0", Global),
    ("169.253.255.255", Global, "169.254.0.0", "169.254.255.255", LinkLocal, "169.255.0.0", Global),
    ("223.255.255.255", Global, "224.0.0.0", "224.0.0.255", LinkLocal, "224.0.1.0", Multicast),
    ("233.251.255.255", Multicast, "233.252.0.0", "233.252.0.255", Documentation, "233.252.1.0", Multicast),
    ("224.0.0.255", LinkLocal, "224.0.1.0", "239.255.255.255", Multicast, "240.0.0.0", Reserved),
    ("0.0.0.0", Unspecified, "0.0.0.1", "0.255.255.255", ThisNetwork, "1.0.0.0", Global),
    ("100.63.255.255", Global, "100.64.0.0", "100.127.255.255", SharedAddressSpace, "100.128.0.0", Global),
    ("191.255.255.255", Global, "192.0.0.0", "192.0.0.8", ProtocolAssignment, "192.0.0.9", InfrastructureAnycast),
    ("192.0.0.8", ProtocolAssignment, "192.0.0.9", "192.0.0.10", InfrastructureAnycast, "192.0.0.11", ProtocolAssignment),
    ("192.0.0.169", ProtocolAssignment, "192.0.0.170", "192.0.0.171", Nat64, "192.0.0.172", ProtocolAssignment),
    ("192.0.0.171", Nat64, "192.0.0.172", "192.0.0.255", ProtocolAssignment, "192.0.1.0", Global),
    ("192.0.1.255", Global, "192.0.2.0", "192.0.2.255", Documentation, "192.0.3.0", Global),
    ("192.31.195.255", Global, "192.31.196.0", "192.31.196.255", InfrastructureAnycast, "192.31.197.0", Global),
    ("192.52.192.255", Global, "192.52.193.0", "192.52.193.255", InfrastructureAnycast, "192.52.194.0", Global),
    ("192.88.98.255", Global, "192.88.99.0", "192.88.99.255", SixToFour, "192.88.100.0", Global),
    ("192.175.47.255", Global, "192.175.48.0", "192.175.48.255", InfrastructureAnycast, "192.175.49.0", Global),
    ("198.17.255.255", Global, "198.18.0.0", "198.19.255.255", Benchmarking, "198.20.0.0", Global),
    ("198.51.99.255", Global, "198.51.100.0", "198.51.100.255", Documentation, "198.51.101.0", Global),
    ("203.0.112.255", Global, "203.0.113.0", "203.0.113.255", Documentation, "203.0.114.0", Global),
    ("239.255.255.255", Multicast, "240.0.0.0", "255.255.255.254", Reserved, "255.255.255.255", Broadcast),
    ("::", Unspecified, "::1", "::1", Loopback, "::2", Ipv4Compatible),
    ("::1", Loopback, "::2", "::ffff:ffff", Ipv4Compatible, "::1:0:0", Unassigned),
    ("::fffe:ffff:ffff:ffff", Unassigned, "::ffff:0:0:0", "::ffff:0:ffff:ffff", Ipv4Translated, "::ffff:1:0:0", Unassigned),
    ("64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff", Unassigned, "64:ff9b::", "64:ff9b::ffff:ffff", Nat64, "64:ff9b::1:0:0", Unassigned),
    ("64:ff9b:0:ffff:ffff:ffff:ffff:ffff", Unassigned, "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", Nat64, "64:ff9b:2::", Unassigned),
    ("ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Unassigned, "100::", "100::ffff:ffff:ffff:ffff", Discard, "100:0:0:1::", Discard),
    ("100::ffff:ffff:ffff:ffff", Discard, "100:0:0:1::", "100::1:ffff:ffff:ffff:ffff", Discard, "100:0:0:2::", Unassigned),
    ("2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Global, "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", Teredo, "2001:1::", ProtocolAssignment),
    ("2001:1::", ProtocolAssignment, "2001:1::1", "2001:1::3", InfrastructureAnycast, "2001:1::4", ProtocolAssignment),
    ("2001:1:ffff:ffff:ffff:ffff:ffff:ffff", ProtocolAssignment, "2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", Benchmarking, "2001:2:1::", ProtocolAssignment),
    ("2001:2:ffff:ffff:ffff:ffff:ffff:ffff", ProtocolAssignment, "2001:3::", "2001:3:ffff:ffff:ffff:ffff:ffff:ffff", InfrastructureAnycast, "2001:4::", ProtocolAssignment),
    ("2001:4:111:ffff:ffff:ffff:ffff:ffff", ProtocolAssignment, "2001:4:112::", "2001:4:112:ffff:ffff:ffff:ffff:ffff", InfrastructureAnycast, "2001:4:113::", ProtocolAssignment),
    ("2001:f:ffff:ffff:ffff:ffff:ffff:ffff", ProtocolAssignment, "2001:10::", "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff", Identifier, "2001:20::", Identifier),
    ("2001:1f:ffff:ffff:ffff:ffff:ffff:ffff", Identifier, "2001:20::", "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff", Identifier, "2001:30::", Identifier),
    ("2001:2f:ffff:ffff:ffff:ffff:ffff:ffff", Identifier, "2001:30::", "2001:3f:ffff:ffff:ffff:ffff:ffff:ffff", Identifier, "2001:40::", ProtocolAssignment),
    ("2001:3f:ffff:ffff:ffff:ffff:ffff:ffff", Identifier, "2001:40::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", ProtocolAssignment, "2001:200::", Global),
    ("2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", Global, "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", Documentation, "2001:db9::", Global),
    ("2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Global, "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", SixToFour, "2003::", Global),
    ("2620:4f:7fff:ffff:ffff:ffff:ffff:ffff", Global, "2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", InfrastructureAnycast, "2620:4f:8001::", Global),
    ("3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Global, "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", Documentation, "3fff:1000::", Global),
    ("5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Unassigned, "5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", SegmentRouting, "5f01::", Unassigned),
    ("fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Unassigned, "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Private, "fe00::", Unassigned),
    ("fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Unassigned, "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", LinkLocal, "fec0::", SiteLocal),
    ("febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", LinkLocal, "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", SiteLocal, "ff00::", Multicast),
    ("feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", SiteLocal, "ff00::", "ff01:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Multicast, "ff02::", LinkLocal),
    ("ff11:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Multicast, "ff12::", "ff12:ffff:ffff:ffff:ffff:ffff:ffff:ffff", LinkLocal, "ff13::", Multicast),
    ("fff2:ffff:ffff:ffff:ffff:ffff:ffff:ffff", LinkLocal, "fff3::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Multicast, "::", Unspecified),
    ("1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Unassigned, "2000::", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Global, "2001::", Teredo),
    ("3fff:0fff:ffff:ffff:ffff:ffff:ffff:ffff", Documentation, "3fff:1000::", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Global, "4000::", Unassigned),
];

/// The address `distance` further, wrapping at the end.
fn step(address: IpAddr, distance: i8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            Ipv4Addr::from_bits(address.to_bits().wrapping_add_signed(distance.into())).into()
        }
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits().wrapping_add_signed(distance.into())).into()
        }
    }
}

#[test]
fn both_edges_of_every_range() {
    for (before, class_before, first, last, inside, after, class_after) in EDGES {
        assert_eq!(step(first.parse().unwrap(), -1), before.parse::<IpAddr>().unwrap(), "{first}");
        assert_eq!(step(last.parse().unwrap(), 1), after.parse::<IpAddr>().unwrap(), "{last}");
        let found = [before, first, last, after].map(|text| class(text));
        assert_eq!(found, [*class_before, *inside, *inside, *class_after], "{first} to {last}");
    }
}

/// A row that no test edge touches, or that rows before it hide, is not tested.
#[test]
fn every_row_of_the_table_has_an_edge_above() {
    let decided_by = |address: IpAddr| match address {
        IpAddr::V4(address) => {
            table::IPV4.iter().find(|(range, _)| range.contains(&address)).map(|(range, _)| range.to_string())
        }
        IpAddr::V6(address) => {
            table::IPV6.iter().find(|(range, _)| range.contains(&address)).map(|(range, _)| range.to_string())
        }
    };
    let texts = EDGES.iter().flat_map(|edge| [edge.0, edge.2, edge.3, edge.5]).chain(["2001:1::2"]);
    let tested: Vec<String> = texts.filter_map(|text| decided_by(text.parse().unwrap())).collect();
    let rows = table::IPV4.iter().map(|(range, _)| range.to_string());
    for row in rows.chain(table::IPV6.iter().map(|(range, _)| range.to_string())) {
        assert!(tested.contains(&row), "{row}");
    }
    assert!(table::IPV4.iter().all(|(range, _)| range.addr() == range.network()));
    assert!(table::IPV6.iter().all(|(range, _)| range.addr() == range.network()));
}

#[test]
fn public_addresses_pass() {
    for text in [
        "8.8.8.8",
        "1.1.1.1",
        "172.32.0.1",
        "100.128.0.1",
        "2001:4860:4860::8888",
        "2606:4700:4700::1111",
        "::ffff:8.8.8.8",
    ] {
        assert!(class(text).is_global(), "{text}");
    }
}

#[test]
fn addresses_of_the_inside_do_not() {
    let cases = [
        ("127.127.127.127", Loopback),
        ("::ffff:7f00:1", Loopback),
        ("::ffff:10.0.0.1", Private),
        ("::ffff:169.254.169.254", LinkLocal),
        ("::ffff:0.0.0.0", Unspecified),
        ("::127.0.0.1", Ipv4Compatible),
        ("::8.8.8.8", Ipv4Compatible),
        ("::ffff:0:127.0.0.1", Ipv4Translated),
        ("64:ff9b::7f00:1", Nat64),
        ("64:ff9b::8.8.8.8", Nat64),
        ("64:ff9b:1::a9fe:a9fe", Nat64),
        ("2002:7f00:1::", SixToFour),
        ("2001:0:4136:e378:8000:63bf:f5ff:fffa", Teredo),
        ("ff02::1", LinkLocal),
        ("ff32::1", LinkLocal),
        ("ff0e::1", Multicast),
        ("255.255.255.255", Broadcast),
        ("fd20:ce::254", Private),
        ("100.100.100.200", SharedAddressSpace),
        ("168.63.129.16", CloudPlatform),
        ("::ffff:168.63.129.16", CloudPlatform),
    ];
    for (text, expected) in cases {
        assert_eq!(class(text), expected, "{text}");
        assert!(!class(text).is_global());
    }
    assert_eq!(class("168.63.129.17"), Global);
}

#[test]
fn metadata_services_are_found_in_every_disguise() {
    for text in [
        "169.254.169.254",
        "169.254.170.2",
        "169.254.170.23",
        "169.254.0.23",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
        "::ffff:169.254.169.254",
        "::169.254.169.254",
        "::ffff:0:169.254.169.254",
        "64:ff9b::169.254.169.254",
        "64:ff9b::168.63.129.16",
        "64:ff9b:1::169.254.169.254",
        "64:ff9b:1:a9fe:a9:fe00::",
        "64:ff9b:1:a9:fe:a9fe::",
        "64:ff9b:1:0:a9:fea9:fe00:0",
        "2002:a9fe:a9fe::1",
        "2001:0:a9fe:a9fe::1",
        "2001:0:4136:e378:8000:63bf:5601:5601",
    ] {
        assert!(is_metadata(text.parse().unwrap()), "{text}");
    }
    for text in [
        "169.254.169.253",
        "169.254.1.1",
        "8.8.8.8",
        "::1",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2002:808:808::a9fe:a9fe",
        "2001:db8::a9fe:a9fe",
        "fd00:ec2::255",
    ] {
        assert!(!is_metadata(text.parse().unwrap()), "{text}");
    }
}

#[test]
fn embedded_addresses() {
    let cases: &[(&str, &[&str])] = &[
        ("2001:db8::1", &[]),
        ("::ffff:1.2.3.4", &["1.2.3.4"]),
        ("::1.2.3.4", &["1.2.3.4"]),
        ("::ffff:0:1.2.3.4", &["1.2.3.4"]),
        ("64:ff9b::1.2.3.4", &["1.2.3.4"]),
        ("64:ff9b:1:102:3:400::", &["1.2.3.4", "2.3.4.0", "3.4.0.0", "0.0.0.0"]),
        ("2002:102:304::", &["1.2.3.4"]),
        ("2001:0:102:304::f5ff:fffa", &["1.2.3.4", "10.0.0.5"]),
    ];
    for (text, expected) in cases {
        let expected: Vec<Ipv4Addr> = expected.iter().map(|inner| inner.parse().unwrap()).collect();
        assert_eq!(embedded_ipv4(text.parse().unwrap()), expected, "{text}");
    }
}

#[test]
fn classes_describe_themselves() {
    assert_eq!(Loopback.to_string(), "a loopback address");
    assert_eq!(SharedAddressSpace.describe(), "a carrier-grade NAT address");
}

proptest! {
    #[test]
    fn a_mapped_address_has_the_class_of_its_inside(bits: u32) {
        let inside = Ipv4Addr::from_bits(bits);
        prop_assert_eq!(classify(inside.into()), classify(inside.to_ipv6_mapped().into()));
    }

    #[test]
    fn nothing_outside_global_unicast_is_global(bits: u128) {
        let address = Ipv6Addr::from_bits(bits);
        if classify(address.into()).is_global() && address.to_ipv4_mapped().is_none() {
            prop_assert_eq!(bits >> 125, 1);
        }
    }

    /// Agreement with the standard library about what it names itself.
    #[test]
    fn the_standard_library_agrees(bits: u32) {
        let address = Ipv4Addr::from_bits(bits);
        let special = address.is_loopback() || address.is_private() || address.is_link_local()
            || address.is_multicast() || address.is_broadcast() || address.is_documentation()
            || address.is_unspecified();
        prop_assert!(!(special && classify(address.into()).is_global()), "{}", address);
    }
}
