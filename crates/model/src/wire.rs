//! Messages in the form of chat completions.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::conversation::{AssistantMessage, Image, Message};

/// Appends the wire form of a message.
pub(crate) fn write(message: &Message, wire: &mut Vec<u8>) {
    let value = match message {
        Message::System { content } => json!({"role": "system", "content": content}),
        Message::User { content, images } if images.is_empty() => json!({"role": "user", "content": content}),
        Message::User { content, images } => json!({"role": "user", "content": parts(content, images)}),
        Message::Assistant(said) => assistant(said),
        Message::Tool { call_id, content } => {
            json!({"role": "tool", "tool_call_id": call_id, "content": content})
        }
    };
    // Writing a value of strings into memory cannot fail.
    let _always_written = serde_json::to_writer(wire, &value);
}

fn parts(content: &str, images: &[Image]) -> Vec<Value> {
    let text = (!content.is_empty()).then(|| json!({"type": "text", "text": content}));
    let image = |image: &Image| {
        let encoded = STANDARD.encode(&image.bytes);
        json!({"type": "image_url", "image_url": {"url": format!("data:{};base64,{encoded}", image.media_type)}})
    };
    text.into_iter().chain(images.iter().map(image)).collect()
}

fn assistant(said: &AssistantMessage) -> Value {
    let mut message = json!({"role": "assistant", "content": said.content});
    if !said.tool_calls.is_empty() {
        let call = |call: &crate::ToolCall| json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}});
        let calls: Vec<Value> = said.tool_calls.iter().map(call).collect();
        if let Some(members) = message.as_object_mut() {
            members.insert("tool_calls".to_owned(), Value::from(calls));
        }
    }
    message
}
