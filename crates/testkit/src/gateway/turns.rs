//! A model that runs shell commands for some turns and then says that it is done.

use serde_json::{Value, json};

use super::{GatewayReply, GatewayRequest, GatewayScript};

/// Calls a tool a number of turns, and then says a last word. The turn is counted from the tool results in the request, so
/// the same script serves runs that are resumed.
#[derive(Clone, Debug)]
pub struct ShellTurns {
    /// How many turns have calls.
    pub turns: usize,
    /// How many calls each of them has.
    pub parallel: usize,
    /// The tool.
    pub tool: String,
    /// The arguments of each call; `{i}` in text stands for the turn, `{k}` for the call, both from one.
    pub arguments: Value,
    /// The last word.
    pub last_word: String,
}

impl ShellTurns {
    /// One `echo` per turn, with the tool `bash`.
    pub fn new(turns: usize) -> Self {
        Self {
            turns,
            parallel: 1,
            tool: "bash".to_owned(),
            arguments: json!({"command": "echo {i}"}),
            last_word: "done".to_owned(),
        }
    }
}

impl GatewayScript for ShellTurns {
    fn reply(&self, request: &GatewayRequest) -> GatewayReply {
        let body = request.json();
        let messages = body.get("messages").and_then(Value::as_array);
        let is_result = |message: &&Value| message.get("role").is_some_and(|role| role == "tool");
        let results = messages.map_or(0, |messages| messages.iter().filter(is_result).count());
        let turn = results / self.parallel.max(1);
        let usage = json!({"prompt_tokens": 10 * (turn + 1), "completion_tokens": 5, "total_tokens": 10 * (turn + 1) + 5});
        let last = |reason: &str| json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
        let mut events = Vec::new();
        if turn < self.turns {
            for position in 0..self.parallel {
                let text = self.arguments.to_string();
                let text = text.replace("{i}", &(turn + 1).to_string());
                let text = text.replace("{k}", &(position + 1).to_string());
                let id = format!("call_{turn}_{position}");
                events.push(call(position, &id, &self.tool, &text));
            }
            events.push(last("tool_calls"));
        } else {
            events.push(json!({"choices": [{"index": 0, "delta": {"content": self.last_word}}]}));
            events.push(last("stop"));
        }
        events.push(json!({"choices": [], "usage": usage}));
        GatewayReply::events(&events)
    }
}

/// An event with a whole call.
pub fn call(position: usize, id: &str, name: &str, arguments: &str) -> Value {
    let function = json!({"name": name, "arguments": arguments});
    let call = json!({"index": position, "id": id, "type": "function", "function": function});
    json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
}

/// The text of a stream of events with this data, and `[DONE]` at its end.
pub fn sse_of(events: &[Value]) -> String {
    let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    format!("{events}data: [DONE]\n\n")
}
