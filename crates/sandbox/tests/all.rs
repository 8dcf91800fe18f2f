//! Behaviour of the crate through its public interface, on the real kernel, hostile programs and servers included.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a broken assumption fails the test, and the tables of attacks are meant to be read"
)]

mod suite {
    mod cgroups;
    mod explanations;
    mod policies;
    mod policy_laws;
}

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
