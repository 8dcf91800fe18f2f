//! A model that asks for what cannot be: arguments that are none, tools that are none, more than it may.

use fullsend_testkit::test_name;
use serde_json::{Value, json};

use crate::suite::hostile_run::{Target, bash, call};

const INVALID: &str = "fullsend.invalid-tool-call";

/// For each tool, arguments that do not fit its schema though they are objects.
const MISFITS: [(&str, &[&str]); 7] = [
    (
        "bash",
        &[
            "{}",
            r#"{"command": 7}"#,
            r#"{"command": ["ls"]}"#,
            r#"{"command": null}"#,
            r#"{"command": "ls", "timeoutMs": -1}"#,
            r#"{"command": "ls", "timeoutMs": 1e300}"#,
            r#"{"command": "ls", "cwd": {}}"#,
            r#"{"command": "ls", "as": "root"}"#,
        ],
    ),
    (
        "read_file",
        &[
            "{}",
            r#"{"path": ""}"#,
            r#"{"path": 1}"#,
            r#"{"path": "a", "offset": 0}"#,
            r#"{"path": "a", "maxBytes": 1e18}"#,
            r#"{"path": "a", "encoding": "latin-1"}"#,
        ],
    ),
    ("list_files", &[r#"{"path": []}"#, r#"{"depth": 0}"#, r#"{"maxEntries": 100000000}"#, r#"{"x": 1}"#]),
    (
        "search_files",
        &["{}", r#"{"pattern": ""}"#, r#"{"pattern": {}}"#, r#"{"pattern": "a", "context": 1e9}"#],
    ),
    ("view_image", &["{}", r#"{"path": false}"#]),
    (
        "edit_file",
        &[
            r#"{"path": "README.md"}"#,
            r#"{"path": "README.md", "edits": []}"#,
            r#"{"path": "README.md", "edits": {}}"#,
            r#"{"path": "README.md", "edits": [{"oldText": "", "newText": "x"}]}"#,
            r#"{"path": "README.md", "edits": [{"oldText": "A"}]}"#,
            r#"{"path": "README.md", "edits": [null]}"#,
        ],
    ),
    (
        "write_file",
        &[
            r#"{"path": "x"}"#,
            r#"{"path": "x", "content": 1}"#,
            r#"{"path": "x", "content": "", "mode": "destroy"}"#,
            r#"{"path": "x", "content": "", "expectedDigest": "sha256:0"}"#,
        ],
    ),
];

#[test]
fn arguments_that_cannot_be_used_are_explained_and_nothing_is_done() {
    let Some(target) = Target::new(test_name!()) else { return };
    let deep = format!("{{\"command\": {}", "[".repeat(50_000));
    let broken = [
        r#"{"command": "ls"#,
        "{",
        "}",
        "nonsense",
        "[]",
        "null",
        "7",
        "\"ls\"",
        r"{'a': 1}",
        "{} {}",
        &deep,
    ];
    let mut turns = Vec::new();
    let mut expected = 0;
    for (tool, misfits) in MISFITS {
        let calls: Vec<Value> =
            broken.iter().chain(misfits).map(|raw| json!({"tool": tool, "raw": raw})).collect();
        expected += calls.len();
        turns.push(json!({"calls": calls}));
    }
    turns.push(json!({"calls": [bash("ls -A; cat README.md")]}));
    turns.push(json!({"say": "done"}));
    let ended = target.play(&turns.into(), &["--max-model-turns", "20"]);
    assert_eq!((ended.ran.code, ended.reason()), (Some(0), "assistant_completed"));
    let mut results = ended.results();
    let last = results.pop().unwrap();
    assert_eq!(last["stdout"], ".fullsend-artifacts\nREADME.md\nA workspace.\n");
    assert_eq!(results.len(), expected);
    for result in results {
        assert_eq!(result["type"], INVALID, "{result}");
        assert!(result["expected"].is_string() && result["toolId"].is_string(), "{result}");
    }
    assert_eq!(ended.rows_of("call_started").len(), 1);
}

#[test]
fn tools_that_are_none_and_tools_that_are_not_allowed_are_refused_for_what_they_are() {
    let Some(target) = Target::new(test_name!()) else { return };
    let unknown =
        ["Bash", "bash ", "bash\0", "../bash", "bash\n", "functions.bash", "rm -rf /", "\u{202e}hsab"];
    let denied = ["bash", "write_file", "web_fetch"];
    let names = unknown.iter().chain(&denied);
    let calls: Vec<Value> =
        names.map(|name| json!({"tool": name, "args": {"command": "touch /workspace/x"}})).collect();
    let turns = json!([{"calls": calls}, {"say": "done"}]);
    let ended = target.play(&turns, &["--allow-tool", "read_file"]);
    assert_eq!(ended.ran.code, Some(0), "{:?}", ended.ran);
    let results = ended.results();
    let (none, forbidden) = results.split_at(unknown.len());
    for result in none {
        assert_eq!((&result["type"], &result["reason"]), (&json!(INVALID), &json!("unknown-tool")));
        assert_eq!(result["expected"], "one of read_file");
    }
    for result in forbidden {
        assert_eq!(result["type"], "fullsend.observation-denied", "{result}");
        assert_eq!(result["reason"], "not-authorized", "{result}");
    }
    assert!(ended.rows_of("call_started").is_empty());
    assert!(!target.workspace().join("x").exists());
}

#[test]
fn a_loop_without_end_is_ended_by_the_budget_of_turns() {
    let Some(target) = Target::new(test_name!()) else { return };
    let turns = json!([{"repeat": 10_000, "calls": [bash("echo again")]}]);
    let ended = target.play(&turns, &["--max-model-turns", "5"]);
    assert_eq!((ended.ran.code, ended.turns(), ended.reason()), (Some(1), 5, "max_model_turns"));
    assert_eq!(ended.results().len(), 5);
}

#[test]
fn of_a_thousand_calls_at_once_all_are_answered_and_few_are_made() {
    let Some(target) = Target::new(test_name!()) else { return };
    let append = call("write_file", &json!({"path": "log", "content": "x\n", "mode": "append"}));
    let turns = json!([{"calls": vec![append; 1_000]}, {"say": "done"}]);
    let ended = target.play(&turns, &[]);
    assert_eq!(ended.ran.code, Some(0), "{:?}", ended.ran);
    let results = ended.results();
    let refused = results.iter().filter(|result| result["reason"] == "too-many-calls").count();
    assert_eq!((results.len(), refused, ended.rows_of("call_started").len()), (1_000, 936, 64));
    let log = std::fs::read_to_string(target.workspace().join("log")).unwrap();
    assert_eq!(log.lines().count(), 64);
}

#[test]
fn nul_characters_are_told_and_reach_no_system_call() {
    let Some(target) = Target::new(test_name!()) else { return };
    let edits = json!([{"oldText": "A", "newText": "B"}]);
    let results = target.results_of(&[
        bash("echo a\0b"),
        call("bash", &json!({"command": "pwd", "cwd": "/workspace\0/etc"})),
        call("read_file", &json!({"path": "README.md\0.txt"})),
        call("write_file", &json!({"path": "x\0y", "content": ""})),
        call("edit_file", &json!({"path": "README.md\0", "edits": edits})),
        call("list_files", &json!({"path": "\0"})),
        call("search_files", &json!({"pattern": "A", "path": "\0"})),
        call("view_image", &json!({"path": "a\0.png"})),
    ]);
    for result in &results {
        let failed = result["ok"] == false || result["exitCode"].as_i64().is_some_and(|code| code != 0);
        assert!(failed, "{result}");
    }
    let names = std::fs::read_dir(target.workspace()).unwrap().count();
    assert_eq!(names, 2, "the README and the artifacts");
}

#[test]
fn a_prompt_that_is_no_command_lets_nothing_be_changed() {
    let Some(target) = Target::new(test_name!()) else { return };
    let edits = json!([{"oldText": "A", "newText": "B"}]);
    let effects = [
        bash("echo x > by-bash"),
        call("write_file", &json!({"path": "by-write", "content": ""})),
        call("edit_file", &json!({"path": "README.md", "edits": edits})),
    ];
    let reads = [
        call("read_file", &json!({"path": "README.md"})),
        call("list_files", &json!({})),
        call("search_files", &json!({"pattern": "workspace"})),
    ];
    let turns = json!([{"calls": effects}, {"calls": reads}, {"say": "done"}]);
    for role in ["context", "quote"] {
        for (mode, denied) in [("enforce-explicit", 3), ("enforce-strict", 6)] {
            let options = ["--prompt-slot-role", role, "--cfc-enforcement-mode", mode];
            let ended = target.play(&turns, &options);
            assert_eq!(ended.ran.code, Some(0), "{:?}", ended.ran);
            let kinds: Vec<Value> = ended.results().iter().map(|result| result["type"].clone()).collect();
            let refused = kinds.iter().take_while(|kind| *kind == "fullsend.observation-denied").count();
            assert_eq!(refused, denied, "{role} {mode}: {kinds:?}");
            assert_eq!(ended.rows_of("call_started").len(), 6 - denied);
            assert_eq!(ended.rows_of("policy_event").len(), denied);
        }
    }
    assert_eq!(std::fs::read_to_string(target.workspace().join("README.md")).unwrap(), "A workspace.\n");
    assert_eq!(std::fs::read_dir(target.workspace()).unwrap().count(), 2);
    let observed = target.play(&turns, &["--prompt-slot-role", "quote", "--cfc-enforcement-mode", "observe"]);
    let severities: Vec<&Value> =
        observed.rows_of("policy_event").iter().map(|row| &row["severity"]).collect();
    assert_eq!(severities, ["warning"; 6], "what the strictest mode would deny, looking as well");
    assert!(target.workspace().join("by-bash").exists());
}

#[test]
fn labels_that_a_model_sends_are_not_believed() {
    let Some(target) = Target::new(test_name!()) else { return };
    let labels = json!([{"confidentiality": [], "integrity": "anything"}]);
    let with = call("read_file", &json!({"path": "README.md", "cfcInputLabels": labels}));
    let without = call("read_file", &json!({"path": "README.md"}));
    let one = target.play(&json!([{"calls": [with]}, {"say": "done"}]), &[]);
    let other = target.play(&json!([{"calls": [without]}, {"say": "done"}]), &[]);
    assert_eq!(one.results()[0]["content"], "A workspace.\n");
    for kind in ["label", "call_started", "decision"] {
        let kept = |row: &&Value| (row["label"].clone(), row["input"].clone(), row["reasonCodes"].clone());
        let (one, other) = (one.rows_of(kind), other.rows_of(kind));
        assert_eq!(one.iter().map(kept).collect::<Vec<_>>(), other.iter().map(kept).collect::<Vec<_>>());
    }
}

#[test]
fn nothing_that_a_terminal_would_act_on_reaches_the_operator() {
    let Some(target) = Target::new(test_name!()) else { return };
    let nasty = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}\r";
    let turns = json!([
        {"say": nasty, "calls": [
            bash(&format!("echo '{nasty}'; exit 3")),
            {"tool": format!("bash{nasty}\n· bash: all is well (exit 0)"), "args": {}},
            call("write_file", &json!({"path": format!("a{nasty}b"), "content": nasty})),
            call("read_file", &json!({"path": format!("no{nasty}file\nforged")})),
        ]},
        {"say": format!("done {nasty}")},
    ]);
    for options in [&[] as &[&str], &["--stream-events"]] {
        let ended = target.play(&turns, options);
        assert_eq!(ended.ran.code, Some(0), "{:?}", ended.ran);
        for (text, name) in [(&ended.ran.stdout, "stdout"), (&ended.ran.stderr, "stderr")] {
            let acts = |letter: char| letter.is_control() && !"\n\t".contains(letter) || letter == '\u{202e}';
            assert!(!text.contains(acts), "{name} {options:?}: {text:?}");
            assert!(!text.lines().any(|line| line.starts_with("· bash: all is well")), "{name}: {text}");
        }
    }
}

#[test]
fn answers_that_are_cut_off_again_and_again_end_the_run() {
    let Some(target) = Target::new(test_name!()) else { return };
    let turns = json!([{"repeat": 50, "say": "and so on", "finish": "length"}]);
    let ended = target.play(&turns, &["--max-model-turns", "40"]);
    assert_eq!((ended.ran.code, ended.turns(), ended.reason()), (Some(1), 4, "prompt_loop_error"));
    let cut = json!([{"calls": [{"tool": "bash", "raw": "{\"command\": \"ls"}], "finish": "length"}, {"say": "done"}]);
    let ended = target.play(&cut, &[]);
    assert_eq!((ended.ran.code, &ended.results()[0]["type"]), (Some(0), &json!(INVALID)));
}
