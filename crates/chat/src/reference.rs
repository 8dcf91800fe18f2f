//! Reference material generated from the types of the protocol: JSON Schema for programs, Markdown for people.

mod markdown;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::protocol::{
    CancelTurn, CloseSession, EventEnvelope, EventList, Hello, ListEvents, ListTurns, OLDER_REQUEST,
    PROTOCOL_VERSION, REQUEST, Request, ResolveApproval, Response, SessionList, SessionStatus, StartSession,
    StartTurn, StatusQuery, TurnList, TurnStatus, Welcome,
};

/// A whole session as it was really said: lines of the client after `> `, lines of the service after `< `.
pub const WORKED_SESSION: &str = include_str!("reference/worked_session.txt");

/// The JSON Schema of a line of the protocol, in either direction. `x-methods` names the params and the result of each
/// method.
pub fn json_schema() -> Value {
    let mut generator = SchemaSettings::draft07().into_generator();
    let roots = [
        generator.subschema_for::<Request>(),
        generator.subschema_for::<Response>(),
        generator.subschema_for::<EventEnvelope>(),
    ];
    let methods = methods(&mut generator);
    let mut definitions: Map<String, Value> = generator.take_definitions(true);
    narrow_request(&mut definitions);
    narrow_response(&mut definitions, &methods);
    for name in ["Request", "Response", "EventEnvelope"] {
        if let Some(version) = at(&mut definitions, name, "protocolVersion") {
            *version =
                json!({"description": "The version that it is written in.", "const": PROTOCOL_VERSION});
        }
    }
    for definition in definitions.values_mut() {
        leave_out_null(definition);
    }
    definitions.sort_keys();
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A line of the chat protocol",
        "oneOf": roots,
        "x-protocolVersion": PROTOCOL_VERSION,
        "x-methods": methods,
        "definitions": definitions,
    })
}

/// The reference page of the protocol.
pub fn markdown() -> String {
    markdown::page(&json_schema())
}

fn methods(generator: &mut SchemaGenerator) -> Map<String, Value> {
    fn method<P: JsonSchema, R: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
        json!({"params": generator.subschema_for::<P>(), "result": generator.subschema_for::<R>()})
    }
    [
        ("hello", method::<Hello, Welcome>(generator)),
        ("start_session", method::<StartSession, SessionStatus>(generator)),
        ("start_turn", method::<StartTurn, TurnStatus>(generator)),
        ("cancel_turn", method::<CancelTurn, SessionStatus>(generator)),
        ("resolve_approval", method::<ResolveApproval, SessionStatus>(generator)),
        ("close_session", method::<CloseSession, SessionStatus>(generator)),
        ("status", method::<StatusQuery, SessionList>(generator)),
        ("list_events", method::<ListEvents, EventList>(generator)),
        ("list_turns", method::<ListTurns, TurnList>(generator)),
    ]
    .map(|(name, method)| (name.to_owned(), method))
    .into_iter()
    .collect()
}

/// The service reads any type and says what is wrong with it; what is right is one of two.
fn narrow_request(definitions: &mut Map<String, Value>) {
    if let Some(tag) = at(definitions, "Request", "type") {
        *tag = json!({
            "description": "What this is; the second spelling is that of older clients.",
            "enum": [REQUEST, OLDER_REQUEST],
        });
    }
    if let Some(request) = definitions.get_mut("Request").and_then(Value::as_object_mut) {
        request.insert(
            "description".to_owned(),
            json!("A request; `method` says which, and `params` what for."),
        );
    }
}

/// An answer has a result or an error, as its `ok` says.
fn narrow_response(definitions: &mut Map<String, Value>, methods: &Map<String, Value>) {
    let mut results: Vec<&Value> = Vec::new();
    for result in methods.values().filter_map(|method| method.get("result")) {
        if !results.contains(&result) {
            results.push(result);
        }
    }
    if let Some(result) = at(definitions, "Response", "result") {
        *result = json!({"description": "What came of it: see `x-methods`.", "anyOf": results});
    }
    if let Some(error) = at(definitions, "Response", "error") {
        *error =
            json!({"description": "Why it was not done.", "allOf": [{"$ref": "#/definitions/ChatError"}]});
    }
    let Some(response) = definitions.get_mut("Response").and_then(Value::as_object_mut) else { return };
    response.insert("required".to_owned(), json!(["type", "protocolVersion", "requestId", "ok"]));
    let done = json!({"properties": {"ok": {"const": true}}, "required": ["result"], "not": {"required": ["error"]}});
    let refused = json!({"properties": {"ok": {"const": false}}, "required": ["error"], "not": {"required": ["result"]}});
    response.insert("oneOf".to_owned(), json!([done, refused]));
}

/// A key without a value is left out. The service takes `null` for that as well, which is nobody's way to write it.
fn leave_out_null(definition: &mut Value) {
    for variant in definition.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten() {
        leave_out_null(variant);
    }
    let required = definition.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let properties = definition.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten();
    for (_, form) in properties.filter(|(key, _)| !required.contains(&json!(key))) {
        if let Some(kinds) = form.get_mut("type").filter(|kinds| kinds.is_array()) {
            let some = kinds.as_array().and_then(|kinds| kinds.iter().find(|kind| *kind != "null")).cloned();
            *kinds = some.unwrap_or_default();
        }
        if let Some(forms) = form.get_mut("anyOf").and_then(Value::as_array_mut) {
            forms.retain(|form| form.get("type").is_none_or(|kind| kind != "null"));
        }
    }
}

fn at<'a>(definitions: &'a mut Map<String, Value>, name: &str, property: &str) -> Option<&'a mut Value> {
    definitions.get_mut(name)?.get_mut("properties")?.get_mut(property)
}
