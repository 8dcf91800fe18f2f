//! `fullsend scan verify-findings`.

use std::fs;
use std::sync::Arc;

use fullsend_guard::hook::{Action, Recorded};
use fullsend_guard::log::{FindingsLog, Phase, SEED, TraceId};
use fullsend_guard::{Finding, SystemClock, files};
use serde_json::{Value, json};

use crate::suite::running::{Place, Ran};

/// A place with a sealed log of two entries, and the hash of its end.
fn place() -> (Place, String) {
    let place = Place::new();
    let path = place.path().join("findings.jsonl");
    let log = FindingsLog::create(&path, TraceId::generate(), Arc::new(SystemClock)).unwrap();
    for detail in ["one", "two"] {
        let finding = Finding::new(&files::UNREADABLE, None, detail);
        log.append(Phase::HostInput, &Recorded { finding, action: Action::Warn }).unwrap();
    }
    let head = log.seal().unwrap();
    (place, head)
}

fn check(place: &Place, options: &[&str]) -> Ran {
    place.run(&[&["scan", "verify-findings", "findings.jsonl"], options].concat())
}

fn printed(code: i32, stdout: &str) -> Ran {
    Ran { code: Some(code), stdout: stdout.to_owned(), stderr: String::new() }
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap()
}

/// Keeps the lines with these numbers.
fn keep(place: &Place, numbers: &[usize]) {
    let path = place.path().join("findings.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    fs::write(&path, numbers.iter().map(|number| lines[*number]).collect::<String>()).unwrap();
}

#[test]
fn a_whole_log_is_said_to_be_whole() {
    let (place, head) = place();
    let whole = printed(0, &format!("findings.jsonl: complete and unchanged, 2 entries\n  head: {head}\n"));
    assert_eq!(check(&place, &[]), whole);
    assert_eq!(check(&place, &["--head", &head]), whole);
    let ran = check(&place, &["--format", "json"]);
    let expected = json!({ "file": "findings.jsonl", "state": "sealed", "entries": 2, "head": head });
    assert_eq!((ran.code, json(&ran)), (Some(0), expected));
}

#[test]
fn a_missing_end_is_told_apart_from_a_change() {
    let (place, head) = place();
    keep(&place, &[0]);
    let ran = check(&place, &["--format", "json"]);
    let first = json(&ran)["head"].as_str().unwrap().to_owned();
    let expected = json!({ "file": "findings.jsonl", "state": "unsealed", "entries": 1, "head": first });
    assert_eq!((ran.code, json(&ran)), (Some(1), expected));
    let text = format!(
        "findings.jsonl: the end is missing; 1 entry before it, unchanged\n  head: {first}\n  help: the run is still going, \
         it crashed, or lines at the end were removed; compare with the report of the run\n"
    );
    assert_eq!(check(&place, &[]), printed(1, &text));
    assert_eq!(check(&place, &["--allow-unsealed"]), printed(0, &text));
    assert_eq!(check(&place, &["--allow-unsealed", "--head", &first]), printed(0, &text));

    let other = check(&place, &["--allow-unsealed", "--head", &head]);
    let text = format!(
        "findings.jsonl:1: broken: the last hash is {first}, which is not the expected one\n  0 entries before it, \
         unchanged\n  help: the end was removed, or this is the log of another run; look for the file with the expected hash\n"
    );
    assert_eq!(other, printed(1, &text));
}

#[test]
fn a_change_is_named_by_its_line() {
    let (place, _) = place();
    keep(&place, &[0, 2]);
    let text = "findings.jsonl:2: broken: it does not follow the line before it\n  1 entry before it, unchanged\n  help: \
                somebody or something changed the file; trust nothing from this line on, and find out who could write it\n";
    assert_eq!(check(&place, &["--allow-unsealed"]), printed(1, text));
    let ran = check(&place, &["--format", "json"]);
    let expected = json!({
        "file": "findings.jsonl", "state": "broken", "entries": 1, "broken_at": 1, "problem": "not-chained",
        "message": "it does not follow the line before it",
    });
    assert_eq!((ran.code, json(&ran)), (Some(1), expected));
}

#[test]
fn what_is_no_log_or_no_hash_is_a_usage_error() {
    let (place, head) = place();
    let missing = place.run(&["scan", "verify-findings", "nowhere.jsonl"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (Some(2), ""), "{missing:?}");
    assert!(missing.stderr.contains("nowhere.jsonl") && missing.stderr.contains("help: "), "{missing:?}");
    let upper =
        check(&place, &["--head", &head.to_uppercase().replace(|digit: char| digit.is_ascii_digit(), "A")]);
    assert_eq!((upper.code, upper.stdout.as_str()), (Some(2), ""), "{upper:?}");
    let empty = place.write("findings.jsonl", "");
    assert_eq!(json(&check(&place, &["--format", "json"]))["head"], SEED, "{}", empty.display());
}
