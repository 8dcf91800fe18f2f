//! Sessions that do nothing for a while.

use std::sync::{Arc, Weak};
use std::time::Duration;

use fullsend_sandbox_init::wire::Order;

use super::{Entry, LocalBackend, Shared, refuse_busy};
use crate::error::SandboxError;
use crate::local::session::Session;
use crate::local::state::Record;
use crate::spec::{SandboxSessionId, SandboxState};

/// However short the idle time is.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

impl LocalBackend {
    pub(super) async fn pause(&self, id: &SandboxSessionId) -> Result<(), SandboxError> {
        let entry = self.find(id)?;
        let mut session = entry.session.lock().await;
        refuse_busy(&session)?;
        let record = Record { durable: true, ..session.record.clone() };
        self.shared.state.write(id, &record)?;
        session.record = record;
        if let Some(live) = session.live.as_ref().filter(|live| live.is_running()) {
            live.everyone(&Order::Stop {}).await?;
        }
        session.state = SandboxState::Suspended;
        entry.show(&session, &self.shared);
        Ok(())
    }
}

/// Lets the processes of a suspended session go on; says whether it was suspended.
pub(super) async fn wake(session: &mut Session) -> Result<bool, SandboxError> {
    if session.state != SandboxState::Suspended {
        return Ok(false);
    }
    if let Some(live) = session.live.as_ref().filter(|live| live.is_running()) {
        live.everyone(&Order::Continue {}).await?;
    }
    session.state = SandboxState::Running;
    Ok(true)
}

/// Looks after a session until it is gone.
pub(super) async fn suspend_when_idle(entry: Weak<Entry>, shared: Arc<Shared>, timeout: Duration) {
    let mut pause = timeout;
    loop {
        tokio::time::sleep(pause.max(SHORTEST_PAUSE)).await;
        let Some(entry) = entry.upgrade() else { return };
        let mut session = entry.session.lock().await;
        if session.state == SandboxState::Terminated {
            return;
        }
        let Some(live) = session.live.clone().filter(|live| live.is_running()) else { continue };
        let idle = live.idle().unwrap_or_default();
        pause = timeout.saturating_sub(idle);
        if pause.is_zero() && session.state == SandboxState::Running {
            if live.everyone(&Order::Stop {}).await.is_ok() {
                session.state = SandboxState::Suspended;
                entry.show(&session, &shared);
            }
            pause = timeout;
        }
    }
}
