//! Behaviour of the crate through its public interface: real scripts, real git, real sockets, hostile trees.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken assumption fails the test"
)]

mod suite {
    pub(crate) mod assembly;
    pub(crate) mod contexts;
    pub(crate) mod env_files;
    pub(crate) mod environment;
    pub(crate) mod extract;
    pub(crate) mod fetch_place;
    pub(crate) mod fetch_service;
    pub(crate) mod fetch_service_http;
    pub(crate) mod git;
    pub(crate) mod granting;
    pub(crate) mod host_files;
    pub(crate) mod mint;
    pub(crate) mod pre_script;
    pub(crate) mod report;
    pub(crate) mod run_dir;
    pub(crate) mod runs;
    pub(crate) mod sanitise;
    pub(crate) mod scans;
    pub(crate) mod script;
    pub(crate) mod servers;
    pub(crate) mod support;
    pub(crate) mod trace;
    pub(crate) mod transcript;
    pub(crate) mod validate;
}
