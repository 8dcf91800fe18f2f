//! Harness files: their schema, composition and validation, and the configuration around them.
//!
//! Entry points: [`Library`] reads the documents of a fullsend directory and composes harnesses; [`lint()`] finds every
//! problem in them; [`show()`] gives a harness with the place of every value; [`mod@reference`] renders schemas.
//!
//! Invariants:
//! - every key is used or refused, and every problem names its file, line, column and a fix;
//! - executable resources are local, remote ones are https and pinned: other values cannot be constructed;
//! - a base can give its child values, never authority (allow-lists and run-time fetching are not inherited).
//!
//! What it does not do: fetch anything, run anything, or print.
//!
//! Layout: `value` (kinds of value), `schema` (documents), `library` (reading), `agent` (definitions of agents), `compose`
//! (bases, overlays), `resources` (what a harness names), `config`, `flow` (flow rules
//! as a policy), `lint`, `show`, `reference` (schemas), `expand`
//! (`${VAR}`), `path`, `workspace`.

mod agent;
pub mod compose;
pub mod config;
pub mod expand;
mod flow;
mod library;
mod lint;
mod localize;
pub mod path;
pub mod reference;
pub mod resources;
pub mod rules;
pub mod schema;
mod show;
mod trigger;
pub mod value;
pub mod workspace;

pub use library::{Library, Loaded, ReadError};
pub use lint::{LintOptions, LintReport, LintTarget, TargetError, lint};
pub use localize::{Places, localize};
pub use show::{Origin, ShowError, ShowOptions, Shown, locate, show};
