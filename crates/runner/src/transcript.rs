//! What a runtime's own record says about its end.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};
use serde::Deserialize;

/// The longest line that is read; a longer one is skipped, and those after it are read all the same.
const LONGEST_LINE: usize = 1 << 20;

/// The longest message, in bytes.
const LONGEST_MESSAGE: usize = 2000;

/// How a runtime says that it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultLine {
    /// Whether it calls it an error.
    pub is_error: bool,
    /// What it says about it, as it says it: whoever shows it makes it harmless first.
    pub message: String,
    /// The kind of its end, in the runtime's words.
    pub subtype: String,
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    result: Option<String>,
    #[serde(default)]
    subtype: Option<String>,
}

/// The last line of the kind `result` in the file at `path`, which may have been written from within a sandbox.
pub fn result(path: &Path) -> io::Result<Option<ResultLine>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(CWD, path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut last = None;
    lines(BufReader::new(file), |line| last = read(line).or_else(|| last.take()))?;
    Ok(last)
}

/// The errors that the transcripts in a directory end with, by the names of their files, in order.
pub fn errors(directory: &Path) -> io::Result<Vec<(String, ResultLine)>> {
    let mut errors = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !name.ends_with(".jsonl") {
            continue;
        }
        // What is no readable file tells nothing.
        let found = result(&directory.join(&name)).unwrap_or_default();
        errors.extend(found.filter(|line| line.is_error).map(|line| (name, line)));
    }
    errors.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(errors)
}

fn lines(mut reader: impl io::BufRead, mut found: impl FnMut(&[u8])) -> io::Result<()> {
    let (mut line, mut skipped) = (Vec::new(), false);
    loop {
        let (used, whole) = {
            let bytes = reader.fill_buf()?;
            if bytes.is_empty() {
                break;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let piece = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            skipped |= line.len() + piece.len() > LONGEST_LINE;
            if !skipped {
                line.extend_from_slice(piece);
            }
            (end.map_or(bytes.len(), |end| end + 1), end.is_some())
        };
        reader.consume(used);
        if whole {
            if !skipped {
                found(&line);
            }
            line.clear();
            skipped = false;
        }
    }
    if !skipped {
        found(&line);
    }
    Ok(())
}

fn read(line: &[u8]) -> Option<ResultLine> {
    let line: Line = serde_json::from_slice(line).ok().filter(|line: &Line| line.kind == "result")?;
    let mut message = line.result.unwrap_or_default();
    if message.len() > LONGEST_MESSAGE {
        let end = (0..=LONGEST_MESSAGE).rev().find(|at| message.is_char_boundary(*at)).unwrap_or_default();
        message.truncate(end);
        message.push_str("… (truncated)");
    }
    Some(ResultLine { is_error: line.is_error, message, subtype: line.subtype.unwrap_or_default() })
}
