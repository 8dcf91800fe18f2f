use proptest::prelude::*;

use super::*;

const ACCEPTED: &[&str] = &[
    "https://example.com",
    "https://example.com/path/file.md",
    "https://example.com:8443/path",
    "https://example.com/path?q=1",
    "https://example.com/x?q=%zz",
    "https://example.com?x=1",
    "https://example.com?@127.0.0.1/",
    "https://example.com/path#sha256=abc",
    "https://example.com/x#a#b",
    "https://127.0.0.1#@example.com/",
    "HTTPS://Example.com/x",
    "Https://example.com/x",
    "https://example.com/a b",
    "https://example.com/x ",
    "https://example.com/é",
    "https://example.com/a\\b",
    "https://example.com/@x:y",
    "https://exämple.com/x",
    "https://例え.テスト.jp/",
    "https://example.com:",
    "https://example.com:/x",
    "https://example.com:0/x",
    "https://example.com:99999/x",
    "https://example.com./x",
    "https://.",
    "https://..",
    "https://127.0.0.1/x",
    "https://[::1]/x",
    "https://[::1]:8443/x",
    "https://[::ffff:127.0.0.1]/x",
    "https://2130706433/x",
    "https://0x7f.1/x",
    "https://[fe80::1%25eth0]/x",
];

