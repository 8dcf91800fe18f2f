//! Listing and searching.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::desk::Desk;

fn paths(record: &Value, list: &str) -> Vec<String> {
    let list = record[list].as_array().unwrap_or_else(|| panic!("{record}"));
    list.iter().map(|entry| entry["path"].as_str().unwrap().to_owned()).collect()
}

fn list(desk: &Desk, input: Value) -> Vec<String> {
    paths(&desk.call("list_files", input), "entries")
}

/// Matches as `path:line:text`.
fn search(desk: &Desk, input: Value) -> Vec<String> {
    let record = desk.call("search_files", input);
    let matches = record["matches"].as_array().unwrap_or_else(|| panic!("{record}"));
    let line = |found: &Value| {
        format!("{}:{}:{}", found["path"].as_str().unwrap(), found["line"], found["text"].as_str().unwrap())
    };
    matches.iter().map(line).collect()
}

fn project() -> Desk {
    let desk = Desk::new();
    desk.put("src/main.rs", "fn main() {\n    needle();\n}\n");
    desk.put("src/deep/lib.rs", "needle\r\nNEEDLE\r\n");
    desk.put("target/out.rs", "needle\n");
    desk.put("notes.log", "needle\n");
    desk.put("keep.log", "needle\n");
    desk.put(".gitignore", "target/\n*.log\n!keep.log\n");
    desk.put("src/.ignore", "deep/generated.rs\n");
    desk.put("src/deep/generated.rs", "needle\n");
    desk.put(".git/config", "needle\n");
    desk.put("binary", b"needle\0");
    desk.link("../outside", "way-out");
    desk.link("src", "inner-link");
    desk
}

#[test]
fn listings_are_sorted_and_honour_ignore_files() {
    let desk = project();
    let record = desk.call("list_files", json!({}));
    let expected = json!([
        { "path": ".gitignore", "type": "file", "size": 24 },
        { "path": "binary", "type": "file", "size": 7 },
        { "path": "inner-link", "type": "symlink", "target": "src" },
        { "path": "keep.log", "type": "file", "size": 7 },
        { "path": "src", "type": "directory" },
        { "path": "way-out", "type": "symlink", "target": "../outside" },
    ]);
    assert_eq!(record["entries"], expected);
    assert_eq!(record["truncated"], false);
    assert_eq!(
        list(&desk, json!({ "path": "src", "depth": 2 })),
        [".ignore", "deep", "deep/lib.rs", "main.rs"]
    );
    assert_eq!(list(&desk, json!({ "glob": "*.rs" })), ["src/deep/lib.rs", "src/main.rs"]);
    assert_eq!(list(&desk, json!({ "glob": "src/*.rs" })), ["src/main.rs"]);
    assert_eq!(list(&desk, json!({ "glob": "**/deep/*.rs" })), ["src/deep/lib.rs"]);
    assert_eq!(list(&desk, json!({ "glob": "*.rs", "depth": 1 })), [""; 0]);
    // Asked for by name, an ignored directory is shown; rules of the directories above still count.
    assert_eq!(list(&desk, json!({ "path": "target" })), ["out.rs"]);
    assert_eq!(list(&desk, json!({ "path": "src/deep" })), ["lib.rs"]);
    assert_eq!(list(&desk, json!({ "path": "inner-link" })), [".ignore", "deep", "main.rs"]);
    let all = list(&desk, json!({ "includeIgnored": true, "depth": 9 }));
    for path in ["notes.log", "target/out.rs", ".git/config", "src/deep/generated.rs"] {
        assert!(all.contains(&path.to_owned()), "{path} in {all:?}");
    }
    assert!(
        !all.iter().any(|path| path.starts_with(".artifacts") || path.starts_with("way-out/")),
        "{all:?}"
    );
}

#[test]
fn listings_are_bounded() {
    let desk = Desk::new();
    (0..30).for_each(|number| desk.put(&format!("file-{number:02}"), ""));
    let record = desk.call("list_files", json!({ "maxEntries": 10 }));
    assert_eq!(paths(&record, "entries").len(), 10);
    assert_eq!(record["truncated"], true);
    assert!(record["notice"].as_str().unwrap().contains("first 10"));
    assert_eq!(desk.call("list_files", json!({ "maxEntries": 30 }))["truncated"], false);
    for glob in ["[", &"*".repeat(300), "{a,{b"] {
        assert_eq!(desk.code("list_files", json!({ "glob": glob })), "invalid_argument", "{glob}");
    }
    let deep = "d/".repeat(100);
    desk.put(&format!("{deep}file"), "");
    let record = desk.call("list_files", json!({ "depth": 64 }));
    assert!(record["notice"].as_str().is_none(), "what is deeper than asked for is no surprise");
    let record = desk.call("list_files", json!({ "glob": "file" }));
    assert_eq!(paths(&record, "entries"), [""; 0]);
}

