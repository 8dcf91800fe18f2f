//! Feeds arbitrary schemas and values to the release of what a subagent returns: no free text gets through, nothing is free of
//! charge, and what is released fits on its own.
#![no_main]

use fullsend_flow::release::{ReleaseOptions, is_sealed, parse_return, parse_schema, release};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

// The first line is the schema, the rest is the answer.
fuzz_target!(|text: &str| {
    let Some((schema, answer)) = text.split_once('\n') else { return };
    let Ok(schema) = parse_schema(&Value::from(schema)) else { return };
    let Ok(value) = parse_return(answer) else { return };
    let options = ReleaseOptions::default();
    let Ok(released) = release(&schema.schema, &value, "run.subagent.1", &options) else { return };
    let again = release(&schema.schema, &value, "run.subagent.1", &options).expect("the same once more");
    assert_eq!(again, released, "the same answer is released the same way");
    let listed = schema.schema.to_string();
    let mut links = 0;
    check(&released.value, &listed, &mut links);
    assert_eq!(links, released.sealed_paths.len(), "a link that nobody counted");
    assert!(released.linked_strings <= released.sealed_paths.len());
});

/// Every text that is left is one that the schema lists, and so is every key.
fn check(value: &Value, listed: &str, links: &mut usize) {
    if is_sealed(value) {
        *links += 1;
        return;
    }
    let pinned = |text: &str| listed.contains(&Value::from(text).to_string());
    match value {
        Value::String(text) => assert!(pinned(text), "{text:?} is not in {listed}"),
        Value::Array(items) => items.iter().for_each(|item| check(item, listed, links)),
        Value::Object(members) => members.iter().for_each(|(key, member)| {
            assert!(pinned(key), "the key {key:?} is not in {listed}");
            check(member, listed, links);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
