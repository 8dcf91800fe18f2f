//! Behaviour of the crate through its public interface, in real sandboxes, hostile commands and servers included.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken assumption fails the test"
)]

mod support {
    pub(crate) mod browser;
    pub(crate) mod caller;
    pub(crate) mod chromium;
    pub(crate) mod desk;
    pub(crate) mod directories;
    pub(crate) mod room;
    pub(crate) mod stage;
}

mod suite {
    mod bash;
    mod browser_chromium;
    mod browser_hostile;
    mod browser_inputs;
    mod execution;
    mod file_attacks;
    mod file_edits;
    mod file_listing;
    mod file_reads;
    mod file_writes;
    mod flow_calls;
    mod flow_laws;
    mod flow_results;
    mod flow_resume;
    mod hooks;
    mod images;
    mod page_laws;
    mod policy_snapshot;
    mod prompt_slot;
    mod protect;
    mod report;
    mod run_manifest;
    mod sidecars;
    mod skill_script;
    mod sources;
    mod store;
    mod structured;
    mod subagent;
    mod web_fetch;
    mod workspace_paths;
}
