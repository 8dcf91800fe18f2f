//! Behaviour of harness files through the crate's public interface.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken assumption fails the test"
)]

mod suite {
    mod agents;
    mod chains;
    mod configuration;
    mod expansion;
    mod merging;
    mod noise;
    mod overlays;
    mod paths;
    mod providers;
    mod random;
    mod reading;
    mod references;
    mod remote;
    mod remote_bases;
    mod resource_types;
    mod rule_cases;
    mod rule_table;
    mod showing;
    mod support;
    mod triggers;
    mod unusual_files;
}
