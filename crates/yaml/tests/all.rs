//! Behaviour of the YAML reader through its public interface.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken assumption fails the test"
)]

mod suite {
    mod hostile;
    mod parsing;
    mod reading;
}
