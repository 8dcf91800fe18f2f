//! A typed client: one method per request, and the events as a stream beside them.
//!
//! Two tasks do the work, so that no future of a caller that is dropped half-way can cut a line or lose an event: one
//! writes the requests, one reads the lines and gives each answer to whom it belongs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};

use crate::protocol::{
    CancelTurn, ChatError, CloseSession, ErrorCode, EventEnvelope, EventList, Hello, ListEvents, ListTurns,
    Method, PROTOCOL_VERSION, REQUEST, Request, ResolveApproval, SessionList, SessionStatus, StartSession,
    StartTurn, StatusQuery, TurnList, TurnStatus, Welcome,
};

mod reading;
mod waiting;

use self::waiting::Waiting;

/// The longest line that is taken from a service. An answer to `list_events` can be as long as all events together:
/// ask for pages with `limit`.
pub const LONGEST_LINE: usize = 64 << 20;

/// How many events wait to be taken before the client reads no further. The service then keeps what follows.
/// While a request waits for its answer, reading goes on all the same: the answer stands behind those events.
pub const UNREAD_EVENTS: usize = 1024;

/// How many requests wait to be written before the next one waits to be taken.
const UNWRITTEN_REQUESTS: usize = 16;

/// Why a request has no result.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The service did not do it.
    #[error("{0}")]
    Refused(#[from] ChatError),
    /// The service could not be asked, or what it said is no answer.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
}

impl ClientError {
    /// The code of a refusal.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Refused(error) => Some(error.code),
            Self::Connection(_) => None,
        }
    }
}

