//! What is made from the journal of a run.

use std::path::Path;

use fullsend_agent::report::{Difference, Manifest};
use fullsend_agent::store::{
    EndStatus, Ending, Execution, FailureKind, FailureRecord, Row, RunStore, TerminalReason, ToolResultRef,
};
use fullsend_agent::{Effect, ToolFailure};
use fullsend_flow::LabelId;
use serde_json::{Value, json};

use super::store::sample::{
    Fixture, assistant, clock, finished, full_run, result, rows_of_a_run, say, settings, started, user,
};

fn read(run_dir: &Path, name: &str) -> Value {
    let text = std::fs::read_to_string(run_dir.join(name)).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(text, format!("{}\n", serde_json::to_string_pretty(&value).unwrap()), "{name}");
    assert!(value["type"].as_str().unwrap().starts_with("fullsend."), "{name}");
    assert_eq!(value["version"], 1, "{name}");
    value
}

fn kinds(report: &Value) -> Vec<&str> {
    let name = |entry: &Value| if entry.get("role").is_some() { "role" } else { "kind" };
    report["timeline"].as_array().unwrap().iter().map(|entry| entry[name(entry)].as_str().unwrap()).collect()
}

#[test]
fn a_run_is_running_until_it_is_over() {
    let fixture = Fixture::new();
    let mut store = fixture.create("run-1");
    let run_dir = store.run_dir().to_owned();
    let at_first = read(&run_dir, "run-state.json");
    assert_eq!(at_first["status"], "running");
    assert_eq!(at_first["currentDir"], "/workspace");
    rows_of_a_run(&mut store);
    assert_eq!(read(&run_dir, "run-state.json"), at_first, "nothing that grows is written again in a turn");
    let ending = Ending {
        status: EndStatus::Failed,
        terminal_reason: TerminalReason::BudgetExhausted,
        detail: Some("no tokens left".to_owned()),
    };
    store.end(&ending).unwrap();
    let state = read(&run_dir, "run-state.json");
    assert_eq!((&state["status"], &state["terminalReason"]), (&json!("failed"), &json!("budget_exhausted")));
    assert_eq!(state["currentDir"], "/workspace/src");
    assert_eq!(state["toolOutputs"][0]["artifactPath"], "tool-outputs/run-1_bash_1-bash.json");
    let report = read(&run_dir, "run-report.json");
    assert_eq!(report["terminalDetail"], "no tokens left");
    assert_eq!(report.get("finalAssistantText"), None, "only what succeeded has an answer");
}

