//! `list_files`: what is in a directory.

use fullsend_flow::Deed;
use std::ops::ControlFlow;
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use rustix::fs::{AtFlags, FileType};
use serde::Deserialize;
use serde_json::{Value, json};

use super::ask::{Ask, Desk, Done, Job, Worked};
use super::failure::{ErrorCode, Failure};
use crate::sources::{Looking, Sources};
use crate::tool::{Effect, Pending, Shown, Sink, Tool, ToolCallContext, ToolFault, ToolOutput, ToolSpec};
use crate::workspace::tree::{DEEPEST, Ignoring, Node, TreeEnd, TreePlan};
use crate::workspace::{CurrentDir, Workspace};

const NAME: &str = "list_files";
const DEFAULT_ENTRIES: usize = 500;
const MOST_ENTRIES: usize = 5_000;
/// A pattern is compiled; longer ones are not for finding files.
const LONGEST_GLOB: usize = 256;
/// What is said where something may not be seen. How many there are is not.
pub(super) const WITHHELD: &str =
    "some files are not shown: what they hold, or who wrote them, does not meet the clearance";

/// Lists a directory.
#[derive(Debug)]
pub struct ListFiles {
    desk: Desk,
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Arguments {
    #[serde(default = "here")]
    path: String,
    depth: Option<usize>,
    glob: Option<String>,
    #[serde(default)]
    include_ignored: bool,
    max_entries: Option<usize>,
}

/// The current directory.
pub(super) fn here() -> String {
    ".".to_owned()
}

impl Ask for Arguments {
    fn path(&self) -> &str {
        &self.path
    }
}

impl ListFiles {
    /// The tool on a workspace.
    pub fn new(workspace: Arc<Workspace>, current: CurrentDir, sources: Arc<Sources>) -> Self {
        let spec = ToolSpec {
            name: NAME,
            description: "List the files and directories below a directory, sorted, with types and sizes. Leaves out \
                          what .gitignore and .ignore files name and the inside of .git, unless includeIgnored is set. \
                          Symbolic links are listed but not followed. Paths of entries start at `path`."
                .to_owned(),
            effect: Effect::Read,
            deed: Deed::Look,
            sinks: &[Sink::Selector("path")],
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "minLength": 1, "maxLength": 4096,
                        "description": "Directory to list. Default: the current directory."},
                    "depth": {"type": "integer", "minimum": 1, "maximum": DEEPEST,
                        "description": "Levels to list. Default 1, or all with a glob."},
                    "glob": {"type": "string", "minLength": 1, "maxLength": LONGEST_GLOB,
                        "description": "Only entries that match, such as `*.rs` (any directory) or `src/**/*.rs`."},
                    "includeIgnored": {"type": "boolean", "description": "Also list ignored files. Default false."},
                    "maxEntries": {"type": "integer", "minimum": 1, "maximum": MOST_ENTRIES,
                        "description": "Most entries to return. Default 500."},
                },
                "additionalProperties": false,
            }),
        };
        Self { desk: Desk { workspace, current, sources }, spec }
    }
}

impl Tool for ListFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, context: ToolCallContext<'a>) -> Pending<'a, Result<ToolOutput, ToolFault>> {
        Box::pin(self.desk.run::<Arguments>(NAME, context, |job| work(job).map(Done::into_output)))
    }
}

fn work(job: &Job<Arguments>) -> Worked<Done> {
    let ask = &job.ask;
    let filter = ask.glob.as_deref().map(Filter::new).transpose()?;
    let most = ask.max_entries.unwrap_or(DEFAULT_ENTRIES).clamp(1, MOST_ENTRIES);
    let default_depth = if filter.is_some() { DEEPEST } else { 1 };
    let plan = TreePlan {
        start: &job.path,
        depth: ask.depth.unwrap_or(default_depth).clamp(1, DEEPEST),
        ignoring: if ask.include_ignored { Ignoring::Nothing } else { Ignoring::Ignored },
    };
    let mut entries = Vec::new();
    let mut looking = Looking::below(&job.sources, &job.path);
    let end = job.workspace.walk(plan, &mut |node| {
        if job.stop.is_set() {
            return ControlFlow::Break(());
        }
        looking.enter(node);
        if filter.as_ref().is_some_and(|filter| !filter.matches(node.path)) {
            return ControlFlow::Continue(());
        }
        if entries.len() == most {
            return ControlFlow::Break(());
        }
        if looking.name(node) {
            let with_size = !looking.is_secret(node);
            entries.push(entry(node, with_size));
        }
        ControlFlow::Continue(())
    })?;
    let count = entries.len();
    let (label, hidden) = looking.end();
    let mut record = json!({
        "outputId": job.output_id,
        "path": job.path,
        "entries": entries,
        "truncated": end.stopped,
    });
    if let (Some(record), Some(notice)) = (record.as_object_mut(), notice(end, count)) {
        record.insert("notice".to_owned(), notice.into());
    }
    if let Some(record) = record.as_object_mut().filter(|_| hidden) {
        record.insert("withheld".to_owned(), WITHHELD.into());
    }
    let shown = Shown { line: format!("{NAME} {}: {count} entries", job.path), diff: None };
    Ok(Done { label, record, shown })
}

fn notice(end: TreeEnd, count: usize) -> Option<String> {
    match (end.stopped, end.unread) {
        (true, _) => Some(format!("only the first {count} entries; narrow it by path, glob or depth")),
        (false, 0) => None,
        (false, unread) => Some(format!("{unread} directories could not be read or lie too deep")),
    }
}

/// With its size, unless that says something about a content that may not be seen.
fn entry(node: &Node<'_>, with_size: bool) -> Value {
    let mut entry = json!({ "path": node.path, "type": kind_name(node.kind) });
    let Some(members) = entry.as_object_mut() else { return entry };
    if node.kind == FileType::RegularFile
        && with_size
        && let Ok(stat) = rustix::fs::statat(node.parent, node.name, AtFlags::SYMLINK_NOFOLLOW)
    {
        members.insert("size".to_owned(), stat.st_size.into());
    }
    if node.kind == FileType::Symlink
        && let Ok(target) = rustix::fs::readlinkat(node.parent, node.name, Vec::new())
    {
        members.insert("target".to_owned(), target.to_string_lossy().into());
    }
    if node.name.to_str().is_none() {
        members.insert("nameIsNotUtf8".to_owned(), true.into());
    }
    entry
}

fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "file",
        FileType::Directory => "directory",
        FileType::Symlink => "symlink",
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => "other",
    }
}

/// Which paths a glob picks: one without a slash is about names, one with a slash about paths from the start.
pub(super) struct Filter {
    glob: GlobMatcher,
    of_names: bool,
}

impl Filter {
    pub(super) fn new(glob: &str) -> Result<Self, Failure> {
        let refuse = |why: String| Failure::new(ErrorCode::InvalidArgument, format!("glob: {why}"));
        if glob.len() > LONGEST_GLOB {
            return Err(refuse(format!("longer than {LONGEST_GLOB} bytes")));
        }
        let text = glob.strip_prefix("./").unwrap_or(glob);
        let built = GlobBuilder::new(text).literal_separator(true).build();
        let glob = built.map_err(|error| refuse(error.to_string()))?.compile_matcher();
        Ok(Self { glob, of_names: !text.contains('/') })
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        let subject = if self.of_names { path.rsplit('/').next().unwrap_or(path) } else { path };
        self.glob.is_match(subject)
    }
}
