//! A run that is about to begin or to go on.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fullsend_guard::SystemClock;
use fullsend_model::Usage;

use super::error::SceneError;
use super::{Scene, Started};
use crate::budget::{Budget, Limits};
use crate::engine::{Engine, Finished, Opening, RunParts, Watch};
use crate::store::{EndStatus, Ending, Recorded, RecordedSettings, RunId, RunStore, TerminalReason};

/// A run that is about to begin or to go on.
#[derive(Debug)]
pub struct Prepared {
    scene: Scene,
    store: RunStore,
    budget: Budget,
    opening: Vec<Opening>,
    recorded: Option<Recorded>,
}

impl Prepared {
    /// A new run, on record from now on, that begins with a prompt and with pictures of the workspace.
    pub fn new(scene: Scene, limits: Limits, prompt: String, images: &[PathBuf]) -> Result<Self, SceneError> {
        let begun = scene.settings().clone();
        Self::agreed(&begun, scene, limits, prompt, images)
    }

    /// A new run that is on record as one that may do all that was agreed on, and does so with what its scene allows: for a
    /// conversation whose first turn may do less than later ones.
    pub fn agreed(
        begun: &RecordedSettings,
        scene: Scene,
        limits: Limits,
        prompt: String,
        images: &[PathBuf],
    ) -> Result<Self, SceneError> {
        begun.narrows(scene.settings())?;
        let pictures = scene.check(images)?;
        let run_id = RunId::new(&SystemClock);
        let mut store = RunStore::create(&scene.artifact_root, run_id, begun, Arc::new(SystemClock))?;
        if begun != scene.settings() {
            store.resume(scene.settings())?;
        }
        let label = scene.prompt_label(&pictures);
        let images = match scene.keep_documents(&store).and_then(|()| scene.keep(&store, pictures)) {
            Ok(images) => images,
            Err(error) => return Err(never_began(store, error)),
        };
        let budget = Budget::new(limits, 0, Usage::default(), 0, Duration::ZERO);
        let opening = vec![scene.say(prompt, images, label)];
        Ok(Self { scene, store, budget, opening, recorded: None })
    }

    /// A run that goes on, perhaps with something more to say.
    pub fn resumed(
        scene: Scene,
        limits: Limits,
        store: RunStore,
        recorded: Recorded,
        more: Vec<Opening>,
    ) -> Self {
        let turns = u32::try_from(recorded.turns).unwrap_or(u32::MAX);
        let used = Usage { cost_usd: recorded.spent_usd, ..recorded.usage };
        let budget = Budget::new(limits, turns, used, recorded.output_bytes, recorded.active);
        Self { scene, store, budget, opening: more, recorded: Some(recorded) }
    }

    /// Says something more after what is to be said already.
    pub fn also_say(&mut self, opening: Opening) {
        self.opening.push(opening);
    }

    /// Where it takes place.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// What it may use, and what it has used so far.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Its record.
    pub fn store(&self) -> &RunStore {
        &self.store
    }

    /// Runs to the end, or until `stop` is ready: its number is that of the signal.
    pub async fn run(
        self,
        stop: impl Future<Output = i32>,
        watch: Watch<'_>,
    ) -> Result<Finished, SceneError> {
        let Self { scene, store, budget, opening, recorded } = self;
        let started = match scene.start(&store, recorded.as_ref(), &budget).await {
            Ok(started) => started,
            Err(error) if recorded.is_none() => return Err(never_began(store, error)),
            Err(error) => return Err(error),
        };
        let Started { execution, toolbox, structured, current_dir, opening: before } = started;
        let warm = execution.clone();
        let artifacts = store.artifacts().clone();
        // The sandbox is made while the model is asked for the first time.
        let warm_up = tokio::spawn(async move {
            if warm.warm_up().await.is_ok()
                && let Ok(found) = warm.probe().await
            {
                let _nobody_depends_on_it = artifacts.write_artifact("capabilities.json", &found);
            }
        });
        let parts = RunParts {
            model: scene.model.client.clone(),
            model_name: scene.model.name.clone(),
            toolbox,
            native_tools: Vec::new(),
            store,
            mode: scene.settings.flow_mode,
            role: scene.settings.prompt_role,
            policy: Arc::new(scene.settings.flow_policy.clone()),
            sources: scene.sources.clone(),
            workspace: scene.workspace.clone(),
            budget,
            structured,
            current_dir,
            hooks: scene.surroundings.hooks.clone(),
        };
        let engine = match recorded {
            Some(recorded) => {
                let mut engine = Engine::resume(parts, recorded, &scene.settings, opening, watch)?;
                engine.judged_by(&scene.policy())?;
                engine
            }
            None => {
                let mut engine = Engine::new(parts, watch);
                engine.judged_by(&scene.policy())?;
                engine.open([before, opening].concat())?;
                engine
            }
        };
        let finished = engine.run(stop, async { drop(warm_up.await) }).await;
        // Nothing is lost when the sandbox cannot be taken down: it is swept by the next run.
        let _swept_later = execution.end().await;
        Ok(finished)
    }
}

/// Puts on record that a new run came to nothing, which nobody else will do.
fn never_began(mut store: RunStore, error: SceneError) -> SceneError {
    let mut detail = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        detail.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    let ending = Ending {
        status: EndStatus::Failed,
        terminal_reason: TerminalReason::PromptLoopError,
        detail: Some(detail),
    };
    // The first error is the one to tell.
    let _unrecorded = store.end(&ending);
    error
}
