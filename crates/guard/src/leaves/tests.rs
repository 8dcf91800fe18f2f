use proptest::prelude::*;
use serde_json::{Value, json};

use super::{NotJson, Role, Visit, map_strings, scan_json, visit_json};
use crate::{Edit, Edits, Finding, Scan, Scanner, ScannerId, Span};

/// Every string with the name it stands under, and its source.
fn strings(text: &str) -> Result<Vec<(Option<String>, String, String)>, NotJson> {
    let mut found = Vec::new();
    visit_json(text, |leaf| {
        let source = leaf.to_source(Span::new(0, leaf.text().len())).of(text).unwrap_or("?").to_owned();
        let name = match leaf.role() {
            Role::Key => Some("<key>".to_owned()),
            Role::Value { key } => key.map(str::to_owned),
        };
        found.push((name, leaf.text().to_owned(), source));
    })?;
    Ok(found)
}

#[test]
fn strings_come_with_their_names_and_places() {
    let text = "\n{\"a\\u0062\": \"x\\n\\ud83d\\ude00y\", \"l\": [1.5e3, \"one\", {\"k\": \"\"}, \"two\"]} [true] \"\\/\"";
    let expected = [
        (Some("<key>"), "ab", "a\\u0062"),
        (Some("ab"), "x\n😀y", "x\\n\\ud83d\\ude00y"),
        (Some("<key>"), "l", "l"),
        (Some("l"), "one", "one"),
        (Some("<key>"), "k", "k"),
        (Some("k"), "", ""),
        (Some("l"), "two", "two"),
        (None, "/", "\\/"),
    ];
    let expected =
        expected.map(|(name, text, source)| (name.map(str::to_owned), text.to_owned(), source.to_owned()));
    assert_eq!(strings(text), Ok(expected.to_vec()));
}

#[test]
fn what_is_not_json_is_refused_where_it_shows() {
    let table = [
        ("", 0),
        ("  ", 2),
        ("1", 0),
        ("[section]", 1),
        ("{\"a\": b}", 6),
        ("[1] x", 4),
        ("[1,]", 3),
        ("{\"a\" 1}", 5),
        ("\"a\nb\"", 2),
        ("\"\\x\"", 1),
        ("\"\\u12g4\"", 1),
        ("[1", 2),
        ("{\"a\": 1]", 7),
        ("\"open", 5),
        ("{a: 1}", 1),
    ];
    for (text, at) in table {
        assert_eq!(strings(text), Err(NotJson { at }), "{text}");
    }
    assert!(strings(&"[".repeat(2_000_000)).is_err());
}

/// Replaces every `a` by what would end a string.
#[derive(Debug)]
struct Quoter;

impl Scanner for Quoter {
    fn id(&self) -> ScannerId {
        ScannerId::UnicodeNormalizer
    }

    fn scan(&self, text: &str) -> Scan {
        let spans = || text.match_indices('a').map(|(at, _)| Span::new(at, at + 1));
        let rule = &crate::files::NOT_TEXT;
        let edits = spans().map(|span| Edit { span, replacement: "\",\"é\\".into() });
        Scan {
            findings: spans().map(|span| Finding::new(rule, span, "a")).collect(),
            edits: Edits::new(edits.collect()),
        }
    }
}

#[test]
fn an_edit_cannot_leave_its_string() {
    let text = r#"{"action": "comment \u0061", "n": 1.0}"#;
    let scan = scan_json(&Quoter, text).expect("JSON");
    assert_eq!(
        scan.findings.iter().filter_map(|finding| finding.span?.of(text)).collect::<Vec<_>>(),
        ["a", "\\u0061"]
    );
    assert_eq!(scan.edits.apply(text), r#"{"action": "comment \",\"é\\", "n": 1.0}"#);
    assert_eq!(scan_json(&Quoter, "plain a"), None);
}

#[test]
fn values_are_mapped_in_order_and_keys_stay() {
    let mut value = json!({"a": ["x", {"b": "y"}], "c": 1, "d": "z"});
    let mut seen = Vec::new();
    map_strings(&mut value, |visit| match visit {
        Visit::Key(key) => {
            seen.push(format!("key {key}"));
            Some("never used".to_owned())
        }
        Visit::Value { key, text } => {
            seen.push(format!("{} {text}", key.unwrap_or_default()));
            (text != "y").then(|| format!("<{text}>"))
        }
    });
    assert_eq!(value, json!({"a": ["<x>", {"b": "y"}], "c": 1, "d": "<z>"}));
    assert_eq!(seen, ["key a", "key c", "key d", "a x", "key b", "b y", "d z"]);
}

proptest! {
    #[test]
    fn the_walk_accepts_what_the_parser_accepts(text in "[\\[\\]{}\",: a1tru\\\\n-]{0,12}") {
        let whole = serde_json::from_str::<Value>(&text);
        if whole.is_ok_and(|value| value.is_object() || value.is_array() || value.is_string()) {
            prop_assert!(strings(&text).is_ok());
        }
    }
}
