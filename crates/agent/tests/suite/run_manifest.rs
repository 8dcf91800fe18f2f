//! Manifests of runs and the mode: what is read, what is refused, who decides.

use fullsend_agent::gate::FlowMode;
use fullsend_agent::manifest::{ManifestError, RunManifest};
use fullsend_agent::mode::{ModeInputs, ModeSource, absence_behavior, parse, substrate_status};
use fullsend_agent::slot::PROMPT_SLOT_BOUND;
use serde_json::{Value, json};

#[test]
fn the_first_who_says_something_decides_the_mode() {
    assert_eq!((parse("observe"), parse("bogus"), parse("")), (Some(FlowMode::Observe), None, None));
    let (explicit, inherited) = (Some(FlowMode::EnforceExplicit), Some(FlowMode::Observe));
    let manifest = Some(FlowMode::EnforceStrict);
    let none = ModeInputs::default();
    let table = [
        (
            ModeInputs { overriding: Some("disabled"), explicit, inherited, manifest },
            (FlowMode::Disabled, ModeSource::Override),
        ),
        (ModeInputs { explicit, inherited, ..none }, (FlowMode::EnforceExplicit, ModeSource::ExplicitConfig)),
        (ModeInputs { inherited, manifest, ..none }, (FlowMode::Observe, ModeSource::Inherited)),
        (ModeInputs { manifest, ..none }, (FlowMode::EnforceStrict, ModeSource::RunManifest)),
        (
            ModeInputs { overriding: Some("bogus"), manifest, ..none },
            (FlowMode::EnforceStrict, ModeSource::RunManifest),
        ),
        (none, (FlowMode::EnforceExplicit, ModeSource::Default)),
    ];
    for (inputs, expected) in table {
        assert_eq!(inputs.resolve(), expected, "{inputs:?}");
    }
}

#[test]
fn what_a_mode_promises() {
    let table = [
        (FlowMode::Disabled, "not-required", "not-required", "not-required"),
        (FlowMode::Observe, "observe-only", "not-attested", "manifest-present"),
        (FlowMode::EnforceExplicit, "permissive-if-absent", "not-attested", "manifest-present"),
        (FlowMode::EnforceStrict, "fail-closed-if-absent", "missing", "manifest-present"),
    ];
    for (mode, absence, without, with) in table {
        let found = (absence_behavior(mode), substrate_status(mode, false), substrate_status(mode, true));
        assert_eq!(found, (absence, without, with), "{mode:?}");
    }
}

fn slot() -> Value {
    json!({
        "type": PROMPT_SLOT_BOUND, "source": {"type": "loom.event", "nested": {"a": [1]}}, "role": "context",
        "kernelName": "loom", "surface": "chat",
    })
}

#[test]
fn a_manifest_keeps_what_it_does_not_know() {
    let given = json!({
        "version": 1,
        "wishId": "W-1",
        "zebra": {"deep": [1, null, {"x": "y"}]},
        "type": "cf-harness.loom-run-manifest",
        "source": "loom",
        "promptSlot": slot(),
        "cfc": {"enforcementMode": "observe", "labelSource": "loom-run-manifest", "more": 1},
        "modelProvider": "openai-codex",
        "modelAuthSource": "cf-harness-local-store",
        "credentialOwner": {"type": "cf-harness.credential-owner-ref", "version": 1, "ownerKey": "o", "tenantKey": "t"},
        "harnessHomeIdentity": "sha256:aZ0._-",
        "extra": {"any": "thing"},
    });
    let manifest = RunManifest::parse(&given).unwrap();
    assert_eq!(manifest.mode(), Some(FlowMode::Observe));
    assert_eq!(Value::from(manifest.prompt_slot().unwrap().clone()), slot());
    // Also in the order in which it was written.
    assert_eq!(serde_json::to_string(manifest.document()).unwrap(), given.to_string());
}

