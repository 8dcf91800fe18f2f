//! What is read back, also when the journal ends anywhere.

use std::path::Path;

use fullsend_agent::Effect;
use fullsend_agent::store::{
    CallFinished, CallState, DanglingCall, EndStatus, Ending, Execution, KeptMessage, Recorded, Row,
    RunStore, StoreError, TerminalReason,
};
use fullsend_flow::{Atom, Confidentiality, Label, LabelId, LabelTable};
use fullsend_model::{ToolCall, Usage};

use super::sample::{
    Fixture, assistant, clock, finished, full_run, result, rows_of_a_run, say, settings, started, user,
};

fn messages(recorded: &Recorded) -> Vec<KeptMessage> {
    recorded.messages.iter().map(|kept| kept.message.clone()).collect()
}

#[test]
fn a_whole_run_is_read_back() {
    let fixture = Fixture::new();
    let mut store = fixture.create("run-1");
    full_run(&mut store);
    let run_dir = store.run_dir().to_owned();
    drop(store);
    let (mut store, recorded) = RunStore::reopen(&run_dir, clock()).unwrap();
    assert_eq!(recorded.run_id.as_str(), "run-1");
    assert_eq!(recorded.settings, settings());
    assert_eq!(recorded.messages.len(), 6);
    assert_eq!(recorded.turns, 2);
    assert_eq!(recorded.calls, 1);
    let usage =
        Usage { total_tokens: Some(150), input_tokens: Some(150), cost_usd: Some(1.0), ..Usage::default() };
    assert_eq!(recorded.usage, usage);
    assert_eq!(recorded.current_dir, "/workspace/src");
    assert_eq!(recorded.dangling, []);
    assert_eq!(recorded.skill_activations.len(), 1);
    assert_eq!(recorded.ended.as_ref().unwrap().terminal_reason, TerminalReason::AssistantCompleted);
    let label = recorded.messages[3].label;
    assert_eq!(recorded.labels.get(label), Ok(&Label::untrusted()));
    assert_eq!(store.next_output_id("bash"), "run-1:bash:2");
    // Labels that are on record are not written again, and new ones get the next numbers.
    let mut table = recorded.labels;
    let before = std::fs::read(run_dir.join("journal.jsonl")).unwrap();
    store.record_labels(&table).unwrap();
    assert_eq!(std::fs::read(run_dir.join("journal.jsonl")).unwrap(), before);
    let secret = Label { confidentiality: Confidentiality::only(Atom::named("owner")), ..Label::bottom() };
    let (id, _) = table.number(&secret);
    let early = store.append(&say(3, id, user("hm")));
    assert!(matches!(early, Err(StoreError::UnknownLabel(unknown)) if unknown == id), "{early:?}");
    store.record_labels(&table).unwrap();
    store.append(&say(3, id, user("hm"))).unwrap();
    drop(store);
    assert_eq!(Recorded::read(&run_dir).unwrap().labels.get(id), Ok(&secret));
}

