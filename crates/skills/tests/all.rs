//! Behaviour of the skills crate: real directories, whole values.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken assumption fails the test"
)]

mod suite {
    mod laws;
    mod loading;
    mod place;
    mod prompts;
    mod reading;
    mod records;
    mod resources;
    mod scanning;
    mod scripts;
    mod validation;
}
