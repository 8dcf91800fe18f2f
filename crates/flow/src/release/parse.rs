//! Reading the schema that a caller asks for and the answer that came back.

use serde_json::Value;

use super::{DEEPEST, is_deeper_than};

/// The most bytes a schema may have, written compactly.
pub const LARGEST_SCHEMA: usize = 32_768;

/// A schema that may be asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct ReturnSchema {
    /// The schema: an object or a boolean.
    pub schema: Value,
    /// How many bytes it has, written compactly.
    pub bytes: usize,
}

/// Why something is not a schema that may be asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReturnSchemaError {
    /// A text that is not JSON.
    #[error("the return schema is text but not valid JSON; give an object, a boolean or JSON of either")]
    NotJson,
    /// JSON of the wrong type.
    #[error("the return schema must be an object, a boolean or JSON text of either")]
    NotASchema,
    /// Too long.
    #[error("the return schema has {bytes} bytes, more than the {LARGEST_SCHEMA} allowed; simplify it")]
    TooLarge {
        /// Its size, written compactly.
        bytes: usize,
    },
    /// Too deep.
    #[error("the return schema is nested deeper than {DEEPEST} levels; simplify it")]
    TooDeep,
}

/// Reads a schema given as a JSON value, or as a string that holds one.
///
/// # Errors
///
/// Fails if it is not a schema, or exceeds [`LARGEST_SCHEMA`] or [`DEEPEST`].
pub fn parse_schema(given: &Value) -> Result<ReturnSchema, ReturnSchemaError> {
    let schema = match given {
        // Longer than any schema even with spaces: not worth reading.
        Value::String(text) if text.len() > LARGEST_SCHEMA * 8 => {
            return Err(ReturnSchemaError::TooLarge { bytes: text.len() });
        }
        Value::String(text) => serde_json::from_str(text).map_err(|_| ReturnSchemaError::NotJson)?,
        Value::Object(_) if is_deeper_than(given, DEEPEST) => return Err(ReturnSchemaError::TooDeep),
        Value::Bool(_) | Value::Object(_) => given.clone(),
        Value::Null | Value::Number(_) | Value::Array(_) => return Err(ReturnSchemaError::NotASchema),
    };
    if !schema.is_object() && !schema.is_boolean() {
        return Err(ReturnSchemaError::NotASchema);
    }
    let bytes = schema.to_string().len();
    if bytes > LARGEST_SCHEMA {
        return Err(ReturnSchemaError::TooLarge { bytes });
    }
    Ok(ReturnSchema { schema, bytes })
}

/// Why an answer is not a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReturnTextError {
    /// Nothing but space.
    #[error("child final response was empty")]
    Empty,
    /// Something else, prose or fenced code for example.
    #[error("child final response was not valid JSON")]
    NotJson,
}

/// Reads the final text of a child as one JSON value.
///
/// # Errors
///
/// Fails if it is blank or not JSON; neither message quotes it.
pub fn parse_return(text: &str) -> Result<Value, ReturnTextError> {
    let text = text.trim_matches(|character: char| character.is_whitespace() || character == '\u{feff}');
    if text.is_empty() {
        return Err(ReturnTextError::Empty);
    }
    serde_json::from_str(text).map_err(|_| ReturnTextError::NotJson)
}
