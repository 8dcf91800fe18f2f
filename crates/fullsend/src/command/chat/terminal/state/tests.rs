use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use fullsend_chat::protocol::{
    ApprovalRequest, ChatError, ChatEvent, Decision, ErrorCode, EventEnvelope, SessionState, SessionStatus,
    ToolRef, ToolStatus, TurnRecord, TurnUsage,
};
use serde_json::json;

use super::super::text::Span;
use super::{Chat, Effect, Reply};

fn session(status: SessionState) -> SessionStatus {
    let text = json!({
        "sessionId": "s1", "status": status, "reusable": true, "turnCount": 1,
        "createdAt": "2026-01-02T03:04:05.000Z", "updatedAt": "2026-01-02T03:04:05.000Z",
        "workspace": {"hostPath": "/w"}, "model": "m",
        "capabilities": fullsend_chat::protocol::Capabilities::default(),
        "policy": {"type": "fullsend.chat-policy", "toolMode": "workspace-write", "allowedToolIds": [], "allowedSubagentProfiles": []},
    });
    serde_json::from_value(text).unwrap()
}

fn happened_in(session: &str, event: ChatEvent) -> EventEnvelope {
    EventEnvelope {
        tag: Default::default(),
        protocol_version: 1,
        emitted_at: "2026-01-02T03:04:05.000Z".to_owned(),
        session_id: session.to_owned(),
        turn_id: None,
        sequence: 1,
        event,
    }
}

fn happened(event: ChatEvent) -> EventEnvelope {
    happened_in("s1", event)
}

fn turn_started(id: &str) -> ChatEvent {
    let turn = json!({"turnId": id, "status": "running", "startedAt": "t", "updatedAt": "t"});
    ChatEvent::TurnStarted { turn: serde_json::from_value(turn).unwrap() }
}

fn turn_completed() -> ChatEvent {
    let usage = TurnUsage { input_tokens: 2, output_tokens: 3, total_tokens: 5, ..TurnUsage::default() };
    ChatEvent::TurnCompleted { turn_id: "t1".to_owned(), final_text: String::new(), usage: Some(usage) }
}

fn tool() -> ToolRef {
    ToolRef { tool_call_id: "c1".to_owned(), tool_id: "bash".to_owned() }
}

fn asks() -> ChatEvent {
    let input = json!({"command": "rm x"}).as_object().unwrap().clone();
    let approval =
        ApprovalRequest { approval_id: "q1".to_owned(), tool: tool(), input, reason: "each call".to_owned() };
    ChatEvent::ApprovalRequested { approval }
}

fn press(chat: &mut Chat, code: KeyCode, modifiers: KeyModifiers) -> Vec<Effect> {
    chat.key(KeyEvent::new(code, modifiers))
}

fn key(chat: &mut Chat, code: KeyCode) -> Vec<Effect> {
    press(chat, code, KeyModifiers::NONE)
}

fn control(chat: &mut Chat, letter: char) -> Vec<Effect> {
    press(chat, KeyCode::Char(letter), KeyModifiers::CONTROL)
}

/// Types a text and Enter.
fn enter(chat: &mut Chat, text: &str) -> Vec<Effect> {
    for letter in text.chars() {
        assert_eq!(key(chat, KeyCode::Char(letter)), []);
    }
    key(chat, KeyCode::Enter)
}

fn rows(chat: &mut Chat) -> Vec<String> {
    let frame = chat.frame(60, 16);
    let text = |row: &super::super::text::Row| row.spans().iter().map(Span::text).collect::<String>();
    frame.rows.iter().map(|row| text(row).trim_end().to_owned()).collect()
}

/// The rows that have something on them, without the line about how things stand.
fn said(chat: &mut Chat) -> Vec<String> {
    rows(chat).into_iter().filter(|row| !row.is_empty() && !row.starts_with("──")).collect()
}

/// A chat in which a turn is under way.
fn working() -> Chat {
    let mut chat = Chat::new("hello".to_owned(), Vec::new());
    assert_eq!(
        enter(&mut chat, "do it"),
        [Effect::Remember("do it".to_owned()), Effect::Say("do it".to_owned())]
    );
    chat.begins("t1", "do it");
    chat.happened(&happened(ChatEvent::SessionStarted { session: Box::new(session(SessionState::Idle)) }));
    chat.happened(&happened(turn_started("t1")));
    chat
}

