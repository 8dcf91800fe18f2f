//! Reads a request, and says of one that is wrong what is wrong and where.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::protocol::{
    BrowserAccess, CancelTurn, ChatError, CloseSession, ErrorCode, Hello, ListEvents, ListTurns, Method,
    OLDER_REQUEST, PROTOCOL_VERSION, REQUEST, ResolveApproval, StartSession, StartTurn, StatusQuery,
};

/// Every method, as it is written.
const METHODS: [&str; 9] = [
    "hello",
    "start_session",
    "start_turn",
    "cancel_turn",
    "resolve_approval",
    "close_session",
    "status",
    "list_events",
    "list_turns",
];

/// How deeply what a request says may be nested. What is kept of it comes back inside of answers and events, which readers
/// of JSON refuse beyond some depth: often 128.
const DEEPEST: usize = 100;

/// What could be read of a line.
#[derive(Debug)]
pub(super) struct Read {
    /// The client's name for the request; none where none can be read.
    pub(super) request_id: Option<String>,
    /// What is wanted, or what is wrong.
    pub(super) method: Result<Method, ChatError>,
}

/// Reads a line.
pub(super) fn read(line: &[u8]) -> Read {
    let nameless = |error| Read { request_id: None, method: Err(error) };
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            let message = format!("failed to parse chat request JSON: {error}");
            return nameless(ChatError::new(ErrorCode::InvalidRequest, message));
        }
    };
    let Value::Object(mut request) = value else {
        return nameless(wrong("", "a request is a JSON object"));
    };
    let request_id = match request.remove("requestId") {
        Some(Value::String(id)) => id,
        Some(_) => return nameless(wrong("requestId", "a text is expected")),
        None => return nameless(wrong("requestId", "it is missing")),
    };
    Read { request_id: Some(request_id), method: method(request) }
}

/// An error that names its place.
pub(super) fn wrong(path: &str, problem: &str) -> ChatError {
    let place = if path.is_empty() { "the request".to_owned() } else { format!("`{path}`") };
    ChatError::new(ErrorCode::InvalidRequest, format!("{place} is wrong: {problem}"))
        .with("path", path)
        .with("problem", problem)
}

fn method(mut request: Map<String, Value>) -> Result<Method, ChatError> {
    match request.get("type") {
        Some(Value::String(tag)) if tag == REQUEST || tag == OLDER_REQUEST => {}
        Some(_) => return Err(wrong("type", &format!("`{REQUEST}` is expected"))),
        None => return Err(wrong("type", &format!("it is missing; `{REQUEST}` is expected"))),
    }
    let version = match request.get("protocolVersion") {
        Some(version) => {
            version.as_u64().ok_or_else(|| wrong("protocolVersion", "a whole number is expected"))?
        }
        None => return Err(wrong("protocolVersion", "it is missing")),
    };
    let params = match request.remove("params") {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(params @ Value::Object(_)) if depth(&params) <= DEEPEST => params,
        Some(Value::Object(_)) => {
            return Err(wrong("params", &format!("it is nested more than {DEEPEST} deep")));
        }
        Some(_) => return Err(wrong("params", "an object is expected")),
    };
    let name = match request.get("method") {
        Some(Value::String(name)) => name.as_str(),
        Some(_) => return Err(wrong("method", "a text is expected")),
        None => return Err(wrong("method", "it is missing")),
    };
    if name == "hello" {
        return Ok(Method::Hello(agreeing(version, of(params)?)?));
    }
    if version != u64::from(PROTOCOL_VERSION) {
        return Err(unsupported(&version.to_string()));
    }
    let method = match name {
        "start_session" => Method::StartSession(Box::new(of(params)?)),
        "start_turn" => Method::StartTurn(Box::new(of(params)?)),
        "cancel_turn" => Method::CancelTurn(of(params)?),
        "resolve_approval" => Method::ResolveApproval(of(params)?),
        "close_session" => Method::CloseSession(of(params)?),
        "status" => Method::Status(of(params)?),
        "list_events" => Method::ListEvents(of(params)?),
        "list_turns" => Method::ListTurns(of(params)?),
        _ => return Err(wrong("method", &format!("it is none of {}", METHODS.join(", ")))),
    };
    check(&method)?;
    Ok(method)
}

