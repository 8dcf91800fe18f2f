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
    mod laws;
    mod processes;
    mod support;
    mod url_index;
}
