//! Behaviour of the flow crate through its public interface.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken assumption fails the test"
)]

mod suite {
    mod decide;
    mod lattice;
    mod leak_budget;
    mod release;
    mod release_bits;
    mod release_hostile;
    mod release_laws;
    mod shape;
}
