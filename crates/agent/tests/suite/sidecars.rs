//! Files beside containers: what a runtime is told, what it may say, and what becomes of the files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fullsend_agent::execution::{Execution, Guards, Whereabouts as _};
use fullsend_agent::gate::{FlowMode, PromptRole};
use fullsend_agent::sidecar::{
    ChannelPolicy, ContainerId, Invocation, Operation, RunFacts, SandboxLabels, Sidecars,
};
use fullsend_agent::slot::PromptSlot;
use fullsend_agent::tools::{Bash, BashLimits};
use fullsend_flow::{Atom, Clause, Confidentiality, Integrity, Label};
use fullsend_origin::Sha256Digest;
use fullsend_sandbox::ContainerHook as _;
use serde_json::{Map, Value, json};

use super::store::sample::clock;
use crate::support::room;

const CONTAINER: &str = "abc123";

struct Beside {
    directory: tempfile::TempDir,
    sidecars: Sidecars,
}

fn slot() -> PromptSlot {
    PromptSlot::made_here(
        "cli",
        PromptRole::DirectCommand,
        "W-7",
        Map::from_iter([("type".to_owned(), "t".into())]),
    )
}

fn facts(mode: FlowMode, with_slot: bool) -> RunFacts {
    RunFacts {
        run_id: "run-1".parse().unwrap(),
        mode,
        prompt_slot: with_slot.then(slot),
        influence: with_slot.then(|| slot().influence(PromptRole::DirectCommand, None)),
        manifest: Map::from_iter([("present".to_owned(), false.into())]),
    }
}

impl Beside {
    fn new(mode: FlowMode, with_slot: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (contexts, results) = (directory.path().join("in"), directory.path().join("out"));
        fs::create_dir(&results).unwrap();
        let sidecars = Sidecars::new(Some(contexts), Some(results), facts(mode, with_slot), clock()).unwrap();
        Self { directory, sidecars }
    }

    fn file(&self, directory: &str) -> PathBuf {
        self.directory.path().join(directory).join(format!("{CONTAINER}.json"))
    }

    fn context(&self) -> Value {
        let text = fs::read_to_string(self.file("in")).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(text, format!("{}\n", serde_json::to_string_pretty(&value).unwrap()));
        value
    }

    /// What comes of a command after which the runtime wrote this.
    fn after(&self, written: &[u8], label: &Label) -> Option<SandboxLabels> {
        self.sidecars.created(CONTAINER).unwrap();
        self.sidecars.begin(&shell("true", label)).unwrap();
        fs::write(self.file("out"), written).unwrap();
        let labels = self.sidecars.finish();
        assert!(!self.file("out").exists(), "a result is used once");
        labels
    }
}

fn shell<'a>(command: &'a str, label: &'a Label) -> Invocation<'a> {
    Invocation {
        tool_id: "bash",
        tool_output_id: Some("run-1:bash:2"),
        operation: Operation::Shell,
        cwd: "/workspace",
        cwd_is_chosen: false,
        command: Some(command),
        argv: None,
        args: None,
        stdin: None,
        env: None,
        label,
    }
}