fn refused() -> Vec<(&'static str, UrlError)> {
    let character = |character| UrlError::HostCharacter { character };
    let scheme = |scheme: &str| UrlError::UnsupportedScheme { scheme: scheme.to_owned() };
    let ipv6 = |text: &str| UrlError::Ipv6Literal { text: text.to_owned() };
    let control = |byte, offset| UrlError::ControlByte { byte, offset };
    let port = |text: &str| UrlError::PortNotNumeric { text: text.to_owned() };
    let escape = |part, offset| UrlError::MalformedEscape { part, offset };
    vec![
        ("", UrlError::Empty),
        ("http://example.com/path", scheme("http")),
        ("ftp://example.com/", scheme("ftp")),
        ("file:///etc/passwd", scheme("file")),
        ("git+https://example.com/x", scheme("git+https")),
        ("github:o/r", scheme("github")),
        ("agents/code.md", UrlError::MissingScheme),
        ("../agents/code.md", UrlError::MissingScheme),
        ("/opt/agents/code.md", UrlError::MissingScheme),
        ("//example.com/x", UrlError::MissingScheme),
        ("://bad", UrlError::MissingScheme),
        ("0://127.0.0.1:80;http://example.com:80/", UrlError::MissingScheme),
        ("https", UrlError::MissingScheme),
        ("https:", UrlError::MissingSlashes),
        ("https://", UrlError::EmptyHost),
        ("https:///", UrlError::EmptyHost),
        ("https:///path", UrlError::EmptyHost),
        ("https:////127.0.0.1/", UrlError::EmptyHost),
        ("https://?x", UrlError::EmptyHost),
        ("https://#x", UrlError::EmptyHost),
        ("https:example.com/x", UrlError::MissingSlashes),
        ("https:/example.com/x", UrlError::MissingSlashes),
        ("https:\\\\example.com/x", UrlError::MissingSlashes),
        ("https://example.com\\evil/x", character('\\')),
        ("https://example.com\\@evil.com/x", UrlError::Userinfo),
        (" https://example.com/x", UrlError::LeadingSpace),
        ("\u{a0}https://example.com/x", UrlError::LeadingSpace),
        ("https://example.com/x\ty", control(b'\t', 21)),
        ("https://example.com/x\n", control(b'\n', 21)),
        ("\thttps://example.com/x", control(b'\t', 0)),
        ("https://127.0.\t0.1/", control(b'\t', 14)),
        ("https://example.com/x?\r", control(b'\r', 22)),
        ("https://example.com/x#\0", control(0, 22)),
        ("https://example.com/\u{7f}", control(0x7f, 20)),
        ("https://exa mple.com/x", character(' ')),
        ("https://user:pass@example.com/path", UrlError::Userinfo),
        ("https://user@example.com/path", UrlError::Userinfo),
        ("https://@example.com/", UrlError::Userinfo),
        ("https://:@example.com/", UrlError::Userinfo),
        ("https://foo@127.0.0.1:80@example.com/", UrlError::Userinfo),
        ("https://user%40host/x", UrlError::HostEscape),
        ("https://exam%70le.com/", UrlError::HostEscape),
        ("https://127.0.0.1%0d%0aHost:%20internal/", UrlError::HostEscape),
        ("https://127.0.0.1%20.example.com/", UrlError::HostEscape),
        ("https://:443/path", UrlError::EmptyHost),
        ("https://example.com:abc/x", port("abc")),
        ("https://example.com:0x50/", port("0x50")),
        ("https://example.com:+443/", port("+443")),
        ("https://[::1]:abc/", port("abc")),
        ("https://localhost:80:80/x", UrlError::ExtraColon),
        ("https://::1/x", UrlError::ExtraColon),
        ("https://[::1/x", ipv6("[::1")),
        ("https://[]/x", ipv6("[]")),
        ("https://[nothex]/x", ipv6("[nothex]")),
        ("https://[127.0.0.1]/x", ipv6("[127.0.0.1]")),
        ("https://[fe80::1%eth0]/x", ipv6("[fe80::1%eth0]")),
        ("https://[fe80::1%25]/x", ipv6("[fe80::1%25]")),
        ("https://[fe80::1%25a/b]/x", ipv6("[fe80::1%25a")),
        ("https://[::1]x/", ipv6("[::1]x")),
        ("https://a[::1]/", UrlError::ExtraColon),
        ("https://a[1]/", character('[')),
        ("https://a|b/x", character('|')),
        ("https://a^b/x", character('^')),
        ("https://a_b/x", character('_')),
        ("https://a\"b/x", character('"')),
        ("https://a<b>/x", character('<')),
        ("https://a!b/x", character('!')),
        ("https://a;b/x", character(';')),
        ("https://a*b/x", character('*')),
        ("https://a~b/x", character('~')),
        // Characters that name preparation turns into dots, slashes or digits, or drops.
        ("https://127\u{ff0e}0\u{ff0e}0\u{ff0e}1/", character('\u{ff0e}')),
        ("https://evil\u{3002}com/", character('\u{3002}')),
        ("https://good.example\u{2100}.evil/", character('\u{2100}')),
        ("https://\u{2460}.1/", character('\u{2460}')),
        ("https://loc\u{ad}alhost/", character('\u{ad}')),
        ("https://a\u{200b}b/", character('\u{200b}')),
        ("https://example.com/%zz", escape(UrlPart::Path, 1)),
        ("https://example.com/%", escape(UrlPart::Path, 1)),
        ("https://example.com/a%4", escape(UrlPart::Path, 2)),
        ("https://example.com/x#%zz", escape(UrlPart::Fragment, 0)),
    ]
}

#[test]
fn accepted_texts_are_kept_as_written() {
    for text in ACCEPTED {
        let url = HttpsUrl::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!((url.as_str(), url.to_string().as_str()), (*text, *text));
        assert!(is_https_url(text));
    }
}

#[test]
fn refused_texts_name_the_fault() {
    for (text, expected) in refused() {
        assert_eq!(HttpsUrl::parse(text), Err(expected), "{text:?}");
        assert!(!is_https_url(text));
    }
}

#[test]
fn every_control_byte_is_refused_everywhere() {
    for byte in (0..0x20).chain([0x7f]) {
        for template in
            ["^https://h/p", "ht^tps://h/", "https://^h/", "https://h/^", "https://h/?^", "https://h/#^"]
        {
            let text = template.replace('^', &char::from(byte).to_string());
            let offset = template.find('^').unwrap();
            assert_eq!(HttpsUrl::parse(&text), Err(UrlError::ControlByte { byte, offset }), "{text:?}");
        }
    }
}

