//! Feeds arbitrary answers of a browser to the writer of snapshots: a page cannot make up elements, nor keep anybody busy.
#![no_main]

use fullsend_agent::browser::{Scope, describe};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let Ok(answer) = serde_json::from_str::<Value>(text) else { return };
    let nodes = answer.get("nodes").and_then(Value::as_array).map_or(0, Vec::len);
    for scope in [Scope::Page, Scope::Interactive] {
        let Some(page) = describe(answer.clone(), scope) else { return };
        if page == "(nothing to see)" {
            continue;
        }
        assert!(page.lines().count() <= nodes, "more lines than elements: {page}");
        for line in page.split(|one: char| one.is_control()) {
            assert!(line.trim_start().starts_with("- "), "{line:?} is no element");
        }
    }
});
