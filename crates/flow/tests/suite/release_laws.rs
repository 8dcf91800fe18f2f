//! Laws that hold for every schema: nothing but pinned text crosses, hidden text has no influence, and the price
//! is at least what a code for the released values would need.

use std::collections::HashMap;

use fullsend_flow::release::{ReleaseOptions, Released, is_sealed, release};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Text that no schema here mentions, and what replaces it.
const HIDDEN: [(&str, &str); 2] = [("hidden", "another secret"), ("undeclared", "other key")];
const KEYS: [&str; 3] = ["a", "b", "undeclared"];

fn scalars() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(2),
        json!("x"),
        json!("y"),
        json!("hidden"),
    ]
}

/// A small world of values, complete up to its bounds.
fn world() -> Vec<Value> {
    let scalars = scalars();
    let mut world = scalars.clone();
    world.push(json!([]));
    world.extend(scalars.iter().map(|one| json!([one])));
    world.extend(scalars.iter().flat_map(|one| scalars.iter().map(move |other| json!([one, other]))));
    let parts: Vec<Option<Value>> =
        [None, Some(json!(1)), Some(json!(true)), Some(json!("x")), Some(json!("hidden"))].into();
    for at in 0..parts.len().pow(3) {
        let mut object = Map::new();
        for (place, key) in KEYS.iter().enumerate() {
            let choice = at / parts.len().pow(u32::try_from(place).unwrap()) % parts.len();
            if let Some(part) = &parts[choice] {
                object.insert((*key).to_owned(), part.clone());
            }
        }
        world.push(Value::Object(object));
    }
    world
}

fn leaf() -> impl Strategy<Value = Value> {
    let members = proptest::sample::subsequence(scalars().split_last().unwrap().1.to_vec(), 1..4);
    let names = ["null", "boolean", "number", "integer", "string", "array", "object"];
    prop_oneof![
        Just(json!(true)),
        Just(json!({})),
        members.prop_map(|members| json!({ "enum": members })),
        proptest::sample::select(scalars().split_last().unwrap().1.to_vec())
            .prop_map(|one| json!({ "const": one })),
        proptest::sample::subsequence(names.to_vec(), 1..4).prop_map(|names| json!({ "type": names })),
        proptest::sample::select(names.to_vec()).prop_map(|name| json!({ "type": name })),
        (0..3, 0..3)
            .prop_map(|(low, more)| json!({"type": "integer", "minimum": low, "maximum": low + more})),
    ]
}

fn schemas() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 24, 3, |inner| {
        let several = || proptest::collection::vec(inner.clone(), 1..4);
        let keyword = proptest::sample::select(vec!["anyOf", "oneOf", "allOf"]);
        let combined = (keyword, several(), inner.clone()).prop_map(|(keyword, parts, rest)| {
            let mut schema = rest.as_object().cloned().unwrap_or_default();
            schema.insert(keyword.to_owned(), json!(parts));
            Value::Object(schema)
        });
        let additional = prop_oneof![
            Just(json!({})),
            any::<bool>().prop_map(|open| json!({ "additionalProperties": open })),
            inner.clone().prop_map(|schema| json!({ "additionalProperties": schema })),
        ];
        let required = proptest::sample::subsequence(vec!["a", "b"], 0..3);
        let declared =
            proptest::collection::btree_map(proptest::sample::select(vec!["a", "b"]), inner.clone(), 0..3);
        let object = (additional, required, declared).prop_map(|(mut schema, required, declared)| {
            schema["properties"] = json!(declared);
            schema["required"] = json!(required);
            schema
        });
        let list = (several(), inner.clone(), 0..3usize, any::<[bool; 3]>()).prop_map(
            |(slots, items, most, has)| {
                let mut schema = json!({"type": "array"});
                for (key, value, wanted) in [
                    ("prefixItems", json!(slots), has[0]),
                    ("items", items, has[1]),
                    ("maxItems", json!(most), has[2]),
                ] {
                    if wanted {
                        schema[key] = value;
                    }
                }
                schema
            },
        );
        prop_oneof![combined.clone(), combined, object, list]
    })
}

fn run(schema: &Value, value: &Value) -> Option<Released> {
    release(schema, value, "id", &ReleaseOptions::default()).ok()
}

