//! Behaviour of the crate through its public interface.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken assumption fails the test"
)]

mod suite {
    mod lock_check;
    mod lock_format;
    mod lock_laws;
    mod lock_store;
    mod lock_text;
    mod pin_edit_file;
    mod pin_edit_laws;
    mod pin_edit_text;
}
