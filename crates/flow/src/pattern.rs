//! Patterns of policies: values, hosts and paths.

use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A pattern that is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a pattern: {reason}")]
pub struct BadPattern {
    /// What was written.
    pub text: String,
    /// Why it is not one.
    pub reason: String,
}

/// A value in which `*` stands for any characters, `?` for one. Everything else stands for itself.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    glob: Glob,
    /// Made when it is first asked: most patterns of a set never are, and each takes longer than a label.
    matcher: OnceLock<GlobMatcher>,
}

impl Pattern {
    /// A pattern for values that are not paths: `*` also stands for `/`.
    pub fn of_values(text: &str) -> Result<Self, BadPattern> {
        // Braces, brackets and backslashes stand for themselves: commands are full of them.
        let plain: String = text.chars().fold(String::new(), |mut plain, character| {
            if matches!(character, '[' | ']' | '{' | '}' | '\\' | ',') {
                plain.push('\\');
            }
            plain.push(character);
            plain
        });
        Self::build(text, &plain, false)
    }

    /// A pattern for paths: `**` stands for any directories, `*` for part of one name.
    pub fn of_paths(text: &str) -> Result<Self, BadPattern> {
        Self::build(text, text, true)
    }

    fn build(text: &str, glob: &str, separator: bool) -> Result<Self, BadPattern> {
        let built = GlobBuilder::new(glob).literal_separator(separator).backslash_escape(true).build();
        let glob = built.map_err(|error| BadPattern { text: text.to_owned(), reason: error.to_string() })?;
        Ok(Self { text: text.to_owned(), glob, matcher: OnceLock::new() })
    }

    /// Whether it stands for this.
    pub fn matches(&self, value: &str) -> bool {
        self.matcher.get_or_init(|| self.glob.compile_matcher()).is_match(value)
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.glob == other.glob
    }
}

impl Eq for Pattern {}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::of_values(&text).map_err(serde::de::Error::custom)
    }
}

/// A pattern of paths, as policies write it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct PathPattern(Pattern);

impl PathPattern {
    /// The pattern.
    pub fn new(text: &str) -> Result<Self, BadPattern> {
        Pattern::of_paths(text).map(Self)
    }

    /// A pattern for this path, whatever characters it has, and for what is in it if it is a directory.
    pub fn exactly(path: &str) -> Result<Self, BadPattern> {
        Self::new(&globset::escape(path))
    }

    /// Whether it stands for this path, or for a directory that the path is in.
    pub fn matches(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        ends.filter_map(|end| path.get(..end)).any(|part| self.0.matches(part))
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// Patterns of paths that are asked about together, for every file of a workspace.
#[derive(Debug)]
pub(crate) struct PathSet(GlobSet);

impl PathSet {
    pub(crate) fn new(patterns: impl Iterator<Item = PathPattern>) -> Self {
        let mut builder = GlobSetBuilder::new();
        for pattern in patterns {
            builder.add(pattern.0.glob);
        }
        // Patterns that are valid one by one are so together.
        Self(builder.build().unwrap_or_default())
    }

    /// Whether one of them stands for this path, or for a directory that the path is in.
    pub(crate) fn matches(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        ends.filter_map(|end| path.get(..end)).any(|part| self.0.is_match(part))
    }
}

impl<'de> Deserialize<'de> for PathPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}
