//! The strings of structured text, each with the name it stands under and its place in the source.
//!
//! Whoever rewrites serialised bytes can change what they mean: a character that becomes a quotation mark ends a string and
//! begins a key. So a document is changed string by string, and everything outside those strings stays byte for byte:
//! order, spacing, numbers, keys.

mod json;
mod value;

pub use json::{Leaf, NotJson, Role, visit_json};
pub use value::{Visit, map_strings};

use crate::edit::{Edit, Edits};
use crate::scanner::{FindingList, Scan, Scanner};

/// Has `scanner` look at the strings of a JSON document, or of several in a row, instead of at its bytes; none when
/// `text` is not JSON.
///
/// Spans are in `text`. Edits only concern values and are escaped as strings need it; findings about keys change nothing.
pub fn scan_json(scanner: &dyn Scanner, text: &str) -> Option<Scan> {
    let (mut findings, mut edits) = (FindingList::default(), Vec::new());
    visit_json(text, |leaf| {
        let scan = scanner.scan(leaf.text());
        for mut finding in scan.findings {
            finding.span = finding.span.map(|span| leaf.to_source(span));
            findings.push(finding);
        }
        if matches!(leaf.role(), Role::Value { .. }) {
            edits.extend(scan.edits.iter().map(|edit| Edit {
                span: leaf.to_source(edit.span),
                replacement: escaped(&edit.replacement).into(),
            }));
        }
    })
    .ok()?;
    Some(Scan { findings: findings.into_vec(), edits: Edits::new(edits) })
}

/// `text` as it stands between the quotes of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
