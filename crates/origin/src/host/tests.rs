use proptest::prelude::*;

use super::*;

#[test]
fn matching() {
    let cases = [
        ("*.example.com", "sub.example.com", true),
        ("*.example.com", "deep.sub.example.com", true),
        ("*.example.com", "SUB.Example.COM", true),
        ("*.EXAMPLE.com", "sub.example.com", true),
        ("*.example.com", "example.com", false),
        ("*.example.com", "notexample.com", false),
        ("*.example.com", ".example.com", false),
        ("*.example.com", "a..example.com", false),
        ("*.example.com", ".a.example.com", false),
        ("*.example.com", "sub.example.com.", false),
        ("*.example.com", "sub.example.com.evil.com", false),
        ("*.example.com", "", false),
        ("Example.com", "EXAMPLE.COM", true),
        ("example.com", "example.com.", false),
        ("example.com", "sub.example.com", false),
        ("example.com", "example.com:443", false),
        ("127.0.0.1", "127.0.0.1", true),
        ("127.0.0.1", "127.0.0.2", false),
        ("127.0.0.1", "0177.0.0.1", false),
        ("127.0.0.1", "::ffff:127.0.0.1", false),
        ("::1", "[::1]", true),
        ("[::1]", "0:0:0:0:0:0:0:1", true),
        ("::1", "::2", false),
        ("exämple.com", "exämple.com", true),
    ];
    for (pattern, host, expected) in cases {
        assert_eq!(HostPattern::parse(pattern).unwrap().matches(host), expected, "{pattern} {host}");
    }
}

#[test]
fn strict_reading() {
    let long_label = format!("{}.com", "a".repeat(64));
    let long_name = "a.".repeat(126) + "aa";
    let character = |character| HostPatternError::Character { character };
    let cases = [
        ("", HostPatternError::Empty),
        ("*", HostPatternError::Wildcard),
        ("*.", HostPatternError::Empty),
        ("*.*", HostPatternError::Wildcard),
        ("**.example.com", HostPatternError::Wildcard),
        ("*example.com", HostPatternError::Wildcard),
        ("a.*.com", HostPatternError::Wildcard),
        ("example.*", HostPatternError::Wildcard),
        ("example.com:443", HostPatternError::Port),
        ("[::1]:443", HostPatternError::Port),
        ("*.::1", HostPatternError::Port),
        ("https://example.com", HostPatternError::Port),
        ("example.com/x", character('/')),
        ("a b", character(' ')),
        ("a_b.com", character('_')),
        ("evil\u{3002}com", character('\u{3002}')),
        (".example.com", HostPatternError::EmptyLabel),
        ("example.com.", HostPatternError::EmptyLabel),
        ("a..b", HostPatternError::EmptyLabel),
        ("*..example.com", HostPatternError::EmptyLabel),
        (&long_label, HostPatternError::TooLong),
        (&long_name, HostPatternError::TooLong),
        ("*.0.0.1", HostPatternError::Numeric),
        ("*.127.0.0.1", HostPatternError::Numeric),
        ("2130706433", HostPatternError::Numeric),
        ("0x7f.1", HostPatternError::Numeric),
        ("0177.0.0.1", HostPatternError::Numeric),
    ];
    for (text, expected) in cases {
        let error = HostPattern::parse(text).unwrap_err();
        assert_eq!(error, expected, "{text:?}");
        assert!(error.code().starts_with("host-"));
    }
}

#[test]
fn patterns_keep_their_spelling() {
    for (text, wildcard) in [("*.Example.com", true), ("Example.com", false), ("[::1]", false)] {
        let pattern = HostPattern::parse(text).unwrap();
        assert_eq!((pattern.as_str(), pattern.to_string().as_str()), (text, text));
        assert_eq!(pattern.is_wildcard(), wildcard);
    }
}

proptest! {
    /// A wildcard admits exactly the names that add whole, non-empty labels in front of its domain.
    #[test]
    fn wildcards_add_whole_labels(prefix in "[a-z.]{0,6}") {
        let pattern = HostPattern::parse("*.example.com").unwrap();
        let whole = prefix.strip_suffix('.').is_some_and(|labels| labels.split('.').all(|label| !label.is_empty()));
        prop_assert_eq!(pattern.matches(&format!("{prefix}example.com")), whole);
    }
}
