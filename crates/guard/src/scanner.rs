//! What a check over text is.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::edit::Edits;
use crate::finding::Finding;
use crate::rule::Rule;
use crate::severity::Severity;

/// A check over text.
///
/// The same text always has the same result, in time linear in its length. A scanner that also cleans puts what it would
/// change into the result; cleaning what was cleaned changes nothing.
pub trait Scanner: fmt::Debug + Send + Sync {
    /// Which check this is.
    fn id(&self) -> ScannerId;

    /// Looks at `text`; spans in the result are byte offsets in it.
    fn scan(&self, text: &str) -> Scan;
}

/// What a scanner says about a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// What was found, in the order of the text.
    pub findings: Vec<Finding>,
    /// What makes the text harmless as far as this scanner is concerned.
    pub edits: Edits,
}

/// How many findings under one rule are reported one by one. A hostile text could hold millions.
const MOST_UNDER_A_RULE: usize = 200;

/// Findings as they come in: the first of each rule are kept, the rest are counted.
#[derive(Debug, Default)]
pub(crate) struct FindingList {
    kept: Vec<Finding>,
    tallies: Vec<Tally>,
}

#[derive(Debug)]
struct Tally {
    rule: &'static Rule,
    count: usize,
    worst: Severity,
}

impl FindingList {
    /// Adds a finding, or counts it.
    pub(crate) fn push(&mut self, finding: Finding) {
        self.push_with(finding.rule, finding.severity, || finding);
    }

    /// Adds the finding that `make` makes, or counts it without making it: words for millions of findings take longer
    /// than the search for them.
    pub(crate) fn push_with(
        &mut self,
        rule: &'static Rule,
        severity: Severity,
        make: impl FnOnce() -> Finding,
    ) {
        let tally = match self.tallies.iter().position(|tally| tally.rule == rule) {
            Some(at) => self.tallies.get_mut(at),
            None => {
                self.tallies.push(Tally { rule, count: 0, worst: severity });
                self.tallies.last_mut()
            }
        };
        let Some(tally) = tally else { return };
        tally.count += 1;
        tally.worst = tally.worst.max(severity);
        if tally.count <= MOST_UNDER_A_RULE {
            self.kept.push(make());
        }
    }

    /// The findings; where some were only counted, one more says how many, as bad as the worst of them.
    pub(crate) fn into_vec(self) -> Vec<Finding> {
        let Self { mut kept, tallies } = self;
        kept.extend(tallies.iter().filter(|tally| tally.count > MOST_UNDER_A_RULE).map(|tally| {
            let detail = format!("and {} more", tally.count - MOST_UNDER_A_RULE);
            Finding::new(tally.rule, None, detail).with_severity(tally.worst)
        }));
        kept
    }
}

/// Every check there is, by the name that findings carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScannerId {
    /// Invisible and misleading characters, and terminal sequences.
    UnicodeNormalizer,
    /// Instructions to the model in what it reads.
    ContextInjection,
    /// A classifier for injected instructions.
    LlmGuard,
    /// Credentials.
    SecretRedactor,
    /// Requests to places that must not be reached.
    SsrfValidator,
    /// What a shell command would do.
    CommandScanner,
    /// The separate program `tirith`, asked about a shell command.
    Tirith,
    /// The token that has no business outside the run.
    Canary,
    /// Tools that the agent may not use.
    ToolAllowlist,
    /// Tool output that says no more than that all went well.
    ContextSuppress,
    /// The walk over files that finds what to scan.
    FileWalk,
    /// The tool-hook protocol itself.
    HookProtocol,
    /// The log of findings itself.
    FindingsLog,
}

impl ScannerId {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::UnicodeNormalizer,
        Self::ContextInjection,
        Self::LlmGuard,
        Self::SecretRedactor,
        Self::SsrfValidator,
        Self::CommandScanner,
        Self::Tirith,
        Self::Canary,
        Self::ToolAllowlist,
        Self::ContextSuppress,
        Self::FileWalk,
        Self::HookProtocol,
        Self::FindingsLog,
    ];

    /// The name in findings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnicodeNormalizer => "unicode_normalizer",
            Self::ContextInjection => "context_injection",
            Self::LlmGuard => "llm_guard",
            Self::SecretRedactor => "secret_redactor",
            Self::SsrfValidator => "ssrf_validator",
            Self::CommandScanner => "command_scanner",
            Self::Tirith => "tirith",
            Self::Canary => "canary",
            Self::ToolAllowlist => "tool_allowlist",
            Self::ContextSuppress => "context_suppress",
            Self::FileWalk => "file_walk",
            Self::HookProtocol => "hook_protocol",
            Self::FindingsLog => "findings_log",
        }
    }
}

impl fmt::Display for ScannerId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}
