//! `fullsend exec --run-manifest`: what a manifest decides, what is refused, and what a run that goes on keeps of it.

use std::fs;
use std::path::Path;

use fullsend_origin::Sha256Digest;
use serde_json::{Value, json};

use crate::suite::agent_place::{AgentPlace, document, finish, rows};
use crate::suite::running::Ran;

/// The text that runs in these tests begin with.
const PROMPT: &str = "Go.";

fn place() -> AgentPlace {
    let touch = |name: &str| json!({"tool": "bash", "args": {"command": format!("touch {name}")}});
    AgentPlace::new(&json!({"turns": [
        {"calls": [touch("first")]},
        {"say": "Done."},
        {"calls": [touch("second")]},
        {"say": "Done again."},
    ]}))
}

fn slot(role: &str) -> Value {
    json!({
        "type": "https://commonfabric.org/cfc/atom/PromptSlotBound",
        "source": {"type": "loom.event", "id": "e-1"},
        "role": role,
        "kernelName": "loom",
        "surface": "chat",
    })
}

fn bound(role: &str, text: &str) -> Value {
    let mut slot = slot(role);
    slot["valueDigest"] = json!(format!("sha256:{}", Sha256Digest::of(text.as_bytes())));
    slot
}

fn write(place: &AgentPlace, manifest: &Value) {
    fs::write(place.beside("manifest.json"), manifest.to_string()).unwrap();
}

/// Runs with a manifest.
fn run(place: &AgentPlace, manifest: &Value, arguments: &[&str]) -> Ran {
    write(place, manifest);
    finish(place.exec(&[&["--run-manifest", "../manifest.json"], arguments].concat()))
}

/// The manifest, options, the mode and who decided it, the role, whether the command ran.
type Row<'a> = (Value, &'a [&'a str], &'a str, &'a str, &'a str, bool);

fn settings(run: &Path) -> Value {
    rows(run)[0]["settings"].clone()
}

fn label_of_prompt(run: &Path) -> Value {
    let rows = rows(run);
    let is_prompt = |row: &&Value| row["message"]["content"] == PROMPT;
    let number = rows.iter().find(is_prompt).unwrap()["label"].clone();
    rows.iter().find(|row| row["kind"] == "label" && row["id"] == number).unwrap()["label"]["integrity"]
        .clone()
}

#[test]
fn a_manifest_decides_where_no_option_does() {
    let strict = || json!({"wishId": "W-1", "cfc": {"enforcementMode": "enforce-strict"}});
    let observe = json!({"promptSlot": slot("quote"), "cfc": {"enforcementMode": "observe"}});
    let table: [Row; 8] = [
        (json!({}), &[], "enforce-explicit", "default", "direct-command", true),
        (strict(), &[], "enforce-strict", "run-manifest", "direct-command", true),
        (strict(), &["--cfc-enforcement-mode", "observe"], "observe", "override", "direct-command", true),
        (json!({"promptSlot": slot("context")}), &[], "enforce-explicit", "default", "context", false),
        (
            json!({"promptSlot": bound("direct-command", PROMPT)}),
            &[],
            "enforce-explicit",
            "default",
            "direct-command",
            true,
        ),
        (observe, &[], "observe", "run-manifest", "quote", true),
        (
            json!({"promptSlot": slot("direct-command")}),
            &["--prompt-slot-role", "quote"],
            "enforce-explicit",
            "default",
            "quote",
            false,
        ),
        (
            json!({"promptSlot": slot("quote")}),
            &["--prompt-slot-role", "direct-command"],
            "enforce-explicit",
            "default",
            "direct-command",
            true,
        ),
    ];
    for (manifest, arguments, mode, source, role, acted) in table {
        let place = place();
        let ran = run(&place, &manifest, arguments);
        assert_eq!(ran.code, Some(0), "{manifest} {ran:?}");
        let run = place.run();
        let kept = settings(&run);
        let found = (&kept["flowMode"], &kept["provenance"]["modeSource"], &kept["promptRole"]);
        assert_eq!(found, (&json!(mode), &json!(source), &json!(role)), "{manifest} {arguments:?}");
        assert_eq!(place.workspace().join("first").exists(), acted, "{manifest} {arguments:?}");
        let trusted = role == "direct-command";
        let integrity =
            if trusted { json!({"only": ["commanded", "workspace"]}) } else { json!({"only": []}) };
        assert_eq!(label_of_prompt(&run), integrity, "{manifest} {arguments:?}");
    }
}

