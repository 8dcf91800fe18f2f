//! Lenient reading: what can be used of a skill, with warnings about the rest.

mod manifest;

use std::io;
use std::path::{Path, PathBuf};

use fullsend_yaml::{Diagnostic, FileId, Limits, Location, Node, Rule, SourceMap, Value, parse_part};
use thiserror::Error;

pub use self::manifest::{Manifest, ModelInvocation};
use crate::beneath::{OpenError, Root};
use crate::document::{self, FileError, Shape};
use crate::validate::MAX_REPORTED;
use crate::{repair, rules};

/// A skill that can be used.
#[derive(Debug)]
pub struct Loaded {
    /// What it says.
    pub skill: Manifest,
    /// The files that places refer to.
    pub sources: SourceMap,
    /// What others may refuse, or what was not used.
    pub warnings: Vec<Diagnostic>,
}

/// Why a skill cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The directory cannot be opened.
    #[error("`{path}` cannot be opened as a directory: {source}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no `SKILL.md`.
    #[error("SKILL.md not found in `{path}`")]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// `SKILL.md` leads out of the skill, or is no regular file.
    #[error("`{path}` is not a regular file inside the skill")]
    Outside {
        /// The file.
        path: PathBuf,
    },
    /// `SKILL.md` is too large.
    #[error("`{path}` has more than {limit} bytes")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most bytes that are read.
        limit: u64,
    },
    /// `SKILL.md` cannot be read.
    #[error("`{path}` cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The content cannot be used.
    #[error("{path}:{line}: {message}")]
    Content {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
        /// The rule that is broken.
        rule: &'static Rule,
    },
}

impl LoadError {
    /// The rule that is broken.
    #[must_use]
    pub fn rule(&self) -> &'static Rule {
        match self {
            Self::Directory { .. } => &rules::PATH_MISSING,
            Self::Missing { .. } => &rules::FILE_MISSING,
            Self::Outside { .. } => &rules::FILE_OUTSIDE,
            Self::TooLarge { .. } => &rules::TOO_LARGE,
            Self::Unreadable { .. } => &rules::UNREADABLE,
            Self::Content { rule, .. } => rule,
        }
    }
}

/// Reads the skill in a directory.
///
/// # Errors
/// When there is no readable skill file, its front matter has no end or is no YAML even after repair, or nothing says
/// what the skill is for.
pub fn load(directory: &Path) -> Result<Loaded, LoadError> {
    let root = Root::resolve(directory).map_err(|error| LoadError::Directory {
        path: directory.to_owned(),
        source: match error {
            OpenError::Io(error) => error,
            OpenError::Outside | OpenError::NotFile => io::ErrorKind::NotADirectory.into(),
        },
    })?;
    let file = document::read(&root).map_err(|error| file_error(directory, error))?;
    let name = root.path().file_name().unwrap_or_default().to_string_lossy();
    read(&directory.join(file.name), file.bytes, &name)
}

fn file_error(directory: &Path, error: FileError) -> LoadError {
    match error {
        FileError::Missing => LoadError::Missing { path: directory.to_owned() },
        FileError::Outside { name } => LoadError::Outside { path: directory.join(name) },
        FileError::TooLarge { name } => {
            LoadError::TooLarge { path: directory.join(name), limit: document::MAX_BYTES }
        }
        FileError::Io { name, error } => LoadError::Unreadable { path: directory.join(name), source: error },
    }
}

