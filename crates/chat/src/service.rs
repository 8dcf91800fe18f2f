//! The service: answers requests, makes turns, and keeps the rules about both.
//!
//! Requests are answered one after the other; turns run beside them. Everything that happens is in the store before it is
//! told, and is told in the order of the store.

mod books;
mod live;
mod policy;
mod reading;
mod recovery;
mod sessions;
mod turns;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fullsend_guard::{Clock, SystemClock};
use serde::Serialize;
use serde_json::Value;

pub(crate) use self::books::Books;
pub use self::books::Complaints;
pub(crate) use self::live::Live;
pub use self::policy::{Allowance, READ_ONLY_TOOLS};
pub(crate) use self::policy::{mode_of, slot_of};
use self::reading::Read;
use crate::outbox::Outbox;
use crate::protocol::{
    BrowserAccess, Capabilities, ChatError, ErrorCode, Hello, ListEvents, Method, PROTOCOL_VERSION, Response,
    ResponseTag, SessionList, TurnList, Welcome,
};
use crate::store::{Store, StoreError};
use crate::turn::TurnRunner;

/// How many events' texts wait for a client in memory, where nothing is said.
pub const USUAL_ROOM: usize = 4096;

/// What a service is told when it is made.
#[derive(Clone)]
pub struct Settings {
    /// What sessions may do.
    pub allowance: Allowance,
    /// How many events' texts wait for the client in memory.
    pub room: usize,
    /// How long the end of a session waits for the end of its turn.
    pub patience: Duration,
    /// The version of the build, for clients.
    pub version: String,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Who is told what cannot be written down.
    pub complaints: Complaints,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Settings");
        shown.field("allowance", &self.allowance).field("room", &self.room).finish_non_exhaustive()
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            allowance: Allowance::default(),
            room: USUAL_ROOM,
            patience: Duration::from_secs(5),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            clock: Arc::new(SystemClock),
            complaints: Arc::new(|_| {}),
        }
    }
}

/// The service.
#[derive(Debug)]
pub struct Service {
    books: Arc<Books>,
    runner: Arc<dyn TurnRunner>,
    allowance: Allowance,
    patience: Duration,
    version: String,
    /// Browsers that are lent to sessions. They are lent to this process, and are nowhere else.
    lent: Mutex<BTreeMap<String, BrowserAccess>>,
}

impl Service {
    /// A service on a store.
    pub fn new(store: Store, runner: Arc<dyn TurnRunner>, settings: Settings) -> Self {
        let Settings { allowance, room, patience, version, clock, complaints } = settings;
        let books = Arc::new(Books::new(store, room, clock, complaints));
        Self { books, runner, allowance, patience, version, lent: Mutex::default() }
    }

    /// Answers a line with a line; neither has an end.
    pub async fn handle(&self, line: &[u8]) -> String {
        let Read { request_id, method } = reading::read(line);
        let done = match method {
            Ok(method) => self.done(method).await,
            Err(error) => Err(error),
        };
        match done {
            Ok(Done::Value(result)) => written(&response(request_id, Ok(result))),
            Ok(Done::Json(result)) => spliced(request_id.as_deref(), &result),
            Err(error) => written(&response(request_id, Err(error))),
        }
    }

    /// Answers a line that cannot be read as one.
    pub(crate) fn refuse(problem: &str) -> String {
        let error = ChatError::new(ErrorCode::InvalidRequest, problem);
        written(&response(None, Err(error)))
    }

    async fn done(&self, method: Method) -> Result<Done, ChatError> {
        match method {
            Method::Hello(hello) => self.welcome(&hello),
            Method::StartSession(ask) => value(&self.start_session(*ask)?),
            Method::StartTurn(ask) => value(&self.start_turn(*ask)?),
            Method::CancelTurn(ask) => value(&self.cancel_turn(&ask)?),
            Method::ResolveApproval(ask) => value(&self.resolve_approval(&ask)?),
            Method::CloseSession(ask) => value(&self.close_session(&ask).await?),
            Method::Status(query) => {
                let sessions = self.books.store.sessions(query.session_id.as_deref()).map_err(told)?;
                value(&SessionList { sessions })
            }
            Method::ListEvents(query) => self.list_events(&query),
            Method::ListTurns(query) => {
                let found = self.books.store.turns(query.session_id.as_deref(), query.status);
                value(&TurnList { turns: found.map_err(told)? })
            }
        }
    }

