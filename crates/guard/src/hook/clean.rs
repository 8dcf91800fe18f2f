//! Tool output without what must not reach the model, in the shape it had.

use serde_json::{Map, Value};

use crate::canary::CanaryScanner;
use crate::finding::Finding;
use crate::hook::plan::Check;
use crate::hook::texts;
use crate::scanner::{FindingList, Scan, Scanner as _};
use crate::secret::SecretScanner;
use crate::unicode::UnicodeScanner;

/// A scanner that cleans text, and the check it belongs to.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) check: Check,
    pub(super) cleans: Cleans,
}

/// What a step takes out of a text.
#[derive(Debug)]
pub(super) enum Cleans {
    /// Characters that hide or mislead.
    Unicode(UnicodeScanner),
    /// Credentials.
    Secrets(SecretScanner),
    /// Planted tokens.
    Canary(Box<CanaryScanner>),
}

impl Step {
    /// Looks at a text that stands under `key`, if under any.
    fn scan(&self, key: Option<&str>, text: &str) -> Scan {
        match &self.cleans {
            Cleans::Unicode(scanner) => scanner.scan(text),
            Cleans::Canary(scanner) => scanner.scan(text),
            Cleans::Secrets(scanner) => match key {
                // A document in a text has names of its own.
                Some(key) if !text.trim_start().starts_with(['{', '[', '"']) => scanner.scan_field(key, text),
                Some(_) | None => scanner.scan(text),
            },
        }
    }
}

/// Cleans the texts in a value one by one.
pub(super) struct Cleaner<'a> {
    steps: Vec<(&'a Step, FindingList)>,
    /// Whether a text was changed.
    pub(super) changed: bool,
    /// Whether the name of a member would have to change.
    pub(super) name_is_affected: bool,
    /// Whether something is spread over several texts, each of which is harmless.
    pub(super) spread: bool,
}

/// Where a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Ordinary,
    /// In the description of an image: encoded bytes there are no text, and changing them breaks the image.
    Image,
}

impl<'a> Cleaner<'a> {
    pub(super) fn new(steps: impl Iterator<Item = &'a Step>) -> Self {
        let steps = steps.map(|step| (step, FindingList::default())).collect();
        Self { steps, changed: false, name_is_affected: false, spread: false }
    }

    /// What was found, by check.
    pub(super) fn into_findings(self) -> impl Iterator<Item = (Check, Vec<Finding>)> {
        self.steps.into_iter().map(|(step, findings)| (step.check, findings.into_vec()))
    }

    /// Cleans every text in `value`. Its depth is limited by the reader.
    pub(super) fn clean(&mut self, value: &mut Value) {
        self.walk(None, value, Place::Ordinary);
        self.look_across(value);
    }

    /// Looks for what is spread over several texts, where a check can tell it from chance. It cannot be masked in place.
    fn look_across(&mut self, value: &Value) {
        let across = |step: &Step| step.check.looks_across_texts();
        if !self.steps.iter().any(|(step, _)| across(step)) {
            return;
        }
        let rows = texts::in_a_row(value);
        for (step, findings) in self.steps.iter_mut().filter(|(step, _)| across(step)) {
            // The parts of what was found in single texts are masked by now.
            for finding in rows.iter().flat_map(|row| step.scan(None, row).findings) {
                self.spread = true;
                findings.push(finding);
            }
        }
    }

    fn walk(&mut self, key: Option<&str>, value: &mut Value, place: Place) {
        match value {
            Value::String(text) => {
                if let Some(cleaned) = self.text(key, text, place) {
                    *text = cleaned;
                    self.changed = true;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.walk(key, item, place)),
            Value::Object(members) => {
                let place = if is_image(members) { Place::Image } else { place };
                for (name, member) in members.iter_mut() {
                    self.name_is_affected |= self.affects(name);
                    self.walk(Some(name), member, place);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The text without what was found; none when it stays as it is.
    fn text(&mut self, key: Option<&str>, text: &str, place: Place) -> Option<String> {
        let encoded = place == Place::Image && is_encoded(text);
        let mut current: Option<String> = None;
        for (step, findings) in &mut self.steps {
            if encoded && !step.check.looks_into_images() {
                continue;
            }
            // What an earlier step has masked still counts.
            if current.is_some() && step.check.looks_at_original() {
                step.scan(key, text).findings.into_iter().for_each(|finding| findings.push(finding));
            }
            let seen = current.as_deref().unwrap_or(text);
            let scan = step.scan(key, seen);
            let cleaned = (!scan.edits.is_empty()).then(|| scan.edits.apply(seen));
            scan.findings.into_iter().for_each(|finding| findings.push(finding));
            current = cleaned.or(current);
        }
        current.filter(|cleaned| cleaned != text)
    }

    fn affects(&mut self, name: &str) -> bool {
        let mut affected = false;
        for (step, findings) in &mut self.steps {
            let scan = step.scan(None, name);
            affected |= !scan.edits.is_empty();
            scan.findings.into_iter().for_each(|finding| findings.push(finding));
        }
        affected
    }
}

fn is_image(members: &Map<String, Value>) -> bool {
    members.get("type").and_then(Value::as_str) == Some("image")
        || members.get("isImage").and_then(Value::as_bool) == Some(true)
}

/// Whether a text is nothing but base64, alone or in a `data:` URL of an image. Anything else in the description of an image
/// is text that a model may read.
fn is_encoded(text: &str) -> bool {
    let data = match text.strip_prefix("data:image/") {
        Some(rest) => match rest.split_once(";base64,") {
            Some((kind, data)) if kind.len() <= 20 && kind.bytes().all(is_media_byte) => data,
            Some(_) | None => return false,
        },
        None => text,
    };
    data.trim_end_matches('=')
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

fn is_media_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+.-".contains(&byte)
}
