//! Layers of enforcement, and whether this machine has them.

use serde::Serialize;

/// One thing that a sandbox is made of, such as `user namespaces` or `memory limits`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Layer {
    /// What it is called.
    pub name: &'static str,
    /// Whether it is there.
    #[serde(flatten)]
    pub status: LayerStatus,
}

/// Whether a layer is there, found out by using it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "status", content = "detail", rename_all = "snake_case")]
pub enum LayerStatus {
    /// It is, and how: a version, a path; may be empty.
    Available(String),
    /// It is not.
    Missing {
        /// What stands in the way.
        why: String,
        /// What would help.
        fix: String,
    },
}

impl Layer {
    /// A layer that is there.
    pub fn available(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, status: LayerStatus::Available(detail.into()) }
    }

    /// A layer that is not there.
    pub fn missing(name: &'static str, why: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, status: LayerStatus::Missing { why: why.into(), fix: fix.into() } }
    }

    /// Whether the layer is there.
    pub fn is_available(&self) -> bool {
        matches!(self.status, LayerStatus::Available(_))
    }
}