    fn welcome(&self, _hello: &Hello) -> Result<Done, ChatError> {
        value(&Welcome {
            protocol_version: PROTOCOL_VERSION,
            supported_versions: vec![PROTOCOL_VERSION],
            service: "fullsend".to_owned(),
            service_version: self.version.clone(),
            capabilities: Capabilities::default(),
        })
    }

    /// Events are kept as they are told, and are told again without being read.
    fn list_events(&self, query: &ListEvents) -> Result<Done, ChatError> {
        let page = self.books.store.events(query).map_err(told)?;
        let size: usize = page.lines.iter().map(|line| line.len() + 1).sum();
        let mut json = String::with_capacity(size + 64);
        json.push_str("{\"events\":[");
        for (number, line) in page.lines.iter().enumerate() {
            if number > 0 {
                json.push(',');
            }
            json.push_str(line);
        }
        let more = if page.more { ",\"more\":true" } else { "" };
        json.push_str(&format!("],\"latestSequence\":{}{more}}}", page.latest_sequence));
        Ok(Done::Json(json))
    }

    /// Waits until all turns have ended. Nobody is left to answer questions.
    pub async fn drain(&self) {
        let live = self.books.all_live();
        for turn in &live {
            turn.leave_alone(&self.books);
        }
        for turn in &live {
            turn.ended().await;
        }
    }

    /// Ends all turns; [`Service::drain`] waits for them.
    pub fn cancel_all(&self, reason: &str) {
        for live in self.books.all_live() {
            if let Err(error) = live.cancel(&self.books, reason) {
                self.books.complain(&format!("the end of a turn could not be written down: {error}"));
            }
        }
    }

    pub(crate) fn outbox(&self) -> &Outbox {
        &self.books.outbox
    }

    pub(crate) fn store(&self) -> &Store {
        &self.books.store
    }

    fn lent_to(&self, session_id: &str) -> Option<BrowserAccess> {
        self.lent.lock().unwrap_or_else(PoisonError::into_inner).get(session_id).cloned()
    }

    fn lend(&self, session_id: &str, browser: BrowserAccess) {
        self.lent.lock().unwrap_or_else(PoisonError::into_inner).insert(session_id.to_owned(), browser);
    }

    fn take_back(&self, session_id: &str) {
        self.lent.lock().unwrap_or_else(PoisonError::into_inner).remove(session_id);
    }
}

/// What came of a request.
enum Done {
    Value(Value),
    /// JSON already.
    Json(String),
}

fn value(result: &impl Serialize) -> Result<Done, ChatError> {
    let value = serde_json::to_value(result);
    value.map(Done::Value).map_err(|error| ChatError::new(ErrorCode::InternalError, error.to_string()))
}

fn response(request_id: Option<String>, done: Result<Value, ChatError>) -> Response {
    let (result, error) = match done {
        Ok(result) => (Some(result), None),
        Err(error) => (None, Some(error)),
    };
    let ok = error.is_none();
    Response { tag: ResponseTag::Response, protocol_version: PROTOCOL_VERSION, request_id, ok, result, error }
}

fn written(response: &Response) -> String {
    // Its keys are texts, so it can be written.
    serde_json::to_string(response).unwrap_or_default()
}

/// An answer whose result is JSON already.
fn spliced(request_id: Option<&str>, result: &str) -> String {
    let mut line = written(&response(request_id.map(str::to_owned), Ok(Value::Null)));
    let end = ",\"result\":null}";
    if line.ends_with(end) {
        line.truncate(line.len() - end.len());
    }
    line.push_str(",\"result\":");
    line.push_str(result);
    line.push('}');
    line
}

/// An error of the store as a client is told.
fn told(error: StoreError) -> ChatError {
    if let StoreError::TurnRunning { turn_id, .. } = &error {
        let told = ChatError::new(ErrorCode::TurnAlreadyRunning, error.to_string());
        return told.retryable().with("turnId", turn_id.as_str());
    }
    let code = if matches!(error, StoreError::SessionExists { .. }) {
        ErrorCode::SessionExists
    } else if matches!(error, StoreError::SessionNotFound { .. }) {
        ErrorCode::SessionNotFound
    } else if matches!(error, StoreError::SessionClosed { .. }) {
        ErrorCode::SessionClosed
    } else if matches!(error, StoreError::TurnExists { .. }) {
        ErrorCode::TurnExists
    } else {
        // Whatever it is, it is ours.
        ErrorCode::InternalError
    };
    ChatError::new(code, error.to_string())
}
