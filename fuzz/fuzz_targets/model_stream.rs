//! Feeds arbitrary bytes to the reader of what gateways stream: however they are cut, they say the same, and every call can be
//! answered.
#![no_main]

use std::collections::HashSet;

use fullsend_model::gateway::read_answer;
use fullsend_model::{AssistantMessage, Conversation, FinishReason, Progress, Usage};
use libfuzzer_sys::fuzz_target;

type Read = Option<(AssistantMessage, FinishReason, Usage)>;

// The first byte says how long the pieces are.
fuzz_target!(|input: &[u8]| {
    let Some((length, bytes)) = input.split_first() else { return };
    let (whole, heard) = read([bytes]);
    let (pieces, heard_in_pieces) = read(bytes.chunks(usize::from(*length).max(1)));
    // Numbers that are none do not equal themselves.
    assert_eq!(format!("{whole:?}"), format!("{pieces:?}"), "the cuts matter");
    let Some((message, finish, _)) = whole else { return };
    assert_eq!(heard, message.content, "what was heard is not what was said");
    assert_eq!(heard_in_pieces, message.content);
    let ids: HashSet<&str> = message.tool_calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids.len(), message.tool_calls.len(), "two calls of one name cannot both be answered");
    assert!(!ids.contains(""), "a call without a name");
    assert!(finish != FinishReason::ToolCalls || !ids.is_empty(), "calls are announced, and there is none");
});

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Read, String) {
    let mut heard = String::new();
    let mut listener = |piece: Progress<'_>| {
        if let Progress::Text(text) = piece {
            heard.push_str(text);
        }
    };
    let read = read_answer(pieces, &Conversation::default(), &mut listener);
    (read, heard)
}
