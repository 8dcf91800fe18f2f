//! Files as something to scan.

mod rules;

pub use rules::{ALL as RULES, NOT_TEXT, TOO_LARGE, UNREADABLE};
