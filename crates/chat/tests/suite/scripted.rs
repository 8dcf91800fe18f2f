//! A service whose turns follow what is said to them, so that tests decide when what happens.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fullsend_agent::Pending;
use fullsend_chat::protocol::{
    ChatError, ChatEvent, Decision, ErrorCode, FileChange, StartSession, ToolRef, ToolStatus, TurnUsage,
};
use fullsend_chat::service::{Service, Settings};
use fullsend_chat::store::{Place, Store};
use fullsend_chat::turn::{Ground, Question, TurnDesk, TurnEnd, TurnOrder, TurnRunner};
use fullsend_guard::SystemClock;
use serde_json::{Value, json};
use tokio::sync::Notify;

/// Turns that do what is said to them.
#[derive(Debug, Default)]
pub(super) struct Scripted {
    /// Lets a turn go on that waits for it.
    pub(super) gate: Arc<Notify>,
    /// What turns were given.
    pub(super) orders: Mutex<Vec<TurnOrder>>,
}

impl TurnRunner for Scripted {
    fn begin(&self, ask: &StartSession) -> Result<Ground, ChatError> {
        if ask.model.as_deref() == Some("none") {
            return Err(ChatError::new(ErrorCode::ProviderUnavailable, "there is no such model"));
        }
        Ok(Ground { model: Some("scripted".to_owned()), artifact_root: None })
    }

    fn run(&self, order: TurnOrder, desk: TurnDesk) -> Pending<'static, TurnEnd> {
        self.orders.lock().unwrap().push(order.clone());
        let gate = self.gate.clone();
        Box::pin(async move { play(&order.turn.input.text, &desk, &gate).await })
    }
}

async fn play(said: &str, desk: &TurnDesk, gate: &Notify) -> TurnEnd {
    match said {
        "write" => write(desk),
        "wait" => {
            desk.cancelled().await;
            return TurnEnd::Canceled;
        }
        "speak after the end" => {
            desk.cancelled().await;
            assert!(!say(desk, "too late"));
            return TurnEnd::Completed { final_text: "too late".to_owned(), usage: None };
        }
        "stay" => gate.notified().await,
        "ask" => {
            let decision = desk.ask(question()).await;
            let text = if decision == Decision::Allow { "allowed" } else { "denied" };
            return reply(desk, text);
        }
        "fail" => return TurnEnd::Failed(ChatError::new(ErrorCode::ProviderUnavailable, "nobody answers")),
        "break" => return TurnEnd::Broken(ChatError::new(ErrorCode::SessionUnusable, "the record is gone")),
        "panic" => panic!("as the test wants"),
        "a run" => desk.run_began("run-1"),
        "a run that stays" => {
            desk.run_began("run-1");
            gate.notified().await;
        }
        _ => {}
    }
    reply(desk, "Hi")
}

fn question() -> Question {
    let input = json!({"command": "make"}).as_object().unwrap().clone();
    Question { tool: tool("bash"), input, reason: "every call is asked about".to_owned() }
}

fn tool(id: &str) -> ToolRef {
    ToolRef { tool_call_id: "call-1".to_owned(), tool_id: id.to_owned() }
}

fn say(desk: &TurnDesk, text: &str) -> bool {
    desk.tell(&ChatEvent::AssistantDelta { text: text.to_owned() })
}

fn reply(desk: &TurnDesk, text: &str) -> TurnEnd {
    say(desk, text);
    desk.tell(&ChatEvent::AssistantCompleted { text: text.to_owned() });
    let usage = TurnUsage { input_tokens: 3, output_tokens: 2, total_tokens: 5, ..TurnUsage::default() };
    TurnEnd::Completed { final_text: text.to_owned(), usage: Some(usage) }
}

fn write(desk: &TurnDesk) {
    desk.tell(&ChatEvent::ToolStarted { tool: tool("write_file"), summary: "a.txt".to_owned() });
    desk.tell(&ChatEvent::ToolCompleted {
        tool: tool("write_file"),
        status: ToolStatus::Completed,
        result_summary: "written".to_owned(),
        diff: None,
        reason: None,
    });
    let (kind, path) = ("update".to_owned(), "/workspace/a.txt".to_owned());
    desk.tell(&ChatEvent::FileChanged {
        change: FileChange { kind, path, summary: "write_file replace".to_owned() },
    });
}

/// A service, and what a client would ask of it.
#[derive(Debug)]
pub(super) struct Talk {
    pub(super) service: Arc<Service>,
    pub(super) script: Arc<Scripted>,
    pub(super) complaints: Arc<Mutex<Vec<String>>>,
    pub(super) database: Option<PathBuf>,
}

impl Talk {
    /// On a database that is gone afterwards.
    pub(super) fn new() -> Self {
        Self::on(None)
    }

    /// On a file.
    pub(super) fn on(database: Option<&Path>) -> Self {
        Self::with(database, Settings::default())
    }

