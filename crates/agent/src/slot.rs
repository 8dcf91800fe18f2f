//! Evidence of how a prompt came to be: who rendered it, for whom, in which role, and the digest of its text.
//!
//! Authority comes from the role alone, and only for the text that the evidence was made for. `valueDigest`, where there is
//! one, is the SHA-256 of the prompt; a prompt with another digest was not the one that somebody commanded, and is a quote.
//! `slotDigest` and `snapshotDigest` are of things that only whoever rendered the prompt has, so that they are carried and
//! never compared with anything.

use fullsend_flow::Atom;
use fullsend_origin::Sha256Digest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::gate::{FlowMode, PromptRole};
use crate::manifest::RunManifest;
use crate::store::{EventSeverity, PolicyEvent};

/// The type of the evidence.
pub const PROMPT_SLOT_BOUND: &str = "https://commonfabric.org/cfc/atom/PromptSlotBound";
/// The type of the atom that says what a prompt had influence on.
const PROMPT_SLOT_INFLUENCE: &str = "https://commonfabric.org/cfc/atom/PromptSlotInfluence";
/// What policy events about a prompt name in place of a tool.
const PROMPT: &str = "prompt";
/// The largest number that every reader of JSON agrees on.
const SAFE: i64 = (1 << 53) - 1;

/// Evidence of how a prompt came to be. Holds what it was read from and nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Value", try_from = "Value")]
pub struct PromptSlot {
    /// Where it came from.
    pub source: Reference,
    /// What the prompt is to the agent, if it is the prompt that the evidence is about: see [`PromptSlot::role_of`].
    pub role: PromptRole,
    /// Who rendered it.
    pub kernel_name: String,
    /// Where it was entered.
    pub surface: String,
    /// For whom.
    pub subject: Option<String>,
    /// The event that it was entered with.
    pub event_id: Option<String>,
    /// The digest of the prompt: `sha256:` and 64 digits. Empty says nothing.
    pub value_digest: Option<String>,
    /// The digest of the slot.
    pub slot_digest: Option<String>,
    /// The digest of what the slot was a part of.
    pub snapshot_digest: Option<String>,
    /// Where it was to go.
    pub target_path: Option<String>,
    /// The rendering that it was a part of.
    pub render_ref: Option<RenderRef>,
}

/// Something that is named or described.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Reference {
    /// Named; never blank.
    Name(String),
    /// Described; never empty.
    Object(Map<String, Value>),
}

/// A rendering.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RenderRef {
    /// Its number.
    pub seq: i64,
    /// What was rendered.
    pub root_ref: Reference,
}