#[test]
fn searches_find_lines() {
    let desk = project();
    let all = ["keep.log:1:needle", "src/deep/lib.rs:1:needle", "src/main.rs:2:    needle();"];
    assert_eq!(search(&desk, json!({ "pattern": "needle" })), all);
    assert_eq!(search(&desk, json!({ "pattern": "^needle$" })), all[..2]);
    assert_eq!(search(&desk, json!({ "pattern": "needle()", "literal": true })), all[2..]);
    assert_eq!(search(&desk, json!({ "pattern": "needle", "glob": "*.rs" })), all[1..]);
    assert_eq!(
        search(&desk, json!({ "pattern": "needle", "path": "src/main.rs" })),
        ["main.rs:2:    needle();"]
    );
    let both = search(&desk, json!({ "pattern": "needle", "path": "src/deep", "caseInsensitive": true }));
    assert_eq!(both, ["lib.rs:1:needle", "lib.rs:2:NEEDLE"]);
    let record = desk.call("search_files", json!({ "pattern": "needle", "maxMatches": 2 }));
    assert_eq!((paths(&record, "matches").len(), &record["truncated"]), (2, &json!(true)));
    let record =
        desk.call("search_files", json!({ "pattern": "needle", "path": "src/main.rs", "context": 1 }));
    let found = &record["matches"][0];
    assert_eq!((&found["before"], &found["after"]), (&json!(["fn main() {"]), &json!(["}"])));
    let record = desk.call("search_files", json!({ "pattern": "secret", "includeIgnored": true }));
    assert_eq!(record["matches"], json!([]));
    assert_eq!(record["skipped"], json!({ "binary": 1, "large": 0, "unreadable": 0 }));
}

#[test]
fn searches_refuse_what_they_cannot_do() {
    let desk = project();
    for pattern in ["(", "(?=a)", "(a{1000}){1000}", "", &"x".repeat(1_001)] {
        assert_eq!(desk.code("search_files", json!({ "pattern": pattern })), "invalid_argument", "{pattern}");
    }
    assert_eq!(desk.code("search_files", json!({ "pattern": "x", "path": "missing" })), "file_not_found");
    let file = std::fs::File::create(desk.host("src/large")).unwrap();
    file.set_len(17 * 1024 * 1024).unwrap();
    let record = desk.call("search_files", json!({ "pattern": "x", "path": "src" }));
    assert_eq!(record["skipped"]["large"], 1);
    desk.put("wide", format!("{}needle", "x".repeat(100_000)));
    let record = desk.call("search_files", json!({ "pattern": "needle", "path": "wide" }));
    assert!(record["matches"][0]["text"].as_str().unwrap().len() < 600);
    desk.put("many", "needle in a line that goes on for a while\n".repeat(100_000));
    let record = desk.call(
        "search_files",
        json!({ "pattern": "needle", "path": "many", "maxMatches": 1000, "context": 10 }),
    );
    assert!(record.to_string().len() < 200_000);
    assert_eq!(record["truncated"], true);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    /// A search finds exactly the lines that match by themselves, also where a pattern could match across lines.
    #[test]
    fn searches_equal_a_look_at_each_line(
        text in "[ab\n\r]{0,30}",
        pattern in prop_oneof![
            Just("a"), Just("^a*$"), Just("^$"), Just("[^a]+"), Just("a[^b]*b"), Just("b\\s+a"), Just("a|b\\n"),
            Just("(?s)a.b"), Just("\\bb\\b"),
        ],
    ) {
        let desk = Desk::new();
        desk.put("file", &text);
        let regex = regex::RegexBuilder::new(pattern).multi_line(true).crlf(true).build().unwrap();
        let mut lines: Vec<&str> = text.split('\n').collect();
        if text.ends_with('\n') || text.is_empty() {
            lines.pop();
        }
        let expected: Vec<u64> = (1..)
            .zip(lines)
            .filter(|(_, line)| regex.is_match(line.strip_suffix('\r').unwrap_or(line)))
            .map(|(number, _)| number)
            .collect();
        let record = desk.call("search_files", json!({ "pattern": pattern, "path": "file" }));
        let found: Vec<u64> =
            record["matches"].as_array().unwrap().iter().map(|found| found["line"].as_u64().unwrap()).collect();
        prop_assert_eq!(found, expected, "{:?}", text);
    }
}
