//! What the rules of flow found about a call, as it is kept.

use std::collections::BTreeMap;

use fullsend_flow::{LabelId, Violation};
use serde::{Deserialize, Serialize};

/// Why a call was decided about as it was: enough to explain it later, and nothing of what its arguments say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FlowRecord {
    /// The label of all that the model had seen.
    pub context: LabelId,
    /// What speaks against the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
    /// The exceptions that it needs; they are used when the call begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
    /// The handles that each argument names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub handles: BTreeMap<String, Vec<String>>,
}
