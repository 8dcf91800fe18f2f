//! The manifest of a run: what a program that starts runs says about one of them.
//!
//! It supplies the mode and the evidence about the prompt where the command line does not, and words for the record. It
//! grants nothing: no tool, no directory, no model.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use fullsend_origin::Sha256Digest;
use serde_json::{Map, Value};

use crate::gate::FlowMode;
use crate::mode;
use crate::slot::{PromptSlot, SlotError, told};

/// The type of a manifest.
pub const RUN_MANIFEST: &str = "fullsend.run-manifest";
/// Types that are read.
const TYPES: [&str; 2] = [RUN_MANIFEST, "cf-harness.loom-run-manifest"];
/// Types of a reference to the owner of a credential.
const OWNER_TYPES: [&str; 2] = ["fullsend.credential-owner-ref", "cf-harness.credential-owner-ref"];
const PROVIDERS: [&str; 2] = ["openai-compatible-gateway", "openai-codex"];
const AUTH_SOURCES: [&str; 4] = ["api-key", "none", "owner-bound-oauth", "cf-harness-local-store"];
/// The copy of a manifest in the directory of a run.
pub const RUN_MANIFEST_FILE: &str = "run-manifest.json";
/// The longest manifest.
const LONGEST: u64 = 1 << 20;

/// A manifest that can be used: what it was read from, with what is understood of it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunManifest {
    members: Map<String, Value>,
    prompt_slot: Option<PromptSlot>,
    mode: Option<FlowMode>,
}

