//! Feeds arbitrary text to the scanner for injected instructions: every finding has a place in the text, and odd spaces
//! hide nothing.
#![no_main]

use fullsend_guard::{InjectionScanner, Scanner as _};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let findings = InjectionScanner.scan(text).findings;
    for finding in &findings {
        if let Some(span) = finding.span {
            assert!(span.of(text).is_some(), "a span lies in the text at character boundaries");
        }
    }
    let spaced = InjectionScanner.scan(&text.replace(' ', "\u{a0}")).findings;
    assert_eq!(findings.len(), spaced.len(), "a no-break space is a space");
});
