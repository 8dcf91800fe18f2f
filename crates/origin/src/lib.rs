//! Where things come from.

pub mod digest;
pub mod tree;
