//! Strict reading: is a directory a skill, and if not, everything that is wrong.
//!
//! Messages and their order are those of the format's reference validator, so that its users see the same words; codes,
//! places and remedies are ours. Where that validator guesses or crashes, this one reports.

mod fields;

use std::path::Path;

use fullsend_yaml::{
    Diagnostic, FileId, Limits, Location, Notation, Parsed, Rule, SourceMap, Value, parse_part,
};

pub(crate) use self::fields::{MAX_COMPATIBILITY, MAX_DESCRIPTION, flaw_message};
use crate::beneath::{OpenError, Root};
use crate::document::{self, FileError, NotText, Shape};
use crate::{resource, rules};

/// How many flaws of one kind are reported one by one. A hostile file has thousands, and each place costs a look at the file.
pub(crate) const MAX_REPORTED: usize = 20;

/// What came of validating a directory.
#[derive(Debug)]
pub struct Validation {
    /// The files that places refer to.
    pub sources: SourceMap,
    /// What is wrong, in the order of the reference validator.
    pub problems: Vec<Diagnostic>,
}

impl Validation {
    /// Whether the directory is a skill: there may be warnings, but no errors.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !self.problems.iter().any(Diagnostic::is_error)
    }
}

/// Checks a skill's directory, or the directory of the `SKILL.md` that is named.
#[must_use]
pub fn validate(path: &Path) -> Validation {
    let mut checked = Validation { sources: SourceMap::new(), problems: Vec::new() };
    let directory = directory_of(path);
    let root = match Root::resolve(directory) {
        Ok(root) => root,
        Err(error) => {
            checked.about_path(directory, &error);
            return checked;
        }
    };
    checked.file(directory, &root);
    let (_, notes) = resource::index(&root, &crate::Limits::default());
    for note in notes {
        let file = checked.sources.add(directory.join(&note.relative), "");
        let rule = if note.leads_out() { &rules::LINK_OUTSIDE } else { note.rule };
        checked.report(rule, Location::new(file, 0..0), note.detail);
    }
    checked
}

/// A skill file stands for its directory, however it is spelled.
fn directory_of(path: &Path) -> &Path {
    let named = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("skill.md"));
    match path.parent() {
        Some(parent) if named && path.is_file() => {
            if parent.as_os_str().is_empty() {
                Path::new(".")
            } else {
                parent
            }
        }
        _ => path,
    }
}

impl Validation {
    fn report(&mut self, rule: &'static Rule, at: Location, message: impl Into<String>) {
        self.problems.push(Diagnostic::new(rule, at, message));
    }

    fn about_path(&mut self, path: &Path, error: &OpenError) {
        let at = Location::new(self.sources.add(path, ""), 0..0);
        let shown = path.display();
        if !path.exists() {
            self.report(&rules::PATH_MISSING, at, format!("Path does not exist: {shown}"));
        } else if !path.is_dir() {
            self.report(&rules::NOT_A_DIRECTORY, at, format!("Not a directory: {shown}"));
        } else {
            self.report(&rules::UNREADABLE, at, format!("Cannot open directory: {shown}: {}", reason(error)));
        }
    }

    fn file(&mut self, directory: &Path, root: &Root) {
        let file = match document::read(root) {
            Ok(file) => file,
            Err(error) => return self.about_file(directory, error),
        };
        let path = directory.join(file.name);
        match document::decode(file.bytes) {
            Ok(text) => {
                let id = self.sources.add(path, text.as_str());
                let name = root.path().file_name().unwrap_or_default().to_string_lossy();
                self.text(id, &text, &name);
            }
            Err(NotText { rule, lossy, offset }) => {
                let id = self.sources.add(path, lossy);
                let what =
                    if rule.code == rules::NUL.code { "a NUL byte" } else { "bytes that are not UTF-8" };
                self.report(
                    rule,
                    Location::new(id, offset..offset),
                    format!("{} contains {what}", file.name),
                );
            }
        }
    }

