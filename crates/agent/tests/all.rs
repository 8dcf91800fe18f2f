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
    pub(crate) mod room;
}

mod suite {
    mod bash;
    mod execution;
    mod skill_script;
    mod web_fetch;
}
