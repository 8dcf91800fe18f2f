use proptest::prelude::*;

use super::*;
use crate::url::Hazard;

const H: &str = "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789";

fn unsupported(scheme: &str) -> ReferenceError {
    ReferenceError::UnsupportedScheme { scheme: scheme.to_owned() }
}

#[test]
fn references_keep_their_spelling_and_have_a_base_name() {
    let cases = [
        ("agents/code.md".to_owned(), Some("code.md")),
        ("../agents/code.md".to_owned(), Some("code.md")),
        ("/opt/skills/x//".to_owned(), Some("x")),
        ("a#b?c".to_owned(), Some("a#b?c")),
        ("github:o/r".to_owned(), Some("r")),
        ("docs/http://x".to_owned(), Some("x")),
        ("httpserver/x".to_owned(), Some("x")),
        ("/".to_owned(), None),
        ("a/..".to_owned(), None),
        (".".to_owned(), None),
        (format!("https://h/skills/my%20skill/?v=1#sha256={H}"), Some("my skill")),
        (format!("HTTPS://Example.com/a.md#sha256={H}"), Some("a.md")),
        (format!("https://h#sha256={H}"), None),
    ];
    for (text, base_name) in cases {
        let reference = Reference::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(reference.to_string(), text);
        assert_eq!(reference.base_name().as_deref(), base_name, "{text}");
        assert_eq!(matches!(reference, Reference::Remote(_)), text.to_lowercase().starts_with("https://"));
    }
}

#[test]
fn anything_that_looks_like_a_url_is_never_a_path() {
    let cases = [
        ("http://x/a.md", ReferenceError::PlainHttp),
        ("HTTP://x/a.md", ReferenceError::PlainHttp),
        ("http:/x", ReferenceError::PlainHttp),
        (" http://x/a.md", ReferenceError::PlainHttp),
        ("ftp://x/a.md", unsupported("ftp")),
        ("file:///etc/passwd", unsupported("file")),
        ("git+https://x/a", unsupported("git+https")),
        ("0://127.0.0.1", unsupported("0")),
        ("://x", unsupported("")),
        ("\u{feff}https://x/a.md", unsupported("\u{feff}https")),
        ("https:/x", UrlError::MissingSlashes.into()),
        ("https:x", UrlError::MissingSlashes.into()),
        ("https:", UrlError::MissingSlashes.into()),
        ("https:\\\\x", UrlError::MissingSlashes.into()),
        ("HttpS:/x", UrlError::MissingSlashes.into()),
        (" https://x/a.md", UrlError::LeadingSpace.into()),
        ("https://", UrlError::EmptyHost.into()),
        ("https:///a.md", UrlError::EmptyHost.into()),
        ("https://u:p@x/a.md", UrlError::Userinfo.into()),
        ("https://a_b/x", UrlError::HostCharacter { character: '_' }.into()),
        ("https://x/a\nb", UrlError::ControlByte { byte: b'\n', offset: 11 }.into()),
    ];
    for (text, expected) in cases {
        let error = Reference::parse(text).unwrap_err();
        assert_eq!(error, expected, "{text:?}");
        assert!(error.help().is_some());
    }
}

#[test]
fn urls_need_a_pin() {
    let error = Reference::parse("https://h/a.md").unwrap_err();
    assert_eq!(error, ReferenceError::Unpinned { url: "https://h/a.md".to_owned() });
    assert_eq!(error.code(), "reference-unpinned");
    assert!(error.help().unwrap().contains("`curl -fsS 'https://h/a.md' | sha256sum`"));
    let hostile = Reference::parse("https://h/a';rm -rf x'").unwrap_err();
    assert!(!hostile.help().unwrap().contains("rm -rf"));
    let upper = format!("https://h/a.md#sha256={}", H.to_ascii_uppercase());
    let error = Reference::parse(&upper).unwrap_err();
    assert_eq!((error.code(), error.help()), ("pin-upper-case", Some(format!("write `#sha256={H}`"))));
    let extra = format!("https://h/a.md#b#sha256={H}");
    assert_eq!(Reference::parse(&extra), Err(PinError::ExtraFragment.into()));
}

#[test]
fn ambiguous_urls_are_refused_with_the_corrected_reference() {
    let cases = [
        ("https://h/a/../b.md", Hazard::DotSegment, Some("https://h/b.md")),
        ("https://h/a%2fb.md", Hazard::EncodedSeparator, Some("https://h/a/b.md")),
        ("https://h/%2561.md", Hazard::DoubleEncoding, Some("https://h/a.md")),
        ("https://h/a\\b.md", Hazard::Backslash, None),
        ("https://h:0/a.md", Hazard::Port, None),
        ("https://h:99999/a.md", Hazard::Port, None),
        ("https://.h/a.md", Hazard::EmptyHostLabel, None),
        ("https://a..b/a.md", Hazard::EmptyHostLabel, None),
    ];
    for (url, hazard, corrected) in cases {
        let corrected = corrected.map(|url| format!("{url}#sha256={H}"));
        let expected = UrlError::Hazard { hazard, corrected };
        assert_eq!(Reference::parse(&format!("{url}#sha256={H}")), Err(expected.into()), "{url}");
    }
}

#[test]
fn impossible_paths_are_refused() {
    let control = |character, offset| ReferenceError::Control { character, offset };
    let cases = [
        (String::new(), ReferenceError::Empty),
        ("a\0b".to_owned(), control('\0', 1)),
        ("a\n".to_owned(), control('\n', 1)),
        ("\u{7f}".to_owned(), control('\u{7f}', 0)),
        ("é\u{85}".to_owned(), control('\u{85}', 2)),
        (format!("agents/x.md#sha256={H}"), ReferenceError::PinnedPath),
        ("agents/x.md#SHA256=".to_owned(), ReferenceError::PinnedPath),
    ];
    for (text, expected) in cases {
        assert_eq!(Reference::parse(&text), Err(expected), "{text:?}");
    }
}

#[test]
fn a_local_path_is_never_a_url() {
    let path = LocalPath::parse("scripts/pre.sh").unwrap();
    assert_eq!((path.as_str(), path.as_path()), ("scripts/pre.sh", Path::new("scripts/pre.sh")));
    assert_eq!(LocalPath::parse("https://h/a"), Err(ReferenceError::UrlNotPath));
    assert_eq!(LocalPath::parse(&format!("https://h/a#sha256={H}")), Err(ReferenceError::UrlNotPath));
}

proptest! {
    #[test]
    fn a_text_with_a_scheme_is_never_local(scheme in "[A-Za-z][A-Za-z0-9+.-]{0,6}", rest in ".{0,12}") {
        let parsed = Reference::parse(&format!("{scheme}://{rest}"));
        prop_assert!(!matches!(parsed, Ok(Reference::Local(_))), "{:?}", parsed);
    }

    #[test]
    fn what_parses_prints_back(text in r"(https:|//|h|/|\.|%2e|#|sha256=|[a-c ]){0,8}") {
        if let Ok(reference) = Reference::parse(&text) {
            prop_assert_eq!(reference.to_string(), text);
        }
    }
}
