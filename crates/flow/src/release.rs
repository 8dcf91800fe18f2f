//! What of an untrusted JSON value may be shown: only what a schema pinned beforehand; the rest is sealed.
//!
//! A child agent that read a hostile page answers in JSON. Booleans, numbers, `null` and strings that the schema
//! itself lists (`enum`, `const`) cross; every other string, and every object with a key the schema does not
//! declare, is replaced by `{"@link":"opaque:<id>#<pointer>"}`, which names the place and tells nothing.
//! [`Released::bits`] is an upper bound of what crossed all the same.
//!
//! # The dialect
//!
//! These keywords decide whether a value is accepted at all: `$ref` into the same document (siblings overlay the
//! target), boolean schemas, `allOf`, `anyOf`, `oneOf`, `enum`, `const`, `type`, `required`, `properties`,
//! `additionalProperties`, `items`, and the bounds `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`,
//! `minItems`, `maxItems`. All others are ignored; `prefixItems` steers what is kept of a tuple but rejects
//! nothing. A schema that speaks of objects is closed unless it says otherwise.
//!
//! # The price
//!
//! The price is the length of a code word that would spell the released value to somebody who knows the schema:
//!
//! | what crossed | bits |
//! |---|---|
//! | value under `enum` or `const` | log2 of the number of members |
//! | which type it has, if not under `enum` | log2 of the number of types allowed |
//! | boolean | 1 |
//! | integer with both bounds declared | log2 of the number of integers between them |
//! | any other number | 66: all that a double or a 64-bit integer can be |
//! | array length | log2 of the number of lengths declared, else 2 log2(length + 1) + 1 (Elias gamma) |
//! | tuple element | 1, whether it fits its slot |
//! | optional key | 1, present or absent |
//! | object that may have undeclared keys | 1, sealed or not |
//! | `oneOf` of n | log2 n |
//! | `anyOf` of n | log2 3 for two branches; for more, 1 + log2 n if one matched, 1 + n if several did |
//! | link that was kept or sealed | log2 of the number of minted links + 1 |
//!
//! Two more channels are closed rather than charged: keys come in the order the schema declares them, and a number
//! has one spelling (`1.0` becomes `1`). That a value was rejected is one more bit, which is not counted here.

mod applicable;
mod bounds;
mod check;
mod document;
mod failure;
mod link;
mod parse;
mod price;
mod walk;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::leak_budget::MilliBits;
use check::Checker;
use document::Document;
use failure::Stop;
use walk::Walk;

pub use link::is_sealed;
pub use parse::{
    LARGEST_SCHEMA, ReturnSchema, ReturnSchemaError, ReturnTextError, parse_return, parse_schema,
};

/// Values and schemas nested deeper than this are refused.
pub const DEEPEST: usize = 128;

/// What a release may rely on besides the schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReleaseOptions {
    /// The links we made for the owner of the value. A link object is kept only if its link is one of these:
    /// any other is free text that somebody wrote in the form of a link.
    pub minted: BTreeSet<String>,
    /// Keys of the outermost object that are dropped, not sealed, if the schema does not declare them.
    pub reserved_keys: BTreeSet<String>,
}

/// A value of which only the pinned part is left.
#[derive(Clone, Debug, PartialEq)]
pub struct Released {
    /// What may be shown.
    pub value: Value,
    /// How many strings were sealed one by one; those in sealed objects are not counted.
    pub linked_strings: usize,
    /// Where something was sealed, as JSON pointers into the original.
    pub sealed_paths: Vec<String>,
    /// The most that the value can tell.
    pub bits: MilliBits,
}

/// Why nothing was released.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReleaseError {
    /// The schema does not accept the value. The reason quotes keys of the value: it is for records, and must
    /// not be shown to whom the value may not be shown.
    #[error("{reason}")]
    Mismatch {
        /// Where and why, `<key>: <key>: <what failed>`.
        reason: String,
    },
    /// The value is nested too deeply.
    #[error("the value is nested deeper than {limit} levels; return a flatter one")]
    ValueTooDeep {
        /// The deepest that is accepted.
        limit: usize,
    },
    /// The schema is nested too deeply, or its references and combinators are.
    #[error("the schema is nested deeper than {limit} levels, references included; simplify it")]
    SchemaTooDeep {
        /// The deepest that is accepted.
        limit: usize,
    },
    /// Checking the value against the schema takes too long.
    #[error("checking the value against the schema takes more than {limit} steps; simplify the schema")]
    TooMuchWork {
        /// The most steps that are made.
        limit: u64,
    },
}

/// Checks `value` against `schema` and seals everything in it that the schema does not pin.
///
/// `link_id` names the value in the links that stand for its sealed parts.
///
/// # Errors
///
/// Fails, and releases nothing, if the schema does not accept the value or either exceeds a bound.
pub fn release(
    schema: &Value,
    value: &Value,
    link_id: &str,
    options: &ReleaseOptions,
) -> Result<Released, ReleaseError> {
    if is_deeper_than(schema, DEEPEST) {
        return Err(ReleaseError::SchemaTooDeep { limit: DEEPEST });
    }
    if is_deeper_than(value, DEEPEST) {
        return Err(ReleaseError::ValueTooDeep { limit: DEEPEST });
    }
    let document = Document::of(schema);
    let mut checker = Checker::new(&document, value, &options.reserved_keys)?;
    checker.accept(value).map_err(Stop::into_error)?;
    Walk::new(checker, link_id, &options.minted).run(value)
}

/// Looks without recursion, for what it must protect from is a value that overflows the stack.
fn is_deeper_than(value: &Value, limit: usize) -> bool {
    let mut level: Vec<&Value> = vec![value];
    for _ in 0..=limit {
        level = level.into_iter().flat_map(parts_of).collect();
        if level.is_empty() {
            return false;
        }
    }
    true
}

fn parts_of(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(map) => Box::new(map.values()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Box::new(std::iter::empty()),
    }
}
