//! Where things come from.

pub mod address;
pub mod allow;
pub mod digest;
pub mod host;
mod percent;
pub mod pin;
pub mod reference;
pub mod tree;
pub mod url;
