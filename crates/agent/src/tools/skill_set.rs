//! The skills of a run: what was found, and what is in use.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use fullsend_skills::record::{Activation, ActivationSource};
use fullsend_skills::{AllowedScript, Registry, Skill};
use serde::Serialize;
use serde_json::{Map, Value};

use fullsend_guard::Clock;

use crate::store::{Row, RunId, time};

/// The skills of a run.
#[derive(Debug)]
pub struct SkillSet {
    registry: Registry,
    allowed: Vec<AllowedScript>,
    active: Mutex<BTreeSet<String>>,
    run_id: RunId,
    clock: Arc<dyn Clock>,
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
        Self { registry, allowed, active: Mutex::new(active), run_id, clock }
    }

    /// What was found.
    pub fn registry(&self) -> &Registry {
        &self.registry
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
