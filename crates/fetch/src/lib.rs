//! Keeps remote content by its digest and writes down what was fetched.
//!
//! Entry points: [`Cache`] stores and finds verified content, [`Audit`] logs what came in and what was refused.

pub mod audit;
pub mod cache;
mod clock;
mod json;
mod unique;

pub use audit::Audit;
pub use cache::Cache;
pub use clock::{Clock, SystemClock};
