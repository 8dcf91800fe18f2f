//! `edit_file`: exact replacements in a text file, all or none.

mod apply;

use fullsend_flow::Deed;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::apply::{Applied, Draft};
use super::ask::{Ask, Desk, Done, Job, Worked};
use super::write::expect_digest;
use super::{digest_text, unified_diff};
use crate::sources::Sources;
use crate::tool::{Effect, Pending, Shown, Sink, Tool, ToolCallContext, ToolFault, ToolOutput, ToolSpec};
use crate::workspace::{CurrentDir, FileProblem, LARGEST_WHOLE_FILE, Parents, Workspace};

const NAME: &str = "edit_file";
/// The most edits of one call: each one searches the whole file.
const MOST_EDITS: usize = 200;

/// Replaces texts in a file.
#[derive(Debug)]
pub struct EditFile {
    desk: Desk,
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Arguments {
    path: String,
    edits: Vec<Edit>,
    expected_digest: Option<String>,
}

/// One replacement.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Edit {
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
    expected_replacements: Option<u64>,
}

impl Ask for Arguments {
    fn path(&self) -> &str {
        &self.path
    }
}

impl EditFile {
    /// The tool on a workspace.
    pub fn new(workspace: Arc<Workspace>, current: CurrentDir, sources: Arc<Sources>) -> Self {
        let spec = ToolSpec {
            name: NAME,
            description: "Replace exact texts in an existing text file. Edits apply in order, each to the result of \
                          the one before; if any does not fit, nothing is written. oldText must occur exactly once \
                          unless replaceAll is set, so include enough surrounding lines. Case and white space count; \
                          nothing is a pattern. In a file whose lines all end in CRLF, a plain newline in oldText and \
                          newText stands for CRLF. Encoding and byte order mark are kept."
                .to_owned(),
            effect: Effect::Write,
            deed: Deed::Change,
            sinks: &[Sink::Target("path"), Sink::Content("edits")],
            parameters: parameters(),
        };
        Self { desk: Desk { workspace, current, sources }, spec }
    }
}

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "maxLength": 4096,
                "description": "File to edit; absolute, or relative to the current directory."},
            "edits": {
                "type": "array", "minItems": 1, "maxItems": MOST_EDITS,
                "items": {
                    "type": "object",
                    "properties": {
                        "oldText": {"type": "string", "minLength": 1, "description": "The exact text to replace."},
                        "newText": {"type": "string", "description": "What takes its place."},
                        "replaceAll": {"type": "boolean",
                            "description": "Replace every occurrence. Default false."},
                        "expectedReplacements": {"type": "integer", "minimum": 1,
                            "description": "Fail unless oldText occurs this often; more than 1 needs replaceAll."},
                    },
                    "required": ["oldText", "newText"],
                    "additionalProperties": false,
                },
            },
            "expectedDigest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$",
                "description": "Fail unless the file has this digest, as read_file reported it."},
        },
        "required": ["path", "edits"],
        "additionalProperties": false,
    })
}

impl Tool for EditFile {
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
    let place = job.workspace.place(&job.path, Parents::MustExist)?;
    let old_label = place.old_handle().map(|old| job.sources.opened(&job.path, old));
    let Some(old) = place.old_bytes(LARGEST_WHOLE_FILE)? else { return Err(FileProblem::NotFound.into()) };
    let label = old_label.map_or_else(|| job.label.clone(), |old| job.label.join(&old));
    if let Some(expected) = &job.ask.expected_digest {
        expect_digest(expected, Some(&old))?;
    }
    let mut draft = Draft::of(&old)?;
    let mut replacements = 0;
    for (number, edit) in (1_usize..).zip(&job.ask.edits) {
        replacements += draft.apply(edit, number)?;
    }
    let Applied { bytes: new, old_text, new_text } = draft.finish(&old);
    let diff = unified_diff(job.path.as_str(), &old_text, &new_text);
    if new == old {
        job.sources.did_not_write(&job.path);
    } else {
        job.put(place, &new, Some(&old), &label)?;
    }
    let edits = job.ask.edits.len();
    let record = json!({
        "outputId": job.output_id,
        "path": job.path,
        "editsApplied": edits,
        "replacements": replacements,
        "oldDigest": digest_text(&old),
        "newDigest": digest_text(&new),
        "oldSizeBytes": old.len(),
        "newSizeBytes": new.len(),
        "diff": diff,
    });
    let line = format!("{NAME} {}: {replacements} replacements", job.path);
    let shown = Shown { line, diff: Some(diff).filter(|diff| !diff.is_empty()) };
    Ok(Done { label, record, shown })
}
