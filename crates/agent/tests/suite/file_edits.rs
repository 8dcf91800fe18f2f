//! Replacing texts in files, and the differences that are shown.

use fullsend_agent::files::unified_diff;
use fullsend_origin::Sha256Digest;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::desk::Desk;

fn digest(bytes: impl AsRef<[u8]>) -> String {
    format!("sha256:{}", Sha256Digest::of(bytes.as_ref()))
}

fn edit(desk: &Desk, edits: Value) -> Value {
    desk.call("edit_file", json!({ "path": "file", "edits": edits }))
}

#[test]
fn one_text_is_replaced() {
    let desk = Desk::new();
    desk.put("file", "one\ntwo\nthree\n");
    let record = edit(&desk, json!([{ "oldText": "two\n", "newText": "TWO\n" }]));
    let expected = json!({
        "outputId": "run:tool:1", "path": "/workspace/file", "editsApplied": 1, "replacements": 1,
        "oldDigest": digest("one\ntwo\nthree\n"), "newDigest": digest("one\nTWO\nthree\n"),
        "oldSizeBytes": 14, "newSizeBytes": 14,
        "diff": "--- /workspace/file\n+++ /workspace/file\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n",
    });
    assert_eq!(record, expected);
    assert_eq!(desk.get("file"), b"one\nTWO\nthree\n");
    let same = edit(&desk, json!([{ "oldText": "TWO", "newText": "TWO" }]));
    assert_eq!((&same["diff"], &same["oldDigest"]), (&json!(""), &same["newDigest"]));
}

#[test]
fn edits_fit_or_nothing_is_written() {
    for (before, edits, after) in [
        ("aaaa", json!([{ "oldText": "aa", "newText": "b" }]), Err("occurs 2 times (lines 1, 1)")),
        ("aaaa", json!([{ "oldText": "aa", "newText": "b", "replaceAll": true }]), Ok("bb")),
        ("x\nname: a\nname: b\n", json!([{ "oldText": "name:", "newText": "n" }]), Err("(lines 2, 3)")),
        (
            "ab ab",
            json!([{ "oldText": "ab", "newText": "c", "replaceAll": true, "expectedReplacements": 1 }]),
            Err("occurs 2 times, not 1 as expected"),
        ),
        (
            "ab ab",
            json!([{ "oldText": "ab", "newText": "c", "replaceAll": true, "expectedReplacements": 2 }]),
            Ok("c c"),
        ),
        (
            "ab ab",
            json!([{ "oldText": "ab", "newText": "c", "expectedReplacements": 2 }]),
            Err("set replaceAll"),
        ),
        ("a", json!([{ "oldText": "a", "newText": "$&$1\\0" }]), Ok("$&$1\\0")),
        ("a.c", json!([{ "oldText": "a?c", "newText": "x" }]), Err("does not occur")),
        ("Case", json!([{ "oldText": "case", "newText": "x" }]), Err("nearest line is 1: `Case`")),
        (
            "  indented\n",
            json!([{ "oldText": "\tindented", "newText": "x" }]),
            Err("line 1 has its first line"),
        ),
        // Each edit applies to what the one before made.
        (
            "one",
            json!([{ "oldText": "one", "newText": "two" }, { "oldText": "two", "newText": "three" }]),
            Ok("three"),
        ),
        // Two that overlap: the second finds nothing, and the first is not written either.
        (
            "abc",
            json!([{ "oldText": "ab", "newText": "x" }, { "oldText": "bc", "newText": "y" }]),
            Err("edit 2:"),
        ),
        ("abc", json!([{ "oldText": "", "newText": "x" }]), Err("must not be empty")),
        ("abc", json!([{ "oldText": "a", "newText": "x", "expectedReplacements": 0 }]), Err("at least 1")),
        ("abc", json!([{ "oldText": "a", "newText": "x", "expectedReplacements": 1.5 }]), Err("1.5")),
        ("no newline", json!([{ "oldText": "newline", "newText": "end" }]), Ok("no end")),
        ("", json!([{ "oldText": "a", "newText": "b" }]), Err("does not occur")),
    ] {
        let desk = Desk::new();
        desk.put("file", before);
        let record = edit(&desk, edits.clone());
        let found = String::from_utf8(desk.get("file")).unwrap();
        match after {
            Ok(after) => assert_eq!(found, after, "{record}"),
            Err(words) => {
                assert!(record["error"]["detail"].as_str().unwrap().contains(words), "{edits}: {record}");
                assert_eq!(found, before);
            }
        }
    }
}

