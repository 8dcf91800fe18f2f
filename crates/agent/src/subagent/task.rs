//! What a child is asked to do, read from the arguments of a call.

use fullsend_flow::release::{LARGEST_SCHEMA, parse_schema};
use serde_json::{Map, Value};

use super::profile::Profile;
use crate::schema::Schema;
use crate::tool::BadArgument;

/// The most turns that can be asked for.
pub(super) const MOST_TURNS: u32 = 64;

/// What a child is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Task {
    pub(super) goal: String,
    pub(super) context: Option<String>,
    pub(super) profile: Profile,
    pub(super) turns: u32,
    /// What the value has to be that comes back, if one has to.
    pub(super) schema: Option<Value>,
}

impl Task {
    /// Reads arguments. Looked at in a fixed order, so that the first problem is always the same.
    pub(super) fn read(input: &Map<String, Value>, allowed: &[Profile]) -> Result<Self, BadArgument> {
        let goal = input.get("goal").and_then(Value::as_str).filter(|goal| !goal.trim().is_empty());
        let goal = goal.ok_or_else(|| bad("goal", "a non-empty string"))?;
        let context = match given(input, "context") {
            None => None,
            Some(Value::String(text)) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
            Some(_) => return Err(bad("context", "a string, or nothing")),
        };
        let profile = match given(input, "profile") {
            None => Some(Profile::Default),
            Some(name) => name.as_str().and_then(Profile::named),
        };
        let profile = profile.filter(|profile| allowed.contains(profile)).ok_or_else(|| {
            let names: Vec<&str> = allowed.iter().map(|profile| profile.as_str()).collect();
            bad("profile", format!("a profile that this run allows: {}", names.join(", ")))
        })?;
        let turns = match given(input, "maxModelTurns") {
            None => profile.turns(),
            Some(number) => {
                let number = number.as_u64().and_then(|number| u32::try_from(number).ok());
                let within = number.filter(|number| (1..=MOST_TURNS).contains(number));
                within.ok_or_else(|| bad("maxModelTurns", format!("an integer from 1 to {MOST_TURNS}")))?
            }
        };
        let schema = given(input, "returnSchema").map(read_schema).transpose()?;
        Ok(Self { goal: goal.to_owned(), context, profile, turns, schema })
    }
}

/// An argument that is there; models send `null` for what they leave out.
fn given<'a>(input: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    input.get(name).filter(|value| !value.is_null())
}

fn read_schema(given: &Value) -> Result<Value, BadArgument> {
    let form = format!("an object, a boolean or JSON text of either, of at most {LARGEST_SCHEMA} bytes");
    let read = parse_schema(given).map_err(|_| bad("returnSchema", form))?;
    match Schema::compile(&read.schema) {
        Ok(_) => Ok(read.schema),
        Err(_) => Err(bad("returnSchema", "a JSON Schema of the version 2020-12 that refers only to itself")),
    }
}

fn bad(field: &str, expected: impl Into<String>) -> BadArgument {
    BadArgument { field: format!("/{field}"), expected: expected.into() }
}
