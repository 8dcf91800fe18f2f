//! What a child is asked to do, read from the arguments of a call.

use serde_json::{Map, Value};

use super::profile::Profile;
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
        Ok(Self { goal: goal.to_owned(), context, profile, turns })
    }
}

/// An argument that is there; models send `null` for what they leave out.
fn given<'a>(input: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    input.get(name).filter(|value| !value.is_null())
}

fn bad(field: &str, expected: impl Into<String>) -> BadArgument {
    BadArgument { field: format!("/{field}"), expected: expected.into() }
}
