use proptest::prelude::*;

use super::*;
use crate::url::{Hazard, UrlError};

fn url(text: &str) -> HttpsUrl {
    HttpsUrl::parse(text).unwrap()
}

fn list(entries: &[&str]) -> AllowList {
    AllowList::parse(entries).unwrap()
}

#[test]
fn entries_that_mean_exactly_one_thing() {
    for text in [
        "https://example.com/",
        "https://Example.Com/Skills/",
        "https://example.com:8443/a%20b/",
        "https://[::1]/x/",
        "HTTPS://h/.../..a/",
    ] {
        assert_eq!(AllowEntry::parse(text).map(|entry| entry.to_string()), Ok(text.to_owned()));
    }
}

#[test]
fn other_entries_are_refused() {
    let hazard = |hazard, corrected: Option<&str>| {
        AllowEntryError::from(UrlError::Hazard { hazard, corrected: corrected.map(str::to_owned) })
    };
    let slash = |corrected: &str| AllowEntryError::NoTrailingSlash { corrected: corrected.to_owned() };
    let cases = [
        ("http://example.com/", UrlError::UnsupportedScheme { scheme: "http".to_owned() }.into()),
        ("https://example.com", slash("https://example.com/")),
        ("https://example.com/org", slash("https://example.com/org/")),
        ("https://example.com/a%252f/", hazard(Hazard::DoubleEncoding, Some("https://example.com/a/"))),
        ("https://example.com/s/%2e%2e/evil/", hazard(Hazard::DotSegment, Some("https://example.com/evil/"))),
        ("https://example.com/s/../", hazard(Hazard::DotSegment, Some("https://example.com/"))),
        ("https://example.com/a%2fb/", hazard(Hazard::EncodedSeparator, Some("https://example.com/a/b/"))),
        ("https://example.com/a%5cb/", hazard(Hazard::EncodedSeparator, None)),
        ("https://example.com/a\\b/", hazard(Hazard::Backslash, None)),
        ("https://example.com./", hazard(Hazard::TrailingDot, None)),
        ("https://example.com:0/", hazard(Hazard::Port, None)),
        ("https://example.com:/", hazard(Hazard::Port, None)),
        ("https://u@example.com/", UrlError::Userinfo.into()),
        ("https://example.com/\n/", UrlError::ControlByte { byte: b'\n', offset: 20 }.into()),
        ("https://evil.com/path?ref=v1/", AllowEntryError::Query),
        ("https://example.com/?", AllowEntryError::Query),
        ("https://example.com/#/", AllowEntryError::Fragment),
        ("https://example.com//", AllowEntryError::EmptySegment),
        ("https://example.com/a//b/", AllowEntryError::EmptySegment),
    ];
    for (text, expected) in cases {
        assert_eq!(AllowEntry::parse(text), Err(expected), "{text}");
    }
}

#[test]
fn a_bad_list_names_its_bad_entry() {
    let error = AllowList::parse(["https://a/", "https://b"]).unwrap_err();
    assert_eq!(
        (error.index, error.entry.as_str(), error.code()),
        (1, "https://b", "allow-no-trailing-slash")
    );
    assert_eq!(error.help().as_deref(), Some("write `https://b/`"));
}

