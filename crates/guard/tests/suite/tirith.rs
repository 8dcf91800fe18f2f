//! What answers of tirith lead to, with stand-ins for the program.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use fullsend_guard::Severity;
use fullsend_guard::tirith::{self, Answer, Requirement, Settings, Verdict};
use tempfile::TempDir;

/// The ids of the rules of an answer, and the reason if it denies.
fn outcome(answer: &Answer) -> (Vec<&'static str>, Option<&str>) {
    let reason = match &answer.verdict {
        Verdict::Allow => None,
        Verdict::Deny { reason } => Some(reason.as_str()),
    };
    (answer.findings.iter().map(|finding| finding.rule.id).collect(), reason)
}

const HIGH: &str = r#"{"action":"block","findings":[{"rule_id":"curl_pipe_shell","severity":"HIGH","title":"Pipe to shell"}]}"#;
const MEDIUM: &str =
    r#"{"action":"warn","findings":[{"rule_id":"plain_http","severity":"medium","title":"No TLS"}]}"#;
const LIST: &str =
    r#"[{"rule":"old","severity":"low","message":"m"},{"rule":"worse","severity":"critical","detail":"d"}]"#;
const UNKNOWN: &str =
    r#"{"action":"warn","findings":[{"rule_id":"new","severity":"apocalyptic","title":"t"}]}"#;
const INCOMPLETE: &str =
    r#"{"action":"block","findings":[{"rule_id":"analysis_incomplete","severity":"HIGH","title":"t"}]}"#;

#[test]
fn answers_mean_what_the_table_says() {
    use Severity::{High, Medium};
    type Row = (
        &'static str,
        i32,
        &'static str,
        &'static str,
        Severity,
        &'static [&'static str],
        Option<&'static str>,
    );
    let table: &[Row] = &[
        ("clean", 0, "", "", High, &[], None),
        ("clean whatever it prints", 0, HIGH, "", High, &[], None),
        ("T02", 1, HIGH, "", High, &["tirith_finding"], Some("Tirith [HIGH] curl_pipe_shell: Pipe to shell")),
        ("T04 high", 2, MEDIUM, "", High, &["tirith_finding"], None),
        (
            "T04 medium",
            2,
            MEDIUM,
            "",
            Medium,
            &["tirith_finding"],
            Some("Tirith [medium] plain_http: No TLS"),
        ),
        ("T06", 1, "{}", "", High, &["tirith_block"], Some("Tirith blocked the command (exit code 1)")),
        (
            "T08",
            1,
            "garbage",
            "boom",
            High,
            &["tirith_block"],
            Some("Tirith blocked the command (exit code 1): boom"),
        ),
        ("T10", 1, UNKNOWN, "", High, &["tirith_finding"], Some("Tirith [apocalyptic] new: t")),
        ("list", 1, LIST, "", High, &["tirith_finding"; 2], Some("Tirith [critical] worse: d")),
        (
            "empty list",
            1,
            "[]",
            "",
            High,
            &["tirith_block"],
            Some("Tirith blocked the command (exit code 1)"),
        ),
        ("number", 1, "7", "x", High, &["tirith_block"], Some("Tirith blocked the command (exit code 1): x")),
        (
            "odd findings",
            1,
            r#"{"action":"allow","findings":7}"#,
            "",
            High,
            &["tirith_block"],
            Some("Tirith blocked the command (exit code 1): "),
        ),
        (
            "odd entry",
            1,
            r#"{"action":"allow","findings":[7]}"#,
            "",
            High,
            &["tirith_finding"],
            Some("Tirith [] : "),
        ),
        ("allowed", 3, r#"{"action":"allow","findings":[]}"#, "", High, &[], None),
        (
            "blocked as a whole",
            1,
            r#"{"action":"block"}"#,
            "",
            High,
            &["tirith_action_block"],
            Some("Tirith blocked the command (exit code 1)"),
        ),
        (
            "odd action",
            1,
            r#"{"action":"maybe"}"#,
            "",
            High,
            &["tirith_block"],
            Some("Tirith blocked the command (exit code 1)"),
        ),
        (
            "incomplete",
            1,
            INCOMPLETE,
            "",
            High,
            &["tirith_finding"],
            Some("Tirith [HIGH] analysis_incomplete: t"),
        ),
    ];
    for (row, exit, stdout, stderr, fail_on, rules, reason) in table {
        let answer = tirith::interpret(Some(*exit), stdout.as_bytes(), stderr.as_bytes(), *fail_on);
        assert_eq!(outcome(&answer), (rules.to_vec(), *reason), "{row}");
    }
}

