//! What a run knows about its flows follows from its journal, wherever the run was killed.

use std::collections::BTreeMap;
use std::path::Path;

use fullsend_agent::gate::Verdict;
use fullsend_agent::store::{Recorded, Row};
use serde_json::json;

use crate::support::stage::{Ran, Stage};

fn stage() -> Stage {
    let policy = json!({
        "clearance": {"readers": ["team"]},
        "inspect": {"readers": ["credential"], "max_bytes": 100},
        "sinks": [
            {"paths": ["vault/**"], "readers": ["credential"]},
            {"web": ["example.com"], "trust": "workspace"},
        ],
        "grants": [{"id": "once", "tool": "bash", "argument": "command", "value": "make",
            "trust": "commanded", "from": "none", "uses": 1}],
    });
    let script = vec![
        vec![("read_file", json!({"path": ".env"})), ("bash", json!({"command": "true"}))],
        vec![("write_file", json!({"path": "vault/key", "content": "$HANDLE"}))],
        vec![("web_fetch", json!({"url": "https://example.com/"})), ("bash", json!({"command": "beside"}))],
        vec![("bash", json!({"command": "after"})), ("bash", json!({"command": "make"}))],
        vec![("bash", json!({"command": "make"}))],
        vec![("inspect", json!({"handle": "$HANDLE"}))],
        vec![("write_file", json!({"path": "docs/new.md", "content": "x"}))],
    ];
    Stage::new(script).policy(policy)
}

/// The last verdict about each call.
fn verdicts(ran: &Ran) -> BTreeMap<String, Verdict> {
    ran.decisions().into_iter().map(|one| (one.tool_call_id, one.decision)).collect()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target)
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The directory of the run as it was when only so many rows were written.
fn killed_after(run: &Path, rows: usize, to: &Path) {
    copy(run, to);
    let journal = to.join("journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let kept: String = text.split_inclusive('\n').take(rows).collect();
    std::fs::write(journal, kept).unwrap();
}

#[test]
fn a_run_that_is_killed_anywhere_decides_as_if_it_was_not() {
    let stage = stage();
    let whole = stage.run();
    assert_eq!(whole.finished.flow, whole.recorded().flow, "kept up and read back are the same");
    let expected = verdicts(&whole);
    let denied: Vec<&str> = expected
        .iter()
        .filter(|(_, verdict)| **verdict == Verdict::Denied)
        .map(|(id, _)| id.as_str())
        .collect();
    assert_eq!(denied, ["call-4-0", "call-5-0", "call-7-0"]);
    let opened = whole.rows.iter().position(|row| *row == Row::Opened).unwrap() + 1;
    let held = tempfile::tempdir().unwrap();
    let mut context = None;
    for rows in opened..whole.rows.len() {
        let run = held.path().join(rows.to_string()).join("run-1");
        killed_after(&stage.run_dir(), rows, &run);
        let recorded = Recorded::read(&run).unwrap();
        let seen = recorded.flow.context().clone();
        assert!(context.is_none_or(|before: fullsend_flow::Label| before.join(&seen) == seen), "row {rows}");
        context = Some(seen);
        let resumed = stage.resume(&run);
        let mut found = verdicts(&resumed);
        // An exception whose call may have been made is used up, so that a call that was interrupted costs it.
        let charged = recorded.flow.ledger() == whole.finished.flow.ledger();
        if !charged {
            assert_eq!(found, expected, "killed after row {rows}: {:?}", whole.rows.get(rows - 1));
        }
        found.retain(|id, _| id != "call-4-1");
        let mut rest = expected.clone();
        rest.remove("call-4-1");
        assert_eq!(found, rest, "killed after row {rows}");
        assert_eq!(resumed.finished.flow.context(), whole.finished.flow.context(), "killed after row {rows}");
        assert_eq!(resumed.finished.flow.ledger(), whole.finished.flow.ledger(), "killed after row {rows}");
        assert_eq!(resumed.finished.flow, resumed.recorded().flow, "killed after row {rows}");
        assert!(resumed.finished.flow.inspected() >= whole.finished.flow.inspected());
    }
}
