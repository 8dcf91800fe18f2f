//! A model that calls the tools it was told to call, in the language that the agent speaks.

use serde_json::{Value, json};

use super::{GatewayReply, GatewayRequest, GatewayScript, call, sse_of};

/// A language between agents and models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Anthropic's messages.
    Messages,
    /// OpenAI's responses.
    Responses,
    /// Chat completions.
    Chat,
}

/// Calls tools one after the other and then says a last word. Which call is next shows in the results that the request
/// brings, so requests on the side, such as for a title, do not disturb it.
#[derive(Clone, Debug)]
pub struct ModelScript {
    /// The language.
    pub dialect: Dialect,
    /// The tools and what they are called with: members, or a text for tools that take one.
    pub calls: Vec<(String, Value)>,
    /// What it says in the end.
    pub last_word: String,
}

impl ModelScript {
    /// With these calls.
    pub fn new(dialect: Dialect, calls: Vec<(String, Value)>) -> Self {
        Self { dialect, calls, last_word: "done".to_owned() }
    }
}

impl Dialect {
    /// What tools returned, as a request tells the model.
    pub fn results(self, request: &GatewayRequest) -> Vec<String> {
        let body = request.json();
        let list = |name: &str| body.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        let is = |value: &Value, key: &str, wanted: &str| value.get(key).is_some_and(|found| found == wanted);
        match self {
            Self::Messages => {
                let contents = list("messages")
                    .into_iter()
                    .filter_map(|mut message| message.get_mut("content").map(Value::take));
                let blocks = contents.filter_map(|content| content.as_array().cloned()).flatten();
                blocks
                    .filter(|block| is(block, "type", "tool_result"))
                    .map(|block| texts(block.get("content")))
                    .collect()
            }
            Self::Responses => {
                let outputs = list("input").into_iter().filter(|item| {
                    item.get("type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("_output"))
                });
                outputs.map(|item| texts(item.get("output"))).collect()
            }
            Self::Chat => {
                let results = list("messages").into_iter().filter(|message| is(message, "role", "tool"));
                results.map(|message| texts(message.get("content"))).collect()
            }
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Messages => "/v1/messages",
            Self::Responses => "/responses",
            Self::Chat => "/chat/completions",
        }
    }
}

/// All texts in a value, one after the other.
fn texts(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().map(|part| texts(Some(part))).collect::<Vec<_>>().join("\n")
        }
        Some(Value::Object(members)) => texts(members.get("text").or_else(|| members.get("content"))),
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => String::new(),
    }
}

impl GatewayScript for ModelScript {
    fn reply(&self, request: &GatewayRequest) -> GatewayReply {
        let path = request.target.split('?').next().unwrap_or_default();
        if !path.ends_with(self.dialect.path()) {
            return GatewayReply::status(404, "{}");
        }
        let body = request.json();
        let has_tools = has_tools(&body);
        let turn = self.dialect.results(request).len();
        let next = self.calls.get(turn).filter(|_| has_tools);
        let events = match self.dialect {
            Dialect::Messages => messages(&body, turn, next, &self.last_word),
            Dialect::Responses => responses(turn, next, &self.last_word),
            Dialect::Chat => return GatewayReply::stream(sse_of(&chat(turn, next, &self.last_word))),
        };
        let event = |event: &Value| {
            format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
        };
        GatewayReply::stream(events.iter().map(event).collect::<String>())
    }
}

/// Whether the request offers tools, in the list of its own or among what is said.
fn has_tools(body: &Value) -> bool {
    let list = |name: &str| body.get(name).and_then(Value::as_array);
    let offers = |item: &Value| item.get("type").is_some_and(|kind| kind == "additional_tools");
    list("tools").is_some_and(|tools| !tools.is_empty())
        || list("input").is_some_and(|input| input.iter().any(offers))
}

fn messages(body: &Value, turn: usize, next: Option<&(String, Value)>, last_word: &str) -> Vec<Value> {
    let usage = json!({"input_tokens": 10, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    let message = json!({
        "id": format!("msg_{turn}"), "type": "message", "role": "assistant", "model": body["model"],
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    let (block, delta, reason) = match next {
        Some((tool, input)) => (
            json!({"type": "tool_use", "id": format!("toolu_{turn}"), "name": tool, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            "tool_use",
        ),
        None => (
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": last_word}),
            "end_turn",
        ),
    };
    vec![
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ]
}

fn responses(turn: usize, next: Option<&(String, Value)>, last_word: &str) -> Vec<Value> {
    let id = format!("resp_{turn}");
    let item = match next {
        Some((tool, Value::String(input))) => json!({
            "type": "custom_tool_call", "id": format!("ctc_{turn}"), "call_id": format!("call_{turn}"), "name": tool,
            "input": input, "status": "completed",
        }),
        Some((tool, input)) => json!({
            "type": "function_call", "id": format!("fc_{turn}"), "call_id": format!("call_{turn}"), "name": tool,
            "arguments": input.to_string(), "status": "completed",
        }),
        None => json!({
            "type": "message", "id": format!("msg_{turn}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": last_word, "annotations": []}],
        }),
    };
    let usage = json!({
        "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15,
    });
    let completed = json!({"id": id, "status": "completed", "output": [item], "usage": usage});
    vec![
        json!({"type": "response.created", "response": {"id": id, "status": "in_progress", "output": []}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": completed}),
    ]
}

fn chat(turn: usize, next: Option<&(String, Value)>, last_word: &str) -> Vec<Value> {
    let (event, reason) = match next {
        Some((tool, input)) => (call(0, &format!("call_{turn}"), tool, &input.to_string()), "tool_calls"),
        None => {
            (json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": last_word}}]}), "stop")
        }
    };
    vec![
        event,
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}),
    ]
}
