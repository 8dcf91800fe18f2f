//! Agent Skills: finding, validating and reading them, their resources and scripts.
//!
//! A skill is a directory with a `SKILL.md`: YAML front matter between `---` lines, then prose for a model. Skills come
//! from repositories and downloads, so everything in them is hostile until proven otherwise, and stays so: this crate
//! hands out exactly the bytes that were indexed, and text that cannot leave the block it is quoted in.
//!
//! # Entry points
//!
//! * [`validate`]: is this directory a skill as the format demands; every problem with its place and a remedy
//! * [`load`]: what can be used of it, with warnings about the rest
//! * [`Registry::scan`]: the skills below some directories, with digests of every file
//! * [`Registry::catalogue`], [`Skill::prompt_block`], [`preload_message`]: what a model gets to read
//! * [`Registry::read_resource`], [`Registry::script`]: files of a skill, as text or ready to be run
//! * [`record`]: what is kept of all that among the artifacts of a run
//!
//! # Invariants
//!
//! * No path leads out of a root: symbolic links count only where they end inside the skill, and files are opened below
//!   a directory that is held open, so that nothing can be exchanged between check and use.
//! * Scanning is bounded in depth, directories, names, files and bytes; what lies beyond is reported, never silently cut.
//! * A script is run only with the digest it had when it was indexed.
//!
//! # What it does not do
//!
//! Run anything, write anything, or decide which skills and scripts an agent may use: a skill's `allowed-tools` is a
//! request, never a grant.
//!
//! Layout: `document` (bytes to front matter and body), `validate` and `load` (strict and lenient reading), `repair`,
//! `name`, `tools`, `beneath` (opening files below a root), `content` (digests, text or binary), `scan` (finding skills),
//! `resource` (indexing files), `registry`, `prompt`, `path`, `read`, `script`, `record`, `rules`.

mod beneath;
mod content;
mod digest;
mod document;
mod load;
pub mod name;
mod path;
mod prompt;
mod read;
pub mod record;
mod registry;
mod repair;
mod resource;
pub mod rules;
mod scan;
mod script;
mod tools;
mod validate;

pub use content::ContentKind;
pub use digest::ContentDigest;
pub use load::{LoadError, Loaded, Manifest, ModelInvocation, load};
pub use path::{PathError, normalize};
pub use prompt::preload_message;
pub use read::{DEFAULT_READ_BYTES, MAX_READ_BYTES, ReadError, ReadErrorCode, ReadStatus, ResourceRead};
pub use registry::{Note, Registry, Skill, SkillRoot, UnknownSkills};
pub use resource::{Resource, ResourceKind, ScriptFacts, ScriptRuntime};
pub use scan::Limits;
pub use script::{
    AllowedScript, AllowedScriptError, ExecutionTarget, PreparedScript, ScriptErrorCode, ScriptRefusal,
    ScriptRequest,
};
pub use tools::{ToolRequest, tool_requests};
pub use validate::{Validation, validate};
