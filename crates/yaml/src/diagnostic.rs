//! A problem found in a document: what, where, and what to do about it.
//!
//! Every problem belongs to a [`Rule`] with a stable code and a remedy, so no problem can be reported without a fix.
//!
//! Messages quote what the document says, and the document may be hostile: characters that would steer a terminal or
//! reorder a line are written as escapes.

use crate::Location;

/// How much a problem weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The document can be used, but probably does not say what its author meant.
    Warning,
    /// The document must not be used.
    Error,
}

impl Severity {
    /// The word used in output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A kind of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rule {
    /// Stable kebab-case name, used in output, documentation and machine formats.
    pub code: &'static str,
    /// How much problems of this kind weigh.
    pub severity: Severity,
    /// What the rule demands and why, in a sentence or two.
    pub summary: &'static str,
    /// What to do about it in general; a diagnostic may know better.
    pub remedy: &'static str,
}

/// A second place that helps to understand a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// The place.
    pub at: Location,
    /// What is to be seen there.
    pub message: String,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The rule that was broken.
    pub rule: &'static Rule,
    /// What is wrong, naming the key and the value.
    pub message: String,
    /// Where.
    pub at: Location,
    /// What to do in this very case; `None` when the rule's remedy says it all.
    pub help: Option<String>,
    /// Other places that matter.
    pub related: Vec<Related>,
}

impl Diagnostic {
    /// A problem with the rule's own remedy.
    #[must_use]
    pub fn new(rule: &'static Rule, at: Location, message: impl Into<String>) -> Self {
        Self { rule, message: printable(message.into()), at, help: None, related: Vec::new() }
    }

    /// Replaces the rule's remedy by one for this case.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(printable(help.into()));
        self
    }

    /// Replaces the rule's remedy when there is a better one.
    #[must_use]
    pub fn with_help_if(mut self, help: Option<String>) -> Self {
        self.help = help.map(printable).or(self.help);
        self
    }

    /// Points at a second place.
    #[must_use]
    pub fn with_related(mut self, at: Location, message: impl Into<String>) -> Self {
        self.related.push(Related { at, message: printable(message.into()) });
        self
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &str {
        self.help.as_deref().unwrap_or(self.rule.remedy)
    }

    /// Whether the document must not be used.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.rule.severity == Severity::Error
    }
}

/// Text from a document without what a terminal would act on: control characters and direction overrides are escaped.
#[must_use]
pub fn printable(text: String) -> String {
    if !text.contains(is_unprintable) {
        return text;
    }
    let escape = |letter: char| match is_unprintable(letter) {
        true => letter.escape_debug().to_string(),
        false => letter.to_string(),
    };
    text.chars().map(escape).collect()
}

/// Control characters, and those that override the direction of the text around them.
fn is_unprintable(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
