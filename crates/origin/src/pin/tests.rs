use super::*;
use crate::url::Hazard;

const H: &str = "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789";

fn digest() -> Sha256Digest {
    H.parse().unwrap()
}

#[test]
fn pins_are_split_off() {
    for clean in ["https://h/a.md", "https://h/a.md?v=1", "agents/x.md", ""] {
        let text = format!("{clean}#sha256={H}");
        assert_eq!(split_integrity(&text), Ok((clean, digest())));
    }
}

#[test]
fn upper_case_is_refused_with_the_corrected_pin() {
    let upper = H.to_ascii_uppercase();
    let mixed = H.replacen('a', "A", 1);
    let corrected = format!("#sha256={H}");
    for fragment in [
        format!("sha256={upper}"),
        format!("sha256={mixed}"),
        format!("SHA256={H}"),
        format!("Sha256={upper}"),
    ] {
        let error = split_integrity(&format!("https://h/a#{fragment}")).unwrap_err();
        assert_eq!(error, PinError::UpperCase { corrected: corrected.clone() }, "{fragment}");
        assert_eq!(error.help(), Some(format!("write `{corrected}`")));
        assert_eq!(error.code(), "pin-upper-case");
    }
}

#[test]
fn a_fragment_that_is_not_a_pin_is_refused() {
    let meant = Some(format!("#sha256={H}"));
    let cases = [
        (String::new(), None),
        ("section1".to_owned(), None),
        ("md5=d41d8cd98f00b204e9800998ecf8427e".to_owned(), None),
        (format!("sha512={H}{H}"), None),
        (format!("x=1&sha256={H}"), None),
        (format!("sha256 {H}"), None),
        ("ééé".to_owned(), None),
        ("SHA256=abc".to_owned(), None),
        (format!("sha256:{H}"), meant.clone()),
        (format!("sha256-{H}"), meant.clone()),
        (format!("sha256%3D{H}"), meant.clone()),
        (format!("SHA256%3d{}", H.to_ascii_uppercase()), meant),
    ];
    for (fragment, corrected) in cases {
        let text = format!("https://h/a#{fragment}");
        assert_eq!(split_integrity(&text), Err(PinError::NotAPin { corrected }), "{fragment}");
    }
    assert_eq!(split_integrity("https://h/a"), Err(PinError::Missing));
}

#[test]
fn an_extra_fragment_is_refused() {
    for text in [
        format!("https://h/a#b#sha256={H}"),
        format!("https://h/a##sha256={H}"),
        format!("https://h/a#sha256={H}#b"),
        format!("https://h/a#sha256={H}#"),
    ] {
        assert_eq!(split_integrity(&text), Err(PinError::ExtraFragment), "{text}");
    }
}

#[test]
fn what_follows_the_mark_must_be_a_digest() {
    let length = |found| DigestError::Length { found };
    let not_hex = |character, offset| DigestError::NotHex { character, offset };
    let cases = [
        (String::new(), length(0)),
        (H[..63].to_owned(), length(63)),
        (format!("{H}0"), length(65)),
        (format!("{}z", &H[..63]), not_hex('z', 63)),
        (format!("{}x", &H[..63]), not_hex('x', 63)),
        (format!("{} ", &H[..63]), not_hex(' ', 63)),
        (format!("{H} "), not_hex(' ', 64)),
        (format!("{H}?x=1"), not_hex('?', 64)),
        (format!("{H}&x=1"), not_hex('&', 64)),
        (format!("../../../../../../etc/shadow{}", "/".repeat(36)), not_hex('.', 0)),
    ];
    for (hex, source) in cases {
        let text = format!("https://h/a#sha256={hex}");
        assert_eq!(split_integrity(&text), Err(PinError::Digest { source }), "{hex}");
    }
}

#[test]
fn a_pinned_url_keeps_its_spelling() {
    let text = format!("HTTPS://Example.com:8443/a%20b.md?v=1#sha256={H}");
    let pinned = PinnedUrl::parse(&text).unwrap();
    assert_eq!(pinned.to_string(), text);
    assert_eq!(pinned.url().as_str(), "HTTPS://Example.com:8443/a%20b.md?v=1");
    assert_eq!(pinned.digest(), digest());
    assert_eq!(PinnedUrl::new(pinned.url().clone(), digest()), pinned);
}

#[test]
fn faults_of_the_url_come_before_faults_of_the_pin() {
    assert_eq!(PinnedUrl::parse("https://h/a"), Err(PinError::Missing.into()));
    assert_eq!(PinnedUrl::parse("https://u@h/a"), Err(UrlError::Userinfo.into()));
    assert_eq!(PinnedUrl::parse(&format!("agents/x.md#sha256={H}")), Err(UrlError::MissingScheme.into()));
    assert_eq!(PinnedUrl::parse(&format!("#sha256={H}")), Err(UrlError::Empty.into()));
    let corrected = Some(format!("https://h/b#sha256={H}"));
    let expected = UrlError::Hazard { hazard: Hazard::DotSegment, corrected };
    assert_eq!(PinnedUrl::parse(&format!("https://h/a/../b#sha256={H}")), Err(expected.into()));
}
