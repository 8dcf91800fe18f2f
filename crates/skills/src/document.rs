//! The bytes of a `SKILL.md`, as text with front matter and body.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use fullsend_yaml::{FrontMatter, Node, Rule, ScalarStyle, Value, front_matter};

use crate::beneath::{OpenError, Root};
use crate::rules;

/// The most bytes of a `SKILL.md`. The format recommends less than 5,000 tokens.
pub(crate) const MAX_BYTES: u64 = 256 * 1024;

/// The accepted names; the first that exists counts.
pub(crate) const FILE_NAMES: [&str; 2] = ["SKILL.md", "skill.md"];

/// A `SKILL.md` and its bytes.
#[derive(Debug)]
pub(crate) struct SkillFile {
    pub(crate) name: &'static str,
    pub(crate) bytes: Vec<u8>,
}

/// Why there are no bytes.
#[derive(Debug)]
pub(crate) enum FileError {
    Missing,
    /// It leads out of the skill, or is no regular file.
    Outside {
        name: &'static str,
    },
    TooLarge {
        name: &'static str,
    },
    Io {
        name: &'static str,
        error: io::Error,
    },
}

/// Reads the skill file of a directory.
pub(crate) fn read(skill: &Root) -> Result<SkillFile, FileError> {
    for name in FILE_NAMES {
        match open(skill, Path::new(name)) {
            Ok(file) => {
                let mut bytes = Vec::new();
                file.take(MAX_BYTES + 1)
                    .read_to_end(&mut bytes)
                    .map_err(|error| FileError::Io { name, error })?;
                let fits = bytes.len() as u64 <= MAX_BYTES;
                return if fits { Ok(SkillFile { name, bytes }) } else { Err(FileError::TooLarge { name }) };
            }
            Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
            Err(OpenError::Io(error)) => return Err(FileError::Io { name, error }),
            Err(OpenError::Outside | OpenError::NotFile) => return Err(FileError::Outside { name }),
        }
    }
    Err(FileError::Missing)
}

/// A link with an absolute path may still lead to a place inside; what is opened then is that place, without links.
fn open(skill: &Root, name: &Path) -> Result<File, OpenError> {
    match skill.file(name) {
        Err(OpenError::Outside) => skill.file(&skill.real(name)?),
        other => other,
    }
}

/// Bytes that are not the text of a skill.
#[derive(Debug)]
pub(crate) struct NotText {
    pub(crate) rule: &'static Rule,
    /// The bytes with replacement characters, for showing the place.
    pub(crate) lossy: String,
    /// Where the trouble starts in it.
    pub(crate) offset: usize,
}

/// The bytes as text: UTF-8 without NUL.
pub(crate) fn decode(bytes: Vec<u8>) -> Result<String, NotText> {
    let text = String::from_utf8(bytes).map_err(|error| NotText {
        rule: &rules::ENCODING,
        offset: error.utf8_error().valid_up_to(),
        lossy: String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })?;
    match text.find('\0') {
        Some(offset) => Err(NotText { rule: &rules::NUL, lossy: text, offset }),
        None => Ok(text),
    }
}

/// Where front matter is.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Nowhere: all is body.
    Body,
    /// It starts and does not end.
    Unclosed,
    /// Between two lines.
    Parts(FrontMatter),
}

/// Looks for front matter; its fences are whole lines.
pub(crate) fn shape(text: &str) -> Shape {
    let first = without_mark(text).lines().next().unwrap_or_default();
    match front_matter(text) {
        Some(parts) => Shape::Parts(parts),
        None if first.trim() == "---" => Shape::Unclosed,
        None => Shape::Body,
    }
}

/// The text behind a byte order mark, if there is one.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The text of a scalar, whatever it spells: `1.10` is not a number here. The parser writes `~` for no text at all.
pub(crate) fn scalar_text<'n>(node: &'n Node<'_>) -> Option<&'n str> {
    match &node.value {
        Value::Scalar(scalar) if node.at.range().is_empty() && scalar.style == ScalarStyle::Plain => Some(""),
        Value::Scalar(scalar) => Some(&scalar.text),
        Value::Sequence(_) | Value::Mapping(_) => None,
    }
}