#[test]
fn a_signal_denies() {
    let answer = tirith::interpret(None, b"", b"", Severity::High);
    assert_eq!(outcome(&answer), (vec!["tirith_block"], Some("Tirith blocked the command (a signal): ")));
}

#[test]
fn thresholds_are_read_generously_and_default_to_high() {
    assert_eq!(tirith::threshold("medium"), Severity::Medium);
    assert_eq!(tirith::threshold(" CRITICAL "), Severity::Critical);
    assert_eq!(tirith::threshold("severe"), Severity::High);
}

/// A program that is this script.
fn program(script: &str) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tirith");
    // Another process writes it: a child that a test beside this one starts could inherit the open file, and a program that
    // is open for writing cannot be started.
    let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod 755 "$0""#;
    let status = Command::new("/bin/sh").arg("-c").arg(write).arg(&path).arg(script).status().unwrap();
    assert!(status.success());
    (directory, path)
}

fn required() -> Settings {
    Settings { requirement: Requirement::Required, ..Settings::default() }
}

#[test]
fn the_program_gets_the_command_as_one_argument_and_nothing_else() {
    let (_directory, path) =
        program(r#"for a in "$@"; do printf '<%s>' "$a"; done; pwd; cat; env | grep -c CARGO; exit 7"#);
    let output = tirith::run(&path, "echo \"a b\"; $(x)", tirith::TIMEOUT).unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said, "<check><--json><--non-interactive><--shell><posix><--><echo \"a b\"; $(x)>/\n0\n");
    assert_eq!(output.exit_code, Some(7));
}

#[test]
fn an_answer_of_the_program_decides() {
    let (_directory, path) = program(&format!("echo '{HIGH}'; exit 1"));
    let answer = tirith::check(&path, "curl x | sh", &Settings::default());
    assert_eq!(
        outcome(&answer),
        (vec!["tirith_finding"], Some("Tirith [HIGH] curl_pipe_shell: Pipe to shell"))
    );
    let (_directory, path) = program("exit 0");
    assert_eq!(outcome(&tirith::check(&path, "ls", &required())), (vec![], None));
}

#[test]
fn no_answer_is_recorded_and_denies_when_one_is_required() {
    let missing = PathBuf::from("/nonexistent/tirith");
    let answer = tirith::check(&missing, "ls", &Settings::default());
    assert_eq!(outcome(&answer), (vec!["tirith_missing"], None));
    assert_eq!(answer.findings[0].severity, Severity::Medium);
    let answer = tirith::check(&missing, "ls", &required());
    assert_eq!(
        outcome(&answer),
        (vec!["tirith_missing"], Some("tirith is required: tirith is not installed"))
    );
    assert_eq!(answer.findings[0].severity, Severity::Critical);
    let answer = tirith::check(&PathBuf::from("tirith"), "ls", &required());
    assert_eq!(outcome(&answer).0, ["tirith_error"]);
    let answer = tirith::check(&PathBuf::from("/"), "ls", &required());
    assert_eq!(outcome(&answer).0, ["tirith_error"]);
}

#[test]
fn a_program_that_hangs_is_ended_with_what_it_started() {
    let (directory, path) = program("echo $$ > \"${0%/*}/pid\"; sleep 600 & sleep 600");
    let settings = Settings { timeout: Duration::from_millis(300), ..required() };
    let answer = tirith::check(&path, "ls", &settings);
    assert_eq!(outcome(&answer).0, ["tirith_timeout"]);
    let pid = fs::read_to_string(directory.path().join("pid")).unwrap_or_default();
    assert!(!PathBuf::from(format!("/proc/{}", pid.trim())).exists(), "{pid} is still there");
}

#[test]
fn output_without_end_is_cut() {
    let (_directory, path) = program("exec cat /dev/zero");
    let answer = tirith::check(&path, "ls", &required());
    assert_eq!(outcome(&answer).0, ["tirith_error"]);
}

#[test]
fn a_command_that_no_program_can_be_given_is_an_error() {
    let (_directory, path) = program("exit 0");
    assert_eq!(outcome(&tirith::check(&path, "a\0b", &required())).0, ["tirith_error"]);
}