/// How many lists and objects are around the innermost one, itself included.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// What a client says first is answered in whatever version it says it, as long as there is one that both speak.
fn agreeing(version: u64, mut hello: Hello) -> Result<Hello, ChatError> {
    let spoken = u64::from(PROTOCOL_VERSION);
    let common = match hello.protocol_versions.as_slice() {
        [] => version == spoken,
        listed => listed.contains(&PROTOCOL_VERSION),
    };
    if !common {
        let asked = match hello.protocol_versions.as_slice() {
            [] => version.to_string(),
            listed => listed.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        };
        return Err(unsupported(&asked));
    }
    hello.protocol_versions = vec![PROTOCOL_VERSION];
    Ok(hello)
}

fn unsupported(asked: &str) -> ChatError {
    let message = format!("the protocol version {asked} is not spoken here; use {PROTOCOL_VERSION}");
    ChatError::new(ErrorCode::UnsupportedProtocolVersion, message).with("supported", vec![PROTOCOL_VERSION])
}

fn of<T: DeserializeOwned>(params: Value) -> Result<T, ChatError> {
    serde_path_to_error::deserialize(params).map_err(|error| {
        let inside = error.path().to_string();
        let path = if inside == "." { "params".to_owned() } else { format!("params.{inside}") };
        wrong(&path, &error.into_inner().to_string())
    })
}

/// What types do not say.
fn check(method: &Method) -> Result<(), ChatError> {
    match method {
        Method::StartSession(ask) => check_session(ask),
        Method::StartTurn(ask) => check_turn(ask),
        Method::ListEvents(ListEvents { limit: Some(0), .. }) => {
            Err(wrong("params.limit", "it is at least 1"))
        }
        Method::Hello(_)
        | Method::CancelTurn(CancelTurn { .. })
        | Method::ResolveApproval(ResolveApproval { .. })
        | Method::CloseSession(CloseSession { .. })
        | Method::Status(StatusQuery { .. })
        | Method::ListEvents(_)
        | Method::ListTurns(ListTurns { .. }) => Ok(()),
    }
}

fn check_session(ask: &StartSession) -> Result<(), ChatError> {
    not_blank("params.sessionId", ask.session_id.as_deref())?;
    not_blank("params.model", ask.model.as_deref())?;
    not_blank("params.artifactRoot", ask.artifact_root.as_deref())?;
    check_lease(ask.browser_access.as_ref())
}

fn check_turn(ask: &StartTurn) -> Result<(), ChatError> {
    not_blank("params.turnId", ask.turn_id.as_deref())?;
    if ask.input.image_attachments.is_empty() {
        not_blank("params.input.text", Some(&ask.input.text))?;
    }
    check_lease(ask.browser_access.as_ref())
}

fn check_lease(lease: Option<&BrowserAccess>) -> Result<(), ChatError> {
    let Some(lease) = lease else { return Ok(()) };
    not_blank("params.browserAccess.leaseId", Some(&lease.lease_id))?;
    not_blank("params.browserAccess.cdpUrl", Some(&lease.cdp_url))?;
    let one_of = |path: &str, given: Option<&str>, known: [&str; 2]| match given {
        Some(given) if !known.contains(&given) => {
            Err(wrong(path, &format!("it is neither `{}` nor `{}`", known[0], known[1])))
        }
        Some(_) | None => Ok(()),
    };
    one_of("params.browserAccess.profileMode", lease.profile_mode.as_deref(), ["persistent", "transient"])?;
    one_of("params.browserAccess.accountAccess", lease.account_access.as_deref(), ["available", "none"])
}

fn not_blank(path: &str, given: Option<&str>) -> Result<(), ChatError> {
    match given {
        Some(text) if text.trim().is_empty() => Err(wrong(path, "it is blank")),
        Some(_) | None => Ok(()),
    }
}
