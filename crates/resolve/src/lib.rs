//! References to verified local paths: forges, transitive closure, remote bases, lock.
//!
//! Entry points: [`Resolver::resolve`] turns a harness file into a [`Resolution`]; [`Store`] is the one way to content.
//!
//! Invariants:
//! - content is used only after its digest was checked against the pin that the harness states;
//! - nothing is fetched that no allow-list entry permits, and every fetch, cache hit and refusal is in the audit log;
//! - resolution does not change its input, and does not depend on the order in which answers arrive.
//!
//! What it does not do: run anything, print, or decide what a resource means.

mod base;
mod closure;
mod definitions;
mod dependency;
pub mod durable;
mod error;
mod file;
pub mod forge;
mod local_skills;
pub mod lock;
pub mod locking;
mod permission;
mod pin;
pub mod pin_edit;
mod progress;
mod relative;
mod resolver;
mod skill_file;
mod store;

pub use dependency::Dependency;
pub use error::{DependencyError, PinnedBy, ResolveError};
pub use pin::{PinPathError, pin_path, pin_url};
pub use progress::{Progress, Silent};
pub use resolver::{FirstUse, Limits, Resolution, Resolver};
pub use skill_file::SkillManifest;
pub use store::{CachedSkill, SkillFault, SkillUrl, Store, skill_dependencies};