fn digest(text: &str) -> String {
    format!("sha256:{}", Sha256Digest::of(text.as_bytes()))
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_runtime_is_told_sizes_and_digests() {
    let beside = Beside::new(FlowMode::EnforceExplicit, false);
    beside.sidecars.created(&format!("{CONTAINER}\n")).unwrap();
    let before = beside.context();
    assert_eq!((&before["toolId"], &before["inputs"]), (&json!("sandbox"), &json!({})));
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let (argv, args) = (words(&["secret-program", "--secret-flag"]), words(&["--secret-flag"]));
    let variables = [("SECRET_TOKEN", "secret-token"), ("PUBLIC_MODE", "secret-mode")];
    let env: BTreeMap<String, String> =
        variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let label = Label::untrusted();
    let invocation = Invocation {
        argv: Some(&argv),
        args: Some(&args),
        stdin: Some(b"secret-stdin"),
        env: Some(&env),
        ..shell("echo secret-command", &label)
    };
    beside.sidecars.begin(&invocation).unwrap();
    let context = beside.context();
    let created_at = context["createdAt"].clone();
    assert!(created_at.as_str().unwrap().ends_with('Z'), "{created_at}");
    assert_eq!(
        context,
        json!({
            "type": "fullsend.cfc-invocation-context", "version": 1, "sequence": 2, "runId": "run-1",
            "createdAt": created_at, "toolId": "bash", "toolOutputId": "run-1:bash:2", "operation": "shell",
            "cfcEnforcementMode": "enforce-explicit", "cwd": "/workspace", "runManifest": {"present": false},
            "inputs": {
                "command": {"type": "fullsend.redacted-text-summary", "bytes": 19, "digest": digest("echo secret-command")},
                "argv": {
                    "type": "fullsend.redacted-sequence-summary", "count": 2, "totalBytes": 27,
                    "digest": digest(r#"["secret-program","--secret-flag"]"#),
                },
                "args": {
                    "type": "fullsend.redacted-sequence-summary", "count": 1, "totalBytes": 13,
                    "digest": digest(r#"["--secret-flag"]"#),
                },
                "stdin": {"type": "fullsend.redacted-text-summary", "bytes": 12, "digest": digest("secret-stdin")},
                "env": {"type": "fullsend.env-summary", "count": 2, "names": ["PUBLIC_MODE", "SECRET_TOKEN"]},
            },
        })
    );
    assert!(!context.to_string().contains("secret-"), "{context}");
    assert_eq!(names(&beside.directory.path().join("in")), [format!("{CONTAINER}.json")]);
}

#[test]
fn a_runtime_is_told_who_may_see_the_inputs() {
    let beside = Beside::new(FlowMode::EnforceExplicit, true);
    beside.sidecars.created(CONTAINER).unwrap();
    let (alice, bob) = (Atom::named("did:key:alice"), Atom::named("did:key:bob"));
    let clauses = [Clause::any_of([alice.clone()]), Clause::any_of([alice, bob])];
    let integrity = Integrity::of(Atom::named("commanded"));
    let label = Label { confidentiality: Confidentiality::all_of(clauses), integrity };
    beside.sidecars.begin(&Invocation { cwd_is_chosen: true, ..shell("true", &label) }).unwrap();
    let labels = beside.context()["cfcInputLabels"].clone();
    let entries = labels["entries"].as_array().unwrap();
    assert_eq!(
        entries.iter().map(|entry| &entry["path"]).collect::<Vec<_>>(),
        [&json!(["command"]), &json!(["cwd"])]
    );
    for entry in entries {
        assert_eq!(entry["label"].as_object().unwrap().keys().collect::<Vec<_>>(), ["confidentiality"]);
        let clauses = entry["label"]["confidentiality"].as_array().unwrap();
        assert!(clauses.contains(&json!("did:key:alice")), "{clauses:?}");
        assert!(clauses.contains(&json!({"anyOf": ["did:key:alice", "did:key:bob"]})), "{clauses:?}");
        assert!(
            clauses.contains(&slot().influence(PromptRole::DirectCommand, None).to_value()),
            "{clauses:?}"
        );
        assert_eq!(clauses.len(), 3);
    }
    assert_eq!(beside.context()["promptSlot"], Value::from(slot()));
}

fn result(taint: Value) -> Vec<u8> {
    let result = json!({
        "version": 1, "containerId": CONTAINER, "sandboxId": "s1", "waitStatus": 3, "cfcTaint": taint,
    });
    result.to_string().into_bytes()
}

fn tainted(attributes: Value) -> Vec<u8> {
    result(json!({"string": "{conf: alice}", "xattrJSON": attributes}))
}

#[test]
fn what_a_runtime_may_say() {
    use ChannelPolicy::{Denied, Observed, Opaque};
    let table = [
        (tainted(json!({})), Observed, "runsc_cfc_result"),
        (tainted(json!({"confidentiality": [], "integrity": []})), Observed, "runsc_cfc_result"),
        (tainted(json!({"confidentiality": ["", {}, null]})), Observed, "runsc_cfc_result"),
        // Somebody who vouches hides nothing.
        (tainted(json!({"integrity": ["commanded"]})), Observed, "runsc_cfc_result"),
        (tainted(json!({"confidentiality": ["did:key:alice"]})), Opaque, "runsc_cfc_result"),
        (tainted(json!({"confidentiality": [{"anyOf": []}]})), Opaque, "runsc_cfc_result"),
        (tainted(json!({"confidentiality": "did:key:alice"})), Opaque, "runsc_cfc_result"),
        (tainted(json!({"confidentiality": ["cfc:label-read-failed"]})), Opaque, "runsc_cfc_result"),
        (tainted(json!({"confidentiality": [], "other": ["x"]})), Opaque, "runsc_cfc_result"),
        (result(json!({"string": " {} "})), Observed, "runsc_cfc_result"),
        (result(json!({"string": ""})), Observed, "runsc_cfc_result"),
        (result(json!({"string": "{conf: public}"})), Opaque, "runsc_cfc_result"),
        (result(json!({})), Opaque, "runsc_cfc_result"),
        (result(json!({"string": "{}", "xattrJSON": ["x"]})), Observed, "runsc_cfc_result"),
        (b"{".to_vec(), Denied, "runsc_cfc_sidecar_parse_error"),
        (b"".to_vec(), Denied, "runsc_cfc_sidecar_parse_error"),
        (vec![b' '; 2 << 20], Denied, "runsc_cfc_sidecar_read_error"),
        (br#"{"version":2}"#.to_vec(), Denied, "runsc_cfc_sidecar_version"),
        (b"[]".to_vec(), Denied, "runsc_cfc_sidecar_version"),
        (
            br#"{"version":1,"containerId":"other","cfcTaint":{}}"#.to_vec(),
            Denied,
            "runsc_cfc_sidecar_container_mismatch",
        ),
        (br#"{"version":1,"cfcTaint":{}}"#.to_vec(), Denied, "runsc_cfc_sidecar_container_mismatch"),
        (result(json!(null)), Denied, "runsc_cfc_sidecar_missing_taint"),
        (result(json!([])), Denied, "runsc_cfc_sidecar_missing_taint"),
    ];
    for (written, policy, code) in table {
        let beside = Beside::new(FlowMode::EnforceExplicit, false);
        let labels = beside.after(&written, &Label::untrusted()).unwrap();
        let told = String::from_utf8_lossy(&written).chars().take(200).collect::<String>();
        assert_eq!([labels.stdout, labels.stderr, labels.exit_code], [policy; 3], "{told}");
        assert_eq!(labels.diagnostic.code, code, "{told}");
        assert_eq!(labels.label.confidentiality.is_public(), policy == Observed, "{told}");
        assert_eq!(labels.withholds(labels.stdout).is_some(), policy != Observed, "{told}");
        let shown = labels.shown().to_string();
        for secret in ["waitStatus", "alice", "conf:", "xattr", "s1", "byteLength"] {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
    }
}

#[test]
fn a_runtime_that_vouches_is_believed() {
    let beside = Beside::new(FlowMode::EnforceExplicit, false);
    let labels = beside.after(&tainted(json!({"integrity": ["workspace"]})), &Label::untrusted()).unwrap();
    assert_eq!(labels.label.integrity, Integrity::of(Atom::named("workspace")));
    let record = labels.record();
    assert_eq!(
        (&record["details"]["waitStatus"], &record["details"]["sandboxId"]),
        (&json!(3), &json!("s1"))
    );
}

#[test]
fn what_the_model_has_seen_already_hides_nothing() {
    let alice = Atom::named("did:key:alice");
    let label = Label { confidentiality: Confidentiality::only(alice), integrity: Integrity::none() };
    let influence = slot().influence(PromptRole::DirectCommand, None).to_value();
    let table = [
        (json!(["did:key:alice"]), ChannelPolicy::Observed),
        (json!([influence]), ChannelPolicy::Observed),
        (json!(["did:key:alice", influence]), ChannelPolicy::Observed),
        (json!([{"anyOf": ["did:key:alice", "did:key:bob"]}]), ChannelPolicy::Observed),
        (json!(["did:key:bob"]), ChannelPolicy::Opaque),
        (json!(["did:key:alice", "did:key:bob"]), ChannelPolicy::Opaque),
    ];
    for (confidentiality, policy) in table {
        let beside = Beside::new(FlowMode::EnforceExplicit, true);
        let written = tainted(json!({ "confidentiality": confidentiality }));
        assert_eq!(beside.after(&written, &label).unwrap().stdout, policy, "{confidentiality}");
    }
}

#[test]
fn a_label_that_could_not_be_read_lets_nobody_in() {
    let failed = "cfc:label-read-failed";
    let named = Label { confidentiality: Confidentiality::only(Atom::named(failed)), ..Label::untrusted() };
    for clause in [json!(failed), json!({"anyOf": [failed]}), json!({"anyOf": ["did:key:alice", failed]})] {
        let beside = Beside::new(FlowMode::EnforceExplicit, false);
        let labels = beside.after(&tainted(json!({"confidentiality": [clause]})), &named).unwrap();
        assert_eq!(labels.stdout, ChannelPolicy::Opaque, "{clause}");
        let nobody = Confidentiality::all_of([Clause::default()]);
        assert_eq!(labels.label.confidentiality, nobody, "{clause}");
    }
}

#[test]
fn what_is_not_enforced_withholds_nothing() {
    for mode in FlowMode::ALL {
        let beside = Beside::new(mode, false);
        let labels = beside.after(&tainted(json!({"confidentiality": ["x"]})), &Label::untrusted()).unwrap();
        let enforced = mode >= FlowMode::EnforceExplicit;
        assert_eq!(
            labels.withholds(labels.stdout),
            enforced.then_some("needs-opaque-pass-through"),
            "{mode:?}"
        );
    }
}

#[test]
fn a_runtime_that_says_nothing_has_mediated_nothing() {
    let beside = Beside::new(FlowMode::EnforceStrict, false);
    assert_eq!(beside.sidecars.finish(), None, "there is no container yet");
    beside.sidecars.created(CONTAINER).unwrap();
    let label = Label::untrusted();
    fs::write(beside.file("out"), tainted(json!({}))).unwrap();
    beside.sidecars.begin(&shell("true", &label)).unwrap();
    assert_eq!(beside.sidecars.finish(), None, "what was there before the command is not of it");
}

#[test]
fn a_result_is_no_link_and_no_directory() {
    let beside = Beside::new(FlowMode::EnforceExplicit, false);
    let elsewhere = beside.directory.path().join("elsewhere.json");
    fs::write(&elsewhere, tainted(json!({}))).unwrap();
    beside.sidecars.created(CONTAINER).unwrap();
    std::os::unix::fs::symlink(&elsewhere, beside.file("out")).unwrap();
    let labels = beside.sidecars.finish().unwrap();
    assert_eq!(labels.diagnostic.code, "runsc_cfc_sidecar_read_error");
    assert!(elsewhere.exists() && !beside.file("out").exists());
    fs::create_dir(beside.file("out")).unwrap();
    assert_eq!(beside.sidecars.finish().unwrap().diagnostic.code, "runsc_cfc_sidecar_read_error");
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let beside = Beside::new(FlowMode::EnforceExplicit, false);
    for name in ["", " \n", ".", "..", "../container", "a/b", "/etc/x", "a\\b", "a\0b", &"a".repeat(200)] {
        let error = beside.sidecars.created(name).unwrap_err();
        assert!(error.starts_with("failed to write CFC invocation context sidecar"), "{name:?}: {error}");
        assert!(name.parse::<ContainerId>().is_err(), "{name:?}");
    }
    assert!(!beside.directory.path().join("in").exists());
    assert_eq!("abc more words".parse::<ContainerId>().unwrap().as_str(), "abc");
    let relative =
        Sidecars::new(Some("in".into()), None, facts(FlowMode::Observe, false), clock()).unwrap_err();
    assert_eq!(relative.to_string(), "cfcInvocationContextDir must be an absolute host path");
}

#[test]
fn nothing_outlives_its_container() {
    let beside = Beside::new(FlowMode::EnforceExplicit, false);
    let label = Label::untrusted();
    // The command that a container is started for is what it is told.
    beside.sidecars.begin(&shell("true", &label)).unwrap();
    beside.sidecars.created(CONTAINER).unwrap();
    assert_eq!(beside.context()["toolId"], "bash");
    fs::write(beside.file("out"), "{}").unwrap();
    beside.sidecars.ended(CONTAINER);
    assert!(!beside.file("in").exists() && !beside.file("out").exists());
    beside.sidecars.begin(&shell("true", &label)).unwrap();
    assert!(!beside.file("in").exists(), "there is nobody to tell");
}

#[test]
fn a_directory_that_cannot_be_written_stops_the_command() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let sidecars =
        Sidecars::new(Some(file.join("in")), None, facts(FlowMode::Observe, false), clock()).unwrap();
    let error = Arc::new(sidecars).created(CONTAINER).unwrap_err();
    assert!(error.starts_with("failed to write CFC invocation context sidecar: "), "{error}");
}

/// A command plays the runtime: it leaves word of what it has become where only a runtime could.
const WORD: &str = "cat > out/abc123.json <<'END'\n%\nEND\nmkdir -p deep; cd deep; echo secret-out; echo secret-err >&2; exit 42";

#[test]
fn what_a_runtime_withholds_is_not_shown() {
    room::run("sidecars::what_a_runtime_withholds_is_not_shown", room::local, async |room| {
        let results = room.workspace.join("out");
        fs::create_dir(&results).unwrap();
        let facts = facts(FlowMode::EnforceExplicit, false);
        let sidecars = Arc::new(Sidecars::new(None, Some(results), facts, clock()).unwrap());
        sidecars.created(CONTAINER).unwrap();
        let execution = Execution::covering(
            Arc::clone(&room.backend),
            room.plan.clone(),
            Some((Arc::clone(&room.sources), room.artifacts.clone())),
            Guards { sidecars: Some(Arc::clone(&sidecars)), protection: None },
        );
        let (place, spill) = (Arc::clone(&room.place), Arc::clone(&room.spill));
        let bash =
            Bash::new(execution.clone(), place, spill, BashLimits::default(), Arc::clone(&room.sources));
        let call = async |taint: Value| {
            let word = String::from_utf8(tainted(taint)).unwrap();
            room.place.move_to("/workspace");
            room.call(&bash, json!({"command": WORD.replace('%', &word)})).await
        };

        let withheld = call(json!({"confidentiality": ["did:key:alice"]})).await;
        assert_eq!(withheld.record["stdout"], "secret-out\n", "the record has it");
        assert_eq!(withheld.label.confidentiality, Confidentiality::only(Atom::named("did:key:alice")));
        let view = withheld.model_view.unwrap();
        for (channel, name) in [("stdout", "stdout"), ("stderr", "stderr"), ("exitCode", "exit code")] {
            let detail = format!("{name} was not released by CFC policy");
            let reason = "needs-opaque-pass-through";
            let denial = json!({"type": "fullsend.observation-denied", "reason": reason, "detail": detail});
            assert_eq!(view[channel], denial);
        }
        assert_eq!(view["cwd"], "/workspace", "where it ended is a secret too");
        let told = view.to_string();
        for secret in ["secret-", "42", "alice", "waitStatus", "Length"] {
            assert!(!told.contains(secret), "{secret} in {told}");
        }

        let shown = call(json!({"integrity": ["workspace"]})).await;
        let view = shown.model_view.unwrap();
        assert_eq!((&view["stdout"], &view["exitCode"]), (&json!("secret-out\n"), &json!(42)));
        assert_eq!(view["cwd"], "/workspace/deep");
        assert_eq!(view["cfc"]["stdout"], json!({"channel": "stdout", "policy": "observed"}));
        assert_eq!(shown.label.integrity, Integrity::of(Atom::named("workspace")));

        let unmediated = room.call(&bash, json!({"command": "echo x"})).await;
        assert_eq!((unmediated.model_view, unmediated.label), (None, room.sources.usual().clone()));
        execution.end().await.unwrap();
    });
}
