//! What a run is judged by: `policy-snapshot.json`.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::account::object;
use super::{POLICY_SNAPSHOT, masked};
use crate::manifest::{RUN_MANIFEST_FILE, RunManifest};
use crate::mode::{ModeSource, absence_behavior, substrate_status};
use crate::store::{ArtifactError, RecordedSettings, RunId, RunStore, StoreError};

/// What a run is judged by, from where it begins or goes on.
#[derive(Clone, Copy, Debug)]
pub struct PolicySnapshot<'a> {
    /// What it may do.
    pub settings: &'a RecordedSettings,
    /// The manifest of the run.
    pub manifest: Option<&'a RunManifest>,
    /// Whether it goes on.
    pub resumed: bool,
    /// Whether a runtime is told of commands.
    pub sidecars: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Judged<'a> {
    enforcement_mode: &'a str,
    enforcement_mode_source: ModeSource,
    absence_behavior: &'a str,
    substrate_status: &'a str,
}

impl PolicySnapshot<'_> {
    /// The document.
    pub fn document(&self, run_id: &RunId, generated_at: &str) -> Map<String, Value> {
        let (settings, provenance) = (self.settings, &self.settings.provenance);
        let mode = settings.flow_mode;
        let cfc = Judged {
            enforcement_mode: mode.as_str(),
            enforcement_mode_source: provenance.mode_source,
            absence_behavior: absence_behavior(mode),
            substrate_status: substrate_status(mode, self.manifest.is_some()),
        };
        object(&json!({
            "type": "fullsend.cfc-policy-snapshot",
            "version": 1,
            "generatedAt": generated_at,
            "runId": run_id,
            "cfc": object(&cfc),
            "runManifest": self.run_manifest(),
            "promptSlot": self.prompt_slot(),
            "parentTools": {"allowance": provenance.tool_allowance, "allowedToolIds": settings.tools},
            "skillScripts": {"allowedScripts": settings.skill_scripts},
            "subagents": {"allowedProfiles": settings.subagent_profiles, "profileConfigs": {}},
            "substrate": {"sandbox": self.sandbox()},
        }))
    }

    /// What is said of the manifest, also where commands are told of it.
    pub fn run_manifest(&self) -> Map<String, Value> {
        let absent = || Map::from_iter([("present".to_owned(), false.into())]);
        self.manifest.map_or_else(absent, |manifest| manifest.summary(RUN_MANIFEST_FILE))
    }

    fn sandbox(&self) -> Map<String, Value> {
        let mut sandbox =
            Map::from_iter([("kind".to_owned(), self.settings.sandbox.backend.as_str().into())]);
        if let Some(image) = &self.settings.sandbox.image {
            sandbox.insert("image".to_owned(), image.as_str().into());
        }
        if self.sidecars {
            sandbox.insert("invocationContextTransport".to_owned(), "sidecar".into());
        }
        sandbox
    }

    /// The evidence as it was given, and the role that is left of it.
    fn prompt_slot(&self) -> Map<String, Value> {
        let binding = self.settings.provenance.prompt_slot.as_ref();
        let source = match (binding, self.resumed) {
            (None, _) => "absent",
            (Some(_), false) => "run-options",
            (Some(_), true) => "run-state",
        };
        let mut slot = object(&json!({
            "present": binding.is_some(),
            "bindingSource": source,
            "role": self.settings.prompt_role,
        }));
        if let Some(binding) = binding {
            slot.insert("binding".to_owned(), binding.clone().into());
        }
        slot
    }
}

/// The text of the document, as it is kept and as its digest is made.
pub(super) fn text(document: &Map<String, Value>) -> Result<String, StoreError> {
    masked(POLICY_SNAPSHOT, document)
}

/// Keeps the document.
pub(crate) fn write(store: &RunStore, document: &Map<String, Value>) -> Result<(), StoreError> {
    let text = text(document)?;
    store
        .artifacts()
        .write_text(POLICY_SNAPSHOT, &text)
        .map(drop)
        .map_err(|error: ArtifactError| error.into())
}