#[test]
fn parts() {
    let url = HttpsUrl::parse("HTTPS://Example.COM:8443/A/%2e?q=A#F").unwrap();
    assert_eq!(
        (url.host(), url.port_text(), url.raw_path(), url.query(), url.fragment(), url.ip()),
        ("example.com", Some("8443"), "/A/%2e", Some("q=A"), Some("F"), None)
    );
    let bare = HttpsUrl::parse("https://[FE80::A]").unwrap();
    assert_eq!(
        (bare.host(), bare.port_text(), bare.raw_path(), bare.query(), bare.fragment(), bare.ip()),
        ("fe80::a", None, "", None, None, Some("fe80::a".parse().unwrap()))
    );
    let zone = HttpsUrl::parse("https://[fe80::1%25Eth0]/").unwrap();
    assert_eq!((zone.host(), zone.ip()), ("fe80::1%eth0", None));
    let empty = HttpsUrl::parse("https://h?#").unwrap();
    assert_eq!((empty.query(), empty.fragment()), (Some(""), Some("")));
    assert_eq!(HttpsUrl::parse("https://127.0.0.1").unwrap().ip(), Some("127.0.0.1".parse().unwrap()));
    assert_eq!(HttpsUrl::parse("https://0177.0.0.1").unwrap().ip(), None);
}

#[test]
fn ports() {
    let cases = [
        ("https://h/", Ok(None)),
        ("https://h:/", Ok(None)),
        ("https://h:1/", Ok(Some(1))),
        ("https://h:443/", Ok(Some(443))),
        ("https://h:65535/", Ok(Some(65535))),
        ("https://h:0/", Err("0")),
        ("https://h:65536/", Err("65536")),
        ("https://h:99999999999999999999/", Err("99999999999999999999")),
        ("https://h:0443/", Err("0443")),
    ];
    for (text, expected) in cases {
        let expected = expected.map_err(|text: &str| UrlError::PortRange { text: text.to_owned() });
        assert_eq!(HttpsUrl::parse(text).unwrap().port(), expected, "{text}");
    }
}

#[test]
fn request_targets_are_plain_ascii() {
    let cases = [
        ("https://h", "/"),
        ("https://h?x=1", "/?x=1"),
        ("https://h/a b/%2f", "/a%20b/%2f"),
        ("https://h/é?q=ü \"#f", "/%C3%A9?q=%C3%BC%20%22"),
    ];
    for (text, expected) in cases {
        assert_eq!(HttpsUrl::parse(text).unwrap().request_target(), expected, "{text}");
    }
}

#[test]
fn scheme_detection() {
    for text in ["http://x", "a+b.c-1://", "HTTPS://", "file:///etc"] {
        assert!(has_scheme(text), "{text}");
    }
    for text in ["", "://x", "1a://x", "https:/x", "a b://x", "x/http://y", " http://x", "é://x"] {
        assert!(!has_scheme(text), "{text}");
    }
}

