//! Judges one host, in whatever spelling.

use std::net::{IpAddr, Ipv6Addr};

use fullsend_origin::{classify, embedded_ipv4, is_metadata};

use super::allowed::Allowed;
use super::ipv4::{self, Number};
use super::names::{self, NameClass};
use super::punycode;
use super::spelling::{self, Prepared};
use super::verdict::{BlockReason, Malformed, Suspicion, Verdict};

/// Longest host name, by RFC 1035.
const MAX_NAME: usize = 253;
/// Longest label, by RFC 1035.
const MAX_LABEL: usize = 63;
/// Longest spelling of a host: every character escaped, in four bytes.
const MAX_SPELLING: usize = MAX_NAME * 12;

/// A host as a target has it, and the port.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostPort<'a> {
    /// As written, IPv6 addresses with their brackets.
    pub(super) host: &'a str,
    /// The port if one is given or follows from the scheme.
    pub(super) port: Option<u16>,
}

/// What a request to the host leads to.
pub(super) fn judge(target: HostPort<'_>, allowed: &Allowed) -> Verdict {
    if target.host.is_empty() {
        return Verdict::Reject { reason: Malformed::NoHost };
    }
    if target.host.len() > MAX_SPELLING {
        return Verdict::Reject { reason: Malformed::TooLong };
    }
    judge_spelling(target, allowed).unwrap_or_else(|reason| Verdict::Reject { reason })
}

fn judge_spelling(target: HostPort<'_>, allowed: &Allowed) -> Result<Verdict, Malformed> {
    if let Some(literal) = target.host.strip_prefix('[') {
        let literal = literal.strip_suffix(']').ok_or(Malformed::Brackets)?;
        return judge_literal(literal, target.port, allowed);
    }
    let Prepared { text, disguised } = spelling::prepare(target.host)?;
    let host = text.strip_suffix('.').unwrap_or(&text);
    if host.is_empty() {
        return Err(Malformed::NoHost);
    }
    let verdict = match ipv4::read(host) {
        Number::Plain(address) => judge_address(address.into(), target.port, allowed),
        Number::Unusual(classic, decimal) => {
            let judge = |address| judge_address(IpAddr::V4(address), target.port, allowed);
            let other = decimal.map_or_else(|| judge(classic), judge);
            judge(classic).worse(other).at_least(Suspicion::UnusualNumber)
        }
        Number::Bad if host.split('.').any(str::is_empty) => return Err(Malformed::EmptyLabel),
        Number::Bad => return Err(Malformed::Number),
        Number::None => judge_name(host, target.port, allowed)?,
    };
    Ok(if disguised { verdict.at_least(Suspicion::DisguisedHost) } else { verdict })
}

/// What stands in brackets. A zone says through which interface, and has no meaning for a public address.
pub(super) fn judge_literal(
    literal: &str,
    port: Option<u16>,
    allowed: &Allowed,
) -> Result<Verdict, Malformed> {
    let (address, zone) =
        literal.split_once('%').map_or((literal, None), |(address, zone)| (address, Some(zone)));
    let folded = spelling::fold(address);
    let (address, odd) = match (folded.parse::<Ipv6Addr>(), ipv4::read(&folded)) {
        (Ok(address), _) => (IpAddr::V6(address), zone.is_some() || !literal.is_ascii()),
        (Err(_), Number::Plain(address) | Number::Unusual(address, _)) => (IpAddr::V4(address), true),
        (Err(_), Number::None | Number::Bad) => return Err(Malformed::Brackets),
    };
    match judge_address(address, port, allowed) {
        blocked @ Verdict::Block { .. } => Ok(blocked),
        _ if odd => Err(Malformed::Brackets),
        Verdict::Ask { .. } | Verdict::Reject { .. } => Err(Malformed::Brackets),
        passing @ (Verdict::Allow { .. } | Verdict::Resolve { .. }) => Ok(passing),
    }
}

/// What a request to the address leads to.
fn judge_address(address: IpAddr, port: Option<u16>, allowed: &Allowed) -> Verdict {
    let class = classify(address);
    let plain = address.to_canonical();
    let host = plain.to_string();
    if is_metadata(address) || is_metadata(plain) {
        let reason = if carries_ipv4(address) {
            BlockReason::Address { address, class }
        } else {
            BlockReason::Metadata
        };
        return Verdict::Block { reason, host };
    }
    if class.is_global() || allowed.opens(&host, port) {
        return Verdict::Allow { host };
    }
    Verdict::Block { reason: BlockReason::Address { address, class }, host }
}

