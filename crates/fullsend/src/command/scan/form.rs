//! What a file must still be after a change.

use std::path::Path;

use fullsend_yaml::{Limits, SourceMap, parse};
use serde::de::IgnoredAny;

/// How the text of a file can be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One JSON document.
    Json,
    /// One JSON document per line.
    JsonLines,
    /// YAML, with this many problems that do not keep it from being read, such as a key that occurs twice.
    Yaml {
        /// How many.
        problems: usize,
    },
    /// TOML.
    Toml,
    /// Any text.
    Other,
}

impl Form {
    /// The form of `text`. JSON shows by itself; almost every text is YAML, so that one is known by its name.
    pub(super) fn of(path: &Path, text: &str) -> Self {
        let is_json = |text: &str| serde_json::from_str::<IgnoredAny>(text).is_ok();
        let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
        if is_json(text) {
            return Self::Json;
        }
        if lines.peek().is_some() && lines.all(is_json) {
            return Self::JsonLines;
        }
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("yaml" | "yml") => {
                yaml_problems(text).map_or(Self::Other, |problems| Self::Yaml { problems })
            }
            Some("toml") if text.parse::<toml_edit::DocumentMut>().is_ok() => Self::Toml,
            _ => Self::Other,
        }
    }

    /// The name of the form.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Json | Self::JsonLines => "JSON",
            Self::Yaml { .. } => "YAML",
            Self::Toml => "TOML",
            Self::Other => "text",
        }
    }
}

/// How many problems the YAML documents of a text have; none when one of them cannot be read.
fn yaml_problems(text: &str) -> Option<usize> {
    let limits = Limits { bytes: usize::MAX, depth: 256, nodes: 10_000_000 };
    let mut problems = 0;
    for document in text.split("\n---") {
        let mut sources = SourceMap::new();
        let file = sources.add("", document);
        let parsed = parse(&sources, file, limits);
        parsed.root.as_ref()?;
        problems += parsed.problems.len();
    }
    Some(problems)
}
