//! The end of a runtime, as its own record tells it.

use std::fs;

use fullsend_runner::transcript::{errors, result};

#[test]
fn the_last_result_counts_also_behind_a_line_without_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.jsonl");
    let long = format!("{{\"type\":\"tool\",\"text\":\"{}\"}}", "x".repeat(3 << 20));
    let text = format!(
        "{{\"type\":\"result\",\"is_error\":false,\"result\":\"first\"}}\nnot json\n{long}\n\
         {{\"type\": \"result\", \"is_error\": true, \"result\": \"late\", \"subtype\": \"error_max_turns\"}}\n{{\"type\":\"other\"}}"
    );
    fs::write(&path, text).unwrap();
    let found = result(&path).unwrap().unwrap();
    assert_eq!(
        (found.is_error, found.message.as_str(), found.subtype.as_str()),
        (true, "late", "error_max_turns")
    );
}

#[test]
fn long_messages_are_cut_between_characters_and_links_are_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.jsonl");
    fs::write(&path, format!("{{\"type\":\"result\",\"result\":\"{}\"}}", "é".repeat(1500))).unwrap();
    let message = result(&path).unwrap().unwrap().message;
    assert_eq!(message, format!("{}… (truncated)", "é".repeat(1000)));
    fs::write(&path, "").unwrap();
    assert_eq!(result(&path).unwrap(), None);
    let link = directory.path().join("link");
    std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
    assert!(result(&link).is_err());
    assert!(result(directory.path()).is_err());
}

#[test]
fn only_errors_of_transcripts_are_gathered() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write("b.jsonl", "{\"type\":\"result\",\"is_error\":true,\"result\":\"b\"}\n");
    write("a.jsonl", "{\"type\":\"result\",\"is_error\":true,\"result\":\"a\"}\n");
    write("fine.jsonl", "{\"type\":\"result\",\"is_error\":false}\n");
    write("other.json", "{\"type\":\"result\",\"is_error\":true}\n");
    std::os::unix::fs::symlink("a.jsonl", directory.path().join("link.jsonl")).unwrap();
    let found = errors(directory.path()).unwrap();
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a.jsonl", "b.jsonl"]);
}