    pub(super) fn with(database: Option<&Path>, settings: Settings) -> Self {
        let place = database.map_or(Place::Temporary { keep: None }, |path| Place::File(path.to_owned()));
        let store = Store::open(&place, Arc::new(SystemClock)).unwrap();
        let (script, complaints) = (Arc::new(Scripted::default()), Arc::new(Mutex::new(Vec::new())));
        let told: Arc<Mutex<Vec<String>>> = complaints.clone();
        let complain = Arc::new(move |text: &str| told.lock().unwrap().push(text.to_owned()));
        let settings = Settings { complaints: complain, ..settings };
        let service = Arc::new(Service::new(store, script.clone(), settings));
        service.recover().unwrap();
        Self { service, script, complaints, database: database.map(Path::to_owned) }
    }

    /// Sends a line.
    pub(super) async fn line(&self, line: &str) -> Value {
        serde_json::from_str(&self.service.handle(line.as_bytes()).await).unwrap()
    }

    /// Asks for something.
    pub(super) async fn ask(&self, method: &str, params: Value) -> Value {
        self.line(&request(method, &params)).await
    }

    /// What came of something that can be done.
    pub(super) async fn done(&self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params).await;
        assert_eq!(answer["ok"], true, "{answer}");
        assert_eq!(answer["requestId"], "r1");
        answer["result"].clone()
    }

    /// Why something cannot be done.
    pub(super) async fn refused(&self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params).await;
        assert_eq!(answer["ok"], false, "{answer}");
        assert_eq!(answer["requestId"], "r1");
        answer["error"].clone()
    }

    pub(super) async fn start(&self, session: &str) -> Value {
        self.done("start_session", json!({"sessionId": session, "workspace": {"hostPath": "/w"}})).await
    }

    /// Begins a turn.
    pub(super) async fn say(&self, session: &str, turn: &str, text: &str) -> Value {
        let params = json!({"sessionId": session, "turnId": turn, "input": {"text": text}});
        self.done("start_turn", params).await
    }

    /// Begins a turn and waits for its end.
    pub(super) async fn said(&self, session: &str, turn: &str, text: &str) -> Value {
        self.say(session, turn, text).await;
        self.ended(session, turn).await
    }

    /// A turn, when it has ended.
    pub(super) async fn ended(&self, session: &str, turn: &str) -> Value {
        let mut found = Value::Null;
        self.until(async || {
            let turns = self.done("list_turns", json!({"sessionId": session})).await;
            let one =
                turns["turns"].as_array().unwrap().iter().find(|one| one["turn"]["turnId"] == turn).cloned();
            found = one.unwrap()["turn"].clone();
            !["running", "canceling"].contains(&found["status"].as_str().unwrap())
        })
        .await;
        found
    }

    /// Waits until something is so.
    pub(super) async fn until(&self, mut is_so: impl AsyncFnMut() -> bool) {
        let start = Instant::now();
        while !is_so().await {
            assert!(start.elapsed() < Duration::from_secs(60), "it never came: {:?}", self.events().await);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Waits for an event, and returns it.
    pub(super) async fn event(&self, kind: &str) -> Value {
        let mut found = None;
        self.until(async || {
            found = self.events().await.into_iter().find(|one| one["event"]["kind"] == kind);
            found.is_some()
        })
        .await;
        found.unwrap()["event"].clone()
    }

    pub(super) async fn events(&self) -> Vec<Value> {
        let listed = self.done("list_events", json!({})).await;
        listed["events"].as_array().unwrap().clone()
    }

    /// The kinds of all events, which have no gap.
    pub(super) async fn kinds(&self) -> Vec<String> {
        let events = self.events().await;
        let sequences: Vec<u64> = events.iter().map(|one| one["sequence"].as_u64().unwrap()).collect();
        assert_eq!(sequences, (1..=events.len() as u64).collect::<Vec<_>>());
        events.iter().map(|one| one["event"]["kind"].as_str().unwrap().to_owned()).collect()
    }

    pub(super) async fn status(&self, session: &str) -> Value {
        self.done("status", json!({"sessionId": session})).await["sessions"][0].clone()
    }

    /// Lets the database say no to some events.
    pub(super) fn forbid(&self, condition: &str) {
        let database = rusqlite::Connection::open(self.database.as_ref().unwrap()).unwrap();
        let trigger = format!(
            "CREATE TRIGGER no BEFORE INSERT ON chat_event WHEN {condition} BEGIN SELECT RAISE(ABORT, 'full'); END"
        );
        database.execute_batch(&trigger).unwrap();
    }

    pub(super) fn permit(&self) {
        let database = rusqlite::Connection::open(self.database.as_ref().unwrap()).unwrap();
        database.execute_batch("DROP TRIGGER no").unwrap();
    }
}

/// A request as a line.
pub(super) fn request(method: &str, params: &Value) -> String {
    let request = json!({"type": "fullsend.chat.request", "protocolVersion": 1, "requestId": "r1", "method": method,
        "params": params});
    request.to_string()
}
