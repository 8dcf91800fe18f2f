//! Strict YAML with positions: reads the documents people write and reports every problem at its place.
//!
//! Entry points: [`SourceMap`] holds the files, [`parse()`] turns one into a [`Node`] tree, [`record!`] declares a
//! typed record that is read from a node by [`FromNode`], and [`front_matter()`] finds the YAML block on top of a
//! Markdown file. [`Diagnostic`] is what a reader reports.
//!
//! Invariants:
//! - reading never stops at the first problem: what is wrong is reported, the rest is still read;
//! - an unknown key, a wrong type and a duplicate key are always problems, never ignored;
//! - hostile input costs bounded memory, time and stack ([`Limits`]);
//! - every value remembers where it was written ([`Located`]).
//!
//! What it does not do: print, touch the file system, or know what any document means.
//!
//! Layout: `source` (files, positions), `diagnostic` (problems), `parse` (text to nodes), `scalar` (what a plain
//! scalar means), `read` (nodes to values), `record` (typed records), `walk` (values back to their places),
//! `front_matter`, `nearest` (spelling suggestions).

mod diagnostic;
mod front_matter;
mod nearest;
mod node;
mod parse;
mod read;
mod record;
pub mod rules;
mod scalar;
mod source;
mod syntax_help;
mod walk;

pub use diagnostic::{Diagnostic, Related, Rule, Severity, printable};
pub use front_matter::{FrontMatter, front_matter};
pub use nearest::nearest;
pub use node::{Entry, Node, Scalar, ScalarStyle, Value};
pub use parse::{Limits, Notation, Parsed, parse, parse_part};
pub use read::{FromNode, FromText, Reader, TextProblem};
pub use source::{FileId, LineColumn, Located, Location, SourceFile, SourceMap};
pub use walk::{Visitor, Walk};

#[doc(hidden)]
pub mod macro_support {
    //! What the expansion of [`record!`](crate::record) names; not part of the interface.
    pub use schemars;
    pub use serde;
}
