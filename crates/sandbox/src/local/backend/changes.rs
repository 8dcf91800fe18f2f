//! Changing what a session may touch.

use super::{LocalBackend, refuse_busy};
use crate::egress::CompiledPolicy;
use crate::error::SandboxError;
use crate::local::network::Wish;
use crate::local::state::Record;
use crate::spec::{
    FilesystemMount, NetworkPolicy, SandboxSession, SandboxSessionId, SandboxSpec, SandboxState,
};

impl LocalBackend {
    pub(super) async fn attach(
        &self,
        id: &SandboxSessionId,
        mount: FilesystemMount,
    ) -> Result<SandboxSession, SandboxError> {
        let entry = self.find(id)?;
        let mut session = entry.session.lock().await;
        refuse_busy(&session)?;
        session.record.spec.mounts.push(mount);
        if let Err(error) = session.hold_mounts(&self.shared) {
            session.record.spec.mounts.pop();
            session.hold_mounts(&self.shared)?;
            return Err(error);
        }
        session.end_live().await;
        let begun = session.ensure_live(&self.shared).await;
        if let Err(error) = begun.and_then(|_| self.shared.state.write(id, &session.record)) {
            session.record.spec.mounts.pop();
            session.end_live().await;
            session.hold_mounts(&self.shared)?;
            return Err(error);
        }
        session.state = SandboxState::Running;
        Ok(entry.show(&session, &self.shared))
    }

    /// A list of hosts changes at once; between none, a list and the host's network a new process 1 is needed.
    pub(super) async fn change_network(
        &self,
        id: &SandboxSessionId,
        policy: NetworkPolicy,
    ) -> Result<(), SandboxError> {
        let entry = self.find(id)?;
        let mut session = entry.session.lock().await;
        let spec = SandboxSpec { network_policy: policy, ..session.record.spec.clone() };
        let wish = Wish::of(&spec)?;
        let live = session.live.clone().filter(|live| live.is_running());
        let network = live.as_ref().and_then(|live| live.network());
        let now = match (&wish, network) {
            (Wish::Proxy { policy, .. }, Some(network)) => {
                network.covers(policy) || refuse_busy(&session).is_err()
            }
            (Wish::None, Some(_)) => true,
            (Wish::None, None) => Wish::of(&session.record.spec).is_ok_and(|wish| matches!(wish, Wish::None)),
            (Wish::Proxy { .. } | Wish::Host, _) => false,
        };
        if !now {
            refuse_busy(&session)?;
        }
        // Written down first: a change that would be forgotten is not made.
        let record = Record { spec, ..session.record.clone() };
        self.shared.state.write(id, &record)?;
        let before = std::mem::replace(&mut session.record, record);
        match (wish, network) {
            (Wish::Proxy { policy, .. }, Some(network)) if now => network.egress.apply(policy),
            (Wish::None, Some(network)) => network.egress.apply(CompiledPolicy::default()),
            _ if now => {}
            _ => session.end_live().await,
        }
        if let Err(error) = session.ensure_live(&self.shared).await {
            session.record = before;
            // The first error is the one to tell.
            drop(self.shared.state.write(id, &session.record));
            return Err(error);
        }
        entry.show(&session, &self.shared);
        Ok(())
    }
}
