//! From references to verified content: what was resolved is recorded, and what is recorded is checked.
//!
//! Entry points: [`lock`] reads, checks and writes the lock file; [`pin_edit`] writes a pin into a document that people
//! edit by hand.
//!
//! Invariants:
//! - a pin in a harness always wins: the lock file can only narrow what a pin allows, never replace it;
//! - a file is replaced in one step, and only when nobody else changed it in between.

pub mod durable;
pub mod lock;
pub mod pin_edit;
