//! Behaviour of the crate through its public interface: real scripts, real git, hostile trees.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken assumption fails the test"
)]

mod suite {
    pub(crate) mod extract;
    pub(crate) mod git;
    pub(crate) mod pre_script;
    pub(crate) mod report;
    pub(crate) mod run_dir;
    pub(crate) mod runs;
    pub(crate) mod sanitise;
    pub(crate) mod script;
    pub(crate) mod trace;
    pub(crate) mod transcript;
    pub(crate) mod validate;
}
