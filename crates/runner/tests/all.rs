//! Tests of the run, through its public interface.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::unimplemented,
    reason = "a broken assumption fails the test"
)]

mod suite {
    mod assembly;
    mod contexts;
    mod env_files;
    mod environment;
    mod granting;
    mod host_files;
    mod scans;
    mod servers;
    mod support;
}
