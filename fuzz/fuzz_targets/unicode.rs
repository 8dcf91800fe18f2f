//! Feeds arbitrary text to the scanner for characters: cleaning settles at once, and what is reported lies in the text.
#![no_main]

use fullsend_guard::{Scan, Scanner, UnicodeScanner};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for scanner in [UnicodeScanner::new(), UnicodeScanner::for_files()] {
        let scan = scanner.scan(text);
        for span in scan.findings.iter().filter_map(|finding| finding.span) {
            assert!(!span.is_empty() && span.of(text).is_some(), "a finding lies in the text");
        }
        for edit in scan.edits.iter() {
            assert!(edit.span.of(text).is_some(), "an edit lies in the text");
        }
        let cleaned = scan.edits.apply(text);
        assert_eq!(scan.findings.is_empty(), cleaned == text, "what is found is taken out, and nothing else");
        assert_eq!(scanner.scan(&cleaned), Scan::default(), "cleaning settles at once");
        assert!(
            !cleaned.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\u{e0041}']),
            "what must not stay is gone"
        );
    }
});
