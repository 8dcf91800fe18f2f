//! Scanners in a row, each of which sees what the one before left of the text.

use std::borrow::Cow;

use crate::edit::Edits;
use crate::finding::Finding;
use crate::scanner::{FindingList, Scanner};

/// Scanners in a row.
#[derive(Debug)]
pub struct Pipeline {
    scanners: Vec<Box<dyn Scanner>>,
}

/// What a pipeline says about a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What was found, scanner by scanner; spans are in the text that was handed in.
    pub findings: Vec<Finding>,
    /// The text without what was found in it; none when nothing changed. An empty text is a change like any other.
    pub sanitized: Option<String>,
}

impl Pipeline {
    /// Runs `scanners` in this order. The order is part of the promise: what hides from one scanner must have been
    /// removed by those before it.
    pub fn new(scanners: Vec<Box<dyn Scanner>>) -> Self {
        Self { scanners }
    }

    /// Looks at `text`.
    pub fn run(&self, text: &str) -> Report {
        let mut findings = FindingList::default();
        let mut current = Cow::Borrowed(text);
        let mut applied: Vec<Edits> = Vec::new();
        for scanner in &self.scanners {
            let scan = scanner.scan(&current);
            for mut finding in scan.findings {
                finding.span = finding
                    .span
                    .map(|span| applied.iter().rev().fold(span, |span, edits| edits.to_original(span)));
                findings.push(finding);
            }
            if !scan.edits.is_empty() {
                current = Cow::Owned(scan.edits.apply(&current));
                applied.push(scan.edits);
            }
        }
        let sanitized = match current {
            Cow::Owned(changed) if changed != text => Some(changed),
            Cow::Owned(_) | Cow::Borrowed(_) => None,
        };
        Report { findings: findings.into_vec(), sanitized }
    }
}
