//! Does what a chat wants done: asks the service, beside the chat, and hands in what came of it.

use fullsend_chat::client::{Client, ClientError};
use fullsend_chat::protocol::{
    CancelTurn, ChatError, Decision, ErrorCode, EventEnvelope, ListEvents, ListTurns, ResolveApproval,
    SessionStatus, StartSession, StartTurn, StatusQuery, TurnInput,
};
use tokio::sync::mpsc;

use super::input::Input;
use super::state::Reply;

/// How many events are asked for at once.
const PAGE: u64 = 2000;
/// How many sessions are listed: the newest.
const MOST_SESSIONS: usize = 50;
/// Why a person's turn was ended.
const INTERRUPTED: &str = "interrupted by the person";

/// A way to the service.
#[derive(Clone, Debug)]
pub(super) struct Link {
    client: Client,
    /// What a session is begun with.
    begin: StartSession,
    inputs: mpsc::Sender<Input>,
}

impl Link {
    pub(super) fn new(client: Client, begin: StartSession, inputs: mpsc::Sender<Input>) -> Self {
        Self { client, begin, inputs }
    }

    /// Says something in a session, or in a new one.
    pub(super) fn say(&self, session_id: Option<String>, turn_id: String, text: String) {
        let this = self.clone();
        self.ask(async move {
            let (session_id, began) = match session_id {
                Some(session_id) => (session_id, None),
                None => {
                    let session = this.client.start_session(this.begin.clone()).await?;
                    (session.session_id.clone(), Some(Reply::Began(Box::new(session))))
                }
            };
            let turn = StartTurn {
                session_id,
                turn_id: Some(turn_id),
                input: TurnInput { text, image_attachments: Vec::new() },
                context: None,
                policy: None,
                browser_access: None,
                metadata: None,
            };
            this.client.start_turn(turn).await?;
            Ok(began)
        });
    }

    pub(super) fn cancel(&self, session_id: String) {
        let this = self.clone();
        self.ask(async move {
            let cancel = CancelTurn { session_id, turn_id: None, reason: Some(INTERRUPTED.to_owned()) };
            match this.client.cancel_turn(cancel).await {
                // It has ended by itself meanwhile.
                Err(error) if error.code() == Some(ErrorCode::TurnNotFound) => Ok(None),
                done => done.map(|_| None),
            }
        });
    }

    pub(super) fn decide(&self, session_id: String, approval_id: String, decision: Decision) {
        let this = self.clone();
        self.ask(async move {
            let answer = ResolveApproval { session_id, approval_id, decision };
            match this.client.resolve_approval(answer).await {
                Err(error) if error.code() == Some(ErrorCode::ApprovalNotFound) => Ok(None),
                done => done.map(|_| None),
            }
        });
    }

    pub(super) fn list_sessions(&self) {
        let this = self.clone();
        self.ask(async move {
            let mut sessions = this.client.status(StatusQuery::default()).await?.sessions;
            sessions.drain(..sessions.len().saturating_sub(MOST_SESSIONS));
            let turns = this.client.list_turns(ListTurns::default()).await?.turns;
            let first = |session: &SessionStatus| {
                let said = turns.iter().find(|turn| turn.session_id == session.session_id);
                said.map(|turn| turn.input.text.clone())
            };
            let listed = sessions.into_iter().map(|session| {
                let first = first(&session);
                (session, first)
            });
            Ok(Some(Reply::Sessions(listed.collect())))
        });
    }

    pub(super) fn ask_status(&self, session_id: String) {
        let this = self.clone();
        self.ask(async move {
            let query = StatusQuery { session_id: Some(session_id) };
            let sessions = this.client.status(query).await?.sessions;
            Ok(sessions.into_iter().next().map(|session| Reply::Status(Box::new(session))))
        });
    }

    pub(super) fn resume(&self, id: String) {
        let this = self.clone();
        self.ask(async move { this.resumed(&id).await.map(Some) });
    }

    /// All that is known of the session whose id begins like this.
    pub(super) async fn resumed(&self, id: &str) -> Result<Reply, ClientError> {
        let sessions = self.client.status(StatusQuery::default()).await?.sessions;
        let exact = sessions.iter().find(|session| session.session_id == id);
        let mut alike = sessions.iter().filter(|session| session.session_id.starts_with(id));
        let session = match (exact, alike.next(), alike.next()) {
            (Some(session), _, _) | (None, Some(session), None) => session.clone(),
            (None, None, _) => return Err(no_session(format!("there is no session `{id}`"))),
            (None, Some(_), Some(_)) => {
                return Err(no_session(format!(
                    "more than one session begins with `{id}`; give more of its id"
                )));
            }
        };
        let only = Some(session.session_id.clone());
        let turns = self.client.list_turns(ListTurns { session_id: only.clone(), status: None }).await?.turns;
        let mut events: Vec<EventEnvelope> = Vec::new();
        loop {
            let after_sequence = events.last().map(|event| event.sequence);
            let query = ListEvents { session_id: only.clone(), after_sequence, limit: Some(PAGE) };
            let page = self.client.list_events(query).await?.events;
            // A page may be shorter than was asked for and yet not be the last.
            if page.is_empty() {
                break;
            }
            events.extend(page);
        }
        Ok(Reply::Resumed { session: Box::new(session), turns, events })
    }

    /// Asks beside the chat, which goes on meanwhile.
    fn ask(&self, asked: impl Future<Output = Result<Option<Reply>, ClientError>> + Send + 'static) {
        let inputs = self.inputs.clone();
        tokio::spawn(async move {
            let reply = asked.await.unwrap_or_else(|error| Some(Reply::Refused(told(error))));
            if let Some(reply) = reply {
                // A chat that has ended wants no answer.
                let _ = inputs.send(Input::Reply(reply)).await;
            }
        });
    }
}

fn no_session(problem: String) -> ClientError {
    ChatError::new(ErrorCode::SessionNotFound, format!("{problem}; /sessions lists them")).into()
}

fn told(error: ClientError) -> ChatError {
    if let ClientError::Refused(error) = error {
        return error;
    }
    ChatError::new(ErrorCode::InternalError, error.to_string())
}
