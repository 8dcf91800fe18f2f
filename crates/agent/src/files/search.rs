//! `search_files`: lines of files that match a pattern.

mod lines;

use fullsend_flow::{Deed, Label};
use std::ops::ControlFlow;
use std::sync::Arc;

use regex::bytes::{Regex, RegexBuilder};
use rustix::fs::{FileType, OFlags};
use serde::Deserialize;
use serde_json::{Value, json};

use self::lines::matching_lines;
use super::ask::{Ask, Desk, Done, Job, Worked};
use super::failure::{ErrorCode, Failure};
use super::list::{Filter, WITHHELD, here};
use crate::sources::{Looking, Sources};
use crate::tool::{Effect, Pending, Shown, Sink, Tool, ToolCallContext, ToolFault, ToolOutput, ToolSpec};
use crate::workspace::tree::{DEEPEST, Ignoring, Node, TreePlan};
use crate::workspace::{CurrentDir, FileProblem, OpenFile, Workspace, open_regular};

const NAME: &str = "search_files";
const DEFAULT_MATCHES: usize = 100;
const MOST_MATCHES: usize = 1_000;
const MOST_CONTEXT: usize = 10;
const LONGEST_PATTERN: usize = 1_000;
/// Larger files are left out.
const LARGEST_FILE: u64 = 16 * 1024 * 1024;
/// Text that one answer holds.
const MOST_BYTES: usize = 64 * 1024;
/// Memory of a compiled pattern: `(a{1000}){1000}` is short to write.
const PATTERN_MEMORY: usize = 1024 * 1024;

/// Searches files.
#[derive(Debug)]
pub struct SearchFiles {
    desk: Desk,
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Arguments {
    pattern: String,
    #[serde(default)]
    literal: bool,
    #[serde(default = "here")]
    path: String,
    glob: Option<String>,
    #[serde(default)]
    case_insensitive: bool,
    context: Option<usize>,
    max_matches: Option<usize>,
    #[serde(default)]
    include_ignored: bool,
}

impl Ask for Arguments {
    fn path(&self) -> &str {
        &self.path
    }
}

impl SearchFiles {
    /// The tool on a workspace.
    pub fn new(workspace: Arc<Workspace>, current: CurrentDir, sources: Arc<Sources>) -> Self {
        let spec = ToolSpec {
            name: NAME,
            description: "Find lines that match a regular expression (or a literal text) in a file or in all files below \
                          a directory. Leaves out binary files, files over 16 MiB, and what .gitignore and .ignore \
                          files name, unless includeIgnored is set. Matches are within one line; their paths start at `path`."
                .to_owned(),
            effect: Effect::Read,
            deed: Deed::Look,
            sinks: &[Sink::Selector("path"), Sink::Selector("pattern")],
            parameters: parameters(),
        };
        Self { desk: Desk { workspace, current, sources }, spec }
    }
}

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "minLength": 1, "maxLength": LONGEST_PATTERN,
                "description": "Regular expression (Rust syntax: no look-around, no back-references)."},
            "literal": {"type": "boolean", "description": "Take the pattern as plain text. Default false."},
            "path": {"type": "string", "minLength": 1, "maxLength": 4096,
                "description": "File or directory to search. Default: the current directory."},
            "glob": {"type": "string", "minLength": 1, "maxLength": 256,
                "description": "Only files that match, such as `*.rs` (any directory) or `src/**/*.rs`."},
            "caseInsensitive": {"type": "boolean", "description": "Default false."},
            "context": {"type": "integer", "minimum": 0, "maximum": MOST_CONTEXT,
                "description": "Lines to show before and after each match. Default 0."},
            "maxMatches": {"type": "integer", "minimum": 1, "maximum": MOST_MATCHES,
                "description": "Most matches to return. Default 100."},
            "includeIgnored": {"type": "boolean", "description": "Also search ignored files. Default false."},
        },
        "required": ["pattern"],
        "additionalProperties": false,
    })
}

impl Tool for SearchFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, context: ToolCallContext<'a>) -> Pending<'a, Result<ToolOutput, ToolFault>> {
        Box::pin(self.desk.run::<Arguments>(NAME, context, |job| work(job).map(Done::into_output)))
    }
}

/// A search under way.
struct Search<'a> {
    job: &'a Job<Arguments>,
    looking: Looking<'a>,
    pattern: Arc<Regex>,
    context: usize,
    most: usize,
    matches: Vec<Value>,
    bytes: usize,
    searched: usize,
    binary: usize,
    large: usize,
    unread: usize,
    truncated: bool,
}

