//! Behaviour of the crate through its public interface, against files on disk and a forge that can lie.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken assumption fails the test"
)]

mod suite {
    mod forge_download;
    mod forge_files;
    mod forge_hostile;
    mod forge_limits;
    mod forge_rate;
    mod forge_real_names;
    mod forge_tokens;
    mod lock_check;
    mod lock_format;
    mod lock_laws;
    mod lock_store;
    mod lock_text;
    mod pin_edit_file;
    mod pin_edit_laws;
    mod pin_edit_text;
    mod support;
}