/// The rows of a run that was killed after each byte of its journal: what is read is a beginning of what was said, and
/// what follows can be read too.
#[test]
fn killed_at_any_byte() {
    let fixture = Fixture::new();
    let mut store = fixture.create("run-1");
    rows_of_a_run(&mut store);
    let journal = store.run_dir().join("journal.jsonl");
    drop(store);
    let whole = std::fs::read(&journal).unwrap();
    let all = messages(&Recorded::read(journal.parent().unwrap()).unwrap());
    let first_row = whole.iter().position(|byte| *byte == b'\n').unwrap();
    let mut longest = 0;
    for length in 0..=whole.len() {
        std::fs::write(&journal, &whole[..length]).unwrap();
        let opened = RunStore::reopen(journal.parent().unwrap(), clock());
        if length <= first_row {
            // Only a disk that lost what it had written can leave this: the first row is there when the file is.
            assert!(matches!(opened, Err(StoreError::NeverBegan { .. })), "{length}: {opened:?}");
            continue;
        }
        let (mut store, recorded) = opened.unwrap();
        let said = messages(&recorded);
        assert!(all.starts_with(&said), "{length}");
        assert!(said.len() >= longest, "{length}");
        longest = said.len();
        let torn = whole[..length].iter().rev().take_while(|byte| **byte != b'\n').count();
        assert_eq!(recorded.cut_bytes, torn as u64);
        // Whether it can go on is looked at around the ends of rows and at some other places: each takes a while.
        if torn > 1 && length % 23 != 0 {
            continue;
        }
        store.append(&say(9, LabelId::BOTTOM, user("go on"))).unwrap();
        drop(store);
        let mut expected = said;
        expected.push(user("go on"));
        assert_eq!(messages(&Recorded::read(journal.parent().unwrap()).unwrap()), expected, "{length}");
    }
    assert_eq!(longest, all.len());
}

fn call(id: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: "bash".to_owned(), arguments: "{}".to_owned() }
}

fn dangling(rows: &[Row]) -> (Vec<DanglingCall>, u64) {
    let fixture = Fixture::new();
    let mut store = fixture.create("r");
    for row in rows {
        store.append(row).unwrap();
    }
    let recorded = Recorded::read(store.run_dir()).unwrap();
    (recorded.dangling, recorded.next_output)
}

#[test]
fn calls_without_an_answer() {
    let ask = |ids: &[&str]| {
        let calls: Vec<_> = ids.iter().map(|id| (*id, "bash", "{}")).collect();
        say(1, LabelId::BOTTOM, assistant("", &calls))
    };
    let begin = |id: &str, output: &str| started(id, "bash", output, Effect::SideEffect);
    let end = |id: &str, output: &str| {
        let done = finished(id, "bash", Some(output), Execution::Completed);
        Row::CallFinished(CallFinished { artifact: Some("tool-outputs/o.json".to_owned()), ..done })
    };
    let refuse = |id: &str| Row::CallFinished(finished(id, "bash", None, Execution::NotRun));
    let answer = |id: &str| say(1, LabelId::BOTTOM, result(id, "bash", "{}", None));
    let never = |id: &str| DanglingCall { call: call(id), state: CallState::NeverStarted };
    let interrupted = |id: &str, output: &str| DanglingCall {
        call: call(id),
        state: CallState::Interrupted { output_id: output.to_owned(), effect: Effect::SideEffect },
    };
    let done = |id: &str, output: &str| DanglingCall {
        call: call(id),
        state: CallState::Finished {
            output_id: Some(output.to_owned()),
            execution: Execution::Completed,
            artifact: Some("tool-outputs/o.json".to_owned()),
        },
    };
    let refused = |id: &str| DanglingCall {
        call: call(id),
        state: CallState::Finished { output_id: None, execution: Execution::NotRun, artifact: None },
    };
    let table = [
        (vec![], vec![], 1),
        (vec![ask(&["a", "b"])], vec![never("a"), never("b")], 1),
        (vec![ask(&["a", "b"]), begin("a", "r:bash:1")], vec![interrupted("a", "r:bash:1"), never("b")], 2),
        (vec![ask(&["a"]), begin("a", "r:bash:1"), end("a", "r:bash:1")], vec![done("a", "r:bash:1")], 2),
        (
            vec![ask(&["a", "b"]), begin("a", "r:bash:1"), end("a", "r:bash:1"), answer("a")],
            vec![never("b")],
            2,
        ),
        (vec![ask(&["a"]), refuse("a")], vec![refused("a")], 1),
        (vec![ask(&["a"]), refuse("a"), answer("a")], vec![], 1),
        // Calls beside each other, and numbers that were used up by what never came to an end.
        (
            vec![
                ask(&["a", "b"]),
                begin("b", "r:bash:7"),
                begin("a", "r:bash:6"),
                end("b", "r:bash:7"),
                answer("b"),
            ],
            vec![interrupted("a", "r:bash:6")],
            8,
        ),
        // A read that is made again, and a call that is given up.
        (
            vec![ask(&["a"]), begin("a", "r:bash:1"), begin("a", "r:bash:2")],
            vec![interrupted("a", "r:bash:2")],
            3,
        ),
        (
            vec![
                ask(&["a"]),
                begin("a", "r:bash:1"),
                Row::CallFinished(finished("a", "bash", None, Execution::Interrupted)),
                answer("a"),
            ],
            vec![],
            2,
        ),
        // The same name in the next answer, and twice in one.
        (
            vec![ask(&["a"]), begin("a", "r:bash:1"), end("a", "r:bash:1"), answer("a"), ask(&["a"])],
            vec![never("a")],
            2,
        ),
        (vec![ask(&["a", "a"]), begin("a", "r:bash:1")], vec![interrupted("a", "r:bash:1"), never("a")], 2),
        (
            vec![ask(&["a", "a"]), begin("a", "r:bash:1"), end("a", "r:bash:1"), answer("a")],
            vec![never("a")],
            2,
        ),
    ];
    for (number, (rows, expected, next)) in table.iter().enumerate() {
        assert_eq!(dangling(rows), (expected.clone(), *next), "row {number}");
    }
}

