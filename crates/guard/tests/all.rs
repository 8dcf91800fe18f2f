//! Behaviour of the crate through its public interface.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken assumption fails the test"
)]

mod suite {
    mod classifier;
    mod command;
    mod hook;
    mod injection;
    mod log;
    mod log_tampering;
    mod secret;
    mod secret_leaks;
    mod service;
    mod service_misuse;
    mod tirith;
    mod unicode;
    mod unicode_clean;
    mod unicode_laws;
    mod url;
    mod url_fields;
    mod url_laws;
    mod url_requests;
    mod url_text;
}
