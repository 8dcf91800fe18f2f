//! `fullsend harness lint`: targets, formats, exit codes.

use serde_json::{Value, json};

use crate::suite::running::Place;

#[test]
fn a_clean_directory_says_so_on_stderr_only() {
    let place = Place::with_harness();
    for arguments in [
        &["harness", "lint"][..],
        &["harness", "lint", "."],
        &["harness", "lint", ".fullsend"],
        &["harness", "lint", ".fullsend/harness"],
        &["harness", "lint", ".fullsend/harness/code.yaml"],
        &["harness", "lint", ".fullsend", ".fullsend/harness/code.yaml", "./.fullsend/harness/code.yaml"],
        &["harness", "lint", "--fullsend-dir", ".fullsend"],
    ] {
        let ran = place.run(arguments);
        let expected = (Some(0), "", "checked 1 harness file: no problems\n");
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), expected, "{arguments:?}");
    }
}

#[test]
fn the_nearest_directory_is_found_from_below() {
    let place = Place::with_harness();
    std::fs::create_dir_all(place.path().join("src/deep")).unwrap();
    let output =
        place.command(&["harness", "lint"]).current_dir(place.path().join("src/deep")).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn nowhere_to_lint_is_a_usage_error_with_a_next_step() {
    let place = Place::new();
    let ran = place.run(&["harness", "lint"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("no `.fullsend` directory"), "{}", ran.stderr);
    assert!(ran.stderr.contains("help: run `fullsend init`"), "{}", ran.stderr);
    let ran = place.run(&["harness", "lint", "nowhere"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.starts_with("error: `nowhere` does not exist\n  help: "), "{}", ran.stderr);
    std::fs::create_dir(place.path().join("empty")).unwrap();
    let ran = place.run(&["harness", "lint", "empty"]);
    assert!(ran.stderr.starts_with("error: `empty` has no harness files\n  help: "), "{}", ran.stderr);
    let ran = place.run(&["harness", "lint", "--fullsend-dir", "gone"]);
    assert!(
        ran.stderr.starts_with("error: the fullsend directory `gone` does not exist\n"),
        "{}",
        ran.stderr
    );
}

#[test]
fn json_has_everything_a_tool_needs() {
    let place = Place::with_harness();
    place.write(".fullsend/harness/code.yaml", "agent: agents/a.md\nrole: coder\nskils: []\nrole: x\n");
    let ran = place.run(&["harness", "lint", "--format", "json"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.stderr, "");
    let file = ".fullsend/harness/code.yaml";
    assert_eq!(
        serde_json::from_str::<Value>(&ran.stdout).unwrap(),
        json!({
            "files": [file],
            "errors": 2,
            "warnings": 0,
            "problems": [
                {
                    "code": "unknown-key", "severity": "error", "message": "unknown key `skils`",
                    "help": "did you mean `skills`?", "related": [], "file": file,
                    "line": 3, "column": 1, "end_line": 3, "end_column": 6, "source": "skils: []",
                },
                {
                    "code": "duplicate-key", "severity": "error", "message": "the key `role` stands twice",
                    "help": "remove one of the two", "file": file,
                    "related": [{
                        "message": "first written here", "file": file,
                        "line": 2, "column": 1, "end_line": 2, "end_column": 5, "source": "role: coder",
                    }],
                    "line": 4, "column": 1, "end_line": 4, "end_column": 5, "source": "role: x",
                },
            ],
        })
    );
}

#[test]
fn sarif_points_at_rules_and_places() {
    let place = Place::with_harness();
    place.write(".fullsend/harness/a b.yaml", "agent: agents/a.md\nrole: coder\nskils: []\n");
    let ran = place.run(&["harness", "lint", "--format", "sarif"]);
    assert_eq!(ran.code, Some(1));
    let log: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let result = &log["runs"][0]["results"][0];
    let rule = &log["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
    assert_eq!((&result["ruleId"], &rule["id"]), (&json!("unknown-key"), &json!("unknown-key")));
    let location = &result["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], ".fullsend/harness/a%20b.yaml");
    assert_eq!(location["region"], json!({"startLine": 3, "startColumn": 1, "endLine": 3, "endColumn": 6}));
    let clean = Place::with_harness().run(&["harness", "lint", "--format", "sarif"]);
    assert_eq!(serde_json::from_str::<Value>(&clean.stdout).unwrap()["runs"][0]["results"], json!([]));
}

#[test]
fn warnings_pass_unless_denied() {
    let place = Place::with_harness();
    place.write(".fullsend/harness/code.yaml", "agent: agents/a.md\nrole: coder\nrunner_env: {A: b}\n");
    let ran = place.run(&["harness", "lint"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), "checked 1 harness file: 1 warning\n"));
    assert_eq!(place.run(&["harness", "lint", "--deny-warnings"]).code, Some(1));
}

#[test]
fn check_env_looks_at_the_environment() {
    let place = Place::with_harness();
    let harness = "agent: agents/a.md\nrole: coder\nenv: {runner: {A: \"${TOKEN}\"}}\n\
                   host_files: [{src: \"${WHERE}/x\", dest: /x}]\n";
    place.write(".fullsend/harness/code.yaml", harness);
    assert_eq!(place.run(&["harness", "lint"]).code, Some(0));
    let ran = place.run(&["harness", "lint", "--check-env"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.stdout.matches("error[unset-variable]").count(), 2, "{}", ran.stdout);
    let set = |value: &std::path::Path| {
        place
            .command(&["harness", "lint", "--check-env"])
            .env("TOKEN", "s3cret")
            .env("WHERE", value)
            .output()
            .unwrap()
    };
    let missing = String::from_utf8(set(place.path()).stdout).unwrap();
    assert!(missing.contains("error[missing-file]"), "{missing}");
    assert!(!missing.contains("s3cret"));
    place.write("x", "");
    assert_eq!(set(place.path()).status.code(), Some(0));
}

#[test]
fn output_into_a_file_has_no_colour_even_when_the_terminal_would() {
    let place = Place::with_harness();
    place.write(".fullsend/harness/code.yaml", "skils: []\n");
    let output = place.command(&["harness", "lint"]).env("TERM", "xterm-256color").output().unwrap();
    assert!(!output.stdout.contains(&0x1b));
}

#[test]
fn unreadable_files_are_problems_not_crashes() {
    let place = Place::with_harness();
    std::fs::create_dir_all(place.path().join(".fullsend/harness/dir.yaml")).unwrap();
    std::os::unix::fs::symlink("/nonexistent", place.path().join(".fullsend/harness/link.yaml")).unwrap();
    let ran = place.run(&["harness", "lint"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("dir.yaml") && ran.stdout.contains("link.yaml"), "{}", ran.stdout);
}
