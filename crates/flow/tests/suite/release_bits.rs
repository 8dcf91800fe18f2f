//! What a released value costs.

use fullsend_flow::{
    leak_budget::MilliBits,
    release::{ReleaseOptions, release},
};
use serde_json::{Value, json};

fn bits(schema: &Value, value: &Value) -> u64 {
    release(schema, value, "id", &ReleaseOptions::default()).unwrap().bits.get()
}

#[test]
fn every_channel_has_its_price() {
    let integer = |low: i64, high: i64| json!({"type": "integer", "minimum": low, "maximum": high});
    let optional = json!({"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}});
    let required = json!({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]});
    let open = json!({"type": "object", "additionalProperties": true});
    let list = |bounds: Value| {
        let mut list = json!({"type": "array", "items": {"type": "null"}});
        list.as_object_mut().unwrap().extend(bounds.as_object().unwrap().clone());
        list
    };
    for (schema, value, expected) in [
        (json!({"type": "null"}), json!(null), 0),
        (json!({"type": "boolean"}), json!(true), 1000),
        (json!({"type": "string"}), json!("sealed"), 0),
        (json!({"const": "x"}), json!("x"), 0),
        (json!({"enum": ["a", "b", "c", "d"]}), json!("a"), 2000),
        (json!({"enum": ["a", "b", 3]}), json!(3), 1585),
        (json!({"type": "boolean", "const": true}), json!(true), 0),
        (json!({"enum": [[true, 5], 1]}), json!([true, 5]), 1000),
        (integer(1, 1), json!(1), 0),
        (integer(0, 255), json!(7), 8000),
        (integer(1, 10), json!(7), 3322),
        (json!({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 5}), json!(1), 2000),
        (json!({"type": "integer", "minimum": 0.5, "maximum": 4.5}), json!(1.0), 2000),
        (json!({"allOf": [integer(0, 100), integer(0, 3)]}), json!(1), 2000),
        (json!({"type": "integer"}), json!(1), 66_000),
        (json!({"type": "integer", "minimum": 0}), json!(1), 66_000),
        (json!({"type": "integer", "minimum": -1e300, "maximum": 1e300}), json!(1), 66_000),
        (json!({"type": "number", "minimum": 0, "maximum": 1}), json!(0.1), 66_000),
        (json!({"type": ["null", "string"]}), json!("sealed"), 1000),
        (json!(true), json!("sealed"), 2585),
        (optional.clone(), json!({}), 2000),
        (optional, json!({"b": null}), 2000),
        (required, json!({"a": null}), 0),
        (open.clone(), json!({}), 1000),
        (open, json!({"x": 1}), 1000),
        (list(json!({"maxItems": 3})), json!([null]), 2000),
        (list(json!({"minItems": 2, "maxItems": 2})), json!([null, null]), 0),
        (list(json!({})), json!([]), 1000),
        (list(json!({})), json!([null]), 3000),
        (list(json!({})), json!([null, null, null]), 5000),
        (list(json!({"minItems": 1})), json!([null]), 1000),
        (json!({"type": "array", "maxItems": 0, "prefixItems": [true]}), json!([]), 0),
        (json!({"oneOf": [{"const": 1}, {"const": 2}, {"const": 3}, {"const": 4}]}), json!(4), 2000),
        (json!({"anyOf": [{"type": "null"}, {"type": "string"}]}), json!("sealed"), 1585),
        (json!({"anyOf": [{"const": 1}, {"const": 2}, {"const": 3}, {"const": 4}]}), json!(4), 3000),
        (json!({"anyOf": [{"const": 1}, {"const": 1}, {"const": 3}, {"const": 4}]}), json!(1), 5000),
    ] {
        assert_eq!(bits(&schema, &value), expected, "{schema} {value}");
    }
}

#[test]
fn a_tuple_element_pays_for_fitting() {
    let pair = json!({"type": "array", "minItems": 1, "maxItems": 1, "prefixItems": [{"const": "x"}]});
    assert_eq!(bits(&pair, &json!(["x"])), 1000);
    assert_eq!(bits(&pair, &json!(["sealed"])), 1000 + 2585);
    assert_eq!(bits(&pair, &json!([12345])), 1000 + 2585 + 66_000);
}

#[test]
fn a_link_pays_for_the_choice() {
    let link = json!({"type": "object", "properties": {"@link": {"type": "string"}}, "required": ["@link"]});
    let minted: std::collections::BTreeSet<String> = (0..3).map(|at| format!("link:{at}")).collect();
    let options = ReleaseOptions { minted, ..ReleaseOptions::default() };
    for text in ["link:1", "forged"] {
        let released = release(&link, &json!({ "@link": text }), "id", &options).unwrap();
        assert_eq!(released.bits, MilliBits::from_bits(2), "{text}");
    }
}
