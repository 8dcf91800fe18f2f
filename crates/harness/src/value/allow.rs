//! Allow-list entries as they stand in files.

use fullsend_origin::AllowEntry;
use fullsend_yaml::{FromText, TextProblem};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::rules;

/// An HTTPS prefix that ends in `/` and permits everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowPrefix(AllowEntry);

impl AllowPrefix {
    /// The entry.
    #[must_use]
    pub fn entry(&self) -> &AllowEntry {
        &self.0
    }
}

impl FromText for AllowPrefix {
    fn from_text(text: &str) -> Result<Self, TextProblem> {
        AllowEntry::parse(text).map(Self).map_err(|error| TextProblem {
            rule: &rules::ALLOW_ENTRY,
            message: format!("is not a usable allow-list entry: {error}"),
            help: error.help(),
        })
    }
}

impl Serialize for AllowPrefix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0.as_str())
    }
}

impl JsonSchema for AllowPrefix {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AllowPrefix".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "title": "https prefix", "type": "string", "pattern": "^https://[^?#]+/$" })
    }
}
