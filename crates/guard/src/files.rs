//! Files as something to scan: which ones an agent reads, and how to read them without being led astray.
//!
//! The tree may have been shaped by an attacker. Every step below its root is taken from an open directory without
//! following links; links are followed only where they stay inside the root; pipes and devices are never opened. What
//! cannot be looked at is an entry of its own, never a silent gap.

mod context;
mod open;
mod outputs;
mod place;
mod read;
mod relaxed_json;
mod replace;
mod rules;
mod runtime_config;

pub use context::{Context, ContextFile, ContextLimits, Dependencies, Entry, Skip, context};
pub use open::{Root, Shape, names, open_directory, open_file, shape};
pub use outputs::{Content, Output, OutputFile, Outputs, outputs};
pub use place::ContextKind;
pub use replace::replace;
pub use rules::{
    ALL as RULES, AMBIGUOUS_JSON, LINK_OUTSIDE, NOT_A_FILE, NOT_TEXT, RUNTIME_CONFIG, RUNTIME_CONFIG_UNCLEAR,
    RUNTIME_PERMISSIONS, TOO_DEEP, TOO_LARGE, UNREADABLE,
};
pub use runtime_config::runtime_config;