#[test]
fn what_is_left_out_is_filled_in() {
    let manifest = RunManifest::parse(&json!({})).unwrap();
    let expected = json!({"type": "fullsend.run-manifest", "version": 1, "source": "loom"});
    assert_eq!(Value::from(manifest.document().clone()), expected);
    assert_eq!((manifest.mode(), manifest.prompt_slot()), (None, None));
    let mut slot_with_more = slot();
    slot_with_more["more"] = json!(1);
    let manifest = RunManifest::parse(&json!({"promptSlot": slot_with_more})).unwrap();
    assert_eq!(manifest.document()["promptSlot"], slot(), "evidence holds what is known of evidence");
}

#[test]
fn what_is_refused() {
    let owner = |owner: Value| {
        (json!({ "credentialOwner": owner }), "invalid run manifest credentialOwner reference")
    };
    let home =
        |home: Value| (json!({ "harnessHomeIdentity": home }), "invalid run manifest harnessHomeIdentity");
    let kind = "cf-harness.credential-owner-ref";
    let table = [
        (json!([]), "run manifest must be a JSON object"),
        (json!("x"), "run manifest must be a JSON object"),
        (json!({"type": "x"}), "unsupported run manifest type: x"),
        (json!({"type": null}), "unsupported run manifest type: null"),
        (json!({"version": 2}), "unsupported run manifest version: 2"),
        (json!({"version": "1"}), "unsupported run manifest version: 1"),
        (json!({"source": "other"}), "unsupported run manifest source: other"),
        (json!({"promptSlot": []}), "prompt slot binding must be a JSON object"),
        (json!({"promptSlot": {"role": "quote"}}), "unsupported prompt slot binding type: undefined"),
        (json!({"cfc": []}), "run manifest cfc must be a JSON object"),
        (json!({"cfc": null}), "run manifest cfc must be a JSON object"),
        (json!({"cfc": {"enforcementMode": "bogus"}}), "unsupported run manifest cfc.enforcementMode: bogus"),
        (json!({"cfc": {"enforcementMode": ""}}), "unsupported run manifest cfc.enforcementMode: "),
        (json!({"cfc": {"enforcementMode": 1}}), "unsupported run manifest cfc.enforcementMode: 1"),
        (json!({"cfc": {"labelSource": "x"}}), "unsupported run manifest cfc.labelSource: x"),
        (json!({"modelProvider": "x"}), "unsupported run manifest modelProvider: x"),
        (json!({"modelAuthSource": ""}), "unsupported run manifest modelAuthSource: "),
        owner(json!("o")),
        owner(json!({"type": kind, "version": 1})),
        owner(json!({"type": kind, "version": 2, "ownerKey": "o"})),
        owner(json!({"type": "x", "version": 1, "ownerKey": "o"})),
        owner(json!({"type": kind, "version": 1, "ownerKey": " "})),
        owner(json!({"type": kind, "version": 1, "ownerKey": "o "})),
        owner(json!({"type": kind, "version": 1, "ownerKey": "o", "tenantKey": ""})),
        home(json!("/Users/alice/.cf-harness")),
        home(json!("sha256:")),
        home(json!("sha256:a/b")),
        home(json!(1)),
    ];
    for (given, expected) in table {
        assert_eq!(RunManifest::parse(&given).unwrap_err().to_string(), expected, "{given}");
    }
}

#[test]
fn what_is_no_manifest_at_all() {
    let told = |text: &[u8]| RunManifest::read(text).unwrap_err().to_string();
    assert!(told(b"{").starts_with("failed to parse run manifest JSON: "), "{}", told(b"{"));
    assert!(told(b"").starts_with("failed to parse run manifest JSON: "));
    assert!(told(b"\xff{}").starts_with("failed to parse run manifest JSON: "));
    let deep = "[".repeat(100_000);
    assert!(told(deep.as_bytes()).starts_with("failed to parse run manifest JSON: "));
    assert!(matches!(RunManifest::read(std::io::repeat(b' ')), Err(ManifestError::TooLong)));
    assert_eq!(RunManifest::read(&b"{}"[..]).unwrap(), RunManifest::parse(&json!({})).unwrap());
}