#[test]
fn the_report_of_a_whole_run() {
    let fixture = Fixture::new();
    let mut store = fixture.create("run-1");
    full_run(&mut store);
    let report = read(store.run_dir(), "run-report.json");
    assert_eq!(
        kinds(&report),
        [
            "run_started",
            "system",
            "user",
            "assistant",
            "tool_activity",
            "tool",
            "policy_event",
            "failure_record",
            "tool_activity",
            "tool",
            "failure_record",
            "assistant",
            "run_finished",
        ]
    );
    assert_eq!(report["status"], "completed");
    assert_eq!(report["modelTurns"], 2);
    assert_eq!(report["finalAssistantText"], "Two files: ä and 界.");
    assert_eq!(report["policyDecisionCounts"], json!({ "total": 2, "allowed": 1, "warned": 0, "denied": 1 }));
    assert_eq!(report["policyEventCounts"], json!({ "total": 1, "warnings": 0, "denied": 1 }));
    assert_eq!(report["primaryFailure"]["kind"], "tool_not_allowed");
    assert_eq!(report["primaryFailure"]["source"], "policy_event");
    assert_eq!(report["totalUsage"], json!({ "inputTokens": 150, "totalTokens": 150, "costUsd": 1.0 }));
    assert_eq!(report["modelUsage"].as_array().unwrap().len(), 2);
    let attempt = &report["modelAttempts"][1];
    assert_eq!((&attempt["sequence"], &attempt["modelTurn"]), (&json!(2), &json!(2)));
    let [bash, write] = report["toolActivity"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!(bash["executionStatus"], "completed");
    assert_eq!(bash["policyDecision"], "allowed");
    assert_eq!(bash["effectClass"], "side-effect");
    assert_eq!(bash["durationMs"], 12);
    assert_eq!(bash["toolInputSummary"]["commandBytes"], 2);
    assert_eq!(bash["resultRef"]["outputId"], "run-1:bash:1");
    assert_eq!(write["executionStatus"], "not-run");
    assert_eq!(write["policyDecision"], "denied");
    assert_eq!(write["policyEventIndexes"], json!([0]));
    assert_eq!(report["policyDecisions"][1]["toolActivitySequence"], 2);
    let transcript = read(store.run_dir(), "transcript.json");
    let asked = &transcript["messages"][2]["toolCalls"][1];
    assert_eq!(
        asked,
        &json!({ "id": "c2", "type": "function", "function": { "name": "write_file", "arguments": "{" } })
    );
    assert_eq!(transcript["messages"][4].get("resultRef"), None);
    let trace = read(store.run_dir(), "policy-trace.json");
    assert_eq!(trace["decisions"].as_array().unwrap().len(), 2);
    assert_eq!(read(store.run_dir(), "skill-activations.json")["activations"], json!([{ "name": "pdf" }]));
    assert!(!store.run_dir().join("skill-resource-reads.json").exists());
}

/// Calls as the loop leaves them when it is killed between the answer and the end of a call, or gives one up.
#[test]
fn calls_that_were_cut_off() {
    let fixture = Fixture::new();
    let mut store = fixture.create("run-1");
    let asked: Vec<_> = ["c1", "c2", "c3", "c4"].iter().map(|id| (*id, "bash", "{}")).collect();
    store.append(&say(1, LabelId::BOTTOM, assistant("", &asked))).unwrap();
    for (call, fails) in [("c1", false), ("c2", true)] {
        let output = store.next_output_id("bash");
        store.append(&started(call, "bash", &output, Effect::SideEffect)).unwrap();
        if fails {
            let failure =
                ToolFailure { kind: "timeout".to_owned(), detail: "too slow".to_owned(), exit_code: None };
            let failure = FailureRecord::of_tool(&failure, "bash", call, Some(&output));
            store.append(&Row::Failure(Box::new(failure))).unwrap();
        }
        let reference = ToolResultRef {
            output_id: output,
            tool_id: "bash".to_owned(),
            run_id: store.run_id().clone(),
            artifact_path: Some("tool-outputs/x.json".to_owned()),
        };
        store.append(&say(1, LabelId::BOTTOM, result(call, "bash", "{}", Some(reference)))).unwrap();
    }
    let output = store.next_output_id("bash");
    store.append(&started("c3", "bash", &output, Effect::SideEffect)).unwrap();
    store.append(&Row::CallFinished(finished("c3", "bash", None, Execution::Interrupted))).unwrap();
    let output = store.next_output_id("bash");
    store.append(&started("c4", "bash", &output, Effect::SideEffect)).unwrap();
    let stopped = Ending {
        status: EndStatus::Cancelled,
        terminal_reason: TerminalReason::ProcessInterrupted,
        detail: None,
    };
    store.end(&stopped).unwrap();
    let report = read(store.run_dir(), "run-report.json");
    let of = |key: &str| -> Vec<Value> {
        report["toolActivity"].as_array().unwrap().iter().map(|activity| activity[key].clone()).collect()
    };
    assert_eq!(of("executionStatus"), ["completed", "failed", "interrupted", "interrupted"]);
    assert_eq!(of("toolCallId"), ["c1", "c2", "c3", "c4"]);
    assert_eq!(of("endedAt").iter().filter(|at| at.is_null()).count(), 1);
    assert_eq!(report["toolOutputs"].as_array().unwrap().len(), 2);
    assert_eq!(report["status"], "cancelled");
}

#[test]
fn a_denial_is_one_failure() {
    let fixture = Fixture::new();
    let mut store = fixture.create("run-1");
    rows_of_a_run(&mut store);
    let denied = |call: &str| {
        let failure = FailureRecord::of_run(FailureKind::ToolNotAllowed, "not in the list of tools");
        Row::Failure(Box::new(FailureRecord { tool_call_id: Some(call.to_owned()), ..failure }))
    };
    store.append(&denied("c2")).unwrap();
    store.append(&denied("c3")).unwrap();
    let failed =
        Ending { status: EndStatus::Failed, terminal_reason: TerminalReason::ToolError, detail: None };
    store.end(&failed).unwrap();
    let report = read(store.run_dir(), "run-report.json");
    let calls: Vec<_> = report["failureRecords"]
        .as_array()
        .unwrap()
        .iter()
        .map(|failure| failure["toolCallId"].clone())
        .collect();
    assert_eq!(calls, [json!("c2"), Value::Null, json!("c3")]);
}

#[test]
fn the_weightiest_failure_comes_first() {
    use FailureKind::{FileNotFound, HarnessError, NotAFile, Timeout, ToolNotAllowed, Unknown};
    let table = [
        (vec![], None),
        (vec![Unknown], Some((0, "unknown"))),
        (vec![Unknown, HarnessError, Timeout, HarnessError], Some((2, "timeout"))),
        (vec![NotAFile, FileNotFound], Some((0, "not_a_file"))),
        (vec![Timeout, ToolNotAllowed, ToolNotAllowed], Some((1, "tool_not_allowed"))),
    ];
    for (kinds, expected) in table {
        let fixture = Fixture::new();
        let mut store = fixture.create("run-1");
        for (number, kind) in kinds.iter().enumerate() {
            let failure = FailureRecord::of_run(*kind, number.to_string());
            store.append(&Row::Failure(Box::new(failure))).unwrap();
        }
        let failed =
            Ending { status: EndStatus::Failed, terminal_reason: TerminalReason::ToolError, detail: None };
        store.end(&failed).unwrap();
        let report = read(store.run_dir(), "run-report.json");
        let found = report.get("primaryFailure");
        let found =
            found.map(|failure| (failure["detail"].as_str().unwrap(), failure["kind"].as_str().unwrap()));
        let expected = expected.map(|(number, kind): (usize, _)| (number.to_string(), kind));
        assert_eq!(found, expected.as_ref().map(|(number, kind)| (number.as_str(), *kind)), "{kinds:?}");
    }
}

#[test]
fn the_report_of_a_killed_and_resumed_run_covers_all_of_it() {
    let fixture = Fixture::new();
    let mut store = fixture.create("run-1");
    store.append(&say(0, LabelId::BOTTOM, user("Go."))).unwrap();
    store.append(&say(1, LabelId::BOTTOM, assistant("", &[("c1", "bash", "{}")]))).unwrap();
    let output = store.next_output_id("bash");
    store.append(&started("c1", "bash", &output, Effect::SideEffect)).unwrap();
    let run_dir = store.run_dir().to_owned();
    std::fs::write(run_dir.join(".left-over.tmp"), "{").unwrap();
    drop(store);
    let (mut store, _) = RunStore::reopen(&run_dir, clock()).unwrap();
    store.resume(&settings()).unwrap();
    assert!(!run_dir.join(".left-over.tmp").exists());
    let report = read(&run_dir, "run-report.json");
    assert_eq!((&report["status"], report.get("endedAt")), (&json!("running"), None));
    assert_eq!(report["toolActivity"][0]["executionStatus"], "interrupted");
    store.append(&Row::CallFinished(finished("c1", "bash", Some(&output), Execution::Interrupted))).unwrap();
    store.append(&say(1, LabelId::BOTTOM, result("c1", "bash", "{}", None))).unwrap();
    store.append(&say(2, LabelId::BOTTOM, assistant("Done.", &[]))).unwrap();
    let done = Ending {
        status: EndStatus::Completed,
        terminal_reason: TerminalReason::AssistantCompleted,
        detail: None,
    };
    store.end(&done).unwrap();
    let report = read(&run_dir, "run-report.json");
    assert_eq!(
        kinds(&report),
        [
            "run_started",
            "user",
            "assistant",
            "tool_activity",
            "run_resumed",
            "tool",
            "assistant",
            "run_finished"
        ]
    );
    assert_eq!(report["toolActivity"].as_array().unwrap().len(), 1);
    assert_eq!(report["parts"].as_array().unwrap().len(), 2);
    assert_eq!(report["parts"][1]["status"], "completed");
}

#[test]
fn credentials_are_masked_in_what_is_rendered() {
    // Put together here so that no scanner takes this file for a leak.
    let secret = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
    let fixture = Fixture::new();
    let mut store = fixture.create("run-1");
    let arguments = json!({ "command": format!("curl -H 'Authorization: Bearer {secret}' x") }).to_string();
    store
        .append(&say(0, LabelId::BOTTOM, user(&format!("The token is {secret}, \"quoted\"\nand so on."))))
        .unwrap();
    store.append(&say(1, LabelId::BOTTOM, assistant(&secret, &[("c1", "bash", &arguments)]))).unwrap();
    let failure = FailureRecord::of_run(FailureKind::Unknown, format!("refused: {secret}"));
    store.append(&Row::Failure(Box::new(failure))).unwrap();
    store.append(&say(2, LabelId::BOTTOM, assistant(&format!("It is {secret}"), &[]))).unwrap();
    let detail = Some(format!("{secret} was refused"));
    store
        .end(&Ending {
            status: EndStatus::Completed,
            terminal_reason: TerminalReason::AssistantCompleted,
            detail,
        })
        .unwrap();
    for name in ["transcript.json", "run-report.json", "run-state.json", "policy-trace.json"] {
        read(store.run_dir(), name);
        let text = std::fs::read_to_string(store.run_dir().join(name)).unwrap();
        assert!(!text.contains(&secret[8..32]), "{name}: {text}");
    }
    let transcript = read(store.run_dir(), "transcript.json");
    assert!(transcript["messages"][0]["content"].as_str().unwrap().contains("\"quoted\"\nand so on."));
    let journal = std::fs::read_to_string(store.run_dir().join("journal.jsonl")).unwrap();
    assert!(journal.contains(&secret), "the journal is what a run is resumed from");
}

#[test]
fn the_list_of_files_notices_every_change() {
    let fixture = Fixture::new();
    let mut store = fixture.create("run-1");
    full_run(&mut store);
    let run_dir = store.run_dir().to_owned();
    let (manifest, differences) = Manifest::verify(&run_dir).unwrap();
    assert_eq!(differences, []);
    let listed: Vec<_> = manifest.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(
        listed,
        [
            "journal.jsonl",
            "policy-trace.json",
            "run-report.json",
            "run-state.json",
            "skill-activations.json",
            "tool-outputs/run-1_bash_1-bash.json",
            "transcript.json",
        ]
    );
    // A journal may grow, and nothing else.
    store.append(&Row::Cwd { path: "/".to_owned() }).unwrap();
    assert_eq!(Manifest::verify(&run_dir).unwrap().1, []);
    std::fs::write(run_dir.join("new.txt"), "").unwrap();
    std::fs::remove_file(run_dir.join("transcript.json")).unwrap();
    let report = std::fs::read_to_string(run_dir.join("run-report.json")).unwrap();
    std::fs::write(run_dir.join("run-report.json"), report.replace("completed", "Completed")).unwrap();
    let journal = std::fs::read_to_string(run_dir.join("journal.jsonl")).unwrap();
    std::fs::write(run_dir.join("journal.jsonl"), journal.replace("What is", "What's ")).unwrap();
    let changed = |name: &str| Difference::Changed(name.to_owned());
    let expected = [
        changed("journal.jsonl"),
        changed("run-report.json"),
        Difference::Missing("transcript.json".to_owned()),
        Difference::Unlisted("new.txt".to_owned()),
    ];
    assert_eq!(Manifest::verify(&run_dir).unwrap().1, expected);
    std::os::unix::fs::symlink("/etc/passwd", run_dir.join("link")).unwrap();
    assert!(Manifest::verify(&run_dir).is_err());
}
