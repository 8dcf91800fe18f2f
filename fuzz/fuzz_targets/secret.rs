//! Feeds arbitrary text to the secret scanner: what was cleaned is clean, JSON stays JSON of the same shape, and every
//! place that is named lies in the text.
#![no_main]

use fullsend_guard::leaves::{Visit, map_strings};
use fullsend_guard::{Scanner, SecretScanner};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let scanner = SecretScanner::new();
    let scan = scanner.scan(text);
    for span in
        scan.findings.iter().filter_map(|finding| finding.span).chain(scan.edits.iter().map(|edit| edit.span))
    {
        assert!(span.of(text).is_some(), "a span outside the text");
    }
    let cleaned = scan.edits.apply(text);
    let again = scanner.scan(&cleaned);
    assert!(again.edits.is_empty(), "{cleaned:?} was cleaned and is not clean");
    if let Ok(before) = serde_json::from_str::<Value>(text)
        && !before.is_number()
    {
        let after = serde_json::from_str(&cleaned).expect("JSON stays JSON");
        assert_eq!(shape(before), shape(after), "the shape of a document changed");
    }
});

/// The document with all strings empty.
fn shape(mut value: Value) -> Value {
    map_strings(&mut value, |visit| match visit {
        Visit::Key(_) => None,
        Visit::Value { .. } => Some(String::new()),
    });
    value
}
