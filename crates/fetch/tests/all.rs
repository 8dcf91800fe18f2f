//! Behaviour of the crate through its public interface, hostile servers and murdered processes included.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken assumption fails the test"
)]

mod suite {
    mod cache_damage;
    mod cache_files;
    mod cache_links;
    mod cache_trees;
    mod cache_upkeep;
    mod hostile_names;
    mod hostile_servers;
    mod laws;
    mod network;
    mod processes;
    mod real_names;
    mod requests;
    mod retries;
    mod services;
    mod support;
    mod url_index;
}
