//! JSON Schema 2020-12, without the network and in linear time.

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

/// The longest schema, as compact JSON.
pub const LONGEST_SCHEMA: usize = 32_768;

/// The most problems that are told at once.
const MOST_PROBLEMS: usize = 5;

/// A pattern may not grow into more than this when it is compiled.
const PATTERN_BYTES: usize = 1 << 20;

/// A schema that values are held against.
#[derive(Debug)]
pub struct Schema {
    validator: Validator,
}

/// Why a schema is none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// It is longer than allowed.
    #[error("the schema has {0} bytes, and {LONGEST_SCHEMA} are allowed")]
    TooLong(usize),
    /// It is neither an object nor a boolean.
    #[error("a JSON Schema is an object or a boolean")]
    NotASchema,
    /// It says something that cannot be.
    #[error("the schema is wrong at `{place}`: {problem}")]
    Invalid {
        /// Where, as a JSON Pointer.
        place: String,
        /// What is wrong.
        problem: String,
    },
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Where in the value, as a JSON Pointer; empty for the whole.
    pub place: String,
    /// What was expected. Says nothing of the value itself.
    pub expected: String,
}

impl Schema {
    /// Compiles a schema. References lead nowhere but into itself.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        if !(schema.is_object() || schema.is_boolean()) {
            return Err(SchemaError::NotASchema);
        }
        let length = schema.to_string().len();
        if length > LONGEST_SCHEMA {
            return Err(SchemaError::TooLong(length));
        }
        let patterns = PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES);
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_pattern_options(patterns)
            .offline()
            .build(schema)
            .map_err(|error| SchemaError::Invalid {
                place: error.schema_path().to_string(),
                problem: error.masked().to_string(),
            })?;
        Ok(Self { validator })
    }

    /// What is wrong with `value`; nothing if it fits.
    pub fn mismatches(&self, value: &Value) -> Vec<Mismatch> {
        let told = |error: jsonschema::ValidationError<'_>| Mismatch {
            place: error.instance_path().to_string(),
            expected: error.masked().to_string(),
        };
        self.validator.iter_errors(value).take(MOST_PROBLEMS).map(told).collect()
    }
}
