//! Where a piece of a conversation came from, who may see it, and what it may decide.
//!
//! # Entry points
//!
//! * [`Label`]: confidentiality (who may see it) and integrity (who vouches for it) of one value
//! * [`Label::join`]: the label of what was derived from two values
//! * [`Policy`]: where values come from, where they may go, and which exceptions the operator makes
//! * [`decide`]: whether a call may be made
//! * [`LabelTable`]: labels by number, so that a long conversation stores and joins them cheaply
//! * [`release::release`]: the part of an untrusted value that may be shown, and its price in a [`leak_budget`]
//! * [`shape`]: what may be told about a value that is not shown
//!
//! # Invariants
//!
//! * Join is the least upper bound: commutative, associative, idempotent, and it never loses a clause.
//! * Integrity only degrades: what is derived from an unvouched value is unvouched.
//! * Everything that is checked is one question: does a label meet a bound.
//!
//! # What it does not do
//!
//! Any I/O; it knows no time, no file and no conversation but what it is given.

mod atom;
mod bound;
mod decide;
mod grant;
mod label;
pub mod leak_budget;
mod mode;
mod pattern;
mod pointer;
mod policy;
pub mod release;
pub mod shape;
mod table;
mod trust;

pub use atom::Atom;
pub use bound::{Bound, Missed};
pub use decide::{Argument, Call, Decision, Deed, Destination, Part, Verdict, Violation, decide};
pub use grant::{Grant, GrantLedger};
pub use label::{Clause, Confidentiality, Integrity, Label};
pub use mode::{Act, FlowMode, Scope};
pub use pattern::{BadPattern, PathPattern, Pattern};
pub use policy::{
    CANARY, CREDENTIAL, Clearance, Inspect, Policy, PolicyProblem, SinkRule, Source, SourceRule,
};
pub use table::{LabelId, LabelTable, UnknownLabel};
pub use trust::Trust;