#[test]
fn a_turn_from_the_first_word_to_the_last() {
    let mut chat = working();
    assert_eq!(said(&mut chat), ["· hello", "› do it", ">"]);
    let delta = |text: &str| happened(ChatEvent::AssistantDelta { text: text.to_owned() });
    chat.happened(&delta("Let me "));
    chat.happened(&happened(ChatEvent::AssistantRestarted {}));
    chat.happened(&delta("I **lo"));
    assert_eq!(said(&mut chat), ["· hello", "› do it", "  I **lo", ">"]);
    chat.happened(&delta("ok**."));
    chat.happened(&happened(ChatEvent::AssistantCompleted { text: "I **look**.".to_owned() }));
    chat.happened(&happened(ChatEvent::ToolStarted { tool: tool(), summary: "ls".to_owned() }));
    assert_eq!(said(&mut chat), ["· hello", "› do it", "  I look.", "▸ … bash ls", ">"]);
    chat.happened(&happened(ChatEvent::ToolCompleted {
        tool: tool(),
        status: ToolStatus::Completed,
        result_summary: "exit 0".to_owned(),
        diff: None,
        reason: None,
    }));
    chat.happened(&happened(ChatEvent::AssistantCompleted { text: "Done.".to_owned() }));
    assert!(rows(&mut chat).concat().contains("working…"));
    chat.happened(&happened(turn_completed()));
    assert_eq!(said(&mut chat), ["· hello", "› do it", "  I look.", "▸ ✓ bash ls", "  Done.", ">"]);
    let bar = rows(&mut chat).into_iter().find(|row| row.starts_with("──")).unwrap();
    assert!(bar.contains("ready · s1 · m · 5 tokens"), "{bar}");

    control(&mut chat, 'o');
    assert_eq!(
        said(&mut chat),
        ["· hello", "› do it", "  I look.", "▾ ✓ bash ls", "    exit 0", "  Done.", ">"]
    );
}

#[test]
fn what_happens_elsewhere_is_not_shown() {
    let mut chat = working();
    let before = said(&mut chat);
    chat.happened(&happened_in("s2", ChatEvent::AssistantDelta { text: "other".to_owned() }));
    assert_eq!(said(&mut chat), before);
}

#[test]
fn an_interrupt_ends_the_turn_and_only_then_asks_whether_to_leave() {
    let mut chat = working();
    chat.happened(&happened(ChatEvent::ToolStarted { tool: tool(), summary: "sleep 9".to_owned() }));
    assert_eq!(control(&mut chat, 'c'), [Effect::Cancel]);
    let canceled = ChatEvent::TurnCanceled { turn_id: "t1".to_owned(), reason: "asked".to_owned() };
    chat.happened(&happened(canceled));
    assert_eq!(control(&mut chat, 'c'), []);
    assert!(rows(&mut chat).concat().contains("being ended"));
    chat.happened(&happened(ChatEvent::StatusChanged { session: Box::new(session(SessionState::Idle)) }));

    assert!(said(&mut chat).contains(&"▸ ✗ bash sleep 9".to_owned()));

    chat.paste("draft");
    assert_eq!(control(&mut chat, 'c'), []);
    assert_eq!(control(&mut chat, 'c'), []);
    assert!(said(&mut chat).contains(&"? Leave the chat? y/n".to_owned()));
    assert_eq!(key(&mut chat, KeyCode::Char('n')), []);
    assert_eq!(said(&mut chat).last().unwrap(), ">");
    assert_eq!(control(&mut chat, 'c'), []);
    assert_eq!(key(&mut chat, KeyCode::Char('y')), [Effect::Leave]);
    assert_eq!(control(&mut chat, 'd'), [Effect::Leave]);
}

#[test]
fn a_question_is_answered_with_a_word_and_enter_and_never_by_a_paste() {
    for (word, decision) in [("y", Decision::Allow), ("YES", Decision::Allow), ("n", Decision::Deny)] {
        let mut chat = working();
        chat.happened(&happened(asks()));
        assert!(rows(&mut chat).concat().contains("rm x"));
        // The rest of a text that was being typed when the question came.
        assert_eq!(enter(&mut chat, "yesterday"), []);
        chat.paste("y\r");
        assert_eq!(key(&mut chat, KeyCode::Enter), []);
        assert!(rows(&mut chat).concat().contains("answer with y or n"));
        assert_eq!(enter(&mut chat, word), [Effect::Decide { approval_id: "q1".to_owned(), decision }]);
        let resolved =
            ChatEvent::ApprovalResolved { approval_id: "q1".to_owned(), decision, by: "client".to_owned() };
        chat.happened(&happened(resolved));
        assert_eq!(said(&mut chat).last().unwrap(), ">");
    }
}

