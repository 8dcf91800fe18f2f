//! The chat service: sessions of the built-in agent over newline-delimited JSON, kept in SQLite.
//!
//! # Entry points
//!
//! * [`client::Client`]: asks a service, over any pair of streams
//! * [`protocol`]: every request, answer, event and error, as types
//! * [`reference`](mod@reference): the same as JSON Schema and as a page
//! * [`service::Service`]: answers requests and makes turns
//! * [`store::Store`]: sessions, turns and events in SQLite
//! * [`transport::serve`]: reads requests and writes answers and events
//! * [`turn::AgentTurns`]: turns of the built-in agent; [`turn::TurnRunner`] is what makes turns
//!
//! # Invariants
//!
//! * An event is in the store before anybody is told of it, and events are told in the order of the store.
//! * Every request is answered once, under its own id.
//!
//! # What it does not do
//!
//! Print, read the environment, know the command line.

pub mod client;
mod outbox;
pub mod protocol;
pub mod reference;
pub mod service;
pub mod store;
pub mod transport;
pub mod turn;
