//! Findings as they are printed: with their place in the text, and with nothing in them that must not be shown.

mod excerpt;
mod json;
mod position;
mod sarif;
mod text;

use std::path::{Path, PathBuf};

use anyhow::Result;
use fullsend_guard::{Edit, Edits, Finding, Meaning, Outcome, Policy, Rule, Severity};
use fullsend_yaml::printable;

use self::excerpt::Excerpt;
use self::position::Position;
use crate::cli::ReportFormat;
use crate::output::Output;

/// Where a text comes from.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// The argument with this number, from 1.
    Argument(usize),
}

impl Source {
    /// The name in reports.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => printable(path.display().to_string()),
            Self::Stdin => "<stdin>".to_owned(),
            Self::Argument(number) => format!("<argument {number}>"),
        }
    }

    fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Stdin | Self::Argument(_) => None,
        }
    }
}

/// A finding with its place.
#[derive(Debug)]
pub(crate) struct Reported {
    source: Source,
    finding: Finding,
    place: Option<Place>,
    /// Whether what was found is gone.
    fixed: bool,
}

#[derive(Debug)]
struct Place {
    start: Position,
    end: Position,
    excerpt: Excerpt,
}

/// What a finding led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// What was found is gone.
    Fixed,
    /// It blocks.
    Blocks,
    /// It is only reported.
    Reported,
}

/// Something that was not looked at, on purpose.
#[derive(Debug)]
pub(crate) struct Skipped {
    /// What.
    pub(crate) path: PathBuf,
    /// Why.
    pub(crate) why: &'static str,
}

/// All that a scan has to say.
#[derive(Debug)]
pub(crate) struct Report {
    policy: Policy,
    least_shown: Severity,
    sources: Vec<Source>,
    skipped: Vec<Skipped>,
    findings: Vec<Reported>,
    outcome: Outcome,
}

impl Report {
    /// A report without findings; those below `least_shown` will be counted, not printed.
    pub(crate) fn new(policy: Policy, least_shown: Severity) -> Self {
        Self {
            policy,
            least_shown,
            sources: Vec::new(),
            skipped: Vec::new(),
            findings: Vec::new(),
            outcome: Outcome::Clean,
        }
    }

    /// Adds what was found in `text`. `masks` cover what must not be shown.
    pub(crate) fn add(&mut self, source: Source, text: &str, masks: &Edits, findings: Vec<Finding>) {
        self.outcome = self.outcome.max(self.policy.judge(&findings));
        self.place(source, text, masks, findings, |_| false);
    }

    /// Adds what was found in a text and removed from it, except for what is `left`.
    pub(crate) fn add_fixed(
        &mut self,
        source: Source,
        text: &str,
        masks: &Edits,
        findings: Vec<Finding>,
        left: &[Finding],
    ) {
        self.outcome = self.outcome.max(self.policy.judge(left)).max(Outcome::Warned);
        self.place(source, text, masks, findings, |finding| {
            left.iter().all(|left| left.rule != finding.rule)
        });
    }

    /// Adds what was found about something as a whole.
    pub(crate) fn add_problem(&mut self, source: Source, finding: Finding) {
        self.outcome = self.outcome.max(self.policy.judge([&finding]));
        self.sources.push(source.clone());
        self.findings.push(Reported { source, finding, place: None, fixed: false });
    }

    /// Adds something that was not looked at.
    pub(crate) fn add_skipped(&mut self, path: PathBuf, why: &'static str) {
        self.skipped.push(Skipped { path, why });
    }

    fn place(
        &mut self,
        source: Source,
        text: &str,
        masks: &Edits,
        mut findings: Vec<Finding>,
        is_fixed: impl Fn(&Finding) -> bool,
    ) {
        self.sources.push(source.clone());
        findings.sort_by_key(|finding| finding.span);
        let masks: Vec<&Edit> = masks.iter().filter(|mask| !mask.span.is_empty()).collect();
        let positions = position::find(text, findings.iter().filter_map(|finding| finding.span));
        for finding in findings {
            let place = finding.span.and_then(|span| {
                Some(Place {
                    start: *positions.get(&span.start)?,
                    end: *positions.get(&span.end)?,
                    excerpt: Excerpt::new(text, span, &masks),
                })
            });
            let fixed = is_fixed(&finding);
            self.findings.push(Reported { source: source.clone(), finding, place, fixed });
        }
    }

    /// What the findings lead to.
    pub(crate) fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The findings of each source that has some, with the name of the source.
    pub(crate) fn by_source(
        &self,
    ) -> impl Iterator<Item = (String, impl Iterator<Item = (&Finding, State)>)> {
        self.findings.chunk_by(|one, two| one.source.name() == two.source.name()).map(|findings| {
            let name = findings.first().map(|first| first.source.name()).unwrap_or_default();
            (name, findings.iter().map(|reported| (&reported.finding, self.state(reported))))
        })
    }

    fn state(&self, reported: &Reported) -> State {
        if reported.fixed {
            State::Fixed
        } else if self.policy.judge([&reported.finding]) == Outcome::Blocked {
            State::Blocks
        } else {
            State::Reported
        }
    }

    /// Prints the report.
    pub(crate) fn print(&self, format: ReportFormat, output: &mut Output) -> Result<()> {
        match format {
            ReportFormat::Text => text::print(self, output),
            ReportFormat::Json => output.json(&json::document(self)),
            ReportFormat::Sarif => output.json(&sarif::document(self)),
        }
    }

    fn shown(&self) -> impl Iterator<Item = &Reported> {
        self.findings.iter().filter(|reported| {
            self.state(reported) == State::Blocks || reported.finding.severity >= self.least_shown
        })
    }

    fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|reported| reported.finding.severity == severity).count()
    }
}

/// The name of a rule among all rules.
fn rule_name(rule: &Rule) -> String {
    format!("{}/{}", rule.scanner, rule.id)
}

fn is_incomplete(finding: &Finding) -> bool {
    match finding.rule.meaning {
        Meaning::Incomplete => true,
        Meaning::Found => false,
    }
}

/// What a finding says; one without a detail of its own says what its rule says.
fn message(finding: &Finding) -> &str {
    if finding.detail().is_empty() { finding.rule.summary } else { finding.detail() }
}

/// The word for an outcome.
fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Clean => "clean",
        Outcome::Warned => "warned",
        Outcome::Blocked => "blocked",
    }
}