/// Entry, URL, whether the URL lies below the entry.
const MATCHES: &[(&str, &str, bool)] = &[
    ("https://example.com/skills/", "https://example.com/skills/x.md", true),
    ("https://example.com/skills/", "https://example.com/skills/a/b/c.md?q=1#f", true),
    ("https://example.com/skills/", "https://example.com/skills/", true),
    ("https://example.com/skills/", "https://example.com/skills", false),
    ("https://example.com/skills/", "https://example.com/skills?/x", false),
    ("https://example.com/skills/", "https://example.com/skills-evil/x", false),
    ("https://example.com/skills/", "https://example.com/", false),
    ("https://example.com/skills/", "https://example.com//skills/x", false),
    ("https://example.com/skills/", "https://evil.com/path?ref=v1/", false),
    ("https://example.com/", "https://example.com/x", true),
    ("https://example.com/", "https://example.com", false),
    ("https://example.com/", "https://example.com.evil.com/x", false),
    ("https://example.com/", "https://sub.example.com/x", false),
    // Host and scheme fold case, paths do not.
    ("https://Example.Com/Skills/", "HTTPS://EXAMPLE.com/Skills/x", true),
    ("https://Example.Com/Skills/", "https://example.com/skills/x", false),
    // Ports are compared as written.
    ("https://example.com/", "https://example.com:443/x", false),
    ("https://example.com:443/", "https://example.com/x", false),
    ("https://example.com:8443/", "https://example.com:8443/x", true),
    ("https://example.com/", "https://example.com:/x", false),
    ("https://example.com/", "https://example.com./x", false),
    // One decode, on both sides.
    ("https://example.com/a%20b/", "https://example.com/a b/x", true),
    ("https://example.com/skills/", "https://example.com/%73kills/x", true),
    ("https://example.com/skills/", "https://example.com/%53kills/x", false),
    ("https://example.com/skills/", "https://example.com/%2573kills/x", false),
    // Ambiguous URLs match nothing.
    ("https://example.com/skills/", "https://example.com/skills/../evil/payload", false),
    ("https://example.com/skills/", "https://example.com/skills/%2e%2e/evil", false),
    ("https://example.com/skills/", "https://example.com/skills/./x", false),
    ("https://example.com/skills/", "https://example.com/skills/%2561gent.md", false),
    ("https://example.com/skills/", "https://example.com/skills\\..\\secret", false),
    ("https://example.com/skills/", "https://example.com/skills/..%2fevil", false),
    ("https://example.com/skills/", "https://example.com/skills/x%5c..%5cevil", false),
    ("https://example.com/skills/", "https://example.com/skills%2fx", false),
    ("https://example.com/skills/", "https://example.com/evil/../skills/x", false),
    ("https://example.com/skills/", "https://example.com/skills/x%00", false),
    ("https://example.com/skills/", "https://example.com/skills/x?y=%25", false),
];

#[test]
fn matching_by_whole_parts() {
    for (entry, candidate, expected) in MATCHES {
        let found = list(&[entry]).matching(&url(candidate)).map(AllowEntry::as_str) == Some(*entry);
        assert_eq!(found, *expected, "{entry} {candidate}");
    }
}

#[test]
fn the_first_matching_entry_is_named_and_an_empty_list_allows_nothing() {
    let nested = list(&["https://h/a/", "https://h/", "https://h/a/b/"]);
    assert_eq!(nested.matching(&url("https://h/a/b/c")).map(AllowEntry::as_str), Some("https://h/a/"));
    assert_eq!(nested.matching(&url("https://h/x")).map(AllowEntry::as_str), Some("https://h/"));
    assert_eq!(AllowList::default().matching(&url("https://h/x")), None);
    assert_eq!((nested.len(), nested.is_empty(), AllowList::default().is_empty()), (3, false, true));
}

#[test]
fn covering() {
    let cases = [
        ("https://h/", "https://h/", true),
        ("https://h/", "https://h/a/b/", true),
        ("https://h/a/", "https://H/a/b/", true),
        ("https://h/a/", "https://h/", false),
        ("https://h/a/", "https://h/ab/", false),
        ("https://h/a/", "https://h/A/", false),
        ("https://h/", "https://h:443/", false),
        ("https://h/", "https://h.evil.com/", false),
        ("https://h/a%20b/", "https://h/a b/c/", true),
    ];
    for (outer, inner, expected) in cases {
        let (outer, inner) = (AllowEntry::parse(outer).unwrap(), AllowEntry::parse(inner).unwrap());
        assert_eq!(outer.covers(&inner), expected, "{outer} {inner}");
    }
    let harness = list(&["https://h/a/b/", "https://evil/", "https://h/c/"]);
    let org = list(&["https://h/a/"]);
    let uncovered = harness.iter().filter(|entry| !org.covers(entry));
    assert_eq!(uncovered.map(|entry| entry.as_str()).collect::<Vec<_>>(), ["https://evil/", "https://h/c/"]);
    assert!(harness.iter().all(|entry| harness.covers(entry)));
}

