//! Laws about targets, over random spellings.

use std::net::{IpAddr, Ipv4Addr};

use fullsend_guard::url::{Allowed, Verdict, check_partial, judge};
use fullsend_guard::{Scanner as _, UrlScanner};
use fullsend_origin::{RemoteUrl, classify};
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};

/// One number in decimal, octal or hexadecimal, with zeros in front.
fn number(value: u32) -> impl Strategy<Value = String> {
    (0..4_u8, 0..3_usize).prop_map(move |(base, zeros)| match base {
        0 => format!("{value}"),
        1 => format!("0{}{value:o}", "0".repeat(zeros)),
        2 => format!("0x{}{value:x}", "0".repeat(zeros)),
        _ => format!("0X{}{value:X}", "0".repeat(zeros)),
    })
}

/// An address in one to four parts.
fn spelled(address: Ipv4Addr) -> impl Strategy<Value = String> {
    let [a, b, c, d] = address.octets().map(u32::from);
    prop_oneof![
        number(address.to_bits()),
        (number(a), number(b << 16 | c << 8 | d)).prop_map(|(a, rest)| format!("{a}.{rest}")),
        (number(a), number(b), number(c << 8 | d)).prop_map(|(a, b, rest)| format!("{a}.{b}.{rest}")),
        (number(a), number(b), number(c), number(d)).prop_map(|(a, b, c, d)| format!("{a}.{b}.{c}.{d}")),
    ]
}

/// The same characters by other means.
fn disguised(host: String) -> impl Strategy<Value = String> {
    let characters: Vec<char> = host.chars().collect();
    let length = characters.len();
    proptest::collection::vec(0..8_u8, length).prop_map(move |choices| {
        let pairs = characters.iter().zip(choices);
        pairs.map(|(character, choice)| disguise(*character, choice)).collect()
    })
}

fn disguise(character: char, choice: u8) -> String {
    let full_width = char::from_u32(u32::from(character) + 0xfee0).unwrap();
    match (choice, character) {
        (0, _) => full_width.to_string(),
        (1, _) => format!("%{:02x}", u32::from(character)),
        (2, '.') => "\u{3002}".into(),
        (3, '.') => "\u{ff61}".into(),
        (4, _) => format!("\u{ad}{character}"),
        (5, _) => format!("{character}\t"),
        _ => character.to_string(),
    }
}

fn special_address() -> impl Strategy<Value = Ipv4Addr> {
    let listed = [
        [127, 0, 0, 1],
        [10, 0, 0, 5],
        [169, 254, 169, 254],
        [192, 168, 1, 1],
        [0, 0, 0, 0],
        [168, 63, 129, 16],
    ];
    let listed = proptest::sample::select(listed.map(Ipv4Addr::from).to_vec());
    let random = any::<u32>().prop_map(Ipv4Addr::from_bits);
    prop_oneof![listed, random].prop_filter("special", |address| !classify(IpAddr::V4(*address)).is_global())
}

proptest! {
    #[test]
    fn no_spelling_of_a_special_address_passes(
        (address, host) in special_address().prop_flat_map(|address| (Just(address), spelled(address))),
        path in "(/[a-z]{0,3})?",
        port in "(:[1-9][0-9]{1,3})?",
        user in "([a-z]{1,3}@)?",
    ) {
        for scheme in ["http://", "https:", "//", "ws://", "ssh://", ""] {
            let target = format!("{scheme}{user}{host}{port}{path}");
            prop_assert!(matches!(judge(&target), Verdict::Block { .. }), "{target} for {address}: {:?}", judge(&target));
        }
    }

    #[test]
    fn no_disguise_of_a_special_address_passes(
        host in special_address().prop_flat_map(spelled).prop_flat_map(disguised),
    ) {
        let target = format!("http://{host}/");
        prop_assert!(judge(&target).is_refused(), "{target:?}: {:?}", judge(&target));
    }

    #[test]
    fn no_address_that_carries_a_special_one_passes(address in special_address()) {
        let [a, b, c, d] = address.octets();
        for literal in [
            format!("::ffff:{address}"),
            format!("::ffff:{a:x}{b:02x}:{c:x}{d:02x}"),
            format!("::{address}"),
            format!("64:ff9b::{address}"),
            format!("2002:{a:x}{b:02x}:{c:x}{d:02x}::1"),
        ] {
            let target = format!("http://[{literal}]/");
            let verdict = judge(&target);
            prop_assert!(matches!(verdict, Verdict::Block { .. }), "{target}: {verdict:?}");
        }
        for name in [format!("{address}.nip.io"), format!("a-{a}-{b}-{c}-{d}.sslip.io"), format!("{:08x}.nip.io", address.to_bits())] {
            let verdict = judge(&name);
            prop_assert!(matches!(verdict, Verdict::Block { .. }), "{name}: {verdict:?}");
        }
    }

    #[test]
    fn global_addresses_in_their_usual_form_pass(bits in any::<u32>()) {
        let address = Ipv4Addr::from_bits(bits);
        let passes = matches!(judge(&format!("http://{address}/")), Verdict::Allow { .. });
        prop_assert_eq!(passes, classify(IpAddr::V4(address)).is_global());
    }

    #[test]
    fn a_url_that_passes_has_the_host_that_the_fetcher_sees(
        host in "[a-zA-Z0-9.\\-\\[\\]:%@\\\\]{1,12}|[a-z]{1,5}(\\.[a-z0-9]{1,4}){1,3}|[0-9]{1,3}(\\.[0-9]{1,3}){3}",
        rest in "(:[0-9]{1,5})?(/[a-z@:/?#]{0,6})?",
    ) {
        let target = format!("https://{host}{rest}");
        if let (Ok(url), Verdict::Allow { host } | Verdict::Resolve { host }) = (RemoteUrl::parse(&target), judge(&target)) {
            let fetched = url.as_https().ip().map_or_else(|| url.as_https().host().to_owned(), |ip| ip.to_canonical().to_string());
            prop_assert_eq!(host, fetched);
        }
    }

    #[test]
    fn nothing_panics_and_spans_lie_in_the_text(text in ".{0,40}|(http|ws|://|[\\[\\]@:/\\\\%.]|127|\u{ad}|é|\\PC){0,20}") {
        let _verdict = judge(&text).to_string();
        let _partial = check_partial(&text, &Allowed::nothing_more());
        for finding in UrlScanner.scan(&text).findings {
            prop_assert!(finding.span.is_some_and(|span| span.of(&text).is_some()));
        }
    }
}
