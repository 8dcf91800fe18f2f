//! `--flow-policy` and `fullsend flow explain`: what a policy changes, what is wrong with one, and why a call was denied.

use std::fs;

use serde_json::{Value, json};

use crate::suite::agent_place::{AgentPlace, finish};
use crate::suite::running::Ran;

const POLICY: &str = "sources:\n  - paths: ['web/**']\n    trust: none\n";

fn call(tool: &str, args: Value) -> Value {
    json!({"calls": [{"tool": tool, "args": args}]})
}

fn place() -> AgentPlace {
    let place = AgentPlace::new(&json!({"turns": [
        call("read_file", json!({"path": "web/page.txt"})),
        call("bash", json!({"command": "touch made"})),
        call("write_file", json!({"path": "AGENTS.md", "content": "x"})),
        call("write_file", json!({"path": "notes.md", "content": "x"})),
        {"say": "Done."},
    ]}));
    fs::create_dir(place.workspace().join("web")).unwrap();
    fs::write(place.workspace().join("web/page.txt"), "a page\n").unwrap();
    place
}

fn exec(place: &AgentPlace, policy: &str) -> Ran {
    fs::write(place.beside("policy.yaml"), policy).unwrap();
    finish(place.exec(&["--flow-policy", "../policy.yaml"]))
}

#[test]
fn a_denial_is_explained_and_its_exception_allows_the_call() {
    let denied = place();
    assert_eq!(exec(&denied, POLICY).code, Some(0));
    let workspace = denied.workspace();
    assert!(!workspace.join("made").exists() && !workspace.join("AGENTS.md").exists());
    assert!(workspace.join("notes.md").exists());
    let run = denied.run();
    let told = finish(denied.command(&["flow", "explain", run.to_str().unwrap()]));
    for part in [
        "bash (replay_1_0): denied",
        "the decision to call it needs trust `workspace` and has `none`",
        "because of message 4, the result of read_file (replay_0_0): trust `none`",
        "what it can read needs trust `workspace` and has `none`",
        "write_file (replay_2_0): denied",
        "the argument `path` needs trust `commanded` and has `none`",
    ] {
        assert!(told.stdout.contains(part), "{part}: {}", told.stdout);
    }
    assert!(!told.stdout.contains("notes.md") && !told.stdout.contains("a page"), "{}", told.stdout);

    // The exceptions, as they are printed, are a policy.
    let grants: Vec<&str> = told.stdout.lines().filter(|line| line.trim_start().starts_with("- {")).collect();
    assert_eq!(grants.len(), 2);
    let allowed = place();
    assert_eq!(exec(&allowed, &format!("{POLICY}grants:\n{}\n", grants.join("\n"))).code, Some(0));
    let workspace = allowed.workspace();
    assert!(workspace.join("made").exists() && workspace.join("AGENTS.md").exists());
    let told = finish(allowed.command(&["flow", "explain", allowed.run().to_str().unwrap()]));
    assert!(told.stdout.contains("used the exception `allow-bash`"), "{}", told.stdout);
}

#[test]
fn one_call_is_explained_as_json_also_if_it_was_allowed() {
    let place = place();
    exec(&place, POLICY);
    let run = place.run();
    let ask = |call: &str| {
        finish(place.command(&["flow", "explain", run.to_str().unwrap(), call, "--format", "json"]))
    };
    let denied: Value = serde_json::from_str(&ask("replay_1_0").stdout).unwrap();
    let parts: Vec<&Value> =
        denied["decisions"][0]["against"].as_array().unwrap().iter().map(|one| &one["part"]).collect();
    assert_eq!(parts, [&json!("control"), &json!({"argument": "command"}), &json!("inputs")]);
    let allowed: Value = serde_json::from_str(&ask("replay_3_0").stdout).unwrap();
    assert_eq!(allowed["decisions"][0]["verdict"], "allowed");
    let missing = ask("replay_9_9");
    assert_eq!(missing.code, Some(2));
    assert!(missing.stderr.contains("no decision about a call `replay_9_9`"), "{}", missing.stderr);
}

#[test]
fn what_is_wrong_with_a_policy_is_said_before_anything_runs() {
    for (policy, said) in [
        ("sources: [{paths: [a], trust: sure}]", "trust"),
        ("sources: [{paths: [a], web: [b], trust: none}]", "name exactly one of"),
        ("sinks: [{tools: [bash]}]", "says nothing"),
        ("grants: [{id: a, tool: bash, argument: command, value: x}]", "allows nothing"),
        ("sources: [{paths: [../a], trust: none}]", "must lie in the workspace"),
        ("sorces: []", "did you mean `sources`?"),
    ] {
        let place = place();
        let ran = exec(&place, policy);
        assert_eq!(ran.code, Some(2), "{policy}: {}", ran.stderr);
        assert!(
            ran.stderr.contains(said) && ran.stderr.contains("policy.yaml:1:"),
            "{policy}: {}",
            ran.stderr
        );
        assert!(!place.workspace().join(".fullsend-artifacts").exists(), "{policy}");
    }
}

#[test]
fn what_was_hidden_is_listed_with_its_handle_and_its_label() {
    let place = AgentPlace::new(&json!({"turns": [
        call("read_file", json!({"path": ".env"})),
        call("read_file", json!({"path": "hr/pay.txt"})),
        {"say": "Done."},
        call("inspect", json!({"handle": "HANDLE"})),
        {"say": "Done."},
    ]}));
    fs::create_dir(place.workspace().join("hr")).unwrap();
    fs::write(place.workspace().join(".env"), "KEY=topsecret").unwrap();
    fs::write(place.workspace().join("hr/pay.txt"), "salary 1").unwrap();
    let policy = "sources: [{paths: ['hr/**'], readers: [hr]}]\ninspect: {readers: [hr]}\n";
    assert_eq!(exec(&place, policy).code, Some(0));
    let run = place.run();
    let handle = |number: usize| format!("{}:read_file:{number}", run.file_name().unwrap().to_str().unwrap());
    let script = place.beside("model.yaml");
    let text = fs::read_to_string(&script).unwrap().replace("HANDLE", &handle(2));
    fs::write(&script, text).unwrap();
    let ran = finish(place.resume(&run, &["--prompt", "Look."]));
    assert_eq!(ran.code, Some(0), "{ran:?}");

    let told = finish(place.command(&["flow", "explain", run.to_str().unwrap()])).stdout;
    for part in [
        "read_file (replay_0_0): the result is hidden from the model [flow_observation_readers]\n",
        &format!("  handle `{}`: trust `workspace`, for `credential`\n", handle(1)),
        &format!("  handle `{}`: trust `workspace`, for `hr`\n", handle(2)),
        "  because it is for others than those of `clearance.readers` of the policy\n",
        "  the model asked for it, and has seen 8 bytes\n",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("topsecret") && !told.contains("salary"), "{told}");
    let ask = ["flow", "explain", run.to_str().unwrap(), "replay_1_0", "--format", "json"];
    let one: Value = serde_json::from_str(&finish(place.command(&ask)).stdout).unwrap();
    assert_eq!(one["hidden"].as_array().unwrap().len(), 1, "{one}");
    assert_eq!(
        (&one["hidden"][0]["handle"], &one["hidden"][0]["inspectedBytes"]),
        (&json!(handle(2)), &json!(8))
    );
}
