//! Behaviour of the crate through its public interface, broken and hostile gateways included.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken assumption fails the test"
)]

mod suite {
    mod answers;
    mod configuration;
    mod connections;
    mod faults;
    mod replays;
    mod requests;
    mod retries;
    mod secrets;
    mod streams;
    mod support;
    mod usage;
}
