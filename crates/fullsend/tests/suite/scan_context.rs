//! `fullsend scan context`: which files are looked at, and what is said about those that cannot be.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use fullsend_testkit::declare_skip;
use rustix::fs::{CWD, FileType, Mode};
use serde_json::{Value, json};

use crate::suite::running::{Place, Ran};
use crate::suite::users::User;

fn json(place: &Place, arguments: &[&str]) -> (Option<i32>, Value) {
    let ran = place.run(&[&["scan", "context", "--format", "json"], arguments].concat());
    assert_eq!(ran.stderr, "", "{arguments:?}");
    (ran.code, serde_json::from_str(&ran.stdout).unwrap())
}

/// `file rule` of each finding.
fn found(document: &Value) -> Vec<String> {
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let findings = document["findings"].as_array().unwrap();
    findings.iter().map(|finding| format!("{} {}", text(finding, "file"), text(finding, "rule"))).collect()
}

#[test]
fn a_clean_repository_says_so_on_stderr_only() {
    let place = Place::with_harness();
    place.write("CLAUDE.md", "Run the tests.\n");
    place.write("src/main.rs", "fn main() {}\n");
    let ran = place.run(&["scan", "context", "."]);
    let stderr = "no findings in 4 files\n".to_owned();
    assert_eq!(ran, Ran { code: Some(0), stdout: String::new(), stderr });
    let (code, document) = json(&place, &["."]);
    assert_eq!(code, Some(0));
    assert_eq!(
        document,
        json!({
            "files": [".fullsend/agents/a.md", ".fullsend/harness/code.yaml", ".fullsend/skills/s/SKILL.md", "CLAUDE.md"],
            "skipped": [],
            "summary": {"critical": 0, "high": 0, "medium": 0, "low": 0, "info": 0},
            "outcome": "clean",
            "findings": [],
        })
    );
}

#[test]
fn settings_that_start_programs_are_named_and_do_not_block() {
    let place = Place::new();
    place.write(".claude/settings.json", "{\n  \"statusLine\": {\"command\": \"./evil.sh\"}\n}\n");
    let ran = place.run(&["scan", "context", "."]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.stderr, "1 finding in 1 file: 1 medium; warned\n");
    assert_eq!(
        ran.stdout,
        "medium[file_walk/runtime_config]: `statusLine` starts `./evil.sh`
 --> .claude/settings.json:2:29
  |
2 |   \"statusLine\": {\"command\": \"./evil.sh\"}
  |                             ^^^^^^^^^^^
help: check what it starts; remove it, or run the agent without the settings of the repository

"
    );
    assert_eq!(place.run(&["scan", "context", ".", "--fail-on", "medium"]).code, Some(3));
    assert_eq!(place.run(&["scan", "context", ".", "--fail-on", "high"]).code, Some(0));
}