    fn about_file(&mut self, directory: &Path, error: FileError) {
        let (name, rule, message) = match error {
            FileError::Missing => {
                let at = Location::new(self.sources.add(directory, ""), 0..0);
                return self.report(&rules::FILE_MISSING, at, "Missing required file: SKILL.md");
            }
            FileError::Outside { name } => {
                (name, &rules::FILE_OUTSIDE, format!("{name} is not a regular file inside the skill"))
            }
            FileError::TooLarge { name } => {
                let limit = document::MAX_BYTES;
                (name, &rules::TOO_LARGE, format!("{name} has more than {limit} bytes"))
            }
            FileError::Io { name, error } => {
                (name, &rules::UNREADABLE, format!("{name} cannot be read: {error}"))
            }
        };
        let at = Location::new(self.sources.add(directory.join(name), ""), 0..0);
        self.report(rule, at, message);
    }

    fn text(&mut self, file: FileId, text: &str, directory: &str) {
        let start = Location::new(file, 0..0);
        if text.starts_with('\u{feff}') {
            self.report(&rules::BYTE_ORDER_MARK, start, "SKILL.md starts with a byte order mark");
        }
        let parts = match document::shape(text) {
            Shape::Parts(parts) if document::without_mark(text).starts_with("---") => parts,
            Shape::Unclosed if document::without_mark(text).starts_with("---") => {
                return self.report(
                    &rules::UNCLOSED,
                    start,
                    "SKILL.md frontmatter not properly closed with ---",
                );
            }
            Shape::Parts(_) | Shape::Unclosed | Shape::Body => {
                let message = "SKILL.md must start with YAML frontmatter (---)";
                return self.report(&rules::NO_FRONT_MATTER, start, message);
            }
        };
        let mut problems = Vec::new();
        let parsed = parse_part(&self.sources, file, parts.yaml, Limits::default());
        if refuse_notation(&parsed, &mut problems) {
            match parsed.root.as_ref().map(|root| &root.value) {
                Some(Value::Mapping(entries)) => fields::check(entries, start, directory, &mut problems),
                Some(Value::Scalar(_) | Value::Sequence(_)) | None => problems.push(Diagnostic::new(
                    &rules::NOT_A_MAPPING,
                    start,
                    "SKILL.md frontmatter must be a YAML mapping",
                )),
            }
        }
        self.problems.append(&mut problems);
    }
}

/// Reports what the format's YAML does without; whether there is none of it.
fn refuse_notation(parsed: &Parsed<'_>, problems: &mut Vec<Diagnostic>) -> bool {
    let mut refuse = |at: Location, message: &str, help: Option<String>| {
        let message = format!("Invalid YAML in frontmatter: {message}");
        problems.push(Diagnostic::new(&rules::YAML, at, message).with_help_if(help));
    };
    for problem in parsed.problems.iter().take(MAX_REPORTED) {
        refuse(problem.at, &problem.message, Some(problem.help().to_owned()));
    }
    if let [.., last] = parsed.problems.as_slice() {
        if let Some(more) = parsed.problems.len().checked_sub(MAX_REPORTED).filter(|more| *more > 0) {
            refuse(last.at, &format!("{more} more problems like these"), None);
        }
        return false;
    }
    if let Some(at) = parsed.notation.flow {
        let help = "write a block list, one `- item` per line, or put the value in quotes if it is text";
        refuse(at, "flow collections (`[…]`, `{…}`) are not allowed", Some(help.to_owned()));
    }
    if let Some(at) = parsed.notation.anchor {
        let help = "write the value out where it is needed, or put it in quotes if it is text";
        refuse(at, "anchors and aliases (`&name`, `*name`) are not allowed", Some(help.to_owned()));
    }
    parsed.notation == Notation::default()
}

fn reason(error: &OpenError) -> String {
    match error {
        OpenError::Io(error) => error.to_string(),
        OpenError::Outside => "a link was put in its place".to_owned(),
        OpenError::NotFile => "it is not a file".to_owned(),
    }
}
