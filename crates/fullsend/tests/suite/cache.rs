//! `fullsend cache`.

use fullsend_fetch::Cache;
use fullsend_fetch::cache::{Listing, TreeFile};
use fullsend_origin::{RemoteUrl, TreePath};
use serde_json::Value;

use crate::suite::running::Place;

const FILE: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

fn filled() -> Place {
    let place = Place::with_harness();
    let cache = Cache::open(&place.path().join(".fullsend")).unwrap();
    let url = |text: &str| RemoteUrl::parse(text).unwrap();
    cache.put_file(&url("https://example.com/hello.txt"), b"hello").unwrap();
    let skill = TreeFile::new(TreePath::parse("SKILL.md").unwrap(), "# Skill\n");
    cache.put_tree(&url("https://github.com/o/r/tree/main/s"), &[skill], Listing::Full).unwrap();
    place
}

#[test]
fn entries_are_listed_with_their_origin() {
    let ran = filled().run(&["cache", "ls"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains(&format!("{FILE}         5 B  file  https://example.com/hello.txt\n")),
        "{}",
        ran.stdout
    );
    assert_eq!(ran.stderr, "2 entries, 13 B\n");
    let json = filled().run(&["cache", "ls", "--format", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&json.stdout).unwrap().as_array().unwrap().len(), 2);
}

#[test]
fn damage_is_found_and_fails() {
    let place = filled();
    let ran = place.run(&["cache", "verify"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), "", "2 entries, 0 damaged, 13 B\n")
    );
    let content = place.run(&["cache", "path", FILE]).stdout;
    std::fs::write(content.trim_end(), "hellO").unwrap();
    let ran = place.run(&["cache", "verify"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.starts_with(&format!("{FILE}: ")), "{}", ran.stdout);
    let json: Value =
        serde_json::from_str(&place.run(&["cache", "verify", "--format", "json"]).stdout).unwrap();
    assert_eq!(json["damaged"][0]["sha256"], FILE);
}

#[test]
fn collection_keeps_what_is_pinned_or_young() {
    let place = filled();
    let ran = place.run(&["cache", "gc"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    let harness = format!("agent: https://example.com/hello.txt#sha256={FILE}\nrole: coder\n");
    place.write(".fullsend/harness/code.yaml", harness);
    let ran = place.run(&["cache", "gc", "--older-than", "0"]);
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    assert_ne!(ran.stdout.trim_end(), FILE);
    assert_eq!(place.run(&["cache", "path", FILE]).code, Some(0));
}

#[test]
fn collection_keeps_what_is_locked() {
    let place = filled();
    place.write(
        ".fullsend/lock.yaml",
        format!(
            "version: 1\nharnesses:\n    code:\n        source: harness/code.yaml\n        sha256: {FILE}\n        \
             resolved_at: 2026-01-01T00:00:00Z\n        dependencies:\n            - field: agent\n              \
             url: https://example.com/hello.txt\n              sha256: {FILE}\n              \
             fetched_at: 2026-01-01T00:00:00Z\n"
        ),
    );
    let ran = place.run(&["cache", "gc", "--older-than", "0"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(0), 1), "{}", ran.stderr);
    assert_eq!(place.run(&["cache", "path", FILE]).code, Some(0));
    place.write(".fullsend/lock.yaml", "version: 9\n");
    assert_eq!(
        place.run(&["cache", "gc", "--older-than", "0"]).code,
        Some(2),
        "nothing is removed on a guess"
    );
    assert_eq!(place.run(&["cache", "path", FILE]).code, Some(0));
}

#[test]
fn paths_are_printed_and_mistakes_explained() {
    let place = filled();
    let root = place.run(&["cache", "path"]);
    assert!(root.stdout.trim_end().ends_with(".fullsend-cache"), "{}", root.stdout);
    let ran = place.run(&["cache", "path", "abc"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.starts_with("error: `abc` is not a SHA-256 digest\n  cause: "), "{}", ran.stderr);
    let ran = place.run(&["cache", "path", &"0".repeat(64)]);
    assert!(ran.stderr.contains("help: `fullsend cache ls` lists what is"), "{}", ran.stderr);
}