fn carries_ipv4(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => false,
        IpAddr::V6(address) => !embedded_ipv4(address).is_empty(),
    }
}

/// A name in its prepared form.
fn judge_name(name: &str, port: Option<u16>, allowed: &Allowed) -> Result<Verdict, Malformed> {
    check_name(name)?;
    let verdict = judge_class(name, port, allowed);
    let encoded = name.split('.').any(|label| label.starts_with("xn--"));
    if name.is_ascii() && !encoded {
        return Ok(verdict);
    }
    let shown = if encoded { decode_labels(name)? } else { name.to_owned() };
    if shown.is_ascii() {
        // An encoding of nothing: some programs take it for the plain name, and no registry issues it.
        let plain = judge_class(&shown, port, allowed);
        return Ok(verdict.worse(plain).worse(Verdict::Reject { reason: Malformed::Punycode }));
    }
    Ok(if looks_like_another(&shown) { verdict.at_least(Suspicion::LookAlike) } else { verdict })
}

/// The characters and lengths of a name.
fn check_name(name: &str) -> Result<(), Malformed> {
    let is_name_character = |character: char| match character {
        '-' | '.' | '_' => true,
        ascii if ascii.is_ascii() => ascii.is_ascii_alphanumeric(),
        other => {
            other.is_alphanumeric()
                || unicode_normalization::char::is_combining_mark(other)
                || other == '\u{b7}'
        }
    };
    if !name.chars().all(is_name_character) {
        return Err(Malformed::Character);
    }
    if name.split('.').any(str::is_empty) {
        return Err(Malformed::EmptyLabel);
    }
    if name.chars().count() > MAX_NAME || name.split('.').any(|label| label.chars().count() > MAX_LABEL) {
        return Err(Malformed::TooLong);
    }
    // Digits of other scripts are no address for any standard, and one for some libraries.
    let number = |label: &str| label.chars().all(char::is_numeric);
    if name.rsplit('.').next().is_some_and(number) { Err(Malformed::Number) } else { Ok(()) }
}

fn judge_class(name: &str, port: Option<u16>, allowed: &Allowed) -> Verdict {
    let host = name.to_owned();
    match names::classify(name) {
        NameClass::Metadata => Verdict::Block { reason: BlockReason::Metadata, host },
        NameClass::Special(_) | NameClass::Private if allowed.opens(name, port) => Verdict::Resolve { host },
        NameClass::Special(kind) => Verdict::Block { reason: BlockReason::Name(kind), host },
        NameClass::Private => Verdict::Ask { reason: Suspicion::PrivateName, host },
        NameClass::Carries(addresses) => judge_carried(host, &addresses),
        NameClass::Ordinary => Verdict::Resolve { host },
    }
}

/// A name that stands for the addresses in it.
fn judge_carried(host: String, addresses: &[IpAddr]) -> Verdict {
    let special = addresses.iter().map(|address| (*address, classify(*address)));
    match special.into_iter().find(|(_, class)| !class.is_global()) {
        Some((address, class)) => {
            Verdict::Block { reason: BlockReason::NameOfAddress { address, class }, host }
        }
        None => Verdict::Ask { reason: Suspicion::AddressInName, host },
    }
}

/// The name as it would be shown.
fn decode_labels(name: &str) -> Result<String, Malformed> {
    let decode = |label: &str| match label.strip_prefix("xn--") {
        Some(encoded) => punycode::decode(encoded).ok_or(Malformed::Punycode),
        None => Ok(label.to_owned()),
    };
    let labels: Vec<String> = name.split('.').map(decode).collect::<Result<_, _>>()?;
    Ok(spelling::fold(&labels.join(".")))
}

/// Whether an international name passes for another: single labels are never public names, some look like special ones, and
/// some mix scripts as no language does.
fn looks_like_another(shown: &str) -> bool {
    let special =
        |look: String| names::classify(&look) != NameClass::Ordinary || ipv4::read(&look) != Number::None;
    !shown.contains('.')
        || spelling::ascii_look(shown).is_some_and(special)
        || shown.split('.').any(spelling::mixes_scripts)
}