#[test]
fn what_cannot_be_read_blocks_unless_findings_only_warn() {
    let outside = Place::new();
    let place = Place::new();
    place.write("AGENTS.md", b"caf\xe9");
    place.write("security/CLAUDE.md", "x".repeat(3000));
    symlink(outside.write("evil.md", "x"), place.path().join("GEMINI.md")).unwrap();
    rustix::fs::mknodat(CWD, place.path().join("SOUL.md"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let (code, document) = json(&place, &[".", "--max-size", "2999"]);
    assert_eq!(code, Some(3));
    assert_eq!(document["outcome"], "blocked");
    assert_eq!(
        found(&document),
        [
            "AGENTS.md not_text",
            "GEMINI.md link_outside",
            "SOUL.md not_a_file",
            "security/CLAUDE.md file_too_large"
        ]
    );
    assert_eq!(
        document["findings"][0],
        json!({
            "file": "AGENTS.md", "line": null, "column": null, "end_line": null, "end_column": null,
            "scanner": "file_walk", "rule": "not_text", "severity": "medium",
            "detail": "not valid UTF-8 from byte 3 on", "remedy": "save the file as UTF-8, or remove it",
            "incomplete": true, "fixed": false, "excerpt": null,
        })
    );
    let (code, document) = json(&place, &[".", "--max-size", "2999", "--fail-mode", "open"]);
    assert_eq!((code, &document["outcome"]), (Some(0), &json!("warned")));
    let (_, document) = json(&place, &[".", "--max-size", "2999", "--min-severity", "critical"]);
    assert_eq!(found(&document).len(), 4, "what blocks is always printed");
    let open = [".", "--max-size", "2999", "--min-severity", "high", "--fail-mode", "open"];
    let (_, document) = json(&place, &open);
    assert_eq!(found(&document).len(), 3);
    assert_eq!(document["summary"]["medium"], 1, "what is not printed is counted");
}

#[test]
fn unreadable_files_and_directories_block() {
    let user = User::ordinary();
    user.write("AGENTS.md", "x");
    user.write("closed/AGENTS.md", "x");
    for (name, mode) in [("AGENTS.md", 0o000), ("closed", 0o000)] {
        fs::set_permissions(user.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let ran = user.run(&["scan", "context", "."]);
    if ran.code.is_none() || ran.stderr.contains("setpriv") {
        declare_skip("unreadable_files_and_directories_block", "cannot become an ordinary user");
        return;
    }
    fs::set_permissions(user.path().join("closed"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(
        ran.stdout.matches("high[file_walk/unreadable]: Permission denied").count(),
        2,
        "{}",
        ran.stdout
    );
}

#[test]
fn what_is_left_out_is_said() {
    let place = Place::new();
    place.write("node_modules/x/CLAUDE.md", "x");
    place.write("vendor/AGENTS.md", "x");
    place.write("AGENTS.md", "x");
    symlink("AGENTS.md", place.path().join("CLAUDE.md")).unwrap();
    let ran = place.run(&["scan", "context", "."]);
    let expected = "left out, scanned under another name: CLAUDE.md\n\
                    left out, version control or dependencies: node_modules, vendor\n\
                    no findings in 1 file\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), expected));
    let (_, document) = json(&place, &["--include-dependencies", "."]);
    assert_eq!(document["files"], json!(["AGENTS.md", "node_modules/x/CLAUDE.md", "vendor/AGENTS.md"]));
    assert_eq!(document["skipped"], json!([{"file": "CLAUDE.md", "reason": "scanned under another name"}]));
}

#[test]
fn a_missing_directory_is_a_usage_error() {
    let place = Place::new();
    let ran = place.run(&["scan", "context", "nowhere"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    let expected = "error: cannot scan `nowhere`\n  cause: No such file or directory (os error 2)\n  \
                    help: name a file or directory that exists and can be read\n";
    assert_eq!(ran.stderr, expected);
    assert_eq!(place.run(&["scan", "context"]).code, Some(2));
    assert_eq!(place.run(&["scan", "context", ".", "--fail-on", "worst"]).code, Some(2));
}

#[test]
fn a_file_that_is_named_is_scanned_whatever_it_is_called() {
    let place = Place::new();
    place.write("notes.txt", b"\xff");
    place.write("x/.mcp.json", r#"{"mcpServers": {"a": {"command": "npx"}}}"#);
    let (code, document) = json(&place, &["notes.txt", "x/.mcp.json"]);
    assert_eq!(code, Some(3));
    assert_eq!(found(&document), ["notes.txt not_text", "x/.mcp.json runtime_config"]);
}

#[test]
fn hostile_names_reach_no_terminal() {
    let place = Place::new();
    place.write("\u{1b}[31m/\u{202e}x/AGENTS.md", b"\xff");
    let ran = place.run(&["scan", "context", "."]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.stdout.contains(" --> \\u{1b}[31m/\\u{202e}x/AGENTS.md\n"), "{}", ran.stdout);
}

#[test]
fn sarif_names_rules_and_whole_files() {
    let place = Place::new();
    place.write("a b/AGENTS.md", b"\xff");
    let ran = place.run(&["scan", "context", ".", "--format", "sarif"]);
    assert_eq!(ran.code, Some(3));
    let log: Value = serde_json::from_str(&ran.stdout).unwrap();
    let run = &log["runs"][0];
    assert_eq!((&log["version"], &run["columnKind"]), (&json!("2.1.0"), &json!("unicodeCodePoints")));
    let result = &run["results"][0];
    let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
    assert_eq!(
        (&result["ruleId"], &rule["id"]),
        (&json!("file_walk/not_text"), &json!("file_walk/not_text"))
    );
    assert_eq!(rule["properties"], json!({"security-severity": "5.5", "tags": ["security"]}));
    let place = json!({"physicalLocation": {"artifactLocation": {"uri": "a%20b/AGENTS.md"}}});
    assert_eq!(result["locations"], json!([place]));
}

#[test]
fn a_reader_that_stops_reading_ends_the_scan_quietly() {
    let place = Place::new();
    // More than a pipe holds, so that the scan still writes when the reader is gone.
    for number in 0..1500 {
        place.write(&format!("{number}/AGENTS.md"), b"\xff");
    }
    let script = format!("{} scan context . | head -n 1", env!("CARGO_BIN_EXE_fullsend"));
    let output =
        std::process::Command::new("sh").args(["-c", &script]).current_dir(place.path()).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    if Path::new("/dev/full").exists() {
        let script = format!("{} scan context . > /dev/full", env!("CARGO_BIN_EXE_fullsend"));
        let output = std::process::Command::new("sh")
            .args(["-c", &script])
            .current_dir(place.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8(output.stderr).unwrap().starts_with("error: "));
    }
}
