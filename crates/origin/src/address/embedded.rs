//! IPv4 addresses inside IPv6 addresses.
//!
//! A gateway, tunnel or translator takes such an address apart and connects to what is inside. Whoever opens an IPv6
//! range on purpose must still not reach what is hidden in it.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Every IPv4 address that `address` may stand for by a well-known format; most addresses stand for none.
///
/// Covers IPv4-mapped, IPv4-compatible and IPv4-translated addresses, NAT64 (the well-known prefix, and the local-use
/// prefix in each length RFC 6052 allows there), 6to4, and both the server and the client of Teredo.
pub fn embedded_ipv4(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let bits = address.to_bits();
    // The first 96 bits of the formats that carry the address at the end.
    match bits >> 32 {
        0 | 0xffff | 0xffff_0000 | 0x0064_ff9b_0000_0000_0000_0000 => return vec![v4_at(bits, 0)],
        _ => {}
    }
    match address.segments() {
        [0x64, 0xff9b, 1, ..] => nat64_local(bits),
        [0x2002, ..] => vec![v4_at(bits, 80)],
        [0x2001, 0, ..] => vec![v4_at(bits, 64), v4_at(!bits, 0)],
        _ => Vec::new(),
    }
}

/// The possible readings below `64:ff9b:1::/48`, where the operator picks the prefix length.
///
/// RFC 6052 keeps bits 64 to 71 free, so the shorter prefixes carry the address in two parts around them.
fn nat64_local(bits: u128) -> Vec<Ipv4Addr> {
    let around_gap = |high: u128, high_bits: u32| {
        let low_bits = 32 - high_bits;
        let low = (bits >> (56 - low_bits)) & low_mask(low_bits);
        v4_at(((high & low_mask(high_bits)) << low_bits) | low, 0)
    };
    vec![
        around_gap(bits >> 64, 16), // /48: bits 48-63 and 72-87
        around_gap(bits >> 64, 8),  // /56: bits 56-63 and 72-95
        around_gap(0, 0),           // /64: bits 72-103
        v4_at(bits, 0),             // /96: the last 32 bits
    ]
}

/// As many one bits as asked for, fewer than 128.
const fn low_mask(count: u32) -> u128 {
    (1 << count) - 1
}

/// The 32 bits that end `shift` bits before the end.
fn v4_at(bits: u128, shift: u32) -> Ipv4Addr {
    let [.., a, b, c, d] = (bits >> shift).to_be_bytes();
    Ipv4Addr::new(a, b, c, d)
}
