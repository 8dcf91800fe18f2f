//! What a run is judged by, as it is written down.

use fullsend_agent::manifest::RunManifest;
use fullsend_agent::report::PolicySnapshot;
use fullsend_agent::store::{RecordedSandbox, RecordedSettings, RunId};
use serde_json::{Value, json};

use super::store::sample::settings;

fn document(settings: &RecordedSettings, manifest: Option<&RunManifest>, resumed: bool) -> Value {
    let run_id: RunId = "run-1".parse().unwrap();
    let snapshot = PolicySnapshot { settings, manifest, resumed, sidecars: false };
    snapshot.document(&run_id, "2026-04-15T22:40:04.000Z").into()
}

#[test]
fn a_run_about_which_nobody_has_said_anything() {
    let sandbox = RecordedSandbox { backend: "local".to_owned(), ..RecordedSandbox::default() };
    let settings =
        RecordedSettings { sandbox, tools: ["bash".to_owned()].into(), ..RecordedSettings::default() };
    let expected = json!({
        "type": "fullsend.cfc-policy-snapshot",
        "version": 1,
        "generatedAt": "2026-04-15T22:40:04.000Z",
        "runId": "run-1",
        "cfc": {
            "enforcementMode": "enforce-explicit",
            "enforcementModeSource": "default",
            "absenceBehavior": "permissive-if-absent",
            "substrateStatus": "not-attested",
        },
        "runManifest": {"present": false},
        "promptSlot": {"present": false, "bindingSource": "absent", "role": "direct-command"},
        "parentTools": {"allowance": "all-builtins", "allowedToolIds": ["bash"]},
        "skillScripts": {"allowedScripts": []},
        "subagents": {"allowedProfiles": [], "profileConfigs": {}},
        "substrate": {"sandbox": {"kind": "local"}},
    });
    assert_eq!(document(&settings, None, false), expected);
}

#[test]
fn a_manifest_is_summarised_and_never_copied() {
    let manifest = json!({
        "wishId": "W-2", "parentWishId": "W-1", "dispatchClass": "gtd-ops", "capabilityProfile": "p",
        "extra": {"private": "text"}, "cfc": {"enforcementMode": "enforce-strict"},
    });
    let manifest = RunManifest::parse(&manifest).unwrap();
    let found = document(&settings(), Some(&manifest), true);
    assert_eq!(
        found["runManifest"],
        json!({
            "present": true, "type": "fullsend.run-manifest", "path": "run-manifest.json", "source": "loom",
            "wishId": "W-2", "parentWishId": "W-1", "dispatchClass": "gtd-ops", "capabilityProfile": "p",
            "cfcEnforcementMode": "enforce-strict", "promptSlotPresent": false,
        })
    );
    assert_eq!(found["promptSlot"]["bindingSource"], "run-state");
    assert_eq!(found["promptSlot"]["binding"]["kernelName"], "fullsend");
    assert_eq!(found["cfc"]["substrateStatus"], "manifest-present");
    assert!(!found.to_string().contains("private"), "{found}");
}
