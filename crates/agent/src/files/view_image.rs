//! `view_image`: shows the model a picture of the workspace.

use fullsend_flow::Deed;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use super::ask::{Ask, Desk, Done, Job, WorkError, Worked};
use super::digest_text;
use super::failure::{ErrorCode, Failure};
use crate::sources::Sources;
use crate::store::Artifacts;
use crate::tool::{
    AttachedImage, Effect, Pending, Shown, Sink, Tool, ToolCallContext, ToolFault, ToolOutput, ToolSpec,
};
use crate::workspace::{CurrentDir, Workspace};

const NAME: &str = "view_image";
/// The most bytes of a picture.
pub const LARGEST_IMAGE: u64 = 20 * 1024 * 1024;

/// Keeps pictures among the artifacts of a run, so that later requests send what was seen, whatever became of the file.
pub trait KeepImage: fmt::Debug + Send + Sync {
    /// Keeps one, under a name made of its digest, and says where.
    fn keep_image(&self, bytes: &[u8], media_type: &'static str) -> Result<PathBuf, ToolFault>;
}

impl KeepImage for Artifacts {
    fn keep_image(&self, bytes: &[u8], media_type: &'static str) -> Result<PathBuf, ToolFault> {
        Ok(Self::keep_image(self, bytes, media_type)?)
    }
}

/// Shows a picture.
#[derive(Debug)]
pub struct ViewImage {
    desk: Desk,
    keeper: Arc<dyn KeepImage>,
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
}

impl Ask for Arguments {
    fn path(&self) -> &str {
        &self.path
    }
}

impl ViewImage {
    /// The tool on a workspace, with a place to keep pictures.
    pub fn new(
        workspace: Arc<Workspace>,
        current: CurrentDir,
        keeper: Arc<dyn KeepImage>,
        sources: Arc<Sources>,
    ) -> Self {
        let spec = ToolSpec {
            name: NAME,
            description:
                "Look at a PNG, JPEG, GIF or WebP image of at most 20 MiB. The image follows the result."
                    .to_owned(),
            effect: Effect::Read,
            deed: Deed::Look,
            sinks: &[Sink::Selector("path")],
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "minLength": 1, "maxLength": 4096,
                        "description": "Image to look at; absolute, or relative to the current directory."},
                },
                "required": ["path"],
                "additionalProperties": false,
            }),
        };
        Self { desk: Desk { workspace, current, sources }, keeper, spec }
    }
}

impl Tool for ViewImage {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, context: ToolCallContext<'a>) -> Pending<'a, Result<ToolOutput, ToolFault>> {
        let keeper = Arc::clone(&self.keeper);
        Box::pin(self.desk.run::<Arguments>(NAME, context, move |job| work(job, &*keeper)))
    }
}

fn work(job: &Job<Arguments>, keeper: &dyn KeepImage) -> Worked<ToolOutput> {
    let file = job.workspace.open_file(&job.path)?;
    let label = job.sources.opened(&job.path, file.handle());
    let bytes = file.read_all(LARGEST_IMAGE)?;
    let Some(media_type) = media_type(&bytes) else {
        let detail = "the content is not that of a PNG, JPEG, GIF or WebP image";
        let failure = Failure::new(ErrorCode::InvalidArgument, detail);
        return Err(failure.with("sizeBytes", bytes.len()).into());
    };
    let digest = digest_text(&bytes);
    let snapshot = keeper.keep_image(&bytes, media_type).map_err(WorkError::Fault)?;
    let record = json!({
        "outputId": job.output_id,
        "path": job.path,
        "mediaType": media_type,
        "bytes": bytes.len(),
        "digest": digest,
        "imageAttached": true,
    });
    let shown =
        Shown { line: format!("{NAME} {}: {media_type}, {} bytes", job.path, bytes.len()), diff: None };
    let mut output = Done { label, record, shown }.into_output();
    let name = job.path.file_name().to_owned();
    output.images.push(AttachedImage { snapshot, bytes, media_type, digest, name });
    Ok(output)
}

/// The type of a picture by its first bytes. Names do not count: a text called `.png` is a text.
pub fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
