//! The fields of the front matter, by the rules of the format.

use fullsend_yaml::{Diagnostic, Entry, Location, Rule, Value};

use crate::document::scalar_text;
use crate::name::{self, Flaw, MAX_NAME};
use crate::validate::MAX_REPORTED;
use crate::{rules, tool_requests};

/// The fields of the format, sorted.
const FIELDS: [&str; 6] = ["allowed-tools", "compatibility", "description", "license", "metadata", "name"];
/// The most characters of a description.
pub(crate) const MAX_DESCRIPTION: usize = 1024;
/// The most characters of a note about compatibility.
pub(crate) const MAX_COMPATIBILITY: usize = 500;

/// Reports everything that is wrong with the fields.
pub(super) fn check(entries: &[Entry<'_>], start: Location, directory: &str, problems: &mut Vec<Diagnostic>) {
    let mut fields = Fields { entries, start, problems };
    fields.unknown();
    fields.name(directory);
    fields.description();
    fields.compatibility();
    fields.license();
    fields.metadata();
    fields.allowed_tools();
}

struct Fields<'a, 't> {
    entries: &'a [Entry<'t>],
    start: Location,
    problems: &'a mut Vec<Diagnostic>,
}

impl<'a, 't> Fields<'a, 't> {
    fn get(&self, key: &str) -> Option<&'a Entry<'t>> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    fn report(&mut self, rule: &'static Rule, at: Location, message: impl Into<String>) {
        self.problems.push(Diagnostic::new(rule, at, message));
    }

    fn unknown(&mut self) {
        let is_unknown = |entry: &&Entry<'_>| !FIELDS.contains(&&*entry.key);
        let Some(first) = self.entries.iter().find(is_unknown) else { return };
        let mut keys: Vec<&str> = self.entries.iter().filter(is_unknown).map(|entry| &*entry.key).collect();
        keys.sort_unstable();
        let message = format!(
            "Unexpected fields in frontmatter: {}. Only ['{}'] are allowed.",
            keys.join(", "),
            FIELDS.join("', '")
        );
        self.report(&rules::UNKNOWN_FIELDS, first.key_at, message);
    }

    /// The text of a required field that is not blank, or a report.
    fn required(&mut self, key: &str) -> Option<(&'a str, Location)> {
        let Some(entry) = self.get(key) else {
            let message = format!("Missing required field in frontmatter: {key}");
            self.report(&rules::MISSING_FIELD, self.start, message);
            return None;
        };
        match text(entry).filter(|text| !text.trim().is_empty()) {
            Some(text) => Some((text, entry.value.at)),
            None => {
                let message = format!("Field '{key}' must be a non-empty string");
                self.report(&rules::FIELD_TYPE, entry.value.at, message);
                None
            }
        }
    }

    fn name(&mut self, directory: &str) {
        let Some((text, at)) = self.required("name") else { return };
        let name = name::canonical(text);
        for flaw in name::flaws(&name) {
            self.report(&rules::NAME, at, flaw_message(&name, flaw));
        }
        if name::canonical(directory) != name {
            let message = format!("Directory name '{directory}' must match skill name '{name}'");
            self.report(&rules::NAME_DIRECTORY, at, message);
        }
    }

    fn description(&mut self) {
        let Some((text, at)) = self.required("description") else { return };
        let count = text.chars().count();
        if count > MAX_DESCRIPTION {
            let message = format!("Description exceeds {MAX_DESCRIPTION} character limit ({count} chars)");
            self.report(&rules::LENGTH, at, message);
        }
    }

    fn compatibility(&mut self) {
        let Some(entry) = self.get("compatibility") else { return };
        let at = entry.value.at;
        let Some(text) = text(entry) else {
            return self.report(&rules::FIELD_TYPE, at, "Field 'compatibility' must be a string");
        };
        let count = text.chars().count();
        if count > MAX_COMPATIBILITY {
            let message =
                format!("Compatibility exceeds {MAX_COMPATIBILITY} character limit ({count} chars)");
            self.report(&rules::LENGTH, at, message);
        }
        if text.trim().is_empty() {
            self.report(&rules::LENGTH, at, "Field 'compatibility' must not be empty when it is present");
        }
    }

    fn license(&mut self) {
        if let Some(entry) = self.get("license")
            && text(entry).is_none()
        {
            self.report(&rules::FIELD_TYPE, entry.value.at, "Field 'license' must be a string");
        }
    }

    fn metadata(&mut self) {
        let Some(entry) = self.get("metadata") else { return };
        match &entry.value.value {
            Value::Mapping(entries) => {
                for nested in entries.iter().filter(|nested| text(nested).is_none()).take(MAX_REPORTED) {
                    let message = format!("Field 'metadata.{}' must be a string", nested.key);
                    self.report(&rules::FIELD_TYPE, nested.value.at, message);
                }
            }
            Value::Scalar(_) | Value::Sequence(_) => {
                let message = "Field 'metadata' must be a mapping of strings to strings";
                self.report(&rules::FIELD_TYPE, entry.value.at, message);
            }
        }
    }

    fn allowed_tools(&mut self) {
        let Some(entry) = self.get("allowed-tools") else { return };
        let at = entry.value.at;
        match text(entry) {
            None => self.report(&rules::FIELD_TYPE, at, "Field 'allowed-tools' must be a string"),
            Some(text) if tool_requests(text).is_none() => {
                self.report(&rules::TOOLS, at, "Field 'allowed-tools' has parentheses that do not match");
            }
            Some(_) => {}
        }
    }
}

fn text<'e>(entry: &'e Entry<'_>) -> Option<&'e str> {
    scalar_text(&entry.value)
}

/// What is wrong with a name, in the words of the reference validator.
pub(crate) fn flaw_message(name: &str, flaw: Flaw) -> String {
    match flaw {
        Flaw::TooLong { characters } => {
            format!("Skill name '{name}' exceeds {MAX_NAME} character limit ({characters} chars)")
        }
        Flaw::NotLowercase => format!("Skill name '{name}' must be lowercase"),
        Flaw::OuterHyphen => "Skill name cannot start or end with a hyphen".to_owned(),
        Flaw::DoubleHyphen => "Skill name cannot contain consecutive hyphens".to_owned(),
        Flaw::InvalidCharacter => format!(
            "Skill name '{name}' contains invalid characters. Only letters, digits, and hyphens are allowed."
        ),
    }
}