/// Reads the bytes of a skill file in a directory called `directory`.
pub(crate) fn read(path: &Path, bytes: Vec<u8>, directory: &str) -> Result<Loaded, LoadError> {
    let mut reading = Reading { sources: SourceMap::new(), warnings: Vec::new() };
    let text = document::decode(bytes).map_err(|bad| {
        let file = reading.sources.add(path, bad.lossy);
        let message = if bad.rule.code == rules::NUL.code { "a NUL byte" } else { "this is not UTF-8" };
        reading.content(bad.rule, Location::new(file, bad.offset..bad.offset), message)
    })?;
    let file = reading.sources.add(path, text.as_str());
    let start = Location::new(file, 0..0);
    if text.starts_with('\u{feff}') {
        reading.warn(&rules::BYTE_ORDER_MARK, start, "the file starts with a byte order mark");
    }
    let (fields, body) = match document::shape(&text) {
        Shape::Body => {
            reading.warn(&rules::LOADED_WITHOUT_FRONT_MATTER, start, "the file has no front matter");
            (None, document::without_mark(&text))
        }
        Shape::Unclosed => {
            return Err(reading.content(&rules::UNCLOSED, start, "the front matter has no end"));
        }
        Shape::Parts(parts) => {
            let body = text.get(parts.body.clone()).unwrap_or_default();
            (Some(reading.front_matter(file, &text, parts.yaml)?), body)
        }
    };
    let sources = std::mem::take(&mut reading.sources);
    let root = fields.and_then(|(file, range)| parse_part(&sources, file, range, Limits::default()).root);
    let entries = match root {
        Some(Node { value: Value::Mapping(entries), .. }) => entries,
        Some(node) if !node.is_null() => {
            let message = "the front matter must be a mapping (`key: value` lines)".to_owned();
            return Err(content_error(&sources, &rules::NOT_A_MAPPING, node.at, message));
        }
        Some(_) | None => Vec::new(),
    };
    let mut warnings = reading.warnings;
    let result = manifest::read(&entries, body, start, directory, &mut warnings);
    let skill = result.map_err(|(rule, message)| content_error(&sources, rule, start, message))?;
    Ok(Loaded { skill, sources, warnings })
}

/// What has been read so far.
struct Reading {
    sources: SourceMap,
    warnings: Vec<Diagnostic>,
}

type Part = (FileId, std::ops::Range<usize>);

impl Reading {
    fn warn(&mut self, rule: &'static Rule, at: Location, message: impl Into<String>) {
        self.warnings.push(Diagnostic::new(rule, at, message));
    }

    fn content(&self, rule: &'static Rule, at: Location, message: impl Into<String>) -> LoadError {
        content_error(&self.sources, rule, at, message.into())
    }

    /// Where front matter that can be parsed stands: in the file, or in a repaired copy of it.
    fn front_matter(
        &mut self,
        file: FileId,
        text: &str,
        yaml: std::ops::Range<usize>,
    ) -> Result<Part, LoadError> {
        let first = match self.attempt(file, yaml.clone()) {
            Ok(()) => return Ok((file, yaml)),
            Err(problem) => problem,
        };
        let (before, rest) = text.split_at(yaml.start);
        let (original, after) = rest.split_at(yaml.len());
        let Some(repaired) = repair::quote_values(original) else {
            return Err(self.content(
                &rules::YAML,
                first.at,
                format!("the front matter is not YAML: {}", first.message),
            ));
        };
        let path = self.sources.file(file).map(|source| source.path().to_owned()).unwrap_or_default();
        let range = yaml.start..yaml.start + repaired.len();
        let copy = self.sources.add(path, format!("{before}{repaired}{after}"));
        match self.attempt(copy, range.clone()) {
            Ok(()) => {
                self.warn(&rules::REPAIRED, first.at, format!("read as if in quotes: {}", first.message));
                Ok((copy, range))
            }
            Err(_) => {
                let message = format!("the front matter is not YAML: {}", first.message);
                Err(self.content(&rules::YAML, first.at, message))
            }
        }
    }

    /// Parses; flaws that leave something to read become warnings, one that does not is returned.
    fn attempt(&mut self, file: FileId, range: std::ops::Range<usize>) -> Result<(), Diagnostic> {
        let parsed = parse_part(&self.sources, file, range, Limits::default());
        let (is_read, mut problems) = (parsed.root.is_some(), parsed.problems);
        if !is_read && let Some(fatal) = problems.pop() {
            return Err(fatal);
        }
        let lenient = |problem: Diagnostic| Diagnostic { rule: &rules::LOADED_YAML, ..problem };
        self.warnings.extend(problems.into_iter().take(MAX_REPORTED).map(lenient));
        Ok(())
    }
}

fn content_error(sources: &SourceMap, rule: &'static Rule, at: Location, message: String) -> LoadError {
    let (path, line) =
        sources.resolve(at).map_or((PathBuf::new(), 1), |(path, position)| (path.to_owned(), position.line));
    LoadError::Content { path, line, message: fullsend_yaml::printable(message), rule }
}