#[test]
fn normalised_spellings() {
    let cases = [
        ("https://example.com", Some("https://example.com/")),
        ("https://example.com/.", Some("https://example.com/")),
        ("https://example.com/a/..", Some("https://example.com/")),
        ("https://example.com/..", Some("https://example.com/")),
        ("https://example.com//a//b", Some("https://example.com/a/b")),
        ("https://example.com/a/../b/file.md", Some("https://example.com/b/file.md")),
        ("https://example.com/a/./b/", Some("https://example.com/a/b/")),
        ("https://example.com/../../x/", Some("https://example.com/x/")),
        ("https://example.com/a%2fb", Some("https://example.com/a/b")),
        ("https://example.com/a/%2e%2e/%2e%2e/b", Some("https://example.com/b")),
        ("https://example.com/a b", Some("https://example.com/a%20b")),
        ("https://example.com/a%20b", Some("https://example.com/a%20b")),
        ("https://example.com/a%3fb", Some("https://example.com/a%3Fb")),
        ("https://example.com/é", Some("https://example.com/%C3%A9")),
        ("https://example.com/a?x=/../b", Some("https://example.com/a?x=/../b")),
        ("https://example.com:443/a", Some("https://example.com:443/a")),
        ("HTTPS://Example.com./a/../b#f", Some("https://Example.com./b#f")),
        ("https://example.com/%2561gent.md", Some("https://example.com/agent.md")),
        ("//example.com/a/../b", Some("//example.com/b")),
        ("file:/a/../b", Some("file:/b")),
        ("https://example.com/a%5cb", None),
        ("https://example.com/a\\b", None),
        ("https://example.com/%25", None),
        ("https://user@example.com/", None),
        ("https://example.com/\n", None),
        ("https://example.com/#%zz", None),
        ("mailto:x", None),
        ("://bad", None),
        ("", Some("/")),
        ("agents/code.md", Some("agents/code.md")),
        ("a/../../b/.", Some("../b")),
        ("a/..", Some("/")),
    ];
    for (text, expected) in cases {
        assert_eq!(normalize_path(text).as_deref(), expected, "{text:?}");
    }
}

fn hazard_advice(hazard: Hazard) -> String {
    UrlError::Hazard { hazard, corrected: None }.help().unwrap()
}

#[test]
fn hazards_are_refused_with_the_spelling_that_has_none() {
    let cases = [
        ("https://h/a/../b", Hazard::DotSegment, Some("https://h/b")),
        ("https://h/a/./b", Hazard::DotSegment, Some("https://h/a/b")),
        ("https://h/a/%2E%2e/b", Hazard::DotSegment, Some("https://h/b")),
        ("https://h/a/.%2e", Hazard::DotSegment, Some("https://h/")),
        ("https://h/a%2fb", Hazard::EncodedSeparator, Some("https://h/a/b")),
        ("https://h/a%2Fb", Hazard::EncodedSeparator, Some("https://h/a/b")),
        ("https://h/a%5Cb", Hazard::EncodedSeparator, None),
        ("https://h/a\\..\\b", Hazard::Backslash, None),
        ("https://h/%2561gent.md", Hazard::DoubleEncoding, Some("https://h/agent.md")),
        ("https://h/a%252fb", Hazard::DoubleEncoding, Some("https://h/a/b")),
        ("https://h/100%25", Hazard::DoubleEncoding, None),
        ("https://h/a?q=%25", Hazard::DoubleEncoding, None),
        ("https://h/a%0d%0ab", Hazard::EncodedControl, None),
        ("https://h/a%00", Hazard::EncodedControl, None),
        ("https://.h/a", Hazard::EmptyHostLabel, None),
        ("https://a..h/a", Hazard::EmptyHostLabel, None),
        ("https://./", Hazard::EmptyHostLabel, None),
        ("https://../", Hazard::EmptyHostLabel, None),
        ("https://h./a", Hazard::TrailingDot, None),
        ("https://127.0.0.1./a", Hazard::TrailingDot, None),
        ("https://h:0/a", Hazard::Port, None),
        ("https://h:65536/a", Hazard::Port, None),
        ("https://h:/a", Hazard::Port, None),
        ("https://h:0443/a", Hazard::Port, None),
        ("https://[fe80::1%25eth0]/a", Hazard::ZoneIdentifier, None),
        ("https://2130706433/a", Hazard::NumericHost, None),
        ("https://0x7f.1/a", Hazard::NumericHost, None),
        ("https://0X7F000001/a", Hazard::NumericHost, None),
        ("https://0177.0.0.1/a", Hazard::NumericHost, None),
        ("https://127.0.1/a", Hazard::NumericHost, None),
        ("https://425.510.425.510/a", Hazard::NumericHost, None),
        ("https://x.0x/a", Hazard::NumericHost, None),
    ];
    for (text, hazard, corrected) in cases {
        let corrected = corrected.map(str::to_owned);
        let help = corrected.as_ref().map_or(hazard_advice(hazard), |url| format!("write `{url}`"));
        let error = RemoteUrl::parse(text).unwrap_err();
        assert_eq!(error, UrlError::Hazard { hazard, corrected }, "{text}");
        assert_eq!(error.code(), hazard.code());
        assert_eq!(error.help(), Some(help), "{text}");
    }
}