fn free_texts<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        _ if is_sealed(value) => {}
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| free_texts(item, found)),
        Value::Object(map) => map.iter().for_each(|(key, part)| {
            found.push(key);
            free_texts(part, found);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn with_other_secrets(value: &Value) -> Value {
    let other = |text: &String| {
        let found = HIDDEN.iter().find(|(from, _)| from == text);
        found.map_or(text.clone(), |(_, to)| (*to).to_owned())
    };
    match value {
        Value::String(text) => json!(other(text)),
        Value::Array(items) => items.iter().map(with_other_secrets).collect(),
        Value::Object(map) => map.iter().map(|(key, part)| (other(key), with_other_secrets(part))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn only_text_of_the_schema_crosses(schema in schemas()) {
        let mut pinned = Vec::new();
        free_texts(&schema, &mut pinned);
        for value in world() {
            let Some(released) = run(&schema, &value) else { continue };
            let mut crossed = Vec::new();
            free_texts(&released.value, &mut crossed);
            prop_assert!(crossed.iter().all(|text| pinned.contains(text)), "{value} gave {}", released.value);
            prop_assert_eq!(run(&schema, &value), Some(released));
        }
    }

    #[test]
    fn sealed_paths_name_what_is_sealed(schema in schemas()) {
        for value in world() {
            let Some(released) = run(&schema, &value) else { continue };
            for path in &released.sealed_paths {
                prop_assert!(value.pointer(path).is_some_and(|part| part.is_string() || part.is_object()));
                prop_assert!(released.value.pointer(path).is_some_and(is_sealed));
            }
            let strings = released.sealed_paths.iter().filter(|path| value.pointer(path).unwrap().is_string());
            prop_assert_eq!(strings.count(), released.linked_strings);
        }
    }

    #[test]
    fn what_is_hidden_has_no_influence(schema in schemas()) {
        for value in world() {
            prop_assert_eq!(run(&schema, &value), run(&schema, &with_other_secrets(&value)), "{}", value);
        }
    }

    #[test]
    fn no_price_is_too_low(schema in schemas()) {
        let sum = code_space(&schema);
        prop_assert!(sum <= 1.0 + 1e-9, "{sum}");
    }
}

/// Kraft's sum over the released values: above one, the prices are shorter than any code that tells them apart.
fn code_space(schema: &Value) -> f64 {
    let mut cheapest: HashMap<String, u64> = HashMap::new();
    for value in world() {
        let Some(released) = run(schema, &value) else { continue };
        let price = released.bits.get();
        cheapest.entry(released.value.to_string()).and_modify(|old| *old = price.min(*old)).or_insert(price);
    }
    cheapest.values().map(|price| (-(*price as f64) / 1000.0).exp2()).sum()
}

/// Each of these has one channel and nothing else, so that a price that is a little too low shows.
#[test]
fn no_price_of_a_single_channel_is_too_low() {
    let text = json!({"type": "string"});
    let x = json!({"const": "x"});
    let object = |a: &Value, b: &Value| json!({"properties": {"a": a, "b": b}, "required": ["a", "b"]});
    for schema in [
        json!({"type": "object", "properties": {"a": x}, "required": ["a"], "additionalProperties": true}),
        json!({"type": "object", "properties": {"a": x, "b": x}}),
        json!({"type": "object", "anyOf": [object(&x, &text), object(&text, &x)]}),
        json!({"type": "object", "anyOf": [object(&x, &text), object(&text, &x), object(&text, &text)]}),
        json!({"oneOf": [{"const": 0}, {"const": 1}, {"const": 2}]}),
        json!({"enum": ["x", "y", 0, null]}),
        json!({"type": "boolean"}),
        json!({"type": "integer", "minimum": 0, "maximum": 2}),
        json!({"type": ["null", "string"]}),
        json!({"type": "array", "items": x}),
        json!({"type": "array", "items": x, "maxItems": 2}),
        json!({"type": "array", "prefixItems": [x], "minItems": 1, "maxItems": 1}),
    ] {
        let sum = code_space(&schema);
        assert!(sum > 0.3 && sum <= 1.0 + 1e-9, "{sum} {schema}");
    }
}