fn work(job: &Job<Arguments>) -> Worked<Done> {
    let ask = &job.ask;
    let filter = ask.glob.as_deref().map(Filter::new).transpose()?;
    let mut search = Search {
        job,
        looking: Looking::below(&job.sources, &job.path),
        pattern: Arc::new(compile(ask)?),
        context: ask.context.unwrap_or(0).min(MOST_CONTEXT),
        most: ask.max_matches.unwrap_or(DEFAULT_MATCHES).clamp(1, MOST_MATCHES),
        matches: Vec::new(),
        bytes: 0,
        searched: 0,
        binary: 0,
        large: 0,
        unread: 0,
        truncated: false,
    };
    match job.workspace.open_file(&job.path) {
        Ok(file) => {
            let label = job.sources.opened(&job.path, file.handle());
            // There is no other file that a full answer would end. It was asked for by name, so the answer has its label.
            let _ = search.lines(job.path.file_name(), Ok(file), &label);
        }
        Err(FileProblem::NotAFile(_)) => search.tree(filter.as_ref())?,
        Err(problem) => return Err(problem.into()),
    }
    Ok(search.answer())
}

fn compile(ask: &Arguments) -> Result<Regex, Failure> {
    let refuse = |why: String| Failure::new(ErrorCode::InvalidArgument, format!("pattern: {why}"));
    if ask.pattern.is_empty() || ask.pattern.len() > LONGEST_PATTERN {
        return Err(refuse(format!("must have 1 to {LONGEST_PATTERN} bytes")));
    }
    let text = if ask.literal { regex::escape(&ask.pattern) } else { ask.pattern.clone() };
    RegexBuilder::new(&text)
        .case_insensitive(ask.case_insensitive)
        .multi_line(true)
        .crlf(true)
        .size_limit(PATTERN_MEMORY)
        .dfa_size_limit(PATTERN_MEMORY)
        .build()
        .map_err(|error| refuse(error.to_string()))
}

impl Search<'_> {
    fn tree(&mut self, filter: Option<&Filter>) -> Result<(), FileProblem> {
        let ignoring = if self.job.ask.include_ignored { Ignoring::Nothing } else { Ignoring::Ignored };
        let plan = TreePlan { start: &self.job.path, depth: DEEPEST, ignoring };
        let end = self.job.workspace.walk(plan, &mut |node: &Node<'_>| {
            self.looking.enter(node);
            if node.kind != FileType::RegularFile || filter.is_some_and(|filter| !filter.matches(node.path)) {
                return ControlFlow::Continue(());
            }
            let file = open_regular(node.parent, node.name, OFlags::RDONLY);
            match file.as_ref().ok().map(|file| self.looking.content(node.path, file)) {
                Some(None) => ControlFlow::Continue(()),
                Some(Some(label)) => self.lines(node.path, file, &label),
                None => self.lines(node.path, file, &Label::bottom()),
            }
        })?;
        self.truncated |= end.stopped;
        self.unread += end.unread;
        Ok(())
    }

    /// Searches one file; breaks when there is enough.
    fn lines(&mut self, path: &str, file: Result<OpenFile, FileProblem>, label: &Label) -> ControlFlow<()> {
        if self.job.stop.is_set() {
            self.truncated = true;
            return ControlFlow::Break(());
        }
        // That nothing was found tells something of a secret as well: else guess after guess would.
        if !label.confidentiality.is_public() {
            let readers = label.confidentiality.clone();
            self.looking.shown(&Label { confidentiality: readers, ..Label::bottom() });
        }
        let bytes = match file.and_then(|file| file.read_all(LARGEST_FILE)) {
            Ok(bytes) => bytes,
            Err(FileProblem::TooLarge { .. }) => {
                self.large += 1;
                return ControlFlow::Continue(());
            }
            Err(_) => {
                self.unread += 1;
                return ControlFlow::Continue(());
            }
        };
        if memchr::memchr(0, &bytes).is_some() {
            self.binary += 1;
            return ControlFlow::Continue(());
        }
        self.searched += 1;
        let (pattern, context) = (Arc::clone(&self.pattern), self.context);
        let before = self.matches.len();
        let flow = matching_lines(&bytes, &pattern, context, &mut |line| self.keep(path, line));
        if self.matches.len() > before {
            self.looking.shown(label);
        }
        flow
    }

    fn keep(&mut self, path: &str, line: lines::Line<'_>) -> ControlFlow<()> {
        if self.matches.len() == self.most || self.bytes > MOST_BYTES {
            self.truncated = true;
            return ControlFlow::Break(());
        }
        let mut found = json!({ "path": path, "line": line.number, "text": line.text });
        if let Some(members) = found.as_object_mut().filter(|_| self.context > 0) {
            members.insert("before".to_owned(), line.before.into());
            members.insert("after".to_owned(), line.after.into());
        }
        self.bytes += line.bytes + path.len();
        self.matches.push(found);
        ControlFlow::Continue(())
    }

    fn answer(self) -> Done {
        let job = self.job;
        let count = self.matches.len();
        let (label, hidden) = self.looking.end();
        let mut record = json!({
            "outputId": job.output_id,
            "path": job.path,
            "matches": self.matches,
            "filesSearched": self.searched,
            "skipped": { "binary": self.binary, "large": self.large, "unreadable": self.unread },
            "truncated": self.truncated,
        });
        if let Some(record) = record.as_object_mut().filter(|_| hidden) {
            record.insert("withheld".to_owned(), WITHHELD.into());
        }
        let shown = Shown { line: format!("{NAME} {}: {count} matches", job.path), diff: None };
        Done { label, record, shown }
    }
}