#[test]
fn conflicts_have_their_own_code_and_numbers() {
    let desk = Desk::new();
    desk.put("file", "a a");
    let error = &edit(&desk, json!([{ "oldText": "a", "newText": "b" }]))["error"];
    assert_eq!(
        (&error["code"], &error["matches"], &error["editIndex"]),
        (&json!("edit_conflict"), &json!(2), &json!(0))
    );
    let missing = json!({ "path": "missing", "edits": [{ "oldText": "a", "newText": "b" }] });
    assert_eq!(desk.code("edit_file", missing), "file_not_found");
    let stale = json!({ "path": "file", "edits": [{ "oldText": "a a", "newText": "b" }], "expectedDigest": digest("x") });
    assert_eq!(desk.code("edit_file", stale), "edit_conflict");
    assert_eq!(desk.get("file"), b"a a");
    let failure =
        desk.output("edit_file", &json!({ "path": "file", "edits": [{ "oldText": "q", "newText": "" }] }));
    let failure = failure.unwrap().failure.unwrap();
    assert_eq!(failure.kind, "harness_error");
}

#[test]
fn line_ends_marks_and_encodings_are_kept() {
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    for (before, old, new, after) in [
        (b"a\r\nb\r\n".to_vec(), "a\nb", "x\ny\r\nz", b"x\r\ny\r\nz\r\n".to_vec()),
        (b"a\r\nb\r\n".to_vec(), "a\r\nb", "c", b"c\r\n".to_vec()),
        // Mixed line ends are taken as they are.
        (b"a\r\nb\nc".to_vec(), "b\n", "x\n", b"a\r\nx\nc".to_vec()),
        (b"a\nb".to_vec(), "a\n", "x\r\n", b"x\r\nb".to_vec()),
        (b"\xef\xbb\xbfone\n".to_vec(), "one", "two", b"\xef\xbb\xbftwo\n".to_vec()),
        (wide("\u{feff}grün\r\n"), "grün\n", "rot\n", wide("\u{feff}rot\r\n")),
        // Bytes that are not UTF-8 stay what they are.
        (b"the colour is gr\xfcn\n".to_vec(), "colour", "color", b"the color is gr\xfcn\n".to_vec()),
    ] {
        let desk = Desk::new();
        desk.put("file", &before);
        let record = edit(&desk, json!([{ "oldText": old, "newText": new }]));
        assert_eq!(desk.get("file"), after, "{record}");
        assert_eq!(record["newDigest"], digest(&after));
    }
    let late_zero = [&b"text\n".repeat(20_000)[..], b"\0"].concat();
    for bytes in [&b"a\0a"[..], &[0xff; 50], b"\xff\xfea", &late_zero] {
        let desk = Desk::new();
        desk.put("file", bytes);
        assert_eq!(edit(&desk, json!([{ "oldText": "a", "newText": "b" }]))["error"]["code"], "binary_file");
        assert_eq!(desk.get("file"), bytes);
    }
}

#[test]
fn texts_that_grow_without_end_are_refused() {
    let desk = Desk::new();
    desk.put("file", "a".repeat(100_000));
    let twice = json!({ "oldText": "a", "newText": "a".repeat(1_000), "replaceAll": true });
    let record = edit(&desk, json!([twice, twice, twice]));
    assert_eq!(record["error"]["code"], "too_large");
    assert_eq!(desk.get("file").len(), 100_000);
}

