//! Allow-list entries as they stand in files.

use fullsend_origin::AllowEntry;
use fullsend_yaml::{FromText, TextProblem};

use crate::rules;
use crate::value::text::written_as_text;

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

impl std::fmt::Display for AllowPrefix {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

written_as_text!(AllowPrefix, "https prefix", "^https://[^?#]+/$");
