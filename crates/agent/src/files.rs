//! The tools that read, write, list and search the files of the workspace.
//!
//! They run on the host, on handles ([`crate::workspace`]), so that they cost no process and no hostile shell is
//! between them and the bytes. Whatever goes wrong is an answer with a code that a model can act on.

mod ask;
mod diff;
mod edit;
mod failure;
mod list;
mod read;
mod search;
mod text;
mod view_image;
mod write;

use fullsend_origin::Sha256Digest;

pub use self::diff::{DIFF_LINES, unified_diff};
pub use self::edit::EditFile;
pub use self::failure::{ErrorCode, FILE_TOOL_ERROR};
pub use self::list::ListFiles;
pub use self::read::ReadFile;
pub use self::search::SearchFiles;
pub use self::view_image::{KeepImage, LARGEST_IMAGE, ViewImage, media_type};
pub use self::write::WriteFile;

/// `sha256:` and 64 digits.
fn digest_text(bytes: &[u8]) -> String {
    format!("sha256:{}", Sha256Digest::of(bytes))
}