/// Why evidence cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SlotError {
    /// It is no object.
    #[error("prompt slot binding must be a JSON object")]
    NotAnObject,
    /// It is something else.
    #[error("unsupported prompt slot binding type: {0}")]
    Type(String),
    /// It does not say where it came from.
    #[error("prompt slot source must be a reference")]
    Source,
    /// It does not say what the prompt is.
    #[error("prompt slot role must be one of direct-command, context, quote")]
    Role,
    /// A name is missing.
    #[error("prompt slot {0} must be a non-empty string")]
    Blank(&'static str),
    /// The rendering is no object.
    #[error("prompt slot renderRef must be an object")]
    RenderRef,
    /// The number of the rendering is none.
    #[error("prompt slot renderRef.seq must be a safe integer")]
    RenderSeq,
    /// The rendering is of nothing.
    #[error("prompt slot renderRef.rootRef must be a reference")]
    RenderRoot,
    /// Something that may be left out is no text.
    #[error("prompt slot {0} must be a string")]
    NotText(&'static str),
}

impl PromptSlot {
    /// Evidence that this program makes itself: a prompt was entered in `surface`.
    pub fn made_here(surface: &str, role: PromptRole, subject: &str, source: Map<String, Value>) -> Self {
        Self {
            source: Reference::Object(source),
            role,
            kernel_name: "fullsend".to_owned(),
            surface: surface.to_owned(),
            subject: Some(subject.to_owned()),
            event_id: None,
            value_digest: None,
            slot_digest: None,
            snapshot_digest: None,
            target_path: None,
            render_ref: None,
        }
    }

    /// Reads evidence. What it does not know is left out.
    pub fn parse(value: &Value) -> Result<Self, SlotError> {
        let Value::Object(members) = value else { return Err(SlotError::NotAnObject) };
        let kind = members.get("type");
        if kind.and_then(Value::as_str) != Some(PROMPT_SLOT_BOUND) {
            return Err(SlotError::Type(told(kind)));
        }
        let source = members.get("source").and_then(Reference::parse).ok_or(SlotError::Source)?;
        let role = members.get("role").and_then(Value::as_str);
        let role = PromptRole::ALL.into_iter().find(|known| role == Some(known.as_str()));
        let role = role.ok_or(SlotError::Role)?;
        let name = |key: &'static str| {
            let text = members.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
            text.map(str::to_owned).ok_or(SlotError::Blank(key))
        };
        let (kernel_name, surface) = (name("kernelName")?, name("surface")?);
        let render_ref = members.get("renderRef").map(RenderRef::parse).transpose()?;
        let text = |key: &'static str| match members.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(SlotError::NotText(key)),
        };
        Ok(Self {
            source,
            role,
            kernel_name,
            surface,
            subject: text("subject")?,
            event_id: text("eventId")?,
            value_digest: text("valueDigest")?,
            slot_digest: text("slotDigest")?,
            snapshot_digest: text("snapshotDigest")?,
            target_path: text("targetPath")?,
            render_ref,
        })
    }

    /// Whether the evidence is about this prompt. Evidence without a digest is about the prompt that it comes with.
    pub fn is_about(&self, prompt: &str) -> bool {
        let digest = self.value_digest.as_deref().filter(|digest| !digest.is_empty());
        digest.is_none_or(|digest| digest == format!("sha256:{}", Sha256Digest::of(prompt.as_bytes())))
    }

    /// What this prompt is to the agent: the role of the evidence, or a quote when the evidence is about another.
    pub fn role_of(&self, prompt: &str) -> PromptRole {
        if self.is_about(prompt) { self.role } else { PromptRole::Quote }
    }

    /// What belongs on record when the evidence is not about this prompt.
    pub fn event(&self, prompt: &str, mode: FlowMode) -> Option<PolicyEvent> {
        if self.is_about(prompt) {
            return None;
        }
        Some(PolicyEvent {
            severity: EventSeverity::Denied,
            mode,
            tool_id: PROMPT.to_owned(),
            tool_call_id: None,
            detail:
                "the prompt is not the one that the prompt slot was bound to (valueDigest); it is a quote"
                    .to_owned(),
            tool_input_summary: None,
            observation_denied: None,
        })
    }

    /// What a value carries that was made under the influence of the prompt. Says who may have known of it, never who
    /// vouches for it.
    pub fn influence(&self, role: PromptRole, manifest: Option<&RunManifest>) -> Atom {
        let mut members = Map::new();
        members.insert("type".to_owned(), PROMPT_SLOT_INFLUENCE.into());
        members.insert("version".to_owned(), 1.into());
        members.insert("role".to_owned(), role.as_str().into());
        members.insert("kernelName".to_owned(), self.kernel_name.as_str().into());
        members.insert("surface".to_owned(), self.surface.as_str().into());
        self.put_optional(&mut members);
        let known = manifest.map(RunManifest::influence).unwrap_or_default();
        if !known.is_empty() {
            members.insert("runManifest".to_owned(), known.into());
        }
        Atom::from_value(&members.into())
    }

    fn put_optional(&self, members: &mut Map<String, Value>) {
        let optional = [
            ("subject", &self.subject),
            ("eventId", &self.event_id),
            ("valueDigest", &self.value_digest),
            ("slotDigest", &self.slot_digest),
            ("snapshotDigest", &self.snapshot_digest),
            ("targetPath", &self.target_path),
        ];
        for (key, value) in optional {
            if let Some(value) = value {
                members.insert(key.to_owned(), value.as_str().into());
            }
        }
    }
}

impl From<PromptSlot> for Value {
    fn from(slot: PromptSlot) -> Self {
        let mut members = Map::new();
        members.insert("type".to_owned(), PROMPT_SLOT_BOUND.into());
        members.insert("source".to_owned(), slot.source.to_value());
        members.insert("role".to_owned(), slot.role.as_str().into());
        members.insert("kernelName".to_owned(), slot.kernel_name.as_str().into());
        members.insert("surface".to_owned(), slot.surface.as_str().into());
        slot.put_optional(&mut members);
        if let Some(RenderRef { seq, root_ref }) = &slot.render_ref {
            members.insert("renderRef".to_owned(), json!({"seq": seq, "rootRef": root_ref.to_value()}));
        }
        Self::Object(members)
    }
}

impl TryFrom<Value> for PromptSlot {
    type Error = SlotError;

    fn try_from(value: Value) -> Result<Self, SlotError> {
        Self::parse(&value)
    }
}

impl Reference {
    fn parse(value: &Value) -> Option<Self> {
        match value {
            Value::String(name) if !name.trim().is_empty() => Some(Self::Name(name.clone())),
            Value::Object(members) if !members.is_empty() => Some(Self::Object(members.clone())),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => None,
        }
    }

    fn to_value(&self) -> Value {
        match self {
            Self::Name(name) => name.as_str().into(),
            Self::Object(members) => members.clone().into(),
        }
    }
}

impl RenderRef {
    fn parse(value: &Value) -> Result<Self, SlotError> {
        let Value::Object(members) = value else { return Err(SlotError::RenderRef) };
        let seq = members.get("seq").and_then(safe_integer).ok_or(SlotError::RenderSeq)?;
        let root_ref = members.get("rootRef").and_then(Reference::parse).ok_or(SlotError::RenderRoot)?;
        Ok(Self { seq, root_ref })
    }
}

/// A number without a fraction that every reader of JSON agrees on, however it is written.
fn safe_integer(value: &Value) -> Option<i64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "only numbers without a fraction and within the range"
    )]
    let whole = |number: f64| (number.fract() == 0.0 && number.abs() <= SAFE as f64).then_some(number as i64);
    let number = value.as_i64().or_else(|| value.as_f64().and_then(whole))?;
    (-SAFE..=SAFE).contains(&number).then_some(number)
}

/// A value in a message: text as it is, everything else as JSON.
pub(crate) fn told(value: Option<&Value>) -> String {
    match value {
        None => "undefined".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(
            other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)),
        ) => other.to_string(),
    }
}
