//! Messages, and a conversation of them that is put into wire form as it grows.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A picture that goes with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: &'static str,
    /// The file.
    pub bytes: Vec<u8>,
}

/// A tool that a model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDescription {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// A call that a model asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The gateway's name for the call; made up where the gateway gave none.
    pub id: String,
    /// The name of the tool, as the model wrote it.
    pub name: String,
    /// The arguments, as the model wrote them: JSON if all is well.
    pub arguments: String,
}

/// What a model said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssistantMessage {
    /// The text; may be empty.
    pub content: String,
    /// The calls it asks for, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
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
        images: Vec<Image>,
    },
    /// What the model said.
    Assistant(AssistantMessage),
    /// The result of a call.
    Tool {
        /// Which call.
        call_id: String,
        /// The result as the model sees it.
        content: String,
    },
}

/// The messages so far. Each is put into wire form once, when it is added: a request for the hundredth turn copies
/// bytes, it does not serialise ninety-nine turns again.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    messages: Vec<Message>,
    wire: Vec<u8>,
}

impl Conversation {
    /// The messages, in order, without their pictures.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Adds a message. Its pictures are in the wire form and nowhere else from here on: they are large, and nobody looks
    /// at them again.
    pub fn push(&mut self, mut message: Message) {
        if !self.wire.is_empty() {
            self.wire.push(b',');
        }
        let images = match &mut message {
            Message::User { images, .. } => std::mem::take(images),
            Message::System { .. } | Message::Assistant(_) | Message::Tool { .. } => Vec::new(),
        };
        crate::wire::write(&message, images, &mut self.wire);
        self.messages.push(message);
    }

    /// The messages in wire form, separated by commas.
    pub fn wire(&self) -> &[u8] {
        &self.wire
    }
}
