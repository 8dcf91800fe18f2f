//! Runtimes through the crate's public interface, the real programs among them, in real sandboxes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken assumption fails the test"
)]

mod support {
    pub(crate) mod native;
    pub(crate) mod scenario;
    pub(crate) mod scene;
}

mod suite {
    mod claude;
    mod codex;
    mod native;
    mod opencode;
}
