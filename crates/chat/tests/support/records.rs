//! Sessions and turns to put into a store, and a clock that goes by the number of looks at it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use fullsend_chat::protocol::{
    Capabilities, ChatEvent, ChatPolicy, EventEnvelope, ListEvents, PolicyTag, SessionState, SessionStatus,
    ToolMode, TurnInput, TurnRecord, TurnState, TurnStatus, Workspace,
};
use fullsend_chat::store::{Change, Expect, Place, Store, StoreError, Stored, TurnChange};
use fullsend_guard::Clock;
use jiff::Timestamp;

/// A clock that begins in 2026 and goes on by a millisecond whenever it is looked at.
#[derive(Debug)]
pub(crate) struct Ticking(AtomicI64);

impl Ticking {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(1_767_225_600_000)))
    }

    /// Lets time pass.
    pub(crate) fn pass(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1000, Ordering::Relaxed);
    }
}

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.0.fetch_add(1, Ordering::Relaxed)).unwrap()
    }
}

pub(crate) fn open(path: &Path) -> Store {
    Store::open(&Place::File(path.to_owned()), Ticking::new()).unwrap()
}

pub(crate) fn temporary(keep: Option<u64>) -> Store {
    Store::open(&Place::Temporary { keep }, Ticking::new()).unwrap()
}

pub(crate) fn session(id: &str) -> SessionStatus {
    SessionStatus {
        session_id: id.to_owned(),
        status: SessionState::Idle,
        reusable: true,
        turn_count: 0,
        created_at: "2026-01-01T00:00:00.000Z".to_owned(),
        updated_at: "2026-01-01T00:00:00.000Z".to_owned(),
        closed_at: None,
        active_turn_id: None,
        active_turn: None,
        workspace: Workspace { host_path: "/w".to_owned(), cwd: None, sandbox_path: None },
        context: None,
        model: Some("m".to_owned()),
        harness_run_id: None,
        artifact_root: None,
        capabilities: Capabilities::default(),
        policy: policy(),
        browser_lease_id: None,
        metadata: None,
    }
}

pub(crate) fn policy() -> ChatPolicy {
    ChatPolicy {
        tag: PolicyTag::Policy,
        tool_mode: ToolMode::WorkspaceWrite,
        allowed_tool_ids: ["bash".to_owned()].into(),
        allowed_subagent_profiles: [].into(),
        approval_tool_ids: [].into(),
        ask_on_flow_denial: false,
        cfc_enforcement_mode: None,
        prompt_slot: None,
    }
}

pub(crate) fn turn(id: &str, status: TurnState) -> TurnStatus {
    TurnStatus {
        turn_id: id.to_owned(),
        status,
        started_at: "2026-01-01T00:00:01.000Z".to_owned(),
        updated_at: "2026-01-01T00:00:01.000Z".to_owned(),
        ended_at: status.is_terminal().then(|| "2026-01-01T00:00:02.000Z".to_owned()),
        cancel_reason: None,
        error: None,
    }
}

pub(crate) fn record(session_id: &str, id: &str) -> TurnRecord {
    TurnRecord {
        session_id: session_id.to_owned(),
        turn: turn(id, TurnState::Running),
        input: TurnInput { text: format!("do {id}"), image_attachments: Vec::new() },
        context: None,
        policy: policy(),
        browser_lease_id: None,
        metadata: None,
    }
}

pub(crate) fn delta(text: &str) -> ChatEvent {
    ChatEvent::AssistantDelta { text: text.to_owned() }
}

/// A change that is only an event.
pub(crate) fn only<'a>(session_id: &'a str, turn_id: Option<&'a str>, event: &'a ChatEvent) -> Change<'a> {
    Change { session_id, turn_id, event, session: None, turn: None, expect: Expect::Anything }
}

pub(crate) fn say(store: &Store, session: &str, turn: &str, text: &str) -> Result<Stored, StoreError> {
    store.commit(only(session, Some(turn), &delta(text)))
}

pub(crate) fn begin_session(store: &Store, id: &str) -> Result<Stored, StoreError> {
    begin_session_as(store, &session(id))
}

pub(crate) fn begin_session_as(store: &Store, session: &SessionStatus) -> Result<Stored, StoreError> {
    let event = ChatEvent::SessionStarted { session: Box::new(session.clone()) };
    store.commit(Change {
        session: Some(session),
        expect: Expect::NewSession,
        ..only(&session.session_id, None, &event)
    })
}

/// The session while a turn is under way.
pub(crate) fn busy(session_id: &str, turn_id: &str) -> SessionStatus {
    SessionStatus {
        status: SessionState::TurnRunning,
        turn_count: 1,
        active_turn_id: Some(turn_id.to_owned()),
        active_turn: Some(turn(turn_id, TurnState::Running)),
        ..session(session_id)
    }
}

pub(crate) fn begin_turn(store: &Store, session_id: &str, turn_id: &str) -> Result<Stored, StoreError> {
    let record = record(session_id, turn_id);
    let event = ChatEvent::TurnStarted { turn: record.turn.clone() };
    store.commit(Change {
        session: Some(&busy(session_id, turn_id)),
        turn: Some(TurnChange::Create(&record)),
        expect: Expect::NewTurn,
        ..only(session_id, Some(turn_id), &event)
    })
}

pub(crate) fn end_turn(store: &Store, session_id: &str, turn_id: &str) -> Result<Stored, StoreError> {
    let event =
        ChatEvent::TurnCompleted { turn_id: turn_id.to_owned(), final_text: "done".to_owned(), usage: None };
    store.commit(Change {
        session: Some(&SessionStatus { turn_count: 1, ..session(session_id) }),
        turn: Some(TurnChange::Update(&turn(turn_id, TurnState::Completed))),
        ..only(session_id, Some(turn_id), &event)
    })
}

pub(crate) fn close_session(store: &Store, id: &str, at: &str) -> Result<Stored, StoreError> {
    let closed = SessionStatus {
        status: SessionState::Closed,
        reusable: false,
        closed_at: Some(at.to_owned()),
        ..session(id)
    };
    let event = ChatEvent::SessionClosed { reason: "closed".to_owned() };
    store.commit(Change { session: Some(&closed), ..only(id, None, &event) })
}

/// All events, over as many pages as it takes.
pub(crate) fn all_events(store: &Store, session_id: Option<&str>) -> Vec<EventEnvelope> {
    let mut query = ListEvents { session_id: session_id.map(str::to_owned), ..ListEvents::default() };
    let mut found: Vec<EventEnvelope> = Vec::new();
    loop {
        let page = store.events(&query).unwrap();
        found.extend(page.lines.iter().map(|line| serde_json::from_str::<EventEnvelope>(line).unwrap()));
        if !page.more {
            return found;
        }
        query.after_sequence = found.last().map(|event| event.sequence);
    }
}

pub(crate) fn sequences(store: &Store, session_id: Option<&str>) -> Vec<u64> {
    all_events(store, session_id).iter().map(|event| event.sequence).collect()
}
