//! Where a piece of a conversation came from and who may see it: labels, their order and their joins.
//!
//! # Entry points
//!
//! * [`Label`]: confidentiality (who may see it) and integrity (who vouches for it) of one value
//! * [`Label::join`]: the label of what was derived from two values
//! * [`Label::flows_to`]: the one check: may a value with this label go where that bound holds
//! * [`LabelTable`]: labels by number, so that a long conversation stores and joins them cheaply
//!
//! # Invariants
//!
//! * Join is the least upper bound: commutative, associative, idempotent, and it never loses a clause.
//! * Integrity only degrades: what is derived from an unvouched value is unvouched.
//!
//! # What it does not do
//!
//! Any I/O; any decision about a tool call.

mod atom;
mod label;
pub mod leak_budget;
mod pointer;
pub mod release;
pub mod shape;
mod table;

pub use atom::Atom;
pub use label::{Clause, Confidentiality, Integrity, Label};
pub use table::{LabelId, LabelTable, UnknownLabel};
