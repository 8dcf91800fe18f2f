//! The decision about a call, before it is made.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::bound::{Bound, Missed};
use crate::grant::GrantLedger;
use crate::label::Label;
use crate::mode::{Act, FlowMode, Scope};
use crate::policy::{Policy, each_of};
use crate::trust::Trust;

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It looks.
    Look,
    /// It changes files.
    Change,
    /// It runs a program.
    Execute {
        /// Whether the program can reach a network.
        network: bool,
    },
    /// It sends something elsewhere, and brings back what comes.
    Send,
    /// It gives work to a child, which is judged for itself.
    Delegate,
}

/// Where an argument goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination<'a> {
    /// It chooses what is looked at.
    Selector,
    /// It is run.
    Program,
    /// It names a file that is changed.
    Target {
        /// Its path in the workspace; none for one that is elsewhere.
        path: Option<&'a str>,
    },
    /// It becomes part of a file.
    Content {
        /// The file, likewise.
        path: Option<&'a str>,
    },
    /// A host gets to see it.
    Host(&'a str),
    /// A child gets to see it, with its label.
    Child,
}

/// An argument of a call.
#[derive(Clone, Copy, Debug)]
pub struct Argument<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it says, for exceptions to speak of; none if it is not a text.
    pub value: Option<&'a str>,
    /// What it was made of: the conversation, and the handles it names.
    pub label: &'a Label,
    /// Where it goes.
    pub destination: Destination<'a>,
}

/// A call, as far as flow is concerned.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The tool.
    pub tool: &'a str,
    /// What it does.
    pub deed: Deed,
    /// What the decision to call was made of.
    pub context: &'a Label,
    /// Its arguments, those that go anywhere.
    pub arguments: &'a [Argument<'a>],
    /// What it can read besides them.
    pub inputs: &'a Label,
}

/// Whether a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It may.
    Allowed,
    /// It may, and somebody should know.
    Warned,
    /// It may not.
    Denied,
}

/// A part of a call that a bound is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The decision to call.
    Control,
    /// An argument.
    Argument(String),
    /// What it can read.
    Inputs,
    /// A file of the workspace that it has changed.
    Path(String),
}

/// A part that does not meet its bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Violation {
    /// Which.
    pub part: Part,
    /// What it must be.
    pub bound: Bound,
    /// What it is.
    pub label: Label,
    /// Which half is missed.
    pub missed: Missed,
}

/// A verdict, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// May it.
    pub verdict: Verdict,
    /// What speaks against it.
    pub violations: Vec<Violation>,
    /// The exceptions that it needs, by name, each once.
    pub grants: Vec<String>,
}

/// Decides about a call. Looks at labels, names and values of arguments, and never at what a model says about them.
pub fn decide(
    call: &Call<'_>,
    policy: &Policy,
    mode: FlowMode,
    ledger: &GrantLedger,
    now: Timestamp,
) -> Decision {
    let mut decision = Decision { verdict: Verdict::Allowed, violations: Vec::new(), grants: Vec::new() };
    if mode.act() == Act::Ignore {
        return decision;
    }
    let judge = Judge { call, policy, strict: mode.scope() == Scope::Everything, ledger, now };
    judge.part(Part::Control, call.context, judge.control(), &mut decision);
    for argument in call.arguments {
        let bound = judge.argument(argument.destination);
        judge.part(Part::Argument(argument.name.to_owned()), argument.label, bound, &mut decision);
    }
    if let Deed::Execute { .. } = call.deed {
        judge.part(Part::Inputs, call.inputs, judge.inputs(), &mut decision);
    }
    if !decision.violations.is_empty() {
        decision.verdict = if mode.act() == Act::Deny { Verdict::Denied } else { Verdict::Warned };
    }
    decision
}

struct Judge<'a> {
    call: &'a Call<'a>,
    policy: &'a Policy,
    strict: bool,
    ledger: &'a GrantLedger,
    now: Timestamp,
}