#[test]
fn both_lists_must_allow() {
    let both = EffectiveAllowList::new(list(&["https://h/a/", "https://x/"]), list(&["https://h/"]));
    let allowed = both.permits(&url("https://h/a/b"));
    let (harness, org) = (both.harness().iter().next().unwrap(), both.org().iter().next().unwrap());
    assert_eq!(allowed, Verdict::Allowed { harness, org });
    assert!(allowed.is_allowed());
    let denied = |text: &str| match both.permits(&url(text)) {
        Verdict::Denied { reason } => reason.code(),
        Verdict::Allowed { .. } => "allowed",
    };
    assert_eq!(denied("https://h/b"), "allow-not-in-harness-list");
    assert_eq!(denied("https://x/b"), "allow-not-in-org-list");
    assert_eq!(denied("https://other/b"), "allow-not-in-harness-list");
    assert_eq!(denied("https://h/a/../b"), "url-dot-segment");
    assert!(!EffectiveAllowList::default().permits(&url("https://h/")).is_allowed());
}

/// Path pieces an attacker would use to leave or enter a prefix.
fn hostile_path() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-c]",
        Just("/".to_owned()),
        Just(".".to_owned()),
        Just("%2e".to_owned()),
        Just("%2F".to_owned()),
        Just("%5c".to_owned()),
        Just("%25".to_owned()),
        Just("%61".to_owned()),
        Just("\\".to_owned()),
        Just("%00".to_owned()),
        Just("A".to_owned()),
    ];
    proptest::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

/// How the most eager reader understands a path: decoded until nothing changes, backslashes as slashes, cleaned.
fn most_eager_reading(path: &str) -> Vec<String> {
    let mut bytes = path.as_bytes().to_vec();
    while let Some(next) = percent::decode(&bytes).ok().filter(|next| *next != bytes) {
        bytes = next;
    }
    let text = String::from_utf8_lossy(&bytes).replace('\\', "/");
    let mut clean = Vec::new();
    for segment in text.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(clean.pop()),
            name => clean.push(name.to_owned()),
        }
    }
    clean
}

proptest! {
    /// However eagerly a server decodes and cleans, an allowed URL stays below its entry.
    #[test]
    fn encoding_tricks_never_widen(path in hostile_path()) {
        let allowed = list(&["https://h/a/b/"]);
        if let Ok(candidate) = HttpsUrl::parse(&format!("https://h/{path}"))
            && allowed.matching(&candidate).is_some()
        {
            let reading = most_eager_reading(candidate.raw_path());
            prop_assert!(reading.starts_with(&["a".to_owned(), "b".to_owned()]), "{} {:?}", candidate, reading);
        }
    }

    /// The same, starting from inside the prefix, where most candidates do match.
    #[test]
    fn nothing_climbs_out(path in hostile_path()) {
        let allowed = list(&["https://h/a/b/"]);
        if let Ok(candidate) = HttpsUrl::parse(&format!("https://h/a/b/{path}"))
            && allowed.matching(&candidate).is_some()
        {
            prop_assert!(most_eager_reading(candidate.raw_path()).starts_with(&["a".to_owned(), "b".to_owned()]));
        }
    }

    #[test]
    fn plain_paths_below_the_entry_match(rest in "([a-z0-9]{1,5}/){0,3}[a-z0-9]{0,5}") {
        let candidate = url(&format!("https://h/a/{rest}"));
        prop_assert!(list(&["https://h/a/"]).matching(&candidate).is_some());
    }

    #[test]
    fn only_the_own_host_and_port_match(authority in "[ah.:0-9-]{1,6}") {
        if let Ok(candidate) = HttpsUrl::parse(&format!("https://{authority}/a/x")) {
            prop_assert_eq!(list(&["https://h/a/"]).matching(&candidate).is_some(), authority == "h");
        }
    }

    /// Covering means: whatever the inner entry matches, the outer one matches.
    #[test]
    fn covering_agrees_with_matching(outer in "([ab]/){0,2}", inner in "([ab]/){0,3}", rest in "[ab/]{0,4}") {
        let outer = AllowEntry::parse(&format!("https://h/{outer}")).unwrap();
        let inner = AllowEntry::parse(&format!("https://h/{inner}")).unwrap();
        let below_inner = url(&format!("{inner}{rest}"));
        prop_assert!(inner.matches(&below_inner));
        prop_assert_eq!(outer.covers(&inner), outer.matches(&url(inner.as_str())));
        prop_assert!(!outer.covers(&inner) || outer.matches(&below_inner));
    }
}