#[test]
fn a_question_is_gone_with_its_turn() {
    let mut chat = working();
    chat.happened(&happened(asks()));
    assert_eq!(control(&mut chat, 'c'), [Effect::Cancel]);
    let resolved = ChatEvent::ApprovalResolved {
        approval_id: "q1".to_owned(),
        decision: Decision::Deny,
        by: "canceled".to_owned(),
    };
    chat.happened(&happened(resolved));
    assert!(said(&mut chat).contains(&"  not allowed (canceled)".to_owned()));
    assert_eq!(said(&mut chat).last().unwrap(), ">");
}

#[test]
fn several_lines_are_one_text() {
    let mut chat = Chat::new("hello".to_owned(), Vec::new());
    assert_eq!(enter(&mut chat, "one\\"), []);
    press(&mut chat, KeyCode::Char('2'), KeyModifiers::NONE);
    press(&mut chat, KeyCode::Enter, KeyModifiers::ALT);
    chat.paste("three\r\nfour\rfive");
    assert_eq!(said(&mut chat), ["· hello", "> one", "  2", "  three", "  four", "  five"]);
    let text = "one\n2\nthree\nfour\nfive".to_owned();
    assert_eq!(key(&mut chat, KeyCode::Enter), [Effect::Remember(text.clone()), Effect::Say(text)]);
}

#[test]
fn what_was_typed_comes_back() {
    let mut chat = Chat::new("hello".to_owned(), vec!["old\nlines".to_owned()]);
    enter(&mut chat, "/help");
    key(&mut chat, KeyCode::Up);
    assert_eq!(said(&mut chat).last().unwrap(), "> /help");
    key(&mut chat, KeyCode::Up);
    assert_eq!(said(&mut chat).last().unwrap(), "  lines");
    key(&mut chat, KeyCode::Down);
    key(&mut chat, KeyCode::Down);
    assert_eq!(said(&mut chat).last().unwrap(), ">");
}

#[test]
fn lines_with_a_slash_are_commands() {
    let mut chat = Chat::new("hello".to_owned(), Vec::new());
    for (line, effect, shown) in [
        ("/help", None, "/resume ID"),
        ("/sessions", Some(Effect::ListSessions), ""),
        ("/resume s2", Some(Effect::Resume("s2".to_owned())), ""),
        ("/resume", None, "Which one?"),
        ("/status", None, "no session yet"),
        ("/quit", Some(Effect::Leave), ""),
        ("/quit now", None, "takes nothing else"),
        ("/etc/passwd", None, "no command /etc/passwd"),
    ] {
        let mut expected = vec![Effect::Remember(line.to_owned())];
        expected.extend(effect);
        assert_eq!(enter(&mut chat, line), expected, "{line}");
        let rows = chat.frame(200, 60).rows;
        let text: String = rows.iter().flat_map(|row| row.spans()).map(Span::text).collect();
        assert!(text.contains(shown), "{line}: {text}");
    }
    let text = "/etc/passwd".to_owned();
    assert_eq!(enter(&mut chat, " /etc/passwd"), [Effect::Remember(text.clone()), Effect::Say(text)]);
}

#[test]
fn a_turn_keeps_others_from_beginning() {
    let mut chat = working();
    assert_eq!(enter(&mut chat, "more"), []);
    assert_eq!(said(&mut chat).last().unwrap(), "> more");
    control(&mut chat, 'u');
    assert_eq!(enter(&mut chat, "/new"), [Effect::Remember("/new".to_owned())]);
    assert!(rows(&mut chat).concat().contains("under way"));
    chat.happened(&happened(turn_completed()));
    enter(&mut chat, "/new");
    assert_eq!(said(&mut chat), ["· hello", ">"]);
}

#[test]
fn what_is_refused_is_given_back() {
    let mut chat = Chat::new("hello".to_owned(), Vec::new());
    enter(&mut chat, "do it");
    let error = ChatError::new(ErrorCode::ProviderUnavailable, "no model\u{1b}[2J answers");
    chat.reply(Reply::Refused(error));
    assert_eq!(said(&mut chat), ["· hello", "! no model\\u{1b}[2J answers", "> do it"]);
}

