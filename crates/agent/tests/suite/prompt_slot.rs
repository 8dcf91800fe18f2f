//! Evidence about prompts: what is read, what is refused and in which order, and what authority it gives.

use fullsend_agent::gate::{FlowMode, PromptRole};
use fullsend_agent::manifest::RunManifest;
use fullsend_agent::slot::{PROMPT_SLOT_BOUND, PromptSlot};
use fullsend_agent::store::EventSeverity;
use fullsend_flow::Atom;
use fullsend_origin::Sha256Digest;
use serde_json::{Value, json};

fn full() -> Value {
    json!({
        "type": PROMPT_SLOT_BOUND,
        "source": {"type": "loom.event", "id": 7},
        "role": "direct-command",
        "kernelName": "loom",
        "surface": "chat",
        "subject": "W-7",
        "eventId": "e1",
        "valueDigest": "",
        "slotDigest": "sha256:slot",
        "snapshotDigest": "sha256:snapshot",
        "targetPath": "/wish",
        "renderRef": {"seq": 3, "rootRef": "of:root"},
    })
}

fn with(key: &str, value: Value) -> Value {
    let mut slot = full();
    slot[key] = value;
    slot
}

fn without(key: &str) -> Value {
    let mut slot = full();
    slot.as_object_mut().unwrap().remove(key);
    slot
}

#[test]
fn evidence_is_read_and_written_back() {
    let mut given = full();
    given["unknown"] = json!("left out");
    let slot = PromptSlot::parse(&given).unwrap();
    assert_eq!(serde_json::to_value(&slot).unwrap(), full());
    let again: PromptSlot = serde_json::from_value(full()).unwrap();
    assert_eq!(again, slot);
    let least =
        json!({"type": PROMPT_SLOT_BOUND, "source": "s", "role": "quote", "kernelName": "k", "surface": "u"});
    assert_eq!(Value::from(PromptSlot::parse(&least).unwrap()), least);
}

#[test]
fn what_is_refused() {
    let kind = "unsupported prompt slot binding type";
    let source = "prompt slot source must be a reference";
    let role = "prompt slot role must be one of direct-command, context, quote";
    let seq = "prompt slot renderRef.seq must be a safe integer";
    let root = "prompt slot renderRef.rootRef must be a reference";
    let table = [
        (json!([]), "prompt slot binding must be a JSON object"),
        (json!("x"), "prompt slot binding must be a JSON object"),
        (json!(null), "prompt slot binding must be a JSON object"),
        (json!({"role": "quote"}), &*format!("{kind}: undefined")),
        (with("type", json!("Other")), &*format!("{kind}: Other")),
        (with("type", json!(7)), &*format!("{kind}: 7")),
        (without("source"), source),
        (with("source", json!(" \t")), source),
        (with("source", json!({})), source),
        (with("source", json!(["x"])), source),
        (without("role"), role),
        (with("role", json!("operator")), role),
        (with("role", json!("Direct-Command")), role),
        (with("kernelName", json!("  ")), "prompt slot kernelName must be a non-empty string"),
        (with("kernelName", json!(1)), "prompt slot kernelName must be a non-empty string"),
        (without("surface"), "prompt slot surface must be a non-empty string"),
        (with("renderRef", json!([])), "prompt slot renderRef must be an object"),
        (with("renderRef", json!(null)), "prompt slot renderRef must be an object"),
        (with("renderRef", json!({"rootRef": "r"})), seq),
        (with("renderRef", json!({"seq": "1", "rootRef": "r"})), seq),
        (with("renderRef", json!({"seq": 1.5, "rootRef": "r"})), seq),
        (with("renderRef", json!({"seq": 9_007_199_254_740_992_u64, "rootRef": "r"})), seq),
        (with("renderRef", json!({"seq": u64::MAX, "rootRef": "r"})), seq),
        (with("renderRef", json!({"seq": 1})), root),
        (with("renderRef", json!({"seq": 1, "rootRef": {}})), root),
        (with("subject", json!(1)), "prompt slot subject must be a string"),
        (with("eventId", json!(null)), "prompt slot eventId must be a string"),
        (with("valueDigest", json!({})), "prompt slot valueDigest must be a string"),
        (with("slotDigest", json!([])), "prompt slot slotDigest must be a string"),
        (with("snapshotDigest", json!(true)), "prompt slot snapshotDigest must be a string"),
        (with("targetPath", json!(0)), "prompt slot targetPath must be a string"),
    ];
    for (given, expected) in table {
        assert_eq!(PromptSlot::parse(&given).unwrap_err().to_string(), expected, "{given}");
    }
}

