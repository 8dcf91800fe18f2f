//! Sizes and shapes that are meant to hurt.

use std::thread;

use fullsend_flow::release::{
    DEEPEST, ReleaseError, ReleaseOptions, Released, ReturnSchemaError, parse_schema, release,
};
use serde_json::{Value, json};

fn run(schema: &Value, value: &Value) -> Result<Released, ReleaseError> {
    release(schema, value, "id", &ReleaseOptions::default())
}

/// Runs on the stack of a worker thread, while dropping the deep value is left to a thread with a large one.
fn on_small_stack<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        thread::Builder::new().stack_size(1 << 20).spawn_scoped(scope, act).unwrap().join().unwrap()
    })
}

fn on_large_stack(act: impl FnOnce() + Send + 'static) {
    thread::Builder::new().stack_size(1 << 28).spawn(act).unwrap().join().unwrap();
}

#[test]
fn many_strings_are_sealed_one_by_one() {
    let count = 150_000;
    let value = Value::Array((0..count).map(|at| json!(format!("secret {at}"))).collect());
    let released = run(&json!({"type": "array", "items": {"type": "string"}}), &value).unwrap();
    assert_eq!((released.linked_strings, released.sealed_paths.len()), (count, count));
    assert_eq!(released.value[149_999], json!({"@link": "opaque:id#/149999"}));
    assert_eq!(released.bits.get(), 35_000);
}

#[test]
fn deep_values_and_schemas_are_refused_without_recursion() {
    on_large_stack(|| {
        let lists = (0..10_000).fold(json!(1), |inner, _| Value::Array(vec![inner]));
        let schema = (0..10_000).fold(json!({}), |inner, _| {
            Value::Object([("allOf".to_owned(), Value::Array(vec![inner]))].into_iter().collect())
        });
        on_small_stack(|| {
            assert_eq!(run(&json!(true), &lists), Err(ReleaseError::ValueTooDeep { limit: DEEPEST }));
            assert_eq!(run(&schema, &json!(1)), Err(ReleaseError::SchemaTooDeep { limit: DEEPEST }));
            assert_eq!(parse_schema(&schema), Err(ReturnSchemaError::TooDeep));
        });
    });
}

#[test]
fn the_deepest_value_fits_the_stack_of_a_worker() {
    let schema =
        json!({"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "string"}]}}});
    let value = (0..DEEPEST).fold(json!("end"), |inner, _| json!({ "next": inner }));
    let released = on_small_stack(|| run(&schema, &value)).unwrap();
    assert_eq!(released.linked_strings, 1);
    assert_eq!(value.pointer(&released.sealed_paths[0]), Some(&json!("end")));
    let deeper = json!({ "next": value });
    assert_eq!(run(&schema, &deeper), Err(ReleaseError::ValueTooDeep { limit: DEEPEST }));
}

#[test]
fn a_long_chain_of_definitions_ends_in_an_error() {
    let definition = |at: usize| json!({"allOf": [{"$ref": format!("#/$defs/{}", at + 1)}]});
    let definitions: serde_json::Map<_, _> = (0..2000).map(|at| (at.to_string(), definition(at))).collect();
    let schema = json!({"$ref": "#/$defs/0", "$defs": definitions});
    let error = on_small_stack(|| run(&schema, &json!(1))).unwrap_err();
    assert!(matches!(error, ReleaseError::SchemaTooDeep { .. }), "{error}");

    let hops: serde_json::Map<_, _> =
        (0..2000).map(|at| (at.to_string(), json!({"$ref": format!("#/$defs/{}", at + 1)}))).collect();
    let error = run(&json!({"$ref": "#/$defs/0", "$defs": hops}), &json!(1)).unwrap_err();
    assert_eq!(error.to_string(), "schema reference does not resolve within the schema");
}

#[test]
fn branching_recursion_is_not_exponential() {
    for keyword in ["anyOf", "allOf"] {
        let branch = json!({"properties": {"next": {"$ref": "#"}, "text": {"type": "string"}}});
        let schema = json!({ keyword: [branch, branch] });
        let value = (0..100).fold(json!({"text": "x"}), |inner, _| json!({ "next": inner }));
        assert_eq!(run(&schema, &value).unwrap().linked_strings, 1, "{keyword}");
    }
    let definition = |at: usize| {
        let next = json!({"$ref": format!("#/$defs/{}", at + 1)});
        (at.to_string(), json!({"anyOf": [{"allOf": [next, next]}, next]}))
    };
    let mut definitions: serde_json::Map<_, _> = (0..60).map(definition).collect();
    definitions.insert("60".to_owned(), json!({"const": "x"}));
    let schema = json!({"$ref": "#/$defs/0", "$defs": definitions});
    assert_eq!(run(&schema, &json!("x")).unwrap().value, json!("x"));
    assert_eq!(run(&schema, &json!("y")).unwrap_err().to_string(), "value does not match anyOf");
}

#[test]
fn work_is_bounded() {
    let branches: Vec<Value> = (0..1000).map(|at| json!({ "const": at })).collect();
    let schema = json!({"items": {"anyOf": branches}});
    let value = Value::Array(vec![json!(999); 10_000]);
    assert!(matches!(run(&schema, &value), Err(ReleaseError::TooMuchWork { .. })));
}

#[test]
fn failures_release_nothing_even_if_most_fits() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}});
    assert!(run(&schema, &json!({"a": 1, "b": "x"})).is_err());
}
