//! What is denied stays denied, whatever is added to a conversation.

use fullsend_agent::gate::{FlowMode, Verdict};
use fullsend_flow::{
    Argument, Atom, Call, Clause, Confidentiality, Deed, Destination, GrantLedger, Label, Policy, Trust,
    decide,
};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

fn label() -> impl Strategy<Value = Label> {
    let atom = prop::sample::select(vec!["credential", "team", "alice"]);
    let clause = prop::collection::btree_set(atom, 1..3)
        .prop_map(|names| Clause::any_of(names.into_iter().map(Atom::named)));
    (prop::collection::vec(clause, 0..3), prop::sample::select(Trust::ALL.to_vec())).prop_map(
        |(clauses, trust)| Label {
            confidentiality: Confidentiality::all_of(clauses),
            integrity: trust.integrity(),
        },
    )
}

fn policy() -> Policy {
    serde_json::from_value(json!({
        "clearance": {"readers": ["team"]},
        "sinks": [
            {"paths": ["vault/**"], "readers": ["credential"]},
            {"web": ["example.com"], "trust": "workspace", "readers": ["alice"]},
        ],
        "grants": [
            {"id": "a", "tool": "t", "argument": "a", "value": "make*", "trust": "commanded", "from": "workspace"},
            {"id": "b", "tool": "t", "argument": "a", "value": "*", "declassify": ["team"], "from": "none"},
        ],
    }))
    .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn more_to_read_never_allows_more(
        context in label(),
        hidden in label(),
        inputs in label(),
        more in label(),
        deed in prop::sample::select(vec![
            Deed::Look, Deed::Change, Deed::Execute { network: false }, Deed::Execute { network: true }, Deed::Send,
            Deed::Delegate,
        ]),
        destination in prop::sample::select(vec![
            Destination::Selector, Destination::Program, Destination::Target { path: Some("src/a.rs") },
            Destination::Target { path: Some(".github/x") }, Destination::Target { path: None },
            Destination::Content { path: Some("vault/x") }, Destination::Content { path: Some("src/a.rs") },
            Destination::Host("example.com"), Destination::Host("other.example"), Destination::Child,
        ]),
        value in prop::sample::select(vec!["make all", "rm"]),
        mode in prop::sample::select(FlowMode::ALL.to_vec()),
    ) {
        let policy = policy();
        let verdict = |context: &Label| {
            let label = context.join(&hidden);
            let arguments = [Argument { name: "a", value: Some(value), label: &label, destination }];
            let call = Call { tool: "t", deed, context, arguments: &arguments, inputs: &inputs };
            decide(&call, &policy, mode, &GrantLedger::default(), Timestamp::UNIX_EPOCH).verdict
        };
        let (before, after) = (verdict(&context), verdict(&context.join(&more)));
        prop_assert!(before <= after, "{before:?} became {after:?}");
        if mode == FlowMode::Disabled {
            prop_assert_eq!(after, Verdict::Allowed);
        }
    }
}
