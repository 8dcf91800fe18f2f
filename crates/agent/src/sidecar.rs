//! Files beside a container, for a runtime that follows labels itself.
//!
//! Before a command the runtime is told what the command is made of, as sizes, digests and labels; after it the runtime may
//! say what the command has become. Both are files named after the container. Containers stay while a run lasts: the first
//! file is there before the container starts and is replaced before each command, and what the runtime says is looked for
//! after each. A runtime that says nothing has mediated nothing, and the harness's own labels count.
//!
//! What is written holds no command, argument, input or variable, and no file outlives its use.

mod context;
mod place;
mod result;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fullsend_flow::{Clause, Confidentiality, Label};
use fullsend_guard::Clock;
use fullsend_sandbox::ContainerHook;
use serde_json::{Map, Value};

pub use context::{Invocation, Operation, RunFacts};
pub use place::{ContainerId, SidecarError};
pub use result::{ChannelPolicy, Diagnostic, SandboxLabels};

use self::place::Place;
use crate::gate::FlowMode;
use crate::store::{Recorder, time};

/// The two directories of one run, and the container that it uses.
#[derive(Debug)]
pub struct Sidecars {
    contexts: Option<Place>,
    results: Option<Place>,
    facts: RunFacts,
    clock: Arc<dyn Clock>,
    /// Where it is written down what runtimes are told, before they are.
    recorder: Option<Recorder>,
    written: AtomicU64,
    current: Mutex<Current>,
}

#[derive(Debug, Default)]
struct Current {
    container: Option<ContainerId>,
    /// What the next container is to be told: the command that it is started for.
    latest: Option<Map<String, Value>>,
    /// What the model has seen already: a result that is no more than that hides nothing from it.
    seen: Confidentiality,
}

impl Sidecars {
    /// The sidecars of a run, in absolute directories. That for contexts is made when it is missing.
    pub fn new(
        contexts: Option<PathBuf>,
        results: Option<PathBuf>,
        facts: RunFacts,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SidecarError> {
        let contexts = contexts.map(|path| Place::new(path, "cfcInvocationContextDir")).transpose()?;
        let results = results.map(|path| Place::new(path, "cfcResultDir")).transpose()?;
        let (written, current) = (AtomicU64::new(0), Mutex::default());
        Ok(Self { contexts, results, facts, clock, recorder: None, written, current })
    }

    /// Writes down what the runtime is told, before it is.
    #[must_use]
    pub fn recorded_by(self, recorder: Recorder) -> Self {
        Self { recorder: Some(recorder), ..self }
    }

    /// Tells the runtime of a command that is about to run. When this fails the command must not run.
    pub fn begin(&self, invocation: &Invocation<'_>) -> Result<(), SidecarError> {
        let document = self.document(invocation)?;
        let mut current = self.current();
        let influence = self.facts.influence.iter().map(|atom| Clause::any_of([atom.clone()]));
        let seen = invocation.label.confidentiality.clauses().cloned().chain(influence);
        current.seen = Confidentiality::all_of(seen);
        if let Some(container) = &current.container {
            self.prepare(container, &document)?;
        }
        current.latest = Some(document);
        Ok(())
    }

    /// What the runtime says a command has become; nothing when it says nothing.
    pub fn finish(&self) -> Option<SandboxLabels> {
        let current = self.current();
        let container = current.container.as_ref()?;
        let read = self.results.as_ref()?.take(container);
        let enforced = self.facts.mode >= FlowMode::EnforceExplicit;
        let labels = result::labels(read, container, &current.seen)?;
        Some(SandboxLabels { enforced, ..labels })
    }

    fn prepare(&self, container: &ContainerId, document: &Map<String, Value>) -> Result<(), SidecarError> {
        // What an earlier command has become says nothing about this one.
        self.results.iter().for_each(|results| results.remove(container));
        self.contexts.iter().try_for_each(|contexts| contexts.write(container, document))?;
        Ok(())
    }

    /// The document about a command, which is on record from here on.
    fn document(&self, invocation: &Invocation<'_>) -> Result<Map<String, Value>, SidecarError> {
        let sequence = self.written.fetch_add(1, Ordering::Relaxed) + 1;
        let document = context::document(&self.facts, invocation, sequence, &time::now(&*self.clock));
        self.recorder.iter().try_for_each(|recorder| recorder.invocation_context(&document))?;
        Ok(document)
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, container_id: &str) -> Result<(), SidecarError> {
        let container: ContainerId = container_id.parse()?;
        let mut current = self.current();
        let document = match current.latest.clone() {
            Some(document) => document,
            None => self.document(&Invocation::of_container(&Label::bottom()))?,
        };
        self.prepare(&container, &document)?;
        current.container = Some(container);
        Ok(())
    }
}

impl ContainerHook for Sidecars {
    fn created(&self, container_id: &str) -> Result<(), String> {
        self.enter(container_id).map_err(|error| error.to_string())
    }

    fn ended(&self, container_id: &str) {
        let Ok(container) = container_id.parse() else { return };
        self.contexts.iter().chain(&self.results).for_each(|place| place.remove(&container));
        let mut current = self.current();
        if current.container.as_ref() == Some(&container) {
            current.container = None;
        }
    }
}
