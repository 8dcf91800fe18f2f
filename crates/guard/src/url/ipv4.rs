//! IPv4 addresses in every spelling that some program accepts.
//!
//! The classic C routines read `0x7f.1`, `017700000001` and `2130706433` as 127.0.0.1, browsers follow them, and stricter
//! libraries read `010.0.0.1` as 10.0.0.1 where C sees 8.0.0.1. A check that knows one spelling is passed with another.

use std::net::Ipv4Addr;

/// What a host in ASCII is, as a number.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// A name.
    None,
    /// A number that is no address, or one that programs wrap around or refuse.
    Bad,
    /// Four decimal numbers in their usual form.
    Plain(Ipv4Addr),
    /// Another spelling: the address, and what readers without octal numbers see.
    Unusual(Ipv4Addr, Option<Ipv4Addr>),
}

/// Reads a host without a final dot.
pub(super) fn read(host: &str) -> Number {
    if let Ok(address) = host.parse() {
        return Number::Plain(address);
    }
    // As in browsers, the last label decides: no top-level domain is a number.
    if !host.rsplit('.').next().is_some_and(is_number) {
        return Number::None;
    }
    match address(host, classic_part) {
        Some(address_read) => Number::Unusual(address_read, address(host, decimal_part)),
        None => Number::Bad,
    }
}

fn is_number(label: &str) -> bool {
    let decimal = !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit());
    decimal || hexadecimal(label).is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The digits after `0x`.
fn hexadecimal(part: &str) -> Option<&str> {
    part.strip_prefix("0x").or_else(|| part.strip_prefix("0X"))
}

/// Up to four parts, the last of which fills what is left.
fn address(host: &str, part: fn(&str) -> Option<u64>) -> Option<Ipv4Addr> {
    let mut bits: u64 = 0;
    let mut left = host.split('.').count();
    if left > 4 {
        return None;
    }
    let mut room = 32;
    for text in host.split('.') {
        left -= 1;
        let width = if left == 0 { room } else { 8 };
        let value = part(text).filter(|value| *value < 1 << width)?;
        bits = (bits << width) | value;
        room -= width;
    }
    u32::try_from(bits).ok().map(Ipv4Addr::from_bits)
}

/// A part as C reads it: `0x` is hexadecimal, a leading zero octal.
fn classic_part(text: &str) -> Option<u64> {
    match (hexadecimal(text), text.strip_prefix('0')) {
        (Some(""), _) => Some(0),
        (Some(digits), _) => digits_of(digits, 16),
        (None, Some(digits)) if !digits.is_empty() => digits_of(digits, 8),
        (None, _) => digits_of(text, 10),
    }
}

/// A part for readers that know decimal numbers only.
fn decimal_part(text: &str) -> Option<u64> {
    digits_of(text, 10)
}

/// Digits only: the library's reader would take a sign. Saturates, as leading zeros may make any length valid.
fn digits_of(text: &str, radix: u32) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.chars().try_fold(0_u64, |value, digit| {
        let digit = digit.to_digit(radix)?;
        Some(value.saturating_mul(u64::from(radix)).saturating_add(u64::from(digit)))
    })
}
