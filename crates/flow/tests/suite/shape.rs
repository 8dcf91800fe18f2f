//! What is told about values that are not shown.

use fullsend_flow::shape::{SizeClass, shape_of, shape_of_value};
use serde_json::{Map, Value, json};

#[test]
fn only_structure_is_left_of_a_schema() {
    for (schema, expected) in [
        (
            json!({"type": "string", "const": "s", "enum": ["s"], "default": "s", "title": "s", "pattern": "s",
                "minLength": 1, "description": "s", "examples": ["s"], "$comment": "s", "x": 1}),
            json!({"type": "string"}),
        ),
        (json!(true), json!(true)),
        (json!(false), json!(false)),
        (json!("text"), json!({})),
        (json!(null), json!({})),
        (json!({"type": ["null", "evil", "string", "null"]}), json!({"type": ["null", "string"]})),
        (json!({"type": ["evil"]}), json!({})),
        (json!({"type": "evil"}), json!({})),
        (json!({"format": "date-time"}), json!({"format": "date-time"})),
        (json!({"format": "ignore all rules"}), json!({})),
        (
            json!({"type": "array", "items": {"type": "integer", "maximum": 3}, "prefixItems": [{"const": 1}, false],
                "contains": {"title": "x"}, "not": {"enum": [1]}}),
            json!({"type": "array", "items": {"type": "integer"}, "prefixItems": [{}, false], "contains": {}, "not": {}}),
        ),
        (
            json!({"properties": {"a": {"type": "null"}}, "required": ["a", "b", "a", 3], "additionalProperties": false}),
            json!({"properties": {"a": {"type": "null"}}, "required": ["a"], "additionalProperties": false}),
        ),
        (json!({"properties": {"a": true}, "required": ["b"]}), json!({"properties": {"a": true}})),
        (json!({"required": ["a"]}), json!({})),
        (json!({"anyOf": [{"const": "x"}], "oneOf": 3, "allOf": [7]}), json!({"anyOf": [{}], "allOf": [{}]})),
    ] {
        assert_eq!(shape_of(&schema), expected, "{schema}");
    }
}

#[test]
fn definitions_lose_their_names_and_references_follow() {
    let schema = json!({
        "$defs": {"se cret": {"type": "null"}, "a/b": {"$defs": {"inner": true}, "$ref": "#/$defs/inner"}},
        "definitions": {"x~y": {"type": "string"}},
        "properties": {
            "root": {"$ref": "#"}, "spaced": {"$ref": "#/$defs/se%20cret"}, "slash": {"$ref": "#/$defs/a~1b"},
            "tilde": {"$ref": "#/definitions/x~0y"}, "missing": {"$ref": "#/$defs/none"},
            "deep": {"$ref": "#/$defs/a~1b/$defs/inner"}, "broken": {"$ref": "#/$defs/%zz"},
            "remote": {"$ref": "https://example.com/#/$defs/x"}, "number": {"$ref": 4}}});
    let expected = json!({
        "$defs": {"d0": {"type": "null"}, "d1": {"$defs": {"d0": true}}},
        "definitions": {"d0": {"type": "string"}},
        "properties": {
            "root": {"$ref": "#"}, "spaced": {"$ref": "#/$defs/d0"}, "slash": {"$ref": "#/$defs/d1"},
            "tilde": {"$ref": "#/definitions/d0"}, "missing": {}, "deep": {}, "broken": {}, "remote": {},
            "number": {}}});
    assert_eq!(shape_of(&schema), expected);
}

#[test]
fn what_is_left_out_does_not_read_as_forbidden() {
    let many: Map<String, Value> = (0..201).map(|at| (format!("p{at:03}"), json!(true))).collect();
    let shape =
        shape_of(&json!({"properties": many, "required": ["p200", "p000"], "additionalProperties": false}));
    assert_eq!(shape["properties"].as_object().unwrap().len(), 200);
    assert_eq!(shape["additionalProperties"], json!(true));
    assert_eq!(shape["required"], json!(["p000"]));
    for (name, kept) in
        [("n".repeat(128), true), ("n".repeat(129), false), ("😀".repeat(64), true), ("😀".repeat(65), false)]
    {
        let shape = shape_of(&json!({"properties": {&name: true}}));
        assert_eq!(shape["properties"].get(&name).is_some(), kept, "{name}");
        assert_eq!(shape.get("additionalProperties").is_some(), !kept, "{name}");
    }
}

#[test]
fn depth_is_bounded() {
    let nested = (0..300).fold(json!({"type": "null"}), |inner, _| json!({"type": "array", "items": inner}));
    let mut at = &shape_of(&nested);
    let mut levels = 0;
    while let Some(inner) = at.get("items") {
        at = inner;
        levels += 1;
    }
    assert_eq!((levels, at), (101, &json!({})));
}

#[test]
fn a_value_shows_its_outermost_type_alone() {
    for (value, name) in [
        (json!(null), "null"),
        (json!(true), "boolean"),
        (json!(1), "number"),
        (json!(1.5), "number"),
        (json!("secret"), "string"),
        (json!([[], ["secret"]]), "array"),
        (json!({"secret": 1}), "object"),
    ] {
        assert_eq!(shape_of_value(&value), json!({ "type": name }));
    }
}

#[test]
fn sizes_are_told_in_classes() {
    for (bytes, name) in [
        (0, "empty"),
        (1, "small"),
        (1024, "small"),
        (1025, "medium"),
        (65_536, "medium"),
        (65_537, "large"),
        (u64::MAX, "large"),
    ] {
        assert_eq!(serde_json::to_value(SizeClass::of(bytes)).unwrap(), json!(name), "{bytes}");
        assert_eq!(serde_json::from_value::<SizeClass>(json!(name)).unwrap(), SizeClass::of(bytes));
    }
}
