//! Who decided what a run may do.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::mode::ModeSource;
use crate::slot::PromptSlot;

/// Who decided what a run may do. Grants nothing: what follows from it is in the settings themselves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Provenance {
    /// Who decided the mode.
    pub mode_source: ModeSource,
    /// Who decided the tools.
    pub tool_allowance: ToolAllowance,
    /// How the prompt came to be, as it was given; what became of it is the role of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_slot: Option<PromptSlot>,
    /// The manifest of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_manifest: Option<RecordedManifest>,
}

/// Who decided the tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolAllowance {
    /// Nobody: the usual ones.
    #[default]
    AllBuiltins,
    /// Somebody has named them.
    Restricted,
}

/// A manifest, of which there is a copy in the directory of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedManifest {
    /// Where it was read.
    pub path: PathBuf,
    /// The digest of the copy.
    pub digest: String,
}