impl Judge<'_> {
    fn trust_to_act(&self) -> Trust {
        let (explicit, strict) = match self.call.deed {
            Deed::Look | Deed::Change => (Trust::None, Trust::Workspace),
            Deed::Execute { .. } | Deed::Delegate => (Trust::Workspace, Trust::Commanded),
            Deed::Send => {
                let hosts = self.call.arguments.iter().filter_map(|argument| match argument.destination {
                    Destination::Host(host) => Some(self.policy.host_sink(host).0),
                    Destination::Selector
                    | Destination::Program
                    | Destination::Target { .. }
                    | Destination::Content { .. }
                    | Destination::Child => None,
                });
                let needed = hosts.max().unwrap_or(Trust::Commanded);
                (needed, needed)
            }
        };
        if self.strict { strict } else { explicit }
    }

    fn control(&self) -> Bound {
        let (trust, _) = self.policy.tool_sink(self.call.tool, self.trust_to_act());
        Bound { readers: None, integrity: trust.integrity() }
    }

    fn argument(&self, destination: Destination<'_>) -> Bound {
        let (trust, readers) = match destination {
            Destination::Selector => (Trust::None, None),
            // A child is a model like the one that asks: what is kept from the one is kept from the other.
            Destination::Child => (Trust::None, Some(self.policy.clearance.readers.clone())),
            Destination::Program => {
                let (trust, readers) = self.policy.tool_sink(self.call.tool, self.trust_to_act());
                (trust, self.reaches_network().then_some(readers))
            }
            Destination::Target { path: Some(path) } => (self.policy.path_sink(path).0, None),
            Destination::Target { path: None } => (Trust::Commanded, None),
            Destination::Content { path: Some(path) } => (Trust::None, Some(self.policy.path_sink(path).1)),
            Destination::Content { path: None } => (Trust::None, Some(self.policy.clearance.readers.clone())),
            Destination::Host(host) => {
                let (trust, readers) = self.policy.host_sink(host);
                (trust, Some(readers))
            }
        };
        Bound { readers: readers.map(|readers| each_of(&readers)), integrity: trust.integrity() }
    }

    fn inputs(&self) -> Bound {
        // Whatever it reads may be a program: what nobody vouches for must not be within its reach.
        let (trust, readers) = self.policy.tool_sink(self.call.tool, Trust::Workspace);
        let readers = self.reaches_network().then(|| each_of(&readers));
        Bound { readers, integrity: trust.min(Trust::Workspace).integrity() }
    }

    fn reaches_network(&self) -> bool {
        self.call.deed == Deed::Execute { network: true }
    }

    fn part(&self, part: Part, label: &Label, bound: Bound, decision: &mut Decision) {
        let Some(missed) = bound.missed_by(label) else { return };
        if let Some(grant) = self.grant_for(&part, label, &bound) {
            if !decision.grants.iter().any(|used| used == grant) {
                decision.grants.push(grant.to_owned());
            }
            return;
        }
        decision.violations.push(Violation { part, bound, label: label.clone(), missed });
    }

    /// An exception under which the part meets its bound. One that speaks of an argument vouches for the whole call: it was
    /// made for this deed with this value.
    fn grant_for(&self, part: &Part, label: &Label, bound: &Bound) -> Option<&str> {
        let arguments = || {
            self.call.arguments.iter().filter(|argument| match part {
                Part::Argument(name) => argument.name == name,
                Part::Control | Part::Inputs | Part::Path(_) => true,
            })
        };
        let fits = self.policy.grants.iter().find(|grant| {
            self.ledger.has_left(grant, self.now)
                && bound.missed_by(&grant.applied(label)).is_none()
                && arguments().any(|argument| {
                    let value = argument.value.unwrap_or_default();
                    grant.applies(self.call.tool, argument.name, value, self.call.context)
                })
        });
        fits.map(|grant| grant.id.as_str())
    }
}