/// What is wrong with the connection. After any of these, no request is answered any more.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// It said its last line.
    #[error("the chat service ended; its standard error says why")]
    Ended,
    /// It ended in the middle of a line.
    #[error(
        "the chat service ended in the middle of a line, after {bytes} bytes of it; start it again and list the events to see how far it came"
    )]
    CutOff {
        /// What there is of the line.
        bytes: usize,
    },
    /// Its lines cannot be read.
    #[error("cannot read from the chat service: {0}")]
    Read(Arc<std::io::Error>),
    /// It takes no requests.
    #[error("cannot write to the chat service: {0}")]
    Write(Arc<std::io::Error>),
    /// A line goes on and on.
    #[error(
        "line {line} of the chat service is longer than {LONGEST_LINE} bytes; ask for smaller pages with `limit`"
    )]
    TooLong {
        /// Which line, from one.
        line: u64,
    },
    /// A line is none of this protocol.
    #[error("line {line} of the chat service is not one of this protocol: {reason}")]
    NotProtocol {
        /// Which line, from one.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// An answer to nothing that was asked.
    #[error("line {line} of the chat service answers a request that was not made: {}", .request_id.as_deref().unwrap_or("it bears no id"))]
    Unasked {
        /// Which line, from one.
        line: u64,
        /// The id it bears.
        request_id: Option<String>,
    },
    /// Events must come with rising numbers.
    #[error("line {line} of the chat service is event {sequence}, told after event {previous}")]
    OutOfOrder {
        /// Which line, from one.
        line: u64,
        /// The event before.
        previous: u64,
        /// This event.
        sequence: u64,
    },
    /// A request cannot be written as JSON.
    #[error("the request cannot be written as JSON: {0}")]
    Unwritable(Arc<serde_json::Error>),
    /// What came of a request has another form than the method says.
    #[error("the chat service's result of `{method}` has not the form that it should have: {reason}")]
    WrongResult {
        /// The method.
        method: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

/// Asks a chat service. Clones ask the same one; when the last is dropped, the service is told that nothing more comes.
#[derive(Clone, Debug)]
pub struct Client {
    requests: mpsc::Sender<Vec<u8>>,
    waiting: Arc<Waiting>,
    last_id: Arc<AtomicU64>,
}

/// What a chat service tells. Dropped, its events are read and forgotten.
#[derive(Debug)]
pub struct EventStream {
    waiting: Arc<Waiting>,
}

impl Client {
    /// Begins to talk to a service: its output is read from `reader`, its input is `writer`. To be called in a tokio
    /// runtime, which then runs the two tasks of the connection.
    pub fn connect<R, W>(reader: R, writer: W) -> (Self, EventStream)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let waiting = Arc::new(Waiting::default());
        let (requests, written) = mpsc::channel(UNWRITTEN_REQUESTS);
        tokio::spawn(write(writer, written, Arc::clone(&waiting)));
        tokio::spawn(reading::read(reader, Arc::clone(&waiting)));
        let client = Self { requests, waiting: Arc::clone(&waiting), last_id: Arc::default() };
        (client, EventStream { waiting })
    }

    /// Agrees on a version and asks what the service can do.
    pub async fn hello(&self, name: &str) -> Result<Welcome, ClientError> {
        let hello = Hello { protocol_versions: vec![PROTOCOL_VERSION], client: Some(name.to_owned()) };
        self.call("hello", Method::Hello(hello)).await
    }

    /// Begins a session.
    pub async fn start_session(&self, session: StartSession) -> Result<SessionStatus, ClientError> {
        self.call("start_session", Method::StartSession(Box::new(session))).await
    }

    /// Says something. The answer comes when the turn has begun; what happens in it comes as events.
    pub async fn start_turn(&self, turn: StartTurn) -> Result<TurnStatus, ClientError> {
        self.call("start_turn", Method::StartTurn(Box::new(turn))).await
    }

    /// Ends what is under way. The turn is over when `status_changed` says so.
    pub async fn cancel_turn(&self, turn: CancelTurn) -> Result<SessionStatus, ClientError> {
        self.call("cancel_turn", Method::CancelTurn(turn)).await
    }

    /// Answers a question of the service.
    pub async fn resolve_approval(&self, answer: ResolveApproval) -> Result<SessionStatus, ClientError> {
        self.call("resolve_approval", Method::ResolveApproval(answer)).await
    }

    /// Ends a session.
    pub async fn close_session(&self, session: CloseSession) -> Result<SessionStatus, ClientError> {
        self.call("close_session", Method::CloseSession(session)).await
    }

    /// How sessions stand.
    pub async fn status(&self, query: StatusQuery) -> Result<SessionList, ClientError> {
        self.call("status", Method::Status(query)).await
    }

    /// What happened, as far as the store keeps it.
    pub async fn list_events(&self, query: ListEvents) -> Result<EventList, ClientError> {
        self.call("list_events", Method::ListEvents(query)).await
    }

    /// What was said, as far as the store keeps it.
    pub async fn list_turns(&self, query: ListTurns) -> Result<TurnList, ClientError> {
        self.call("list_turns", Method::ListTurns(query)).await
    }

    async fn call<T: DeserializeOwned>(&self, name: &'static str, method: Method) -> Result<T, ClientError> {
        let result = self.ask(method).await?;
        serde_json::from_str(result.get())
            .map_err(|error| ConnectionError::WrongResult { method: name, reason: error.to_string() }.into())
    }

    async fn ask(&self, method: Method) -> Result<Box<RawValue>, ClientError> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed).saturating_add(1).to_string();
        let request = Request {
            tag: REQUEST.to_owned(),
            protocol_version: PROTOCOL_VERSION,
            request_id: id.clone(),
            method,
        };
        let mut line =
            serde_json::to_vec(&request).map_err(|error| ConnectionError::Unwritable(Arc::new(error)))?;
        line.push(b'\n');
        let (reply, answer) = oneshot::channel();
        // Taken before the id is known to the reader: a request that is given up here is not waited for.
        let room = self.requests.reserve().await.map_err(|_| self.waiting.why_ended())?;
        self.waiting.expect(id, reply)?;
        room.send(line);
        answer.await.map_err(|_| self.waiting.why_ended())?
    }
}

impl EventStream {
    /// The next event, in the order of their numbers; none after the last one of a service that ended between two
    /// lines. Nothing is lost when this future is dropped before it is done.
    pub async fn next(&mut self) -> Result<Option<EventEnvelope>, ConnectionError> {
        self.waiting.next_event().await
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.waiting.forget_events();
    }
}

async fn write<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut lines: mpsc::Receiver<Vec<u8>>,
    waiting: Arc<Waiting>,
) {
    while let Some(line) = lines.recv().await {
        let written = async {
            writer.write_all(&line).await?;
            writer.flush().await
        };
        if let Err(error) = written.await {
            waiting.refuse_requests(ConnectionError::Write(Arc::new(error)));
            return;
        }
    }
    // The reader says how the service takes it; an error here has nobody to be told to.
    let _ = writer.shutdown().await;
}