#[test]
fn ordinary_urls_are_remote_urls() {
    let texts = [
        "https://example.com",
        "https://example.com/",
        "https://Example.com:443/a%20b/c.md?v=1",
        "https://example.com/..a/b../...",
        "https://example.com/a//b",
        "https://127.0.0.1/x",
        "https://[::1]:8443/x",
        "https://1password.com/0x7f",
        "https://0xbeef.example/",
        "https://例え.テスト.jp/",
    ];
    for text in texts {
        assert_eq!(RemoteUrl::parse(text).map(|url| url.to_string()), Ok(text.to_owned()));
    }
    assert_eq!(RemoteUrl::parse("https://h/a#"), Err(UrlError::Fragment));
}

#[test]
fn base_names_of_urls() {
    let cases = [
        ("https://h", None),
        ("https://h//", None),
        ("https://h/a/b.md?x=/y", Some("b.md")),
        ("https://h/a/my%20skill//", Some("my skill")),
        ("https://h/%ff", None),
    ];
    for (text, expected) in cases {
        assert_eq!(RemoteUrl::parse(text).unwrap().base_name().as_deref(), expected, "{text}");
    }
}

#[test]
fn messages_never_repeat_credentials() {
    let error = HttpsUrl::parse("https://user:hunter2@example.com/").unwrap_err();
    assert_eq!(error.code(), "url-userinfo");
    assert!(!format!("{error} {:?} {:?}", error, error.help()).contains("hunter2"));
}

proptest! {
    #[test]
    fn the_reader_never_fails_otherwise_than_with_an_error(text in "(https://)?.*") {
        if let Ok(url) = HttpsUrl::parse(&text) {
            prop_assert_eq!(url.as_str(), text);
        }
    }

    /// Whatever stands in the authority, a host never holds a byte that could end or split it.
    #[test]
    fn hosts_hold_no_delimiters(authority in r"[a-c.:@\\\[\]%?#/ _0-9é-]{1,12}") {
        if let Ok(url) = HttpsUrl::parse(&format!("https://{authority}/p")) {
            let name = url.ip().is_none_or(|ip| ip.is_ipv4());
            prop_assert!(!url.host().contains(['@', '\\', '/', '?', '#', '[', ']', ' ']));
            prop_assert!(!(name && url.host().contains(':')));
            prop_assert!(authority.to_lowercase().contains(&url.host().replace('%', "%25")));
        }
    }

    #[test]
    fn normalising_twice_changes_nothing(path in r"[a-c./]{0,12}") {
        let once = normalize_path(&format!("https://h/{path}")).unwrap();
        prop_assert_eq!(normalize_path(&once), Some(once.clone()));
        prop_assert!(RemoteUrl::parse(&once).is_ok(), "{}", once);
    }

    #[test]
    fn a_corrected_spelling_is_always_acceptable(path in r"(%2e|%2f|%25|%5c|[a-c./\\%0-9]){0,8}") {
        if let Err(UrlError::Hazard { corrected: Some(corrected), .. }) = RemoteUrl::parse(&format!("https://h/{path}")) {
            prop_assert!(RemoteUrl::parse(&corrected).is_ok(), "{}", corrected);
        }
    }
}
