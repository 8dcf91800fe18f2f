//! Where the mode of a run comes from, and what it promises.

use serde::{Deserialize, Serialize};

use crate::gate::FlowMode;

/// The mode with this name.
pub fn parse(text: &str) -> Option<FlowMode> {
    FlowMode::ALL.into_iter().find(|mode| mode.as_str() == text)
}

/// Who decided the mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModeSource {
    /// The command line or the environment.
    Override,
    /// Whoever started the run as a part of another.
    ExplicitConfig,
    /// The run that it is a part of.
    Inherited,
    /// The manifest of the run.
    RunManifest,
    /// Nobody.
    #[default]
    Default,
}

/// Everybody who may have something to say about the mode.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModeInputs<'a> {
    /// The command line or the environment; a word that is no mode says nothing.
    pub overriding: Option<&'a str>,
    /// Whoever starts the run as a part of another.
    pub explicit: Option<FlowMode>,
    /// The run that it is a part of.
    pub inherited: Option<FlowMode>,
    /// The manifest of the run.
    pub manifest: Option<FlowMode>,
}

impl ModeInputs<'_> {
    /// The first that says something decides.
    pub fn resolve(self) -> (FlowMode, ModeSource) {
        let said = [
            (self.overriding.and_then(parse), ModeSource::Override),
            (self.explicit, ModeSource::ExplicitConfig),
            (self.inherited, ModeSource::Inherited),
            (self.manifest, ModeSource::RunManifest),
        ];
        let said = said.into_iter().find_map(|(mode, source)| Some((mode?, source)));
        said.unwrap_or((FlowMode::default(), ModeSource::Default))
    }
}

/// What the mode makes of the absence of evidence, in the words of the record.
pub fn absence_behavior(mode: FlowMode) -> &'static str {
    match mode {
        FlowMode::Disabled => "not-required",
        FlowMode::Observe => "observe-only",
        FlowMode::EnforceExplicit => "permissive-if-absent",
        FlowMode::EnforceStrict => "fail-closed-if-absent",
    }
}

/// What is known of whoever started the run, in the words of the record.
pub fn substrate_status(mode: FlowMode, has_manifest: bool) -> &'static str {
    match mode {
        FlowMode::Disabled => "not-required",
        FlowMode::Observe | FlowMode::EnforceExplicit | FlowMode::EnforceStrict if has_manifest => {
            "manifest-present"
        }
        FlowMode::Observe | FlowMode::EnforceExplicit => "not-attested",
        FlowMode::EnforceStrict => "missing",
    }
}