#[test]
fn a_resumed_run_goes_on_and_covers_all_parts() {
    let fixture = Fixture::new();
    let mut store = fixture.create("run-1");
    rows_of_a_run(&mut store);
    let run_dir = store.run_dir().to_owned();
    drop(store);
    let (mut store, recorded) = RunStore::reopen(&run_dir, clock()).unwrap();
    let mut asked = settings();
    asked.tools.remove("bash");
    let narrowed = recorded.settings.narrows(&asked).unwrap();
    store.resume(&narrowed).unwrap();
    store.append(&say(3, LabelId::BOTTOM, assistant("Done.", &[]))).unwrap();
    let cancelled = Ending {
        status: EndStatus::Cancelled,
        terminal_reason: TerminalReason::ProcessInterrupted,
        detail: None,
    };
    store.end(&cancelled).unwrap();
    let recorded = Recorded::read(&run_dir).unwrap();
    assert_eq!((recorded.resumed, recorded.turns, recorded.ended), (1, 3, Some(cancelled)));
    assert_eq!(recorded.settings, narrowed);
    // What was taken away once stays away.
    assert!(recorded.settings.narrows(&settings()).is_err());
}

#[test]
fn long_rows_and_long_runs() {
    let fixture = Fixture::new();
    let mut store = fixture.create("run-1");
    let arguments = "\"\\\u{1}界".repeat(2_000_000);
    let huge = assistant("", &[("c1", "bash", &arguments)]);
    store.append(&say(1, LabelId::BOTTOM, huge.clone())).unwrap();
    for turn in 0..100_000 {
        store.append(&say(turn, LabelId::BOTTOM, user("short"))).unwrap();
    }
    let recorded = Recorded::read(store.run_dir()).unwrap();
    assert_eq!(recorded.messages.len(), 100_001);
    assert_eq!(recorded.messages[0].message, huge);
    assert_eq!(recorded.dangling.len(), 1);
}

#[test]
fn labels_come_before_their_first_use() {
    let fixture = Fixture::new();
    let mut store = fixture.create("run-1");
    let mut table = LabelTable::default();
    let (id, _) = table.number(&Label::untrusted());
    assert!(store.append(&say(0, id, user("hm"))).is_err());
    store.record_labels(&table).unwrap();
    store.append(&say(0, id, user("hm"))).unwrap();
    let text = std::fs::read_to_string(store.run_dir().join("journal.jsonl")).unwrap();
    assert_eq!(text.lines().count(), 3);
    assert!(Path::new(store.run_dir()).is_absolute());
}
