//! Feeds arbitrary text to the analysis of commands: no crash in the grammar's C code, spans that lie in the text, and the
//! same answer twice.
#![no_main]

use fullsend_guard::command::analyse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let analysis = analyse(text);
    for finding in &analysis.findings {
        if let Some(span) = finding.span {
            assert!(span.of(text).is_some(), "{} has a span outside the text", finding.rule.id);
        }
    }
    for request in &analysis.requests {
        assert!(request.span.of(text).is_some(), "a request has a span outside the text");
    }
    assert_eq!(analyse(text), analysis, "the same text has the same analysis");
});
