//! `read_file`: a part of a text file, by lines.

mod window;

use fullsend_flow::{Deed, Label};
use std::io::{BufRead, BufReader, Cursor, Read, Seek};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use self::window::{Window, read_window};
use super::ask::{Ask, Desk, Done, Job, Worked};
use super::digest_text;
use super::failure::{ErrorCode, Failure};
use super::text::{BOM, Encoding, SAMPLE, from_utf16};
use crate::sources::Sources;
use crate::tool::{Effect, Pending, Shown, Sink, Tool, ToolCallContext, ToolFault, ToolOutput, ToolSpec};
use crate::workspace::{CurrentDir, LARGEST_WHOLE_FILE, OpenFile, Workspace};

const NAME: &str = "read_file";
/// Below what the conversation shows of one result, so that nothing is cut twice.
const DEFAULT_BYTES: usize = 64 * 1024;
/// The most bytes of one call.
const MOST_BYTES: usize = 1024 * 1024;

/// Reads a part of a text file.
#[derive(Debug)]
pub struct ReadFile {
    desk: Desk,
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Arguments {
    path: String,
    #[serde(rename = "encoding")]
    _encoding: Option<Utf8>,
    offset: Option<u64>,
    limit: Option<u64>,
    max_bytes: Option<usize>,
}

/// The only encoding that can be asked for: answers are text, whatever the file is.
#[derive(Debug, Deserialize)]
enum Utf8 {
    #[serde(rename = "utf-8")]
    Utf8,
}

impl Ask for Arguments {
    fn path(&self) -> &str {
        &self.path
    }
}

impl ReadFile {
    /// The tool on a workspace.
    pub fn new(workspace: Arc<Workspace>, current: CurrentDir, sources: Arc<Sources>) -> Self {
        let spec = ToolSpec {
            name: NAME,
            description: format!(
                "Read a text file. Returns at most {DEFAULT_BYTES} bytes of whole lines unless maxBytes says \
                 otherwise; when `truncated` is true, call again with offset = `nextOffset`. `digest` can be passed \
                 to edit_file or write_file as expectedDigest. Binary files are refused; use view_image for images."
            ),
            effect: Effect::Read,
            deed: Deed::Look,
            sinks: &[Sink::Selector("path")],
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "minLength": 1, "maxLength": 4096,
                        "description": "File to read; absolute, or relative to the current directory."},
                    "encoding": {"type": "string", "enum": ["utf-8"],
                        "description": "Always utf-8; other encodings are detected and converted."},
                    "offset": {"type": "integer", "minimum": 1,
                        "description": "First line to return, counted from 1. Default 1."},
                    "limit": {"type": "integer", "minimum": 1,
                        "description": "Most lines to return. Default: as many as fit."},
                    "maxBytes": {"type": "integer", "minimum": 0, "maximum": MOST_BYTES,
                        "description": "Most bytes to return. Characters are never split."},
                },
                "required": ["path"],
                "additionalProperties": false,
            }),
        };
        Self { desk: Desk { workspace, current, sources }, spec }
    }
}

impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, context: ToolCallContext<'a>) -> Pending<'a, Result<ToolOutput, ToolFault>> {
        Box::pin(self.desk.run::<Arguments>(NAME, context, |job| work(job).map(Done::into_output)))
    }
}

/// What was read, before it is an answer.
struct Part {
    window: Window,
    encoding: Encoding,
    digest: Option<String>,
}

fn work(job: &Job<Arguments>) -> Worked<Done> {
    let ask = &job.ask;
    let offset = ask.offset.unwrap_or(1);
    if offset == 0 || ask.limit == Some(0) {
        return Err(Failure::new(ErrorCode::InvalidArgument, "offset and limit count from 1").into());
    }
    let range = window::Range {
        first: offset,
        lines: ask.limit.unwrap_or(u64::MAX),
        bytes: ask.max_bytes.unwrap_or(DEFAULT_BYTES).min(MOST_BYTES),
    };
    let file = job.workspace.open_file(&job.path)?;
    let (size, label) = (file.size(), job.sources.opened(&job.path, file.handle()));
    let part = read_part(file, range, job)?;
    Ok(answer(job, part, size, label))
}

