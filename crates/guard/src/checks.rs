//! Which checks look at what, and in which order.
//!
//! The order is an invariant, not a matter of taste:
//! * A command is analysed as the shell would get it, before anything is taken out of it.
//! * Invisible characters go first. One between two letters hides a phrase or a key from everything behind.
//! * Secrets are masked before canary tokens are looked for, so that a token inside a secret cannot bring the rest of the
//!   secret into a report.

mod leafwise;

use std::borrow::Cow;

use leafwise::leafwise;

use crate::command::{self, Request};
use crate::edit::{Edit, Edits};
use crate::finding::Finding;
use crate::injection::InjectionScanner;
use crate::pipeline::Pipeline;
use crate::scanner::{FindingList, Scanner};
use crate::secret::SecretScanner;
use crate::unicode::UnicodeScanner;
use crate::url::{Allowed, check_partial, check_request};

/// A check that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// Invisible and misleading characters.
    Unicode,
    /// Instructions to the model in what it reads.
    Injection,
    /// The classifier for injected instructions.
    Classifier,
    /// Credentials.
    Secrets,
    /// Requests to places that must not be reached.
    Urls,
    /// What shell commands would do.
    Commands,
    /// Tokens that have no business outside the run.
    Canaries,
}

/// The checks of a scan.
#[derive(Clone, Debug)]
pub struct Checks {
    enabled: Vec<Check>,
    unit: Unit,
}

/// What is looked at in one go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// A text from anywhere.
    Text,
    /// A file, which may begin with a byte-order mark.
    File,
}

impl Default for Checks {
    /// All but the classifier, which adds little to the rules and costs much.
    fn default() -> Self {
        use Check::{Canaries, Commands, Injection, Secrets, Unicode, Urls};
        Self { enabled: vec![Unicode, Injection, Secrets, Urls, Commands, Canaries], unit: Unit::Text }
    }
}

impl Checks {
    /// The same checks and `check`.
    #[must_use]
    pub fn with(mut self, check: Check) -> Self {
        if !self.has(check) {
            self.enabled.push(check);
        }
        self
    }

    /// The same checks without `check`.
    #[must_use]
    pub fn without(mut self, check: Check) -> Self {
        self.enabled.retain(|enabled| *enabled != check);
        self
    }

    /// The same checks for whole files, which may begin with a byte-order mark.
    #[must_use]
    pub fn for_files(mut self) -> Self {
        self.unit = Unit::File;
        self
    }

    /// Whether `check` is made.
    pub fn has(&self, check: Check) -> bool {
        self.enabled.contains(&check)
    }

    /// What looks at text that an agent is going to read.
    pub fn input(&self) -> Pipeline {
        let injection = self.has(Check::Injection).then(|| leafwise(InjectionScanner));
        Pipeline::new(self.normalisers().into_iter().chain(injection).collect())
    }

    /// What is bad about a shell command: what it would do, where it would connect to, and what hides in it.
    pub fn command(&self, text: &str) -> Vec<Finding> {
        let analysis = command::analyse(text);
        let mut findings = FindingList::default();
        if self.has(Check::Commands) {
            analysis.findings.into_iter().for_each(|finding| findings.push(finding));
        }
        if self.has(Check::Urls) {
            for Request { target, span, complete } in analysis.requests {
                let nothing = Allowed::nothing_more();
                let found = if complete {
                    check_request(&target, &nothing)
                } else {
                    check_partial(&target, &nothing)
                };
                if let Some(mut finding) = found {
                    finding.span = Some(span);
                    findings.push(finding);
                }
            }
        }
        if self.has(Check::Unicode) {
            self.unicode().scan(text).findings.into_iter().for_each(|finding| findings.push(finding));
        }
        findings.into_vec()
    }

    /// What looks at text that an agent wrote, before it leaves the run.
    pub fn output(&self) -> Pipeline {
        Pipeline::new(self.disclosure())
    }

    /// What looks at bytes that are no text: only what stands in them as plain ASCII.
    pub fn bytes(&self) -> Pipeline {
        Pipeline::new(self.secrecy())
    }

    /// Changes that make `text` fit to be shown: secrets and canary tokens are masked, everything else stays, hidden
    /// characters too. Disabled checks mask all the same, for a report is read by more people than the text.
    pub fn masks(&self, text: &str) -> Edits {
        masks(text, &[self.unicode()], &Self::default().secrecy())
    }

    fn normalisers(&self) -> Vec<Box<dyn Scanner>> {
        if self.has(Check::Unicode) { vec![self.unicode()] } else { Vec::new() }
    }

    fn unicode(&self) -> Box<dyn Scanner> {
        leafwise(match self.unit {
            Unit::Text => UnicodeScanner::new(),
            Unit::File => UnicodeScanner::for_files(),
        })
    }

    fn disclosure(&self) -> Vec<Box<dyn Scanner>> {
        self.normalisers().into_iter().chain(self.secrecy()).collect()
    }

    fn secrecy(&self) -> Vec<Box<dyn Scanner>> {
        let secrets = self.has(Check::Secrets).then(|| Box::new(SecretScanner::new()) as Box<dyn Scanner>);
        secrets.into_iter().collect()
    }
}

/// The changes of `masking` to `text`, which see what `normalising` and those before leave of it.
fn masks(text: &str, normalising: &[Box<dyn Scanner>], masking: &[Box<dyn Scanner>]) -> Edits {
    let mut current = Cow::Borrowed(text);
    let mut applied: Vec<Edits> = Vec::new();
    let mut masks = Vec::new();
    for (at, scanner) in normalising.iter().chain(masking).enumerate() {
        let edits = scanner.scan(&current).edits;
        if edits.is_empty() {
            continue;
        }
        if at >= normalising.len() {
            masks.extend(edits.iter().map(|edit| Edit {
                span: applied.iter().rev().fold(edit.span, |span, before| before.to_original(span)),
                replacement: edit.replacement.clone(),
            }));
        }
        current = Cow::Owned(edits.apply(&current));
        applied.push(edits);
    }
    Edits::new(masks)
}

#[cfg(test)]
mod tests {
    use super::masks;
    use crate::{Edit, Edits, Scan, Scanner, ScannerId, Span};

    /// Replaces every occurrence of a word.
    #[derive(Debug)]
    struct Replace(&'static str, &'static str);

    impl Scanner for Replace {
        fn id(&self) -> ScannerId {
            ScannerId::Canary
        }

        fn scan(&self, text: &str) -> Scan {
            let edit = |(start, word): (usize, &str)| Edit {
                span: Span::new(start, start + word.len()),
                replacement: self.1.into(),
            };
            Scan { findings: Vec::new(), edits: text.match_indices(self.0).map(edit).collect::<Edits>() }
        }
    }

    #[test]
    fn masks_cover_what_hides_in_a_secret_and_leave_the_rest_of_the_text_alone() {
        let text = "a\u{200b}b se\u{200b}cret c\u{200b}d other";
        let edits = masks(
            text,
            &[Box::new(Replace("\u{200b}", ""))],
            &[Box::new(Replace("secret", "s***")), Box::new(Replace("other", "***"))],
        );
        assert_eq!(edits.apply(text), "a\u{200b}b s*** c\u{200b}d ***");
    }
}
