//! What is sent.

use fullsend_model::{
    AssistantMessage, Gateway, Image, Message, ModelClient, ModelRequest, ReasoningEffort, ToolCall,
};
use fullsend_testkit::gateway::ScriptedGateway;
use serde_json::json;

use super::support::{block_on, complete_with, question, quick, says, tools};

#[test]
fn a_request_holds_what_it_should_and_no_more() {
    let server = ScriptedGateway::sequence(vec![says("ok")]);
    let gateway = Gateway::new(quick(&format!("{}/api/", server.url()))).unwrap();
    assert_eq!(gateway.provider(), "openai-compatible-gateway");
    let mut conversation = question();
    let call = ToolCall { id: "a".into(), name: "bash".into(), arguments: "{}".into() };
    conversation
        .push(Message::Assistant(AssistantMessage { content: String::new(), tool_calls: vec![call] }));
    conversation.push(Message::Tool { call_id: "a".into(), content: "out".into() });
    let completion = block_on(complete_with(&gateway, &conversation, &tools())).0.unwrap();
    let request = &server.requests()[0];
    assert_eq!(request.target, "/api/v1/chat/completions");
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.header("transfer-encoding"), None);
    assert_eq!(request.header("host"), Some(server.address().to_string().as_str()));
    assert!(request.header("user-agent").unwrap().starts_with("fullsend/"));
    let expected = json!({
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Grüß dich \"du\"\n"},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "out"},
        ],
        "tools": [{"type": "function", "function": {"name": "bash", "description": "Runs a command.",
            "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}}}],
        "tool_choice": "auto",
        "parallel_tool_calls": true,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    assert_eq!(request.json(), expected);
    let size = &completion.attempts[0].request;
    assert_eq!((size.model.as_str(), size.message_count, size.tool_count), ("m-1", 4, 1));
    assert_eq!(size.serialized_bytes, request.body.len());
}

#[test]
fn without_tools_nothing_is_said_about_them_and_a_limit_is_passed_on() {
    let server = ScriptedGateway::sequence(vec![says("ok")]);
    let gateway = Gateway::new(quick(&server.url())).unwrap();
    let conversation = question();
    let request = ModelRequest {
        model: "\"m\"",
        conversation: &conversation,
        tools: &[],
        native_tools: &[],
        max_output_tokens: Some(99),
        reasoning_effort: ReasoningEffort::from_word("xhigh"),
    };
    block_on(gateway.complete(request, &mut |_| {})).unwrap();
    let mut sent = server.requests()[0].json();
    sent.as_object_mut().unwrap().remove("messages");
    let expected = json!({"model": "\"m\"", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 99, "reasoning_effort": "high"});
    assert_eq!(sent, expected);
}

#[test]
fn pictures_are_parts_of_a_message_after_its_text() {
    let picture = |media_type, bytes: &[u8]| Image { media_type, bytes: bytes.to_vec() };
    let url = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let (png, gif) = (picture("image/png", b"\x89PNG"), picture("image/gif", b"G"));
    let (png_url, gif_url) = (url("data:image/png;base64,iVBORw=="), url("data:image/gif;base64,Rw=="));
    for (content, images, parts) in [
        ("a \"b\"\n", vec![png.clone()], json!([{"type": "text", "text": "a \"b\"\n"}, png_url])),
        ("", vec![png, gif], json!([png_url, gif_url])),
    ] {
        let server = ScriptedGateway::sequence(vec![says("ok")]);
        let gateway = Gateway::new(quick(&server.url())).unwrap();
        let mut conversation = question();
        conversation.push(Message::User { content: content.to_owned(), images });
        block_on(complete_with(&gateway, &conversation, &tools())).0.unwrap();
        let sent = server.requests()[0].json();
        assert_eq!(sent["messages"][2], json!({"role": "user", "content": parts}));
    }
}

#[test]
fn what_the_model_does_itself_is_named_by_type() {
    let server = ScriptedGateway::sequence(vec![says("ok")]);
    let gateway = Gateway::new(quick(&server.url())).unwrap();
    let (conversation, list) = (question(), tools());
    let native_tools = &["google_search".to_owned()][..];
    for tools in [&[][..], &list] {
        let model = "m";
        let request = ModelRequest {
            model,
            conversation: &conversation,
            tools,
            native_tools,
            max_output_tokens: None,
            reasoning_effort: None,
        };
        block_on(gateway.complete(request, &mut |_| {})).unwrap();
    }
    let (alone, beside) = (server.requests()[0].json(), server.requests()[1].json());
    assert_eq!(alone["tools"], json!([{"type": "google_search"}]));
    assert!(alone.get("tool_choice").is_none(), "{alone}");
    assert_eq!(beside["tools"][1], json!({"type": "google_search"}));
    assert_eq!(beside["tools"][0]["function"]["name"], "bash");
    assert_eq!(beside["tool_choice"], "auto");
}

#[test]
fn each_list_of_tools_is_sent_as_it_is() {
    let server = ScriptedGateway::sequence(vec![says("ok")]);
    let gateway = Gateway::new(quick(&server.url())).unwrap();
    let mut changed = tools();
    changed[0].description = "Another.".to_owned();
    block_on(async {
        for list in [tools(), tools(), changed] {
            complete_with(&gateway, &question(), &list).await.0.unwrap();
        }
    });
    let requests = server.requests();
    assert_eq!(requests[0].body, requests[1].body);
    assert_eq!(requests[2].json()["tools"][0]["function"]["description"], "Another.");
}
