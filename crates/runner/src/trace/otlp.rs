//! Spans in OTLP's JSON encoding.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::TraceSettings;
use super::span::{Attribute, Span, Status, bounded_status};

/// The bits of a span's flags that say whether its parent is of another program.
const HAS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;

/// A document with these spans.
pub(super) fn document(settings: &TraceSettings, spans: Vec<Value>) -> Value {
    let mut resource = vec![text("service.name", "fullsend"), text("service.version", &settings.version)];
    resource.extend(settings.resource.iter().map(|(key, value)| text(key, value)));
    json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": {"name": "fullsend"}, "spans": spans}],
    }]})
}

/// A span that has ended.
pub(super) fn encoded(span: &Span, end: Timestamp) -> Value {
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
    put("traceId", json!(span.trace_id));
    put("spanId", json!(span.span_id));
    if let Some(state) = &span.state {
        put("traceState", json!(state));
    }
    if let Some(parent) = &span.parent {
        put("parentSpanId", json!(parent));
    }
    let remote = if span.remote { IS_REMOTE } else { 0 };
    put("flags", json!(u32::from(span.sampled) | HAS_REMOTE | remote));
    put("name", json!(span.name));
    // Work that another program asked for is consumed; the rest is internal.
    put("kind", json!(if span.remote { 5 } else { 1 }));
    put("startTimeUnixNano", json!(span.start.as_nanosecond().to_string()));
    put("endTimeUnixNano", json!(end.max(span.start).as_nanosecond().to_string()));
    put("attributes", span.attributes.iter().map(|(name, value)| attribute(name, value)).collect());
    match &span.status {
        Status::Unset => None,
        Status::Ok => put("status", json!({"code": 1})),
        Status::Error(message) => put("status", json!({"message": bounded_status(message), "code": 2})),
    };
    Value::Object(members)
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

fn attribute(key: &str, value: &Attribute) -> Value {
    let value = match value {
        Attribute::Text(text) => json!({"stringValue": text}),
        Attribute::Int(number) => json!({"intValue": number.to_string()}),
        Attribute::Flag(flag) => json!({"boolValue": flag}),
        Attribute::Float(number) => json!({"doubleValue": float(*number)}),
    };
    json!({"key": key, "value": value})
}

fn float(number: f64) -> Value {
    match number {
        number if number.is_nan() => json!("NaN"),
        f64::INFINITY => json!("Infinity"),
        f64::NEG_INFINITY => json!("-Infinity"),
        number => json!(number),
    }
}
