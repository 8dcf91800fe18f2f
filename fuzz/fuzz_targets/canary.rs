//! Feeds arbitrary text to the canary scanner: what was cleaned is clean, and every place that is named lies in the text.
#![no_main]

use fullsend_guard::{CanaryScanner, CanaryToken, Scanner};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let chosen = CanaryToken::parse("SECRET_CANARY_xyz").expect("long enough");
    let scanner = CanaryScanner::new([chosen, CanaryToken::from_random(*b"twenty random bytes!")]);
    let scan = scanner.scan(text);
    for edit in scan.edits.iter() {
        assert!(edit.span.of(text).is_some(), "a span outside the text");
    }
    assert_eq!(scan.findings.is_empty(), scan.edits.is_empty(), "a leak that is only half reported");
    let cleaned = scan.edits.apply(text);
    assert!(scanner.scan(&cleaned).edits.is_empty(), "{cleaned:?} was cleaned and is not clean");
});
