//! Changing what a session may touch.

use super::{LocalBackend, refuse_busy};
use crate::egress::CompiledPolicy;
use crate::error::SandboxError;
use crate::local::network::Wish;
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
        if let Err(error) = session.ensure_live(&self.shared).await {
            session.record.spec.mounts.pop();
            session.hold_mounts(&self.shared)?;
            return Err(error);
        }
        session.state = SandboxState::Running;
        self.shared.state.write(id, &session.record)?;
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
            (Wish::Proxy { policy, .. }, Some(network))
                if network.covers(policy) || refuse_busy(&session).is_err() =>
            {
                network.egress.apply(policy.clone());
                true
            }
            (Wish::None, Some(network)) => {
                network.egress.apply(CompiledPolicy::default());
                true
            }
            (Wish::None, None) => Wish::of(&session.record.spec).is_ok_and(|wish| matches!(wish, Wish::None)),
            (Wish::Proxy { .. } | Wish::Host, _) => false,
        };
        if !now {
            refuse_busy(&session)?;
            session.end_live().await;
        }
        session.record.spec = spec;
        self.shared.state.write(id, &session.record)?;
        session.ensure_live(&self.shared).await?;
        entry.show(&session, &self.shared);
        Ok(())
    }
}
