//! How sessions begin and end.

use super::live::closed;
use super::policy::wants_browser;
use super::reading::wrong;
use super::{Service, told};
use crate::protocol::{
    Capabilities, ChatError, ChatEvent, CloseSession, ErrorCode, SessionState, SessionStatus, StartSession,
};
use crate::store::{Change, Expect, StoreError};

impl Service {
    pub(super) fn start_session(&self, ask: StartSession) -> Result<SessionStatus, ChatError> {
        let session_id = ask.session_id.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        if !self.books.store.sessions(Some(&session_id)).map_err(told)?.is_empty() {
            return Err(told(StoreError::SessionExists { session_id }));
        }
        check_workspace(&ask)?;
        let policy = self.allowance.of_session(ask.context.as_ref(), ask.policy.as_ref())?;
        let ground = self.runner.begin(&ask)?;
        let now = self.books.now();
        let session = SessionStatus {
            session_id,
            status: SessionState::Idle,
            reusable: true,
            turn_count: 0,
            created_at: now.clone(),
            updated_at: now,
            closed_at: None,
            active_turn_id: None,
            active_turn: None,
            workspace: ask.workspace,
            context: ask.context,
            model: ground.model,
            harness_run_id: None,
            artifact_root: ground.artifact_root,
            capabilities: Capabilities::default(),
            policy,
            browser_lease_id: ask.browser_access.as_ref().map(|lease| lease.lease_id.clone()),
            metadata: ask.metadata,
        };
        let event = ChatEvent::SessionStarted { session: Box::new(session.clone()) };
        let change = Change {
            session_id: &session.session_id,
            turn_id: None,
            event: &event,
            session: Some(&session),
            turn: None,
            expect: Expect::NewSession,
        };
        self.books.commit(change).map_err(told)?;
        if let Some(browser) = ask.browser_access {
            self.lend(&session.session_id, browser);
        }
        Ok(session)
    }

    pub(super) async fn close_session(&self, ask: &CloseSession) -> Result<SessionStatus, ChatError> {
        let id = ask.session_id.as_str();
        let reason = ask.reason.as_deref().unwrap_or("closed");
        self.settle(id)?;
        let session = self.session(id)?;
        if let Some(live) = self.books.live(id) {
            live.cancel(&self.books, reason).map_err(told)?;
            if !live.ended_within(self.patience).await
                && let Some(session) = live.close_over(&self.books, reason).map_err(told)?
            {
                self.take_back(id);
                return Ok(session);
            }
            live.finish_late(&self.books).map_err(told)?;
        } else if let Some(turn) = &session.active_turn_id {
            return Err(elsewhere(id, turn));
        }
        let session = closed(&self.session(id)?, &self.books.now());
        let event = ChatEvent::SessionClosed { reason: reason.to_owned() };
        let change = Change {
            session_id: id,
            turn_id: None,
            event: &event,
            session: Some(&session),
            turn: None,
            expect: Expect::NotElsewhere,
        };
        self.books.commit(change).map_err(|error| {
            if let StoreError::TurnRunning { turn_id, .. } = &error {
                return elsewhere(id, turn_id);
            }
            told(error)
        })?;
        self.take_back(id);
        Ok(session)
    }

    /// A session as it stands.
    pub(super) fn session(&self, id: &str) -> Result<SessionStatus, ChatError> {
        let found = self.books.store.sessions(Some(id)).map_err(told)?.into_iter().next();
        found.ok_or_else(|| told(StoreError::SessionNotFound { session_id: id.to_owned() }))
    }

    /// Whether subagents of this session and turn may drive a browser that nobody has lent.
    pub(super) fn lacks_browser(
        &self,
        policy: &crate::protocol::ChatPolicy,
        lent: bool,
    ) -> Option<ChatError> {
        let message = "a browser must be lent with `browserAccess`, on the turn or on its session: the policy lets \
                       subagents drive one";
        (wants_browser(policy) && !lent).then(|| ChatError::new(ErrorCode::BrowserAccessRequired, message))
    }
}

fn check_workspace(ask: &StartSession) -> Result<(), ChatError> {
    let workspace = &ask.workspace;
    if !std::path::Path::new(&workspace.host_path).is_absolute() {
        return Err(wrong("params.workspace.hostPath", "an absolute path is expected"));
    }
    match workspace.sandbox_path.as_deref().map(|path| path.trim_end_matches('/')) {
        None | Some(fullsend_agent::workspace::WORKSPACE_TARGET) => Ok(()),
        Some(_) => {
            let target = fullsend_agent::workspace::WORKSPACE_TARGET;
            Err(wrong("params.workspace.sandboxPath", &format!("`{target}` is the only place")))
        }
    }
}

pub(super) fn elsewhere(id: &str, turn: &str) -> ChatError {
    let message = format!("turn {turn} of session {id} is under way in another process; ask that one");
    ChatError::new(ErrorCode::TurnElsewhere, message)
}
