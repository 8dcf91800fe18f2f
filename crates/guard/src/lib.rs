//! Scanners for what an agent reads, does and delivers; the findings they make; and what follows from them.
//!
//! One library for the host, for scans inside a sandbox and for tool hooks, so that the same text has the same findings
//! everywhere. Scanners are pure and deterministic: no network, no clock, no environment. Only [`files`], [`log`],
//! [`service`] and [`tirith`] touch the system: a tree, one file, one socket, a program, and a clock that is passed in.
//!
//! # Entry points
//!
//! * [`Scanner`]: what every check over text implements; [`Pipeline`] runs several in order
//! * [`Finding`]: what was found, where in the original text, under which [`Rule`]
//! * [`InjectionScanner`]: instructions to the model in what it reads
//! * [`ClassifierScanner`]: the seam for a classifier of such instructions
//! * [`SecretScanner`]: credentials, masked; [`leaves`]: structured text, string by string
//! * [`CanaryScanner`]: a planted token, in any dress
//! * [`tirith::check`]: a second opinion about a shell command, from a separate program
//! * [`Policy::judge`]: what findings lead to
//! * [`Checks`]: which scanners look at what goes in and at what comes out, in which order
//! * [`files`]: which files of a tree an agent reads, and safe walks over them
//! * [`rules::all`]: everything that is looked for
//! * [`UnicodeScanner`]: characters that hide, mislead or command
//! * [`url::check_request`]: may a request go there; [`UrlScanner`]: where URLs in text lead
//! * [`log::FindingsLog`]: findings in a file where every change shows; [`log::verify`] looks for one
//! * [`Service`]: decides for the tool hooks inside a sandbox, from outside it
//!
//! # Invariants
//!
//! * Spans are byte offsets into the text that was handed in, however many scanners rewrote it on the way.
//! * Scanning takes time linear in the length of the text, for any text.
//! * The detail of a finding never contains a secret, and is always one printable line.
//! * A check that could not be completed is a finding of its own kind, which no policy takes for clean.

pub mod canary;
pub mod checks;
pub mod classifier;
mod clock;
pub mod command;
mod edit;
pub mod files;
mod finding;
mod fold;
pub mod hook;
pub mod injection;
pub mod leaves;
pub mod log;
mod pipeline;
mod policy;
mod rule;
pub mod rules;
mod scanner;
pub mod secret;
pub mod service;
mod severity;
pub mod tirith;
pub mod unicode;
pub mod url;
mod visible;

pub use canary::{CanaryScanner, CanaryToken};
pub use checks::{Check, Checks};
pub use classifier::ClassifierScanner;
pub use clock::{Clock, SystemClock};
pub use command::CommandScanner;
pub use edit::{Edit, Edits};
pub use finding::{Finding, Span};
pub use injection::InjectionScanner;
pub use log::{FindingsLog, TraceId};
pub use pipeline::{Pipeline, Report};
pub use policy::{FailMode, Outcome, Policy};
pub use rule::{Meaning, Rule};
pub use scanner::{Scan, Scanner, ScannerId};
pub use secret::SecretScanner;
pub use service::Service;
pub use severity::{Severity, UnknownSeverity};
pub use unicode::UnicodeScanner;
pub use url::UrlScanner;
pub use visible::visible;
