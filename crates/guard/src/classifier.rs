//! The seam for a classifier of injected instructions.
//!
//! What is built in judges by the rules of [`InjectionScanner`]; a model can take its place by implementing
//! [`Classifier`]. A classifier that cannot answer is a finding of its own, so that its absence is never taken for a clean
//! text.

mod rules;

pub use rules::{ALL as RULES, PROMPT_INJECTION, UNAVAILABLE};

use std::fmt;

use crate::finding::Finding;
use crate::injection::InjectionScanner;
use crate::scanner::{Scan, Scanner, ScannerId};
use crate::severity::Severity;

/// Says how likely a text holds instructions for the model that reads it.
pub trait Classifier: fmt::Debug + Send + Sync {
    /// Judges `text`; the same text always has the same assessment.
    fn classify(&self, text: &str) -> Assessment;
}

/// What a classifier says about a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assessment {
    /// How likely it is an injection.
    Likelihood(Likelihood),
    /// There is no answer.
    Unavailable {
        /// Why not, in words for a person.
        reason: String,
    },
}

/// A likelihood in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Likelihood(u16);

impl Likelihood {
    /// From which likelihood on a text is reported, unless something else is asked for.
    pub const DEFAULT_THRESHOLD: Self = Self(920);

    /// `thousandths`, at most 1000.
    pub const fn new(thousandths: u16) -> Self {
        Self(if thousandths > 1000 { 1000 } else { thousandths })
    }

    /// In thousandths.
    pub const fn thousandths(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Likelihood {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{} %", self.0 / 10, self.0 % 10)
    }
}

/// Judges by the worst finding of the rules, without a model.
#[derive(Clone, Copy, Debug, Default)]
pub struct RulesClassifier;

impl Classifier for RulesClassifier {
    fn classify(&self, text: &str) -> Assessment {
        let worst = InjectionScanner.scan(text).findings.iter().map(|finding| finding.severity).max();
        Assessment::Likelihood(Likelihood::new(match worst {
            None => 0,
            Some(Severity::Info) => 20,
            Some(Severity::Low) => 100,
            Some(Severity::Medium) => 400,
            Some(Severity::High) => 800,
            Some(Severity::Critical) => 990,
        }))
    }
}

/// A classifier as a scanner: texts at or over a threshold are findings.
#[derive(Clone, Debug)]
pub struct ClassifierScanner<C> {
    classifier: C,
    threshold: Likelihood,
}

impl<C: Classifier> ClassifierScanner<C> {
    /// Reports from `threshold` on.
    pub const fn new(classifier: C, threshold: Likelihood) -> Self {
        Self { classifier, threshold }
    }
}

impl<C: Classifier> Scanner for ClassifierScanner<C> {
    fn id(&self) -> ScannerId {
        ScannerId::LlmGuard
    }

    fn scan(&self, text: &str) -> Scan {
        if text.trim().is_empty() {
            return Scan::default();
        }
        let finding = match self.classifier.classify(text) {
            Assessment::Likelihood(likelihood) if likelihood >= self.threshold => Some(Finding::new(
                &PROMPT_INJECTION,
                None,
                format!("an injection with a likelihood of {likelihood}"),
            )),
            Assessment::Likelihood(_) => None,
            Assessment::Unavailable { reason } => Some(Finding::new(&UNAVAILABLE, None, reason)),
        };
        Scan { findings: finding.into_iter().collect(), ..Scan::default() }
    }
}
