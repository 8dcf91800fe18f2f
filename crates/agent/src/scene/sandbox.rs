//! Where the commands of a run are executed.

use std::sync::Arc;

use fullsend_guard::SystemClock;
use fullsend_sandbox::{ContainerHook, NetworkPolicy, SandboxBackend};

use super::Scene;
use super::error::SceneError;
use super::surroundings::{BackendOrder, Floor};
use crate::execution::{Execution, Ground, Guards, MountPoint, SessionPlan};
use crate::gate::FlowMode;
use crate::protect::Protection;
use crate::sidecar::{RunFacts, Sidecars};
use crate::store::RunStore;
use crate::workspace::Access;

impl Scene {
    /// The sandbox, which is made when it is needed.
    pub(super) async fn execution(&self, store: &RunStore) -> Result<Execution, SceneError> {
        let sidecars = self.sidecars(store)?;
        // Whoever switches the rules off means all of them.
        let covered = (self.settings.flow_mode != FlowMode::Disabled)
            .then(|| (self.sources.clone(), self.artifact_root.clone()));
        let (backend, ground): (Arc<dyn SandboxBackend>, Ground) = match &self.surroundings.floor {
            Floor::Given { backend, session } => (backend.clone(), Ground::Given(session.clone())),
            Floor::Own(backends) => {
                let hook = sidecars.clone().map(|sidecars| sidecars as Arc<dyn ContainerHook>);
                let (image, runtime) = (self.wanted.image.as_deref(), self.wanted.runtime.as_deref());
                let order = BackendOrder { image, runtime, hook, resumed: self.resumed };
                (backends.start(order).await?, self.session().into())
            }
        };
        let guards = Guards { sidecars, protection: self.protection(store) };
        Ok(Execution::covering(backend, ground, covered, guards))
    }

    /// Keeps commands from changing what they may not change, unless the rules are switched off.
    fn protection(&self, store: &RunStore) -> Option<Arc<Protection>> {
        let mode = self.settings.flow_mode;
        (mode != FlowMode::Disabled).then(|| {
            let (policy, workspace) = (Arc::new(self.settings.flow_policy.clone()), self.workspace.clone());
            Arc::new(Protection::new(mode, policy, workspace, store.run_dir().to_owned()))
        })
    }

    /// The files beside the container, if a runtime is to be told of commands.
    fn sidecars(&self, store: &RunStore) -> Result<Option<Arc<Sidecars>>, SceneError> {
        let dirs = &self.wanted.sidecars;
        if !dirs.is_wired() {
            return Ok(None);
        }
        let slot = self.settings.provenance.prompt_slot.as_ref();
        let role = self.settings.prompt_role;
        let facts = RunFacts {
            run_id: store.run_id().clone(),
            mode: self.settings.flow_mode,
            prompt_slot: slot.cloned(),
            influence: slot.map(|slot| slot.influence(role, self.wanted.manifest.as_ref())),
            manifest: self.policy().run_manifest(),
        };
        let (contexts, results) = (dirs.contexts.clone(), dirs.results.clone());
        let sidecars = Sidecars::new(contexts, results, facts, Arc::new(SystemClock))?;
        Ok(Some(Arc::new(sidecars.recorded_by(store.recorder()))))
    }

    fn session(&self) -> SessionPlan {
        let mut plan = SessionPlan::new(&self.wanted.workspace);
        plan.mounts = self
            .workspace
            .mounts()
            .iter()
            .map(|mount| MountPoint {
                sandbox: mount.target().as_str().to_owned(),
                host: mount.host().to_owned(),
                writable: mount.access() == Access::Writable,
            })
            .collect();
        plan.hidden = vec![self.artifact_root.clone()];
        plan.network = NetworkPolicy::limited(self.wanted.hosts.iter().cloned());
        plan
    }
}
