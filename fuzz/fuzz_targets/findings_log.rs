//! Feeds arbitrary bytes to the verifier of findings logs: only what reads back byte for byte passes, and what we write
//! always does, until a byte of it changes.
#![no_main]

use fullsend_guard::Severity;
use fullsend_guard::hook::Action;
use fullsend_guard::log::{Chained, Entry, Phase, SEED, Verdict, verify_bytes};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match verify_bytes(bytes, None) {
        Verdict::Broken(broken) => assert!(!broken.to_string().is_empty(), "broken without a reason"),
        Verdict::Sealed { head, .. } | Verdict::Unsealed { head, .. } => {
            let again: String = bytes
                .split(|byte| *byte == b'\n')
                .filter_map(|line| Chained::read(line).ok())
                .map(|chained| chained.line())
                .collect();
            assert_eq!(again.as_bytes(), bytes, "what passes is spelled in one way");
            assert!(matches!(
                verify_bytes(bytes, Some(&head)),
                Verdict::Sealed { .. } | Verdict::Unsealed { .. }
            ));
        }
    }
    let text = String::from_utf8_lossy(bytes);
    let (log, entries) = written(&text);
    let head = match verify_bytes(log.as_bytes(), None) {
        Verdict::Unsealed { entries: found, head } if found == entries => head,
        verdict => panic!("what was written is {verdict:?}"),
    };
    let mut changed = log.into_bytes();
    let length = changed.len();
    if let Some(byte) = changed.get_mut(bytes.len().wrapping_mul(31) % length.max(1)) {
        *byte ^= 1;
        assert!(
            matches!(verify_bytes(&changed, Some(&head)), Verdict::Broken(_)),
            "a change that does not show"
        );
    }
});

/// A log with an entry for each line of `text`, and how many these are.
fn written(text: &str) -> (String, u64) {
    let (mut log, mut head, mut seq) = (String::new(), SEED.to_owned(), 0);
    for line in text.lines() {
        let entry = Entry {
            trace_id: "00000000-0000-4000-8000-000000000001".to_owned(),
            timestamp: "2026-06-08T00:00:00Z".to_owned(),
            phase: Phase::HookPreTool,
            scanner: "file_walk".to_owned(),
            rule: "unreadable".to_owned(),
            severity: Severity::High,
            detail: line.to_owned(),
            position: line.chars().count().try_into().unwrap_or(-1),
            action: Some(Action::Block),
            tool: line.split(' ').nth(1).map(str::to_owned),
            path: line.split(' ').nth(2).map(str::to_owned),
        };
        let chained = Chained::new(seq, entry, head);
        log.push_str(&chained.line());
        (head, seq) = (chained.hash, seq + 1);
    }
    (log, seq)
}
