//! Behaviour of the crate through its public interface, hostile programs and servers included.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken assumption fails the test"
)]

mod egress {
    mod addresses;
    mod endpoints;
    mod life;
    mod real_names;
    mod requests;
    mod smuggling;
    mod support;
    mod throughput;
    mod transparent;
    mod tunnels;
}
