//! Reading parts of files.

use fullsend_origin::Sha256Digest;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::desk::Desk;
use fullsend_agent::workspace::SandboxPath;

fn digest(bytes: impl AsRef<[u8]>) -> String {
    format!("sha256:{}", Sha256Digest::of(bytes.as_ref()))
}

#[test]
fn relative_paths_start_at_the_current_directory() {
    let desk = Desk::new();
    desk.put("notes/todo.txt", "buy milk\nand bread\nand a very long list of other things\n");
    desk.put(".ops/x", "");
    desk.current.set(SandboxPath::absolute("/workspace/.ops").unwrap());
    let record =
        desk.call("read_file", json!({ "path": "../notes/todo.txt", "maxBytes": 32, "encoding": "utf-8" }));
    let expected = json!({
        "outputId": "run:tool:1", "path": "/workspace/notes/todo.txt", "content": "buy milk\nand bread\n",
        "encoding": "utf-8", "sizeBytes": 56, "startLine": 1, "lines": 2, "truncated": true, "nextOffset": 3,
        "totalLines": 3,
    });
    assert_eq!(record, expected);
}

#[test]
fn missing_files_are_told_apart() {
    let desk = Desk::new();
    desk.put("file", "x");
    for (path, code) in [
        ("missing", "file_not_found"),
        ("missing/x", "file_not_found"),
        ("file/x", "not_a_file"),
        (".", "not_a_file"),
    ] {
        assert_eq!(desk.code("read_file", json!({ "path": path })), code, "{path}");
    }
}

#[test]
fn ranges_of_lines() {
    let desk = Desk::new();
    desk.put("five", "1\n2\n3\n4\n5");
    let read = |offset: u64, limit: u64| {
        let record = desk.call("read_file", json!({ "path": "five", "offset": offset, "limit": limit }));
        (
            record["content"].as_str().unwrap().to_owned(),
            record["nextOffset"].clone(),
            record["totalLines"].clone(),
        )
    };
    assert_eq!(read(1, 2), ("1\n2\n".into(), json!(3), json!(5)));
    assert_eq!(read(3, 2), ("3\n4\n".into(), json!(5), json!(5)));
    assert_eq!(read(5, 1), ("5".into(), Value::Null, json!(5)));
    assert_eq!(read(4, 99), ("4\n5".into(), Value::Null, json!(5)));
    assert_eq!(read(6, 1), (String::new(), Value::Null, json!(5)));
    for input in [json!({ "path": "five", "offset": 0 }), json!({ "path": "five", "limit": 0 })] {
        assert_eq!(desk.code("read_file", input), "invalid_argument");
    }
    for input in [json!({ "path": "five", "offset": -1 }), json!({ "path": "five", "maxBytes": 1.5 })] {
        assert_eq!(desk.code("read_file", input), "invalid_argument");
    }
    desk.put("empty", "");
    let record = desk.read("empty");
    assert_eq!((&record["content"], &record["totalLines"]), (&json!(""), &json!(0)));
    assert_eq!(record["digest"], digest(""));
    let nothing = desk.call("read_file", json!({ "path": "five", "maxBytes": 0 }));
    assert_eq!((&nothing["content"], &nothing["nextOffset"]), (&json!(""), &json!(1)));
}

#[test]
fn long_lines_are_cut_between_characters() {
    let desk = Desk::new();
    desk.put("long", format!("{}\nnext\n", "é".repeat(10)));
    for (bytes, characters) in [(1, 0), (2, 1), (3, 1), (19, 9), (20, 10)] {
        let record = desk.call("read_file", json!({ "path": "long", "maxBytes": bytes }));
        assert_eq!(record["content"], "é".repeat(characters), "{bytes}");
        assert_eq!(record["nextOffset"], 2);
        assert!(record["notice"].as_str().unwrap().contains("maxBytes"));
    }
}

