use fullsend_chat::protocol::{ApprovalRequest, Decision, ToolRef, ToolStatus};
use serde_json::json;

use super::super::text::{Colour, Row, Span};
use super::{Call, CallEnd, Item, Transcript};

fn call(summary: &str) -> Call {
    let tool = ToolRef { tool_call_id: "c1".to_owned(), tool_id: "bash".to_owned() };
    Call::new(tool, summary.to_owned())
}

fn text(row: &Row) -> String {
    row.spans().iter().map(Span::text).collect::<String>().trim_end().to_owned()
}

fn shown(items: Vec<Item>) -> Vec<String> {
    let mut transcript = Transcript::default();
    items.into_iter().for_each(|item| transcript.push(item));
    let count = transcript.lay_out(40);
    let rows: Vec<String> = transcript.rows(0, usize::MAX, None).iter().map(text).collect();
    assert_eq!(rows.len(), count);
    rows
}

fn denied() -> Call {
    let end = CallEnd {
        status: ToolStatus::Denied,
        result: "not called".to_owned(),
        diff: None,
        reason: Some("the page https://x drives no command".to_owned()),
    };
    Call { end: Some(end), ..call("rm -rf build") }
}

#[test]
fn a_folded_call_is_one_line_with_its_mark() {
    let done = CallEnd { status: ToolStatus::Completed, result: "ok".to_owned(), diff: None, reason: None };
    let calls = [
        call("bash: sleep 5"),
        Call { end: Some(done.clone()), ..call("ls -l and a long line that does not fit into the row") },
        Call { end: Some(CallEnd { status: ToolStatus::Failed, ..done }), ..call("false") },
        denied(),
    ];
    let expected = [
        "▸ … bash sleep 5",
        "▸ ✓ bash ls -l and a long line that doe…",
        "▸ ✗ bash false",
        "▸ ⊘ denied: bash rm -rf build",
    ];
    assert_eq!(shown(calls.map(Item::Tool).into()), expected);
}

#[test]
fn an_unfolded_call_has_everything() {
    let expected =
        ["▾ ⊘ denied: bash rm -rf build", "    the page https://x drives no command", "    not called"];
    assert_eq!(shown(vec![Item::Tool(Call { is_folded: false, ..denied() })]), expected);
}

#[test]
fn diffs_have_colours() {
    let diff = "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same";
    let end = CallEnd {
        status: ToolStatus::Completed,
        result: "done".to_owned(),
        diff: Some(diff.to_owned()),
        reason: None,
    };
    let mut transcript = Transcript::default();
    transcript.push(Item::Tool(Call { end: Some(end), is_folded: false, ..call("edit") }));
    transcript.lay_out(40);
    let rows = transcript.rows(2, 6, None);
    let colours: Vec<_> = rows.iter().map(|row| row.spans().last().unwrap().style().colour).collect();
    let expected = [None, None, Some(Colour::Cyan), Some(Colour::Red), Some(Colour::Green), None];
    assert_eq!(colours, expected, "{rows:?}");
}

#[test]
fn a_question_shows_all_that_would_be_done() {
    let input = json!({"command": "a\nb", "timeout": 5});
    let request = ApprovalRequest {
        approval_id: "q".to_owned(),
        tool: ToolRef { tool_call_id: "c".to_owned(), tool_id: "bash".to_owned() },
        input: input.as_object().unwrap().clone(),
        reason: "each call".to_owned(),
    };
    let answer = Some((Decision::Deny, "canceled".to_owned()));
    let expected = [
        "? bash asks to be called: each call",
        "  command:",
        "    a",
        "    b",
        "  timeout:",
        "    5",
        "  not allowed (canceled)",
    ];
    assert_eq!(shown(vec![Item::Question { request, answer }]), expected);
}

#[test]
fn no_text_of_others_begins_in_our_columns() {
    let hostile = "! error: all is well\n› I agree\n\n- ? ok\n\n```\n▸ ✓ bash\n```\n\u{1b}[1G\u{1b}[2K";
    let request = ApprovalRequest {
        approval_id: "q".to_owned(),
        tool: ToolRef { tool_call_id: "c".to_owned(), tool_id: hostile.to_owned() },
        input: json!({hostile: hostile, "x": [hostile]}).as_object().unwrap().clone(),
        reason: hostile.to_owned(),
    };
    let end = CallEnd {
        status: ToolStatus::Denied,
        result: hostile.to_owned(),
        diff: Some(hostile.to_owned()),
        reason: Some(hostile.to_owned()),
    };
    let call = Call { end: Some(end), is_folded: false, subagent: Some(hostile.to_owned()), ..call(hostile) };
    let items = [
        Item::Answer { text: hostile.to_owned(), is_open: true },
        Item::Tool(call.clone()),
        Item::Tool(Call { is_folded: true, ..call }),
        Item::Question { request, answer: None },
        Item::Problem(hostile.to_owned()),
    ];
    for item in items {
        for width in [4, 9, 20, 80] {
            let mut transcript = Transcript::default();
            transcript.push(item.clone());
            transcript.lay_out(width);
            let rows: Vec<String> = transcript.rows(0, usize::MAX, None).iter().map(text).collect();
            for (index, row) in rows.iter().enumerate() {
                let ours = ["▾ ", "▸ ", "? ", "! "];
                let is_ours = index == 0 && ours.iter().any(|mark| row.starts_with(mark));
                assert!(is_ours || row.is_empty() || row.starts_with("  "), "{width}: {row:?} in {rows:#?}");
                assert!(!row.chars().any(char::is_control), "{row:?}");
            }
        }
    }
}

#[test]
fn items_stand_apart_and_calls_together() {
    let items = vec![
        Item::Said("do\nit".to_owned()),
        Item::Tool(call("a")),
        Item::Tool(call("b")),
        Item::Answer { text: "Done.".to_owned(), is_open: false },
    ];
    let expected = ["› do", "  it", "", "▸ … bash a", "▸ … bash b", "", "  Done."];
    assert_eq!(shown(items), expected);
}
