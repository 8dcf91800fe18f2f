//! What the tests of gateways share.

use std::time::Duration;

use fullsend_model::gateway::{Auth, Gateway, GatewayConfig};
use fullsend_model::{
    Completion, Conversation, Message, ModelClient, ModelError, ModelRequest, Progress, ToolDescription,
};
use fullsend_testkit::gateway::{GatewayReply, ScriptedGateway};
use serde_json::json;

/// A configuration without waiting.
pub(crate) fn quick(url: &str) -> GatewayConfig {
    let mut config = GatewayConfig::new(url, Auth::None);
    config.retries.base_delay = Duration::from_millis(1);
    config.retries.max_delay = Duration::from_millis(2);
    config
}

/// A conversation of one question.
pub(crate) fn question() -> Conversation {
    let mut conversation = Conversation::default();
    conversation.push(Message::System { content: "Be brief.".to_owned() });
    conversation.push(Message::User { content: "Grüß dich \"du\"\n".to_owned(), images: Vec::new() });
    conversation
}

/// One tool.
pub(crate) fn tools() -> Vec<ToolDescription> {
    vec![ToolDescription {
        name: "bash".to_owned(),
        description: "Runs a command.".to_owned(),
        parameters: json!({"type": "object", "properties": {"command": {"type": "string"}}}),
    }]
}

/// Runs one completion, and returns what was reported on the way as well.
pub(crate) fn complete(config: GatewayConfig) -> (Result<Completion, ModelError>, Vec<String>) {
    let gateway = Gateway::new(config).unwrap();
    block_on(complete_with(&gateway, &question(), &tools()))
}

/// Runs one completion of a client that exists.
pub(crate) async fn complete_with(
    client: &dyn ModelClient,
    conversation: &Conversation,
    tools: &[ToolDescription],
) -> (Result<Completion, ModelError>, Vec<String>) {
    let request = ModelRequest {
        model: "m-1",
        conversation,
        tools,
        native_tools: &[],
        max_output_tokens: None,
        reasoning_effort: None,
    };
    let mut heard = Vec::new();
    let mut listen = |progress: Progress<'_>| {
        heard.push(match progress {
            Progress::Text(text) => format!("text {text}"),
            Progress::Reasoning(text) => format!("reasoning {text}"),
            Progress::Restarted => "restarted".to_owned(),
        });
    };
    let outcome = client.complete(request, &mut listen).await;
    (outcome, heard)
}

/// The answer to one reply.
pub(crate) fn answer_to(reply: GatewayReply) -> Result<Completion, ModelError> {
    let server = ScriptedGateway::sequence(vec![reply]);
    let mut config = quick(&server.url());
    config.retries.max_attempts = 1;
    complete(config).0
}

/// Runs a future to its end.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work)
}

/// A stream that says `text` and stops.
pub(crate) fn says(text: &str) -> GatewayReply {
    GatewayReply::events(&[
        json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
    ])
}
