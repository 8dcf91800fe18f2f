//! `fullsend scan output`: secrets in what an agent left behind, found and taken out.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use serde_json::{Value, json};

use crate::suite::running::Place;

/// A made-up token with the right checksum.
pub(crate) const SECRET: &str = concat!("ghp", "_FbY8NwcUeb4c0wrUGZECjUYrZUPet91VOUZ4");

#[test]
fn secrets_are_found_in_every_file_and_shown_in_none() {
    let place = Place::new();
    place.write("out/security/a.txt", format!("key {SECRET}\n"));
    place.write("out/.git/config", SECRET);
    place.write("out/core.bin", format!("\0\u{1}{SECRET}\0"));
    let wide: Vec<u8> = SECRET.encode_utf16().flat_map(u16::to_le_bytes).collect();
    place.write("out/wide.txt", wide);
    place.write("out/clean.txt", "nothing\n");
    for format in ["text", "json", "sarif"] {
        let ran = place.run(&["scan", "output", "out", "--format", format]);
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        assert!(!ran.stdout.contains(&SECRET[4..16]), "{}", ran.stdout);
    }
    let ran = place.run(&["scan", "output", "out", "--format", "json"]);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let findings = document["findings"].as_array().unwrap();
    let found: Vec<_> = findings.iter().map(|finding| (&finding["file"], &finding["rule"])).collect();
    let pat = json!("github_pat");
    let files =
        ["out/.git/config", "out/core.bin", "out/security/a.txt", "out/wide.txt"].map(|file| json!(file));
    assert_eq!(found, files.iter().map(|file| (file, &pat)).collect::<Vec<_>>());
    assert_eq!(document["files"].as_array().unwrap().len(), 5);
}

#[test]
fn fixing_keeps_json_valid_and_everything_else_as_it_was() {
    let place = Place::new();
    let json = place.write(
        "out/a.json",
        format!("{{\n  \"author\": \"Jane Doe\",\n  \"n\": 1.50, \"t\": \"{SECRET}\"\n}}\n"),
    );
    let lines = place.write("out/b.jsonl", format!("{{\"a\": 1}}\n{{\"token\": \"{SECRET}\\n\"}}\n"));
    let clean = place.write("out/c.txt", "clean\n");
    fs::set_permissions(&json, fs::Permissions::from_mode(0o640)).unwrap();
    let before = fs::metadata(&clean).unwrap().ino();
    let ran = place.run(&["scan", "output", "--fix", "out"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert_eq!(ran.stderr, "2 findings in 3 files: 2 critical; 2 removed; warned\n");
    let text = fs::read_to_string(&json).unwrap();
    assert_eq!(text, "{\n  \"author\": \"Jane Doe\",\n  \"n\": 1.50, \"t\": \"ghp_...OUZ4\"\n}\n");
    assert_eq!(fs::metadata(&json).unwrap().permissions().mode() & 0o7777, 0o640);
    assert_eq!(fs::read_to_string(&lines).unwrap(), "{\"a\": 1}\n{\"token\": \"ghp_...OUZ4\\n\"}\n");
    assert_eq!(fs::metadata(&clean).unwrap().ino(), before, "what is clean is not written");
    let again = place.run(&["scan", "output", "--fix", "out"]);
    assert_eq!((again.code, again.stderr.as_str()), (Some(0), "no findings in 3 files\n"));
}

#[test]
fn what_cannot_be_fixed_still_blocks_and_is_not_touched() {
    let outside = Place::new();
    let target = outside.write("target.txt", SECRET);
    let place = Place::new();
    let bytes = format!("\0{SECRET}");
    let binary = place.write("out/a.bin", &bytes);
    symlink(&target, place.path().join("out/link")).unwrap();
    let ran = place.run(&["scan", "output", "--fix", "out"]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.stdout.contains("high[file_walk/link_outside]"), "{}", ran.stdout);
    assert_eq!(fs::read(&binary).unwrap(), bytes.as_bytes());
    assert_eq!(fs::read_to_string(&target).unwrap(), SECRET);
}

#[test]
fn single_files_can_be_named_also_by_a_link() {
    let place = Place::new();
    let file = place.write("a.txt", SECRET);
    symlink("a.txt", place.path().join("b.txt")).unwrap();
    assert_eq!(place.run(&["scan", "output", "a.txt"]).code, Some(3));
    let ran = place.run(&["scan", "output", "--fix", "b.txt"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert_eq!(fs::read_to_string(file).unwrap(), "ghp_...OUZ4");
    assert!(place.path().join("b.txt").is_symlink());
    assert_eq!(place.run(&["scan", "output", "gone"]).code, Some(2));
}
