//! Scanners for what an agent reads, does and delivers; the findings they make; and what follows from them.
//!
//! One library for the host, for scans inside a sandbox and for tool hooks, so that the same text has the same findings
//! everywhere. It is pure and deterministic: no network, no clock, no environment;
//! only [`tirith`] starts a program when asked to.
//!
//! # Entry points
//!
//! * [`Scanner`]: what every check over text implements; [`Pipeline`] runs several in order
//! * [`Finding`]: what was found, where in the original text, under which [`Rule`]
//! * [`command::analyse`]: what a shell command would do, and which addresses it would connect to
//! * [`tirith::check`]: a second opinion about a shell command, from a separate program
//! * [`Policy::judge`]: what findings lead to
//!
//! # Invariants
//!
//! * Spans are byte offsets into the text that was handed in, however many scanners rewrote it on the way.
//! * Scanning takes time linear in the length of the text, for any text.
//! * The detail of a finding never contains a secret, and is always one printable line.
//! * A check that could not be completed is a finding of its own kind, which no policy takes for clean.

pub mod command;
mod edit;
pub mod files;
mod finding;
pub mod hook;
mod pipeline;
mod policy;
mod rule;
mod scanner;
mod severity;
pub mod tirith;
mod visible;

pub use command::CommandScanner;
pub use edit::{Edit, Edits};
pub use finding::{Finding, Span};
pub use pipeline::{Pipeline, Report};
pub use policy::{FailMode, Outcome, Policy};
pub use rule::{Meaning, Rule};
pub use scanner::{Scan, Scanner, ScannerId};
pub use severity::{Severity, UnknownSeverity};
pub use visible::visible;