#[test]
fn differences_have_one_form() {
    let eight = "1\n2\n3\n4\n5\n6\n7\n8\n";
    for (old, new, expected) in [
        ("", "a\n", "@@ -0,0 +1,1 @@\n+a\n"),
        ("a\n", "", "@@ -1,1 +0,0 @@\n-a\n"),
        ("a\nb\n", "a\nx\nb\n", "@@ -1,2 +1,3 @@\n a\n+x\n b\n"),
        ("a", "a\n", "@@ -1,1 +1,1 @@\n-a\n+a\n"),
        (eight, "x\n2\n3\n4\n5\n6\n7\ny\n", "@@ -1,8 +1,8 @@\n-1\n+x\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+y\n"),
    ] {
        assert_eq!(unified_diff("f", old, new), format!("--- f\n+++ f\n{expected}"));
    }
    assert_eq!(unified_diff("f", "same", "same"), "");
    let nine = format!("{eight}9\n");
    let apart = unified_diff("f", &nine, &nine.replace('1', "x").replace('9', "y"));
    assert_eq!(apart.lines().filter(|line| line.starts_with("@@")).count(), 2);
}

#[test]
fn long_differences_are_cut() {
    let old: String = (0..450).map(|line| format!("old {line}\n")).collect();
    let diff = unified_diff("f", &old, &old.replace("old", "new"));
    assert_eq!(diff.lines().count(), 400);
    assert!(diff.ends_with('\n'));
    assert!(diff.lines().last().unwrap().contains("truncated: 504 more lines"), "{:?}", diff.lines().last());
    let wide = unified_diff("f", "", &"x".repeat(1_000_000));
    assert!(wide.len() < 3_000);
    // Hostile for a search of the shortest script: many equal lines in different numbers.
    let (left, right) = ("a\nb\n".repeat(100_000), "b\nb\na\n".repeat(70_000));
    assert!(unified_diff("f", &left, &right).lines().count() <= 400);
}

/// Applies a difference the way people read it.
fn patch(old: &str, diff: &str) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let (mut at, mut new) = (0, String::new());
    for line in diff.lines().skip(2) {
        match line.split_at(1) {
            ("@", header) => {
                let numbers = header.trim_start_matches("@ -").split(' ').next().unwrap();
                let (start, count) = numbers.split_once(',').unwrap();
                let start = start.parse::<usize>().unwrap() - usize::from(count != "0");
                new.extend(old[at..start].iter().copied());
                at = start;
            }
            (" ", text) => {
                assert_eq!(old[at].trim_end_matches('\n'), text);
                new.push_str(old[at]);
                at += 1;
            }
            ("-", text) => {
                assert_eq!(old[at].trim_end_matches('\n'), text);
                at += 1;
            }
            (_, text) => {
                new.push_str(text);
                new.push('\n');
            }
        }
    }
    new.extend(old[at..].iter().copied());
    new
}

/// What edits mean, written down as simply as possible.
fn model(text: &str, edits: &[(String, String, bool)]) -> Option<String> {
    let mut text = text.to_owned();
    for (old, new, all) in edits {
        let count = text.matches(old.as_str()).count();
        if count == 0 || (count > 1 && !all) {
            return None;
        }
        text = text.replace(old.as_str(), new);
    }
    Some(text)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn differences_apply(old in "([abc]{0,2}\n){0,30}", new in "([abc]{0,2}\n){0,30}") {
        let diff = unified_diff("f", &old, &new);
        prop_assert_eq!(diff.is_empty(), old == new);
        prop_assert_eq!(patch(&old, &diff), new);
    }

    #[test]
    fn edits_do_what_the_model_says(
        text in "[ab\n$]{0,20}",
        edits in proptest::collection::vec(("[ab\n$]{1,3}", "[abé$]{0,3}", any::<bool>()), 1..4),
    ) {
        let desk = Desk::new();
        desk.put("file", &text);
        let input: Vec<Value> = edits.iter().map(|(old, new, all)| {
            json!({ "oldText": old, "newText": new, "replaceAll": all })
        }).collect();
        let record = edit(&desk, json!(input));
        let expected = model(&text, &edits);
        prop_assert_eq!(record.get("ok").is_none(), expected.is_some());
        prop_assert_eq!(String::from_utf8(desk.get("file")).unwrap(), expected.unwrap_or(text));
    }
}