/// Why a manifest cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// It cannot be read.
    #[error("cannot read the run manifest: {0}")]
    Io(#[from] io::Error),
    /// It is too long to be one.
    #[error("the run manifest is longer than {LONGEST} bytes")]
    TooLong,
    /// It is no JSON.
    #[error("failed to parse run manifest JSON: {0}")]
    Parse(#[from] serde_json::Error),
    /// It is no object.
    #[error("run manifest must be a JSON object")]
    NotAnObject,
    /// A member has a value that means nothing here.
    #[error("unsupported run manifest {member}: {value}")]
    Unsupported {
        /// The member.
        member: &'static str,
        /// Its value.
        value: String,
    },
    /// The evidence about the prompt.
    #[error(transparent)]
    PromptSlot(#[from] SlotError),
    /// The part about information flow is no object.
    #[error("run manifest cfc must be a JSON object")]
    Cfc,
    /// It does not say who owns the credential.
    #[error("invalid run manifest credentialOwner reference")]
    CredentialOwner,
    /// The copy was changed.
    #[error("`{RUN_MANIFEST_FILE}` is not what it was when the run began; put it back, or start a new run")]
    Changed,
    /// It names a place, not an identity.
    #[error("invalid run manifest harnessHomeIdentity")]
    HomeIdentity,
}

impl RunManifest {
    /// Reads a manifest.
    pub fn read(source: impl Read) -> Result<Self, ManifestError> {
        let mut text = Vec::new();
        source.take(LONGEST + 1).read_to_end(&mut text)?;
        if text.len() as u64 > LONGEST {
            return Err(ManifestError::TooLong);
        }
        Self::parse(&serde_json::from_slice(&text)?)
    }

    /// Reads a manifest that is JSON already. What it does not know is kept as it is.
    pub fn parse(value: &Value) -> Result<Self, ManifestError> {
        let Value::Object(members) = value else { return Err(ManifestError::NotAnObject) };
        let mut members = members.clone();
        one_of("type", members.get("type"), &TYPES)?;
        let version = members.get("version");
        if version.is_some_and(|version| version.as_f64() != Some(1.0)) {
            return Err(unsupported("version", version));
        }
        one_of("source", members.get("source"), &["loom"])?;
        let prompt_slot = members.get("promptSlot").map(PromptSlot::parse).transpose()?;
        let mode = members.get("cfc").map(mode_of).transpose()?.flatten();
        one_of("modelProvider", members.get("modelProvider"), &PROVIDERS)?;
        one_of("modelAuthSource", members.get("modelAuthSource"), &AUTH_SOURCES)?;
        if members.get("credentialOwner").is_some_and(|owner| !is_owner(owner)) {
            return Err(ManifestError::CredentialOwner);
        }
        if members.get("harnessHomeIdentity").is_some_and(|home| !is_home_identity(home)) {
            return Err(ManifestError::HomeIdentity);
        }
        if let Some(slot) = &prompt_slot {
            members.insert("promptSlot".to_owned(), slot.clone().into());
        }
        let defaults = [("type", RUN_MANIFEST.into()), ("version", 1.into()), ("source", "loom".into())];
        for (key, value) in defaults {
            members.entry(key).or_insert(value);
        }
        Ok(Self { members, prompt_slot, mode })
    }

    /// The manifest as it is kept.
    pub fn document(&self) -> &Map<String, Value> {
        &self.members
    }

    /// The digest of the copy that is kept of it.
    pub fn digest(&self) -> Result<String, ManifestError> {
        let text = serde_json::to_string_pretty(&self.members)? + "\n";
        Ok(format!("sha256:{}", Sha256Digest::of(text.as_bytes())))
    }

    /// The copy in the directory of a run, which must be what was kept.
    pub fn reread(run_dir: &Path, digest: &str) -> Result<Self, ManifestError> {
        let text = fs::read(run_dir.join(RUN_MANIFEST_FILE))?;
        if format!("sha256:{}", Sha256Digest::of(&text)) != digest {
            return Err(ManifestError::Changed);
        }
        Self::read(text.as_slice())
    }

    /// The evidence about the prompt.
    pub fn prompt_slot(&self) -> Option<&PromptSlot> {
        self.prompt_slot.as_ref()
    }

    /// How strictly flows are to be judged.
    pub fn mode(&self) -> Option<FlowMode> {
        self.mode
    }

    /// What the record says about the manifest, which is kept under the name `path`.
    pub(crate) fn summary(&self, path: &str) -> Map<String, Value> {
        let mut summary = Map::from_iter([("present".to_owned(), true.into())]);
        self.copy("type", &mut summary);
        summary.insert("path".to_owned(), path.into());
        for key in ["source", "wishId", "parentWishId", "dispatchClass", "capabilityProfile"] {
            self.copy(key, &mut summary);
        }
        if let Some(mode) = self.mode {
            summary.insert("cfcEnforcementMode".to_owned(), mode.as_str().into());
        }
        if let Some(source) = self.members.get("cfc").and_then(|cfc| cfc.get("labelSource")) {
            summary.insert("labelSource".to_owned(), source.clone());
        }
        summary.insert("promptSlotPresent".to_owned(), self.prompt_slot.is_some().into());
        summary
    }

    /// What is said of the manifest wherever the prompt had influence.
    pub(crate) fn influence(&self) -> Map<String, Value> {
        let mut known = Map::new();
        for key in ["source", "wishId", "dispatchClass"] {
            self.copy(key, &mut known);
        }
        known
    }

    /// Copies a member that is text; whoever wrote something else there said nothing.
    fn copy(&self, key: &str, to: &mut Map<String, Value>) {
        if let Some(text @ Value::String(_)) = self.members.get(key) {
            to.insert(key.to_owned(), text.clone());
        }
    }
}

fn unsupported(member: &'static str, value: Option<&Value>) -> ManifestError {
    ManifestError::Unsupported { member, value: told(value) }
}

/// A member that is absent or one of these.
fn one_of(member: &'static str, value: Option<&Value>, known: &[&str]) -> Result<(), ManifestError> {
    match value {
        None => Ok(()),
        Some(Value::String(text)) if known.contains(&text.as_str()) => Ok(()),
        Some(_) => Err(unsupported(member, value)),
    }
}

fn mode_of(cfc: &Value) -> Result<Option<FlowMode>, ManifestError> {
    let Value::Object(cfc) = cfc else { return Err(ManifestError::Cfc) };
    let value = cfc.get("enforcementMode");
    let mode = value.and_then(Value::as_str).and_then(mode::parse);
    if mode.is_none() && value.is_some() {
        return Err(unsupported("cfc.enforcementMode", value));
    }
    one_of("cfc.labelSource", cfc.get("labelSource"), &["loom-run-manifest"])?;
    Ok(mode)
}

fn is_owner(owner: &Value) -> bool {
    let text = |key: &str| owner.get(key).and_then(Value::as_str);
    let is_key = |key: &str| text(key).is_some_and(|text| !text.is_empty() && text.trim() == text);
    text("type").is_some_and(|kind| OWNER_TYPES.contains(&kind))
        && owner.get("version").and_then(Value::as_f64) == Some(1.0)
        && is_key("ownerKey")
        && (owner.get("tenantKey").is_none() || is_key("tenantKey"))
}

fn is_home_identity(home: &Value) -> bool {
    let digest = home.as_str().and_then(|text| text.strip_prefix("sha256:"));
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    digest.is_some_and(|digest| !digest.is_empty() && digest.bytes().all(plain))
}
