//! Messages in the form of chat completions.
//!
//! They are written from where they are: a picture or an answer of many megabytes is not copied on the way.

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};

use crate::conversation::{AssistantMessage, Image, Message, ToolCall};

/// Appends the wire form of a message and its pictures.
pub(crate) fn write(message: &Message, images: Vec<Image>, wire: &mut Vec<u8>) {
    let form = match message {
        Message::System { content } => Form::text("system", content),
        Message::User { content, .. } if images.is_empty() => Form::text("user", content),
        Message::User { content, .. } => return write_pictures(content, images, wire),
        Message::Assistant(AssistantMessage { content, tool_calls }) => {
            Form { tool_calls: tool_calls.iter().map(call).collect(), ..Form::text("assistant", content) }
        }
        Message::Tool { call_id, content } => {
            Form { tool_call_id: Some(call_id), ..Form::text("tool", content) }
        }
    };
    append(&form, wire);
}

/// Each picture is dropped as soon as it is written.
fn write_pictures(content: &str, images: Vec<Image>, wire: &mut Vec<u8>) {
    // A buffer that grows by doubling would have room for as much again.
    wire.reserve(images.iter().map(|image| image.bytes.len().div_ceil(3).saturating_mul(4)).sum());
    wire.extend_from_slice(br#"{"role":"user","content":["#);
    if !content.is_empty() {
        append(&Part::Text { text: content }, wire);
    }
    for image in images {
        if wire.last() != Some(&b'[') {
            wire.push(b',');
        }
        append(&Part::ImageUrl { image_url: ImageUrl { url: &image } }, wire);
    }
    wire.extend_from_slice(b"]}");
}

fn append(form: &impl Serialize, wire: &mut Vec<u8>) {
    // Writing strings into memory cannot fail.
    let _always_written = serde_json::to_writer(wire, form);
}

#[derive(Serialize)]
struct Form<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    content: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
}

impl<'a> Form<'a> {
    fn text(role: &'static str, content: &'a str) -> Self {
        Self { role, tool_call_id: None, content, tool_calls: Vec::new() }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl<'a> },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    #[serde(serialize_with = "data_url")]
    url: &'a Image,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

fn data_url<S: Serializer>(image: &&Image, serializer: S) -> Result<S::Ok, S::Error> {
    let encoded = Base64Display::new(&image.bytes, &STANDARD);
    serializer.collect_str(&format_args!("data:{};base64,{encoded}", image.media_type))
}

fn call(call: &ToolCall) -> Call<'_> {
    let function = Function { name: &call.name, arguments: &call.arguments };
    Call { id: &call.id, r#type: "function", function }
}
