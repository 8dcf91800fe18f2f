//! Behaviour of the crate through its public interface.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken assumption fails the test"
)]

mod support {
    pub(crate) mod records;
}

mod suite {
    mod client;
    mod policies;
    mod recovery;
    mod reference;
    mod requests;
    mod scripted;
    mod service;
    mod store_commits;
    mod store_files;
    mod store_laws;
    mod store_processes;
    mod store_prune;
    mod transport;
}
