//! Behaviour of the crate through its public interface, in real sandboxes, hostile commands and servers included.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken assumption fails the test"
)]

mod support {
    pub(crate) mod caller;
    pub(crate) mod desk;
    pub(crate) mod room;
}

mod suite {
    mod bash;
    mod execution;
    mod file_attacks;
    mod file_edits;
    mod file_listing;
    mod file_reads;
    mod file_writes;
    mod images;
    mod report;
    mod skill_script;
    mod store;
    mod structured;
    mod subagent;
    mod web_fetch;
    mod workspace_paths;
}
