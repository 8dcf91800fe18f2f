//! Behaviour of the crate through its public interface, on real files and sockets of this machine.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken assumption fails the test"
)]

mod suite {
    mod fetch_place;
    mod fetch_service;
    mod fetch_service_http;
}
