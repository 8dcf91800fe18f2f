//! Requests as they go over the wire.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use serde_json::{Value, json};

use crate::client::{ModelRequest, ReasoningEffort};
use crate::conversation::ToolDescription;

/// The tools of the last request in wire form. Runs offer the same tools each turn.
#[derive(Debug, Default)]
pub(super) struct ToolsInWireForm(Mutex<Option<Known>>);

/// A list of tools and its wire form.
#[derive(Debug)]
struct Known {
    tools: Vec<ToolDescription>,
    native: Vec<String>,
    wire: Arc<[u8]>,
}

impl ToolsInWireForm {
    /// The wire form of a list of tools, made once for each list.
    fn of(&self, tools: &[ToolDescription], native: &[String]) -> Arc<[u8]> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref().filter(|known| known.tools == tools && known.native == native) {
            return Arc::clone(&known.wire);
        }
        let wire: Arc<[u8]> = serialize(tools, native).into();
        *known = Some(Known { tools: tools.to_vec(), native: native.to_vec(), wire: Arc::clone(&wire) });
        wire
    }
}

/// The members of a request that are about tools.
fn serialize(tools: &[ToolDescription], native: &[String]) -> Vec<u8> {
    let function = |tool: &ToolDescription| json!({"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}});
    let native = native.iter().map(|kind| json!({"type": kind}));
    let all: Vec<Value> = tools.iter().map(function).chain(native).collect();
    // Nothing is to be chosen among what the model's own side does.
    let choice = if tools.is_empty() { "" } else { r#","tool_choice":"auto","parallel_tool_calls":true"# };
    format!(r#","tools":{}{choice}"#, Value::from(all)).into_bytes()
}

/// The body of a request: the conversation is copied into it once, and all attempts share it.
pub(super) fn body(request: &ModelRequest<'_>, tools: &ToolsInWireForm) -> Bytes {
    // A list of no tools is refused by some servers.
    let any = !(request.tools.is_empty() && request.native_tools.is_empty());
    let tools = any.then(|| tools.of(request.tools, request.native_tools));
    let tools = tools.as_deref().unwrap_or_default();
    let head = format!(r#"{{"model":{},"messages":["#, Value::from(request.model));
    let limit =
        request.max_output_tokens.map(|limit| format!(r#","max_tokens":{limit}"#)).unwrap_or_default();
    let effort = request.reasoning_effort.map(ReasoningEffort::as_str);
    let effort = effort.map(|word| format!(r#","reasoning_effort":"{word}""#)).unwrap_or_default();
    let tail = format!(r#","stream":true,"stream_options":{{"include_usage":true}}{limit}{effort}}}"#);
    let messages = request.conversation.wire();
    let length = head.len() + messages.len() + 1 + tools.len() + tail.len();
    let mut body = Vec::with_capacity(length);
    for part in [head.as_bytes(), messages, b"]", tools, tail.as_bytes()] {
        body.extend_from_slice(part);
    }
    Bytes::from(body)
}