#[test]
fn a_huge_file_is_read_as_far_as_needed() {
    let desk = Desk::new();
    desk.put("huge", "first\n");
    let file = std::fs::OpenOptions::new().write(true).open(desk.host("huge")).unwrap();
    file.set_len(1 << 40).unwrap();
    // A sparse file is full of NUL beyond the sample; as text it has to be text at its start.
    std::fs::write(desk.host("text"), "line of a text\n".repeat(10_000)).unwrap();
    let text = std::fs::OpenOptions::new().write(true).open(desk.host("text")).unwrap();
    text.set_len(1 << 40).unwrap();
    let record = desk.call("read_file", json!({ "path": "text", "offset": 2, "limit": 1 }));
    assert_eq!(record["content"], "line of a text\n");
    assert_eq!((&record["nextOffset"], record.get("totalLines")), (&json!(3), None));
    let error = &desk.read("huge")["error"];
    assert_eq!((&error["code"], error.get("digest")), (&json!("binary_file"), None));
    for tool in ["view_image", "edit_file", "write_file"] {
        let input = match tool {
            "view_image" => json!({ "path": "text" }),
            "edit_file" => json!({ "path": "text", "edits": [{ "oldText": "a", "newText": "b" }] }),
            _ => json!({ "path": "text", "content": "x", "mode": "append" }),
        };
        assert_eq!(desk.code(tool, input), "too_large", "{tool}");
    }
    desk.call("write_file", json!({ "path": "text", "content": "small" }));
    assert_eq!(desk.get("text"), b"small");
}

#[test]
fn encodings_are_told() {
    let desk = Desk::new();
    let wide = |units: &[u16], big: bool| -> Vec<u8> {
        units.iter().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    };
    let text: Vec<u16> = "\u{feff}grün\n".encode_utf16().collect();
    for (bytes, encoding, content) in [
        (b"plain\n".to_vec(), "utf-8", "plain\n"),
        (b"\xef\xbb\xbfmark\n".to_vec(), "utf-8-bom", "mark\n"),
        (wide(&text, false), "utf-16le", "grün\n"),
        (wide(&text, true), "utf-16be", "grün\n"),
        (b"a long word: gr\xfcn\n".to_vec(), "unknown-8bit", "a long word: gr\u{fffd}n\n"),
    ] {
        desk.put("file", &bytes);
        let record = desk.read("file");
        assert_eq!((&record["encoding"], &record["content"]), (&json!(encoding), &json!(content)));
        assert_eq!(record["digest"], digest(&bytes));
    }
    for bytes in [&b"a\0b"[..], &[0xff; 100], b"\xff\xfea", &[0xff, 0xfe, 0x00, 0xd8]] {
        desk.put("file", bytes);
        let error = &desk.read("file")["error"];
        assert_eq!(error["code"], "binary_file", "{bytes:?}");
        assert_eq!((&error["sizeBytes"], &error["digest"]), (&json!(bytes.len()), &json!(digest(bytes))));
    }
}

/// A character that the looked-at start of a file cuts in two does not make it binary.
#[test]
fn a_character_across_the_sample_is_text() {
    let desk = Desk::new();
    for before in 65_533..65_537 {
        desk.put("file", format!("{}€ end", "x".repeat(before)));
        let record = desk.call("read_file", json!({ "path": "file", "maxBytes": 100_000 }));
        assert_eq!(record["encoding"], "utf-8");
        assert!(record["content"].as_str().unwrap().ends_with("€ end"), "{before}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Reading on at `nextOffset` gives all of the text, whatever the bounds are.
    #[test]
    fn parts_make_the_whole(text in "[a-zé\n]{0,80}", limit in 1_u64..5, bytes in 30_usize..60) {
        let desk = Desk::new();
        let text: String = text.split_inclusive('\n').map(|line| {
            let end = line.floor_char_boundary(20);
            if line.ends_with('\n') && end < line.len() { format!("{}\n", &line[..end]) } else { line[..end].to_owned() }
        }).collect();
        desk.put("file", &text);
        let (mut offset, mut whole) = (1, String::new());
        loop {
            let input = json!({ "path": "file", "offset": offset, "limit": limit, "maxBytes": bytes });
            let record = desk.call("read_file", input);
            whole.push_str(record["content"].as_str().unwrap());
            prop_assert_eq!(&record["totalLines"], &json!(text.lines().count()));
            match record["nextOffset"].as_u64() {
                Some(next) => { prop_assert!(next > offset); offset = next; }
                None => break,
            }
        }
        prop_assert_eq!(whole, text);
    }
}
