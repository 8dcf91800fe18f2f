//! Files beside containers, with an engine that only says what it was asked: what is written between making a container and
//! starting it, what is refused, and that nothing is left.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::suite::agent_place::{AgentPlace, document, finish};

/// An engine: writes down what it is asked, calls containers as the file `id` says, and on a start copies what is beside the
/// container and fails.
const ENGINE: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$1" >> "$here/asked"
case "$1" in
info) echo '{"ServerVersion":"1","Runtimes":{"runc":{}},"DefaultRuntime":"runc","NCPU":1,"SecurityOptions":[]}' ;;
create) cat "$here/id" ;;
start) cp -r "$here/in" "$here/seen"; exit 1 ;;
esac
"#;

fn place(id: &str) -> AgentPlace {
    let place = AgentPlace::new(&json!({"turns": [
        {"calls": [{"tool": "bash", "args": {"command": "echo secret-word"}}]},
        {"say": "Done."},
    ]}));
    let engine = place.beside("engine");
    fs::create_dir_all(engine.join("out")).unwrap();
    fs::write(engine.join("docker"), ENGINE).unwrap();
    fs::set_permissions(engine.join("docker"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(engine.join("id"), id).unwrap();
    place
}

fn exec(place: &AgentPlace, arguments: &[&str]) -> Command {
    let mut command = place.exec(arguments);
    command.env("PATH", format!("{}:/usr/bin:/bin", place.beside("engine").display()));
    command
}

const BOTH: [&str; 6] = [
    "--sandbox-image",
    "image",
    "--cfc-invocation-context-dir",
    "../engine/in",
    "--cfc-result-dir",
    "../engine/out",
];

fn asked(place: &AgentPlace) -> Vec<String> {
    let asked = fs::read_to_string(place.beside("engine/asked")).unwrap_or_default();
    asked.lines().filter(|word| ["create", "start", "rm", "run"].contains(word)).map(str::to_owned).collect()
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).map_or(true, |mut entries| entries.next().is_none())
}

#[test]
fn a_container_with_a_name_that_leads_elsewhere_never_starts() {
    for id in ["../container\n", "..\n", "\n", "a/b\n"] {
        let place = place(id);
        let ran = finish(exec(&place, &BOTH));
        assert_eq!(ran.code, Some(0), "the model is told: {ran:?}");
        let run = place.run();
        let output = fs::read_dir(run.join("tool-outputs")).unwrap().next().unwrap().unwrap().path();
        let output: Value = serde_json::from_slice(&fs::read(output).unwrap()).unwrap();
        assert_eq!(output["exitCode"], 125, "{output}");
        let told = output["stderr"].as_str().unwrap();
        assert!(told.starts_with("failed to write CFC invocation context sidecar"), "{told}");
        let asked = asked(&place);
        assert!(asked.contains(&"create".to_owned()) && asked.contains(&"rm".to_owned()), "{asked:?}");
        assert!(!asked.contains(&"start".to_owned()) && !asked.contains(&"run".to_owned()), "{asked:?}");
        assert!(is_empty(&place.beside("engine/in")), "{id:?}");
    }
}

#[test]
fn a_runtime_is_told_before_the_container_starts() {
    let place = place("abc123\n");
    let ran = finish(exec(&place, &BOTH));
    assert_ne!(ran.code, Some(0), "this engine runs nothing: {ran:?}");
    let seen: Value =
        serde_json::from_slice(&fs::read(place.beside("engine/seen/abc123.json")).unwrap()).unwrap();
    assert_eq!(seen["type"], "fullsend.cfc-invocation-context");
    assert_eq!(seen["promptSlot"]["role"], "direct-command");
    assert!(!seen.to_string().contains("secret-word"), "{seen}");
    for record in ["run-state.json", "policy-trace.json"] {
        assert_eq!(document(&place.run(), record)["cfcInvocationContexts"], json!([seen]), "{record}");
    }
    assert!(is_empty(&place.beside("engine/in")), "what is of no use any more is removed");
    let snapshot = document(&place.run(), "policy-snapshot.json");
    assert_eq!(snapshot["substrate"]["sandbox"]["invocationContextTransport"], "sidecar");
    let asked = asked(&place);
    assert!(!asked.contains(&"run".to_owned()), "{asked:?}");
}

#[test]
fn a_runtime_that_is_half_connected_is_refused() {
    let contexts = ["--sandbox-image", "image", "--cfc-invocation-context-dir", "../engine/in"];
    let results = ["--sandbox-image", "image", "--cfc-result-dir", "../engine/out"];
    let words = "cfc enforcement mode 'enforce-explicit' requires the runsc sandbox to wire CFC";
    let table: [(&[&str], &[&str]); 5] = [
        (&contexts, &[words, "CFC result transport", "--cfc-result-dir", "silently degrade enforcement"]),
        (&results, &[words, "CFC invocation-context transport", "--cfc-invocation-context-dir"]),
        (&BOTH[2..], &["--sandbox-image"]),
        (
            &["--sandbox-image", "image", "--cfc-result-dir", "", "--cfc-invocation-context-dir", "x"],
            &["--cfc-result-dir"],
        ),
        (
            &[
                "--sandbox-image",
                "image",
                "--cfc-result-dir",
                "out",
                "--cfc-invocation-context-dir",
                "../engine/in",
            ],
            &["where commands reach it"],
        ),
    ];
    for (arguments, expected) in table {
        let place = place("abc123\n");
        let ran = finish(exec(&place, arguments));
        assert_eq!(ran.code, Some(2), "{arguments:?} {ran:?}");
        for word in expected {
            assert!(ran.stderr.contains(word), "{word} in {}", ran.stderr);
        }
        assert_eq!(place.runs(), Vec::<std::path::PathBuf>::new());
    }
    // What is not enforced cannot be degraded.
    let place = place("abc123\n");
    finish(exec(&place, &[&contexts[..], &["--cfc-enforcement-mode", "observe"]].concat()));
    assert!(place.beside("engine/seen/abc123.json").exists());
}

#[test]
fn the_environment_names_the_directories() {
    for prefix in ["FULLSEND", "CF_HARNESS"] {
        let place = place("abc123\n");
        let mut command = exec(&place, &["--sandbox-image", "image"]);
        command.env(format!("{prefix}_RUNSC_CFC_INVOCATION_CONTEXT_DIR"), "../engine/in");
        command.env(format!("{prefix}_RUNSC_CFC_RESULT_DIR"), "../engine/out");
        finish(command);
        assert!(place.beside("engine/seen/abc123.json").exists(), "{prefix}");
    }
    // Without containers there is nobody to tell.
    let place = place("abc123\n");
    let mut command = exec(&place, &[]);
    command.env("FULLSEND_RUNSC_CFC_RESULT_DIR", "../engine/out");
    assert_eq!(finish(command).code, Some(0));
}