#[test]
fn a_session_is_shown_as_it_was() {
    let mut chat = working();
    let record = json!({
        "sessionId": "s1", "turn": {"turnId": "t9", "status": "failed", "startedAt": "t", "updatedAt": "t"},
        "input": {"text": "earlier"}, "policy": session(SessionState::Idle).policy,
    });
    let record: TurnRecord = serde_json::from_value(record).unwrap();
    let failed = ChatError::new(ErrorCode::InternalError, "it was interrupted");
    let events = [
        turn_started("t9"),
        ChatEvent::AssistantDelta { text: "half".to_owned() },
        asks(),
        ChatEvent::TurnFailed { turn_id: "t9".to_owned(), error: failed },
    ];
    let resumed = Reply::Resumed {
        session: Box::new(session(SessionState::Idle)),
        turns: vec![record],
        events: events.into_iter().map(happened).collect(),
    };
    chat.reply(resumed);
    let shown = said(&mut chat);
    let expected = [
        "· hello",
        "› earlier",
        "  half",
        "? bash asks to be called: each call",
        "  command:",
        "    rm x",
        "! it was interrupted",
        "· This is session s1, working in /w.",
        ">",
    ];
    assert_eq!(shown, expected);
    assert!(!chat.is_busy());
}

#[test]
fn sessions_are_listed_with_what_was_said_first() {
    let mut chat = Chat::new("hello".to_owned(), Vec::new());
    let sessions = vec![(session(SessionState::Idle), Some("fix\nit \u{1b}[1m".to_owned()))];
    chat.reply(Reply::Sessions(sessions));
    let shown = chat.frame(100, 10).rows;
    let text: String = shown.iter().flat_map(|row| row.spans()).map(Span::text).collect();
    assert!(text.contains("s1  2026-01-02 03:04  1 turn, idle  fix it \\u{1b}[1m"), "{text}");
}

#[test]
fn rows_out_of_sight_can_be_looked_at() {
    let mut chat = working();
    let text: String = (0..50).map(|line| format!("{line}\n\n")).collect();
    chat.happened(&happened(ChatEvent::AssistantDelta { text }));
    let end = rows(&mut chat);
    key(&mut chat, KeyCode::PageUp);
    let up = rows(&mut chat);
    assert_ne!(up, end);
    assert!(up.concat().contains("more rows"));
    // What comes meanwhile does not move what is looked at.
    chat.happened(&happened(ChatEvent::AssistantDelta { text: "x\n\ny\n\nz".to_owned() }));
    assert_eq!(rows(&mut chat).first(), up.first());
    for _ in 0..9 {
        key(&mut chat, KeyCode::PageDown);
    }
    assert!(rows(&mut chat).concat().contains('z'));
}

#[test]
fn calls_are_chosen_with_tab() {
    let mut chat = working();
    for name in ["first", "second"] {
        let tool = ToolRef { tool_call_id: name.to_owned(), tool_id: "bash".to_owned() };
        chat.happened(&happened(ChatEvent::ToolStarted { tool, summary: name.to_owned() }));
    }
    rows(&mut chat);
    key(&mut chat, KeyCode::BackTab);
    key(&mut chat, KeyCode::BackTab);
    key(&mut chat, KeyCode::Enter);
    let shown = said(&mut chat);
    assert!(shown.contains(&"▾ … bash first".to_owned()), "{shown:?}");
    assert!(shown.contains(&"▸ … bash second".to_owned()), "{shown:?}");
    let frame = chat.frame(60, 16);
    let chosen = |row: &&super::super::text::Row| row.spans().iter().any(|span| span.style().reverse);
    assert_eq!(frame.rows.iter().filter(chosen).count(), 1);
}

#[test]
fn every_size_of_a_screen_can_be_drawn() {
    let mut chat = working();
    chat.happened(&happened(ChatEvent::AssistantDelta {
        text: "漢字 and more\n\n```\ncode\n```".to_owned(),
    }));
    chat.happened(&happened(asks()));
    for columns in 0..12 {
        for height in 0..6 {
            let frame = chat.frame(columns, height);
            assert_eq!(frame.rows.len(), usize::from(height), "{columns}x{height}");
            assert!(frame.cursor.1 <= height.saturating_sub(1));
            let widest = usize::from(columns).saturating_sub(1).max(2);
            assert!(frame.rows.iter().all(|row| row.width() <= widest), "{columns}x{height}");
        }
    }
}