fn read_part(file: OpenFile, range: window::Range, job: &Job<Arguments>) -> Worked<Part> {
    let size = file.size();
    let mut reader = BufReader::with_capacity(SAMPLE, file.into_file());
    let sample = fill(&mut reader)?;
    let Some(encoding) = Encoding::of(&sample) else { return Err(binary(reader, size).into()) };
    match encoding {
        Encoding::Utf16Le | Encoding::Utf16Be => {
            let bytes = whole(reader, size)?;
            let Some(text) = from_utf16(&bytes, encoding) else {
                return Err(binary_failure(size, Some(&bytes)).into());
            };
            let window = read_window(&mut Cursor::new(text.as_bytes()), range, text.len() as u64, &job.stop)?;
            let digest = window.is_whole().then(|| digest_text(&bytes));
            Ok(Part { window, encoding, digest })
        }
        Encoding::Utf8 | Encoding::Utf8Bom | Encoding::EightBit => {
            let mark = if encoding == Encoding::Utf8Bom { BOM } else { b"" };
            let mut rest = Cursor::new(sample).chain(reader);
            rest.consume(mark.len());
            let window = read_window(&mut rest, range, size, &job.stop)?;
            let digest = window.is_whole().then(|| digest_text(&[mark, &window.bytes].concat()));
            Ok(Part { window, encoding, digest })
        }
    }
}

/// The first bytes of a file, which decide what it is.
fn fill(reader: &mut BufReader<std::fs::File>) -> Result<Vec<u8>, Failure> {
    let mut sample = Vec::with_capacity(SAMPLE);
    let read = reader.by_ref().take(SAMPLE as u64).read_to_end(&mut sample);
    read.map_err(|error| Failure::from(crate::workspace::FileProblem::from(error)))?;
    Ok(sample)
}

/// All bytes of a file that was read from already.
fn whole(reader: BufReader<std::fs::File>, size: u64) -> Result<Vec<u8>, crate::workspace::FileProblem> {
    let mut file = reader.into_inner();
    file.rewind()?;
    if size > LARGEST_WHOLE_FILE {
        return Err(crate::workspace::FileProblem::TooLarge { size, limit: LARGEST_WHOLE_FILE });
    }
    let mut bytes = Vec::new();
    file.take(LARGEST_WHOLE_FILE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn binary(reader: BufReader<std::fs::File>, size: u64) -> Failure {
    binary_failure(size, whole(reader, size).ok().as_deref())
}

fn binary_failure(size: u64, bytes: Option<&[u8]>) -> Failure {
    let failure = Failure::new(ErrorCode::BinaryFile, format!("a file of {size} bytes that is not text"))
        .with("sizeBytes", size);
    match bytes {
        Some(bytes) => failure.with("digest", digest_text(bytes)),
        None => failure,
    }
}

fn answer(job: &Job<Arguments>, part: Part, size: u64, label: Label) -> Done {
    let Part { window, encoding, digest } = part;
    let lines = window.lines;
    let mut record = json!({
        "outputId": job.output_id,
        "path": job.path,
        "content": String::from_utf8_lossy(&window.bytes),
        "encoding": encoding.name(),
        "sizeBytes": size,
        "startLine": window.first,
        "lines": lines,
        "truncated": window.next.is_some(),
    });
    let mut add = |key: &str, value: Option<Value>| {
        if let (Some(record), Some(value)) = (record.as_object_mut(), value) {
            record.insert(key.to_owned(), value);
        }
    };
    add("nextOffset", window.next.map(Value::from));
    add("totalLines", window.total.map(Value::from));
    add("digest", digest.map(Value::from));
    add("notice", notice(&window, encoding).map(Value::from));
    let shown = Shown { line: format!("{NAME} {}: {lines} lines", job.path), diff: None };
    Done { label, record, shown }
}

/// What a model should know about the content that the content does not say.
fn notice(window: &Window, encoding: Encoding) -> Option<String> {
    if window.cut_line {
        return Some(format!(
            "line {} is longer than maxBytes and is cut; raise maxBytes to see more of it",
            window.first
        ));
    }
    if window.lines == 0 && window.first > 1 && window.next.is_none() {
        return Some("the file has fewer lines than offset".to_owned());
    }
    match encoding {
        Encoding::EightBit => {
            Some("some bytes are not UTF-8 and are shown as U+FFFD; edits keep them as they are".to_owned())
        }
        Encoding::Utf16Le | Encoding::Utf16Be => {
            Some("the file is UTF-16 and is shown as UTF-8; edits keep its encoding".to_owned())
        }
        Encoding::Utf8 | Encoding::Utf8Bom => None,
    }
}
