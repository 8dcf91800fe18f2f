//! The chat service: sessions of the built-in agent over newline-delimited JSON, kept in SQLite.
//!
//! # Entry points
//!
//! * [`protocol`]: every request, answer, event and error, as types and as JSON Schema
//!
//! # Invariants
//!
//! * An event is in the store before anybody is told of it, and events are told in the order of the store.
//! * Every request is answered once, under its own id.
//!
//! # What it does not do
//!
//! Print, read the environment, know the command line.

pub mod protocol;
