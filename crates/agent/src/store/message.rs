//! Messages of a conversation as they are kept: no pictures inside, arguments as the model wrote them.

use std::path::PathBuf;

use fullsend_model::{FinishReason, ToolCall};
use serde::{Deserialize, Serialize};

use super::run_id::RunId;

/// One message, as the journal and `transcript.json` hold it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum KeptMessage {
    /// Instructions of the harness.
    System {
        /// The text.
        content: String,
    },
    /// What a person, or the harness in a person's place, says.
    User {
        /// The text.
        content: String,
        /// Pictures that go with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        image_attachments: Vec<ImageAttachment>,
    },
    /// What the model said.
    Assistant {
        /// The text; may be empty.
        content: String,
        /// The calls it asks for, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty", with = "wire_calls")]
        tool_calls: Vec<ToolCall>,
        /// Why it stopped; none where nobody took it down.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish_reason: Option<FinishReason>,
    },
    /// The result of a call.
    Tool {
        /// Which call.
        tool_call_id: String,
        /// Of which tool.
        tool_name: String,
        /// The result as the model sees it.
        content: String,
        /// Where the whole result is; none when the call was not made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result_ref: Option<ToolResultRef>,
    },
}

/// Where the whole result of a call is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "fullsend.tool-result-ref", rename_all = "camelCase")]
pub struct ToolResultRef {
    /// Its number.
    pub output_id: String,
    /// Of which tool.
    pub tool_id: String,
    /// In which run.
    pub run_id: RunId,
    /// The file, relative to the directory of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_path: Option<String>,
}

/// A picture that goes with a message. Its bytes are in a file, never in the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "fullsend.image-attachment", rename_all = "camelCase")]
pub struct ImageAttachment {
    /// What it is called in the conversation: where it was read from.
    pub host_path: PathBuf,
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// `sha256:` and 64 digits.
    pub digest: String,
    /// The copy that the model sees, relative to the directory of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_path: Option<String>,
}

/// Calls in the form that gateways use: `{id, type: "function", function: {name, arguments}}`.
mod wire_calls {
    use fullsend_model::ToolCall;
    use serde::ser::SerializeSeq as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize)]
    struct CallOut<'a> {
        id: &'a str,
        r#type: &'static str,
        function: FunctionOut<'a>,
    }

    #[derive(Serialize)]
    struct FunctionOut<'a> {
        name: &'a str,
        arguments: &'a str,
    }

    #[derive(Deserialize)]
    struct CallIn {
        id: String,
        function: FunctionIn,
    }

    #[derive(Deserialize)]
    struct FunctionIn {
        name: String,
        arguments: String,
    }

    pub(super) fn serialize<S: Serializer>(calls: &[ToolCall], serializer: S) -> Result<S::Ok, S::Error> {
        let mut written = serializer.serialize_seq(Some(calls.len()))?;
        for ToolCall { id, name, arguments } in calls {
            let function = FunctionOut { name, arguments };
            written.serialize_element(&CallOut { id, r#type: "function", function })?;
        }
        written.end()
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ToolCall>, D::Error> {
        let calls = Vec::<CallIn>::deserialize(deserializer)?;
        let read = |CallIn { id, function: FunctionIn { name, arguments } }| ToolCall { id, name, arguments };
        Ok(calls.into_iter().map(read).collect())
    }
}
