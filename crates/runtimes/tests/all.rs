//! Behaviour of the crate through its public interface, in real sandboxes.
//! Runtimes, the real programs among them, in the sandbox of this machine.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken assumption fails the test"
)]

mod support {
    pub(crate) mod native;
}

mod suite {
    mod claude;
    mod codex;
    mod native;
    mod opencode;
}
mod support {
    pub(crate) mod scenario;
    pub(crate) mod scene;
}
