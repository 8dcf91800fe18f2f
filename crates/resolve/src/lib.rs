//! From references to verified content: what a forge has, what was resolved, and what is pinned.
//!
//! Entry points: [`forge`] delivers files and directories of repositories; [`lock`] reads, checks and writes the lock
//! file; [`pin_edit`] writes a pin into a document that people edit by hand.
//!
//! Invariants:
//! - a directory is complete and each file is the one that was listed, or there is an error;
//! - a pin in a harness always wins: the lock file can only narrow what a pin allows, never replace it;
//! - a file is replaced in one step, and only when nobody else changed it in between.

pub mod durable;
pub mod forge;
pub mod lock;
pub mod pin_edit;
