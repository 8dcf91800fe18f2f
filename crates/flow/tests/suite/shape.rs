//! What is told about a hidden value.

use fullsend_flow::shape::SizeClass;
use serde_json::json;

#[test]
fn sizes_are_told_in_classes() {
    for (bytes, name) in [
        (0, "empty"),
        (1, "small"),
        (1024, "small"),
        (1025, "medium"),
        (65_536, "medium"),
        (65_537, "large"),
        (u64::MAX, "large"),
    ] {
        assert_eq!(serde_json::to_value(SizeClass::of(bytes)).unwrap(), json!(name), "{bytes}");
        assert_eq!(serde_json::from_value::<SizeClass>(json!(name)).unwrap(), SizeClass::of(bytes));
    }
}
