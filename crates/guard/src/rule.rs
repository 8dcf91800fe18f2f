//! What scanners look for, each thing under a name that stays.

use crate::scanner::ScannerId;
use crate::severity::Severity;

/// One thing that a scanner looks for.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// The scanner it belongs to.
    pub scanner: ScannerId,
    /// Its name in output and logs, in snake case; unique within the scanner.
    pub id: &'static str,
    /// How bad a finding is, unless the finding says otherwise.
    pub severity: Severity,
    /// What a finding says about the text.
    pub meaning: Meaning,
    /// What is looked for, in a sentence.
    pub summary: &'static str,
    /// What a person should do about a finding.
    pub remedy: &'static str,
}

/// What a finding under a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// Something was found.
    Found,
    /// The check could not be completed, so what it would have found is not known.
    Incomplete,
}

/// Declares the rules of a scanner: statics named by their use, and a list of all of them.
///
/// `IDENTIFIER = Severity "id", "summary", "remedy";`, or `= Severity Incomplete "id", …` where a finding means that the
/// check could not be completed.
macro_rules! rules {
    (
        scanner $scanner:ident;
        list $all:ident;
        $($(#[doc = $doc:literal])* $name:ident = $severity:ident $($meaning:ident)? $id:literal, $summary:literal, $remedy:literal;)*
    ) => {
        $($(#[doc = $doc])* pub static $name: $crate::Rule = $crate::Rule {
            scanner: $crate::ScannerId::$scanner,
            id: $id,
            severity: $crate::Severity::$severity,
            meaning: $crate::rule::rules!(@meaning $($meaning)?),
            summary: $summary,
            remedy: $remedy,
        };)*

        /// The rules of this scanner.
        pub static $all: &[&$crate::Rule] = &[$(&$name),*];
    };
    (@meaning) => { $crate::Meaning::Found };
    (@meaning $meaning:ident) => { $crate::Meaning::$meaning };
}

pub(crate) use rules;
