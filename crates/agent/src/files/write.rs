//! `write_file`: a whole file, new or replaced, or something at its end.

use fullsend_flow::{Deed, Label};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::ask::{Ask, Desk, Done, Job, Worked};
use super::failure::{ErrorCode, Failure};
use super::{digest_text, unified_diff};
use crate::sources::Sources;
use crate::tool::{Effect, Pending, Shown, Sink, Tool, ToolCallContext, ToolFault, ToolOutput, ToolSpec};
use crate::workspace::{CurrentDir, FileProblem, LARGEST_WHOLE_FILE, Parents, Place, Workspace};

const NAME: &str = "write_file";
/// Larger texts are not compared line by line for people.
const LARGEST_SHOWN: usize = 512 * 1024;

/// Writes a whole file.
#[derive(Debug)]
pub struct WriteFile {
    desk: Desk,
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Arguments {
    path: String,
    content: String,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    create_parents: bool,
    expected_digest: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Create,
    #[default]
    Replace,
    Append,
}

impl Ask for Arguments {
    fn path(&self) -> &str {
        &self.path
    }
}

impl WriteFile {
    /// The tool on a workspace.
    pub fn new(workspace: Arc<Workspace>, current: CurrentDir, sources: Arc<Sources>) -> Self {
        let spec = ToolSpec {
            name: NAME,
            description:
                "Write a text file, whole or not at all. To change a part of an existing file prefer \
                          edit_file. Permissions of an existing file are kept."
                    .to_owned(),
            effect: Effect::Write,
            deed: Deed::Change,
            sinks: &[Sink::Target("path"), Sink::Content("content")],
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "minLength": 1, "maxLength": 4096,
                        "description": "File to write; absolute, or relative to the current directory."},
                    "content": {"type": "string", "description": "The text, exactly as it is to be in the file."},
                    "mode": {"type": "string", "enum": ["create", "replace", "append"],
                        "description": "create: fail if the file exists. replace (default): write the file, new or \
                                        not. append: add to its end, or create it."},
                    "createParents": {"type": "boolean",
                        "description": "Create missing directories above the file. Default false."},
                    "expectedDigest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$",
                        "description": "Fail unless the existing file has this digest, as read_file reported it."},
                },
                "required": ["path", "content"],
                "additionalProperties": false,
            }),
        };
        Self { desk: Desk { workspace, current, sources }, spec }
    }
}

impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, context: ToolCallContext<'a>) -> Pending<'a, Result<ToolOutput, ToolFault>> {
        Box::pin(self.desk.run::<Arguments>(NAME, context, |job| work(job).map(Done::into_output)))
    }

    fn clean_up(&self, input: &Map<String, Value>) {
        self.desk.clean_up(input);
    }
}

fn work(job: &Job<Arguments>) -> Worked<Done> {
    let ask = &job.ask;
    let parents = if ask.create_parents { Parents::Create } else { Parents::MustExist };
    let place = job.workspace.place(&job.path, parents)?;
    if ask.mode == Mode::Create && place.is_taken() {
        return Err(FileProblem::Exists.into());
    }
    let old_label = place.old_handle().map(|old| job.sources.opened(&job.path, old));
    let old = old_bytes(&place, ask)?;
    if let Some(expected) = &ask.expected_digest {
        expect_digest(expected, old.as_deref())?;
    }
    let (created, content) = (!place.is_taken(), ask.content.as_bytes());
    let new = match (ask.mode, &old) {
        (Mode::Append, Some(old)) => &[old, content].concat(),
        (Mode::Append | Mode::Create | Mode::Replace, _) => content,
    };
    if new.len() as u64 > LARGEST_WHOLE_FILE {
        return Err(FileProblem::TooLarge { size: new.len() as u64, limit: LARGEST_WHOLE_FILE }.into());
    }
    // Replacing blindly is what was asked for; adding to a file, or to one of a known digest, depends on what it is.
    let depends = ask.mode == Mode::Append || ask.expected_digest.is_some();
    let label = match (ask.mode, &old_label) {
        (Mode::Append, Some(old)) => job.label.join(old),
        (Mode::Append | Mode::Create | Mode::Replace, _) => job.label.clone(),
    };
    job.put(place, new, old.as_deref().filter(|_| depends), &label)?;
    // That a file was there, or not, is something that the workspace tells.
    Ok(answer(job, created, old.as_deref(), new, label.join(job.sources.usual())))
}

/// The bytes that are there. A file that is too large to be held can still be replaced.
fn old_bytes(place: &Place, ask: &Arguments) -> Result<Option<Vec<u8>>, FileProblem> {
    match place.old_bytes(LARGEST_WHOLE_FILE) {
        Err(FileProblem::TooLarge { .. }) if ask.mode == Mode::Replace && ask.expected_digest.is_none() => {
            Ok(None)
        }
        done => done,
    }
}

/// Fails unless the bytes that are there have a digest.
pub(super) fn expect_digest(expected: &str, old: Option<&[u8]>) -> Result<(), Failure> {
    let found = old.map(digest_text);
    if found.as_deref() == Some(expected) {
        return Ok(());
    }
    let detail = "the file does not have the expected digest; read it again and adapt the change";
    let failure = Failure::new(ErrorCode::EditConflict, detail).with("expectedDigest", expected);
    Err(failure.with("actualDigest", found))
}

fn answer(job: &Job<Arguments>, created: bool, old: Option<&[u8]>, new: &[u8], label: Label) -> Done {
    let record = json!({
        "outputId": job.output_id,
        "path": job.path,
        "mode": job.ask.mode,
        "created": created,
        "digest": digest_text(new),
        "sizeBytes": new.len(),
    });
    let verb = if created { "created" } else { "written" };
    let shown = Shown {
        line: format!("{NAME} {}: {verb}, {} bytes", job.path, new.len()),
        diff: shown_diff(job, old, new),
    };
    Done { label, record, shown }
}

fn shown_diff(job: &Job<Arguments>, old: Option<&[u8]>, new: &[u8]) -> Option<String> {
    let old = old.unwrap_or_default();
    if old.len() > LARGEST_SHOWN || new.len() > LARGEST_SHOWN {
        return None;
    }
    let (old, new) = (std::str::from_utf8(old).ok()?, std::str::from_utf8(new).ok()?);
    Some(unified_diff(job.path.as_str(), old, new)).filter(|diff| !diff.is_empty())
}