#[test]
fn the_first_thing_that_is_wrong_is_told() {
    let mut slot = json!({
        "type": 1, "source": 1, "role": 1, "kernelName": 1, "surface": 1, "renderRef": 1, "subject": 1,
    });
    let told = |slot: &Value| PromptSlot::parse(slot).map(drop).map_err(|error| error.to_string());
    let order = [
        ("type", "type", json!(PROMPT_SLOT_BOUND)),
        ("source", "source", json!("s")),
        ("role", "role", json!("context")),
        ("kernelName", "kernelName", json!("k")),
        ("surface", "surface", json!("u")),
        ("renderRef must", "renderRef", json!({"seq": 1.0, "rootRef": {"a": 1}})),
        ("subject", "subject", json!("")),
    ];
    for (word, key, right) in order {
        let error = told(&slot).unwrap_err();
        assert!(error.contains(word), "{word} in {error}");
        slot[key] = right;
    }
    assert_eq!(told(&slot), Ok(()));
}

#[test]
fn authority_is_for_the_prompt_that_was_bound() {
    let digest = |text: &str| json!(format!("sha256:{}", Sha256Digest::of(text.as_bytes())));
    let table = [
        (with("valueDigest", digest("go")), PromptRole::DirectCommand),
        (without("valueDigest"), PromptRole::DirectCommand),
        (with("valueDigest", json!("")), PromptRole::DirectCommand),
        // Of things that only the renderer has.
        (with("slotDigest", digest("something else")), PromptRole::DirectCommand),
        (with("valueDigest", digest("go away")), PromptRole::Quote),
        (with("valueDigest", digest("go\n")), PromptRole::Quote),
        (with("valueDigest", json!("md5:34d1f91fb2e514b8576fab1a75a89a6b")), PromptRole::Quote),
        (with("valueDigest", json!(digest("go").as_str().unwrap().to_uppercase())), PromptRole::Quote),
    ];
    for (given, expected) in table {
        let slot = PromptSlot::parse(&given).unwrap();
        assert_eq!(slot.role_of("go"), expected, "{given}");
        let event = slot.event("go", FlowMode::EnforceExplicit);
        assert_eq!(event.is_some(), expected == PromptRole::Quote, "{given}");
        if let Some(event) = event {
            assert_eq!((event.severity, event.tool_id.as_str()), (EventSeverity::Denied, "prompt"));
            assert!(event.detail.contains("valueDigest"), "{}", event.detail);
        }
    }
    let mut context = with("valueDigest", digest("other"));
    context["role"] = json!("context");
    assert_eq!(PromptSlot::parse(&context).unwrap().role_of("go"), PromptRole::Quote);
}

#[test]
fn the_atom_of_influence() {
    let slot = PromptSlot::parse(&full()).unwrap();
    let manifest = json!({"wishId": "W-7", "dispatchClass": "gtd-ops", "parentWishId": "W-1"});
    let manifest = RunManifest::parse(&manifest).unwrap();
    let expected = json!({
        "type": "https://commonfabric.org/cfc/atom/PromptSlotInfluence", "version": 1, "role": "direct-command",
        "kernelName": "loom", "surface": "chat", "subject": "W-7", "eventId": "e1", "valueDigest": "",
        "slotDigest": "sha256:slot", "snapshotDigest": "sha256:snapshot", "targetPath": "/wish",
        "runManifest": {"source": "loom", "wishId": "W-7", "dispatchClass": "gtd-ops"},
    });
    let atom = slot.influence(slot.role, Some(&manifest));
    assert_eq!(atom, Atom::from_value(&expected));
    let alone = slot.influence(PromptRole::Quote, None).to_value();
    assert_eq!((alone.get("runManifest"), alone.get("source"), alone.get("renderRef")), (None, None, None));
    assert_eq!(alone["role"], "quote", "what it is counts, not what it claims to be");
}
