//! The skills of a run: what was found, and what is in use.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use fullsend_flow::Label;
use fullsend_skills::record::{Activation, ActivationSource};
use fullsend_skills::{AllowedScript, Registry, Skill, SkillRoot};
use serde::Serialize;
use serde_json::{Map, Value};

use fullsend_guard::Clock;

use crate::sources::Sources;
use crate::store::{Row, RunId, time};
use crate::workspace::SandboxPath;

/// The skills of a run.
#[derive(Debug)]
pub struct SkillSet {
    registry: RwLock<Arc<Registry>>,
    /// Whether skills may be added while the run is under way.
    growing: bool,
    allowed: Vec<AllowedScript>,
    active: Mutex<BTreeSet<String>>,
    run_id: RunId,
    clock: Arc<dyn Clock>,
    sources: Option<Arc<Sources>>,
    /// The names of what the operator chose.
    chosen: BTreeSet<String>,
}

impl SkillSet {
    /// Skills that were found, scripts that may be run, and what is in use already.
    pub fn new(
        registry: Registry,
        allowed: Vec<AllowedScript>,
        active: BTreeSet<String>,
        run_id: RunId,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let chosen = BTreeSet::new();
        let registry = RwLock::new(Arc::new(registry));
        let active = Mutex::new(active);
        Self { registry, growing: false, allowed, active, run_id, clock, sources: None, chosen }
    }

    /// With skills that may be added later.
    #[must_use]
    pub fn growing(self) -> Self {
        Self { growing: true, ..self }
    }

    /// Whether skills may be added later.
    pub fn is_growing(&self) -> bool {
        self.growing
    }

    /// Adds the skill in a directory and returns its name; nothing when there is none, or none that is new.
    pub fn grow(&self, root: &SkillRoot) -> Option<String> {
        let mut registry = self.registry.write().unwrap_or_else(PoisonError::into_inner);
        let grown = registry.with_root(root);
        let new = grown.skills().iter().find(|skill| registry.skill(skill.name()).is_none())?;
        let name = new.name().to_owned();
        *registry = Arc::new(grown);
        Some(name)
    }

    /// With word of where skills come from, and the names of those that the operator chose. Without, nobody vouches for
    /// what they say.
    #[must_use]
    pub fn vouched_for(self, sources: Arc<Sources>, chosen: BTreeSet<String>) -> Self {
        Self { sources: Some(sources), chosen, ..self }
    }

    /// The label of what a skill says, or of one of its files.
    pub fn label(&self, name: &str, resource: Option<&str>) -> Label {
        let registry = self.registry();
        let (Some(sources), Some(skill)) = (&self.sources, registry.skill(name)) else {
            return Label::untrusted();
        };
        let place = match resource {
            Some(resource) => skill.sandbox_skill_dir.join(resource),
            None => skill.sandbox_skill_path.clone(),
        };
        match place.to_str().and_then(|place| SandboxPath::absolute(place).ok()) {
            Some(place) => sources.skill(name, self.chosen.contains(name), &place),
            None => Label::untrusted(),
        }
    }

    /// What was found.
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The scripts that may be run.
    pub fn allowed(&self) -> &[AllowedScript] {
        &self.allowed
    }

    /// The run.
    pub fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// The names of what is in use.
    pub fn active(&self) -> BTreeSet<String> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts a skill into use; the row belongs on record. Nothing when it is in use already.
    pub fn activate(&self, skill: &Skill, source: ActivationSource) -> Option<Row> {
        let new = self.active.lock().unwrap_or_else(PoisonError::into_inner).insert(skill.name().to_owned());
        new.then(|| {
            let activation = Activation::new(skill, source, self.run_id.as_str(), &self.now());
            Row::SkillActivated { activation: members(&activation) }
        })
    }

    /// The time, as records have it.
    pub fn now(&self) -> String {
        time::now(&*self.clock)
    }
}

/// A record as an object.
pub(super) fn members(record: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(record) {
        Ok(Value::Object(members)) => members,
        Ok(_) | Err(_) => Map::new(),
    }
}