#[test]
fn a_manifest_is_kept_as_it_was() {
    let place = place();
    let manifest = json!({
        "zebra": {"deep": [1, null, {"x": "y"}]}, "type": "cf-harness.loom-run-manifest", "version": 1,
        "source": "loom", "wishId": "W-1", "promptSlot": slot("direct-command"),
    });
    assert_eq!(run(&place, &manifest, &[]).code, Some(0));
    let run = place.run();
    let kept = fs::read_to_string(run.join("run-manifest.json")).unwrap();
    assert_eq!(kept, format!("{}\n", serde_json::to_string_pretty(&manifest).unwrap()));
    assert_eq!(settings(&run)["provenance"]["promptSlot"], slot("direct-command"));
    let listed = document(&run, "artifacts.json");
    assert!(listed.to_string().contains("run-manifest.json"), "{listed}");
}

fn digest_of(run: &Path, name: &str) -> Value {
    json!(format!("sha256:{}", Sha256Digest::of(&fs::read(run.join(name)).unwrap())))
}

#[test]
fn what_a_run_is_judged_by_is_on_record_before_the_model_is_asked() {
    let place = place();
    let manifest =
        json!({"wishId": "W-1", "cfc": {"enforcementMode": "observe", "labelSource": "loom-run-manifest"}});
    assert_eq!(run(&place, &manifest, &["--allow-tool", "bash"]).code, Some(0));
    let run = place.run();
    let kinds: Vec<Value> = rows(&run).iter().map(|row| row["kind"].clone()).collect();
    assert_eq!(kinds[..2], [json!("started"), json!("policy_snapshot")]);
    let snapshot = document(&run, "policy-snapshot.json");
    assert_eq!(
        (&snapshot["type"], &snapshot["version"]),
        (&json!("fullsend.cfc-policy-snapshot"), &json!(1))
    );
    assert_eq!(
        snapshot["cfc"],
        json!({
            "enforcementMode": "observe", "enforcementModeSource": "run-manifest",
            "absenceBehavior": "observe-only", "substrateStatus": "manifest-present",
        })
    );
    assert_eq!(
        snapshot["runManifest"],
        json!({
            "present": true, "type": "fullsend.run-manifest", "path": "run-manifest.json", "source": "loom",
            "wishId": "W-1", "cfcEnforcementMode": "observe", "labelSource": "loom-run-manifest",
            "promptSlotPresent": false,
        })
    );
    let slot = &snapshot["promptSlot"];
    assert_eq!((&slot["present"], &slot["bindingSource"]), (&json!(true), &json!("run-options")));
    assert_eq!(snapshot["parentTools"], json!({"allowance": "restricted", "allowedToolIds": ["bash"]}));
    let trace = document(&run, "policy-trace.json");
    assert_eq!(trace["cfcPolicySnapshotPath"], "policy-snapshot.json");
    assert_eq!(trace["cfcPolicySnapshotDigest"], digest_of(&run, "policy-snapshot.json"));
    let report = document(&run, "run-report.json");
    assert_eq!(report["cfcPolicySnapshot"], snapshot);
    assert_eq!(report["promptSlotBinding"], slot["binding"]);
    assert_eq!(document(&run, "run-state.json")["runManifestPath"], "run-manifest.json");

    let ran = place.exec_again(&run, &["--prompt", "More.", "--cfc-enforcement-mode", "enforce-strict"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let resumed = document(&run, "policy-snapshot.json");
    assert_eq!(resumed["promptSlot"]["bindingSource"], "run-state");
    assert_eq!(resumed["cfc"]["enforcementModeSource"], "override");
    assert_eq!(resumed["cfc"]["absenceBehavior"], "fail-closed-if-absent");
    let trace = document(&run, "policy-trace.json");
    assert_eq!(trace["cfcPolicySnapshotDigest"], digest_of(&run, "policy-snapshot.json"));
    assert_eq!(document(&run, "run-report.json")["cfcPolicySnapshot"], resumed);
}

#[test]
fn without_evidence_the_command_line_is_the_source() {
    let place = place();
    assert_eq!(finish(place.exec(&[])).code, Some(0));
    assert_eq!(run(&place, &json!({}), &[]).code, Some(0));
    let runs = place.runs();
    let workspace = place.workspace().canonicalize().unwrap();
    let plain = settings(&runs[0])["provenance"]["promptSlot"].clone();
    assert_eq!((&plain["kernelName"], &plain["surface"]), (&json!("fullsend"), &json!("cli")));
    assert_eq!(plain["subject"], json!(workspace));
    assert_eq!(
        plain["source"],
        json!({"type": "fullsend.cli-input", "surface": "cli", "subject": workspace})
    );
    assert!(!runs[0].join("run-manifest.json").exists());
    let from_file = settings(&runs[1])["provenance"]["promptSlot"]["source"].clone();
    assert_eq!(from_file["type"], "fullsend.run-manifest-ref");
    assert!(from_file["path"].as_str().unwrap().ends_with("manifest.json"), "{from_file}");
}

#[test]
fn evidence_about_another_prompt_gives_no_authority() {
    let place = place();
    let ran = run(&place, &json!({"promptSlot": bound("direct-command", "Go home.")}), &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!place.workspace().join("first").exists());
    let run = place.run();
    assert_eq!(settings(&run)["promptRole"], "quote");
    assert_eq!(label_of_prompt(&run), json!({"only": []}));
    let report = document(&run, "run-report.json");
    let event = &report["policyEvents"][0];
    assert_eq!((&event["toolId"], &event["severity"]), (&json!("prompt"), &json!("denied")));
    assert!(event["detail"].as_str().unwrap().contains("valueDigest"), "{event}");
}

#[test]
fn the_environment_names_a_manifest() {
    for name in ["FULLSEND_RUN_MANIFEST", "CF_HARNESS_RUN_MANIFEST"] {
        let place = place();
        write(&place, &json!({"cfc": {"enforcementMode": "observe"}}));
        let mut command = place.exec(&[]);
        command.env(name, "../manifest.json");
        assert_eq!(finish(command).code, Some(0));
        assert_eq!(settings(&place.run())["flowMode"], "observe", "{name}");
    }
}

#[test]
fn what_is_refused_leaves_no_run() {
    let table = [
        (json!([]), "run manifest must be a JSON object"),
        (json!({"type": "x"}), "unsupported run manifest type: x"),
        (json!({"version": 2}), "unsupported run manifest version: 2"),
        (json!({"source": "x"}), "unsupported run manifest source: x"),
        (json!({"promptSlot": []}), "prompt slot binding must be a JSON object"),
        (json!({"promptSlot": {"role": "quote"}}), "unsupported prompt slot binding type"),
        (json!({"cfc": []}), "run manifest cfc must be a JSON object"),
        (json!({"cfc": {"enforcementMode": "bogus"}}), "unsupported run manifest cfc.enforcementMode: bogus"),
        (json!({"cfc": {"enforcementMode": ""}}), "unsupported run manifest cfc.enforcementMode:"),
        (json!({"modelProvider": "x"}), "unsupported run manifest modelProvider: x"),
        (json!({"modelAuthSource": "x"}), "unsupported run manifest modelAuthSource: x"),
        (json!({"credentialOwner": {}}), "invalid run manifest credentialOwner reference"),
        (json!({"harnessHomeIdentity": "/Users/alice"}), "invalid run manifest harnessHomeIdentity"),
    ];
    let place = place();
    for (manifest, expected) in table {
        let ran = run(&place, &manifest, &[]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(expected), "{expected} in {}", ran.stderr);
        assert!(ran.stderr.contains("manifest.json"), "{}", ran.stderr);
    }
    fs::write(place.beside("manifest.json"), "{").unwrap();
    let ran = finish(place.exec(&["--run-manifest", "../manifest.json"]));
    assert!(ran.stderr.contains("failed to parse run manifest JSON: "), "{ran:?}");
    let ran = finish(place.exec(&["--run-manifest", "../nothing.json"]));
    assert!(ran.code == Some(2) && ran.stderr.contains("nothing.json"), "{ran:?}");
    let ran = finish(place.exec(&["--cfc-enforcement-mode", "bogus"]));
    let expected = "cfc enforcement mode must be one of disabled, observe, enforce-explicit, enforce-strict";
    assert!(ran.code == Some(2) && ran.stderr.contains(expected), "{ran:?}");
    assert_eq!(place.runs(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_run_that_goes_on_keeps_its_manifest() {
    let place = place();
    let manifest =
        json!({"wishId": "W-1", "cfc": {"enforcementMode": "observe"}, "promptSlot": slot("context")});
    assert_eq!(run(&place, &manifest, &[]).code, Some(0));
    let run = place.run();
    let before = settings(&run);
    // What is in its place by now does not count.
    write(&place, &json!({"cfc": {"enforcementMode": "disabled"}}));
    let ran = finish(place.resume(&run, &["--prompt", "Once more."]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let resumed = rows(&run).into_iter().find(|row| row["kind"] == "resumed").unwrap()["settings"].clone();
    for key in ["flowMode", "promptRole", "provenance"] {
        assert_eq!(resumed[key], before[key], "{key}");
    }
    let ran = place.exec_again(&run, &["--prompt", "More.", "--run-manifest", "../manifest.json"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("--run-manifest"), "{ran:?}");
    let ran = place.exec_again(&run, &["--prompt", "More.", "--prompt-slot-role", "direct-command"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("promptRole"), "{ran:?}");
    fs::write(run.join("run-manifest.json"), "{}\n").unwrap();
    let ran = finish(place.resume(&run, &["--prompt", "More."]));
    assert!(ran.code == Some(2) && ran.stderr.contains("run-manifest.json"), "{ran:?}");
}

#[test]
fn evidence_about_the_first_prompt_is_none_about_the_next() {
    let place = place();
    assert_eq!(run(&place, &json!({"promptSlot": bound("direct-command", PROMPT)}), &[]).code, Some(0));
    assert!(place.workspace().join("first").exists());
    let run = place.run();
    let ran = finish(place.resume(&run, &["--prompt", "Something else."]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!place.workspace().join("second").exists());
    let resumed = rows(&run).into_iter().find(|row| row["kind"] == "resumed").unwrap();
    assert_eq!(resumed["settings"]["promptRole"], "quote");
    assert_eq!(document(&run, "run-report.json")["policyEvents"][0]["toolId"], "prompt");
}

#[test]
fn what_needs_a_command_is_not_done_without_one() {
    let write = json!({"tool": "write_file", "args": {"path": "a.txt", "content": "nope"}});
    let delegate = json!({"tool": "delegate_task", "args": {"goal": "nope"}});
    let read = json!({"tool": "read_file", "args": {"path": "a.txt", "maxBytes": 512}});
    for (mode, call, tool) in [
        ("enforce-explicit", &write, "write_file"),
        ("enforce-explicit", &delegate, "delegate_task"),
        ("enforce-strict", &read, "read_file"),
    ] {
        let place = AgentPlace::new(&json!({"turns": [{"calls": [call]}, {"say": "Done."}]}));
        let ran = finish(place.exec(&["--prompt-slot-role", "context", "--cfc-enforcement-mode", mode]));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let run = place.run();
        let report = document(&run, "run-report.json");
        assert_eq!(report["primaryFailure"]["kind"], "tool_not_allowed", "{tool}");
        assert_eq!(report["toolOutputs"], json!([]), "{tool}");
        let (event, decision) = (&report["policyEvents"][0], &report["policyDecisions"][0]);
        for record in [event, decision] {
            assert_eq!((&record["toolId"], &record["promptSlot"]["role"]), (&json!(tool), &json!("context")));
        }
        assert_eq!(decision["decision"], "denied", "{decision}");
        let state = document(&run, "run-state.json");
        assert_eq!(state["promptSlotBinding"], event["promptSlot"]);
        let summary = &decision["toolInputSummary"];
        match tool {
            "write_file" => {
                let digest = "sha256:ca3704aa0b06f5954c79ee837faa152d84d6b2d42838f0637a15eda8337dbdce";
                assert_eq!(
                    (&summary["contentBytes"], &summary["contentDigest"]),
                    (&json!(4), &json!(digest))
                );
            }
            "read_file" => {
                assert_eq!((&summary["path"], &summary["maxBytes"]), (&json!("a.txt"), &json!(512)))
            }
            _ => assert_eq!(summary["goalBytes"], 4),
        }
        for record in [&report, &state, &document(&run, "policy-trace.json")] {
            assert!(!record.to_string().contains("nope"), "{tool}");
        }
        assert_eq!((place.runs().len(), place.workspace().join("a.txt").exists()), (1, false), "{tool}");
    }
}
