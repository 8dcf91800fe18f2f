//! The files of a skill besides its `SKILL.md`: found once, when a run starts, with a digest each.

mod script_facts;

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use fullsend_origin::TreePath;
use fullsend_yaml::Rule;
use serde::{Deserialize, Serialize};

pub use self::script_facts::{ScriptFacts, ScriptRuntime};
pub(crate) use self::script_facts::{command, deno_arguments};
use crate::beneath::{Name, NameKind, OpenError, Root};
use crate::content::{self, Content, ContentError};
use crate::{ContentDigest, ContentKind, Limits, document, rules};

/// Names that never belong to a skill.
pub(crate) const SKIPPED: [&str; 5] = [".git", ".github", ".hub", ".archive", "node_modules"];

/// What a resource is for, by the first segment of its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceKind {
    /// Under `references/`: to be read.
    Reference,
    /// Under `assets/`: to be used in what is made.
    Asset,
    /// Under `templates/`: to be filled in.
    Template,
    /// Under `scripts/`: may be run, if allowed.
    Script,
    /// Anywhere else.
    Other,
}

impl ResourceKind {
    /// The kind of a path below the skill.
    #[must_use]
    pub fn of(path: &str) -> Self {
        match path.split_once('/').map(|(first, _)| first) {
            Some("references") => Self::Reference,
            Some("assets") => Self::Asset,
            Some("templates") => Self::Template,
            Some("scripts") => Self::Script,
            _ => Self::Other,
        }
    }

    /// The word used in output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Asset => "asset",
            Self::Template => "template",
            Self::Script => "script",
            Self::Other => "other",
        }
    }
}

/// A file of a skill as it was when it was indexed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Its path below the skill, with `/`.
    pub path: String,
    /// What it is for.
    pub kind: ResourceKind,
    /// Where it is on the host.
    pub resource_path: PathBuf,
    /// Where it is in the sandbox.
    pub sandbox_resource_path: PathBuf,
    /// How many bytes it has.
    pub size_bytes: u64,
    /// Their digest.
    pub digest: ContentDigest,
    /// Whether they are text.
    pub content_kind: ContentKind,
    /// How it would be run, if it is a script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptFacts>,
    /// Always empty: a file with a flaw is not indexed, and the skill says so.
    pub diagnostics: [(); 0],
    /// Where it really lies below the skill, links resolved.
    #[serde(skip)]
    pub(crate) real: PathBuf,
}

/// Something that was left out of the index.
#[derive(Debug)]
pub(crate) struct ResourceNote {
    pub(crate) rule: &'static Rule,
    pub(crate) relative: PathBuf,
    pub(crate) detail: String,
}

impl ResourceNote {
    /// Whether it is a link that leads out of the skill.
    pub(crate) fn leads_out(&self) -> bool {
        [&rules::RESOURCE_OUTSIDE, &rules::RESOURCE_SCAN_OUTSIDE]
            .iter()
            .any(|rule| rule.code == self.rule.code)
    }
}

/// A file that was indexed.
#[derive(Debug)]
pub(crate) struct Indexed {
    pub(crate) path: TreePath,
    pub(crate) real: PathBuf,
    pub(crate) size: u64,
    pub(crate) digest: ContentDigest,
    pub(crate) content_kind: ContentKind,
    pub(crate) script: Option<ScriptFacts>,
}

/// Indexes the files of a skill, sorted by path.
pub(crate) fn index(skill: &Root, limits: &Limits) -> (Vec<Indexed>, Vec<ResourceNote>) {
    let mut index = Index {
        skill,
        limits,
        visited: HashSet::new(),
        directories: 0,
        names: limits.resource_names,
        bytes: limits.resource_bytes,
        is_full: false,
        files: Vec::new(),
        notes: Vec::new(),
    };
    index.directory(Path::new(""), Path::new(""), 0);
    index.files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    (index.files, index.notes)
}

struct Index<'a> {
    skill: &'a Root,
    limits: &'a Limits,
    visited: HashSet<PathBuf>,
    directories: usize,
    names: usize,
    bytes: u64,
    is_full: bool,
    files: Vec<Indexed>,
    notes: Vec<ResourceNote>,
}

impl Index<'_> {
    fn note(&mut self, rule: &'static Rule, shown: &Path, detail: impl Into<String>) {
        let detail = fullsend_yaml::printable(detail.into());
        self.notes.push(ResourceNote { rule, relative: shown.to_owned(), detail });
    }

    /// A limit is reported once and ends the index.
    fn stop(&mut self, rule: &'static Rule, shown: &Path, detail: String) {
        self.is_full = true;
        self.note(rule, shown, detail);
    }

    /// Indexes a directory that is called `shown` and really lies at `real`.
    fn directory(&mut self, shown: &Path, real: &Path, depth: usize) {
        if self.is_full || !self.visited.insert(real.to_owned()) {
            return;
        }
        if depth > self.limits.resource_depth {
            let detail =
                format!("`{}` lies deeper than {} levels", shown.display(), self.limits.resource_depth);
            return self.note(&rules::RESOURCE_DEPTH, shown, detail);
        }
        if self.directories == self.limits.resource_directories {
            let detail = format!("the skill has more than {} directories", self.limits.resource_directories);
            return self.stop(&rules::RESOURCE_DIRECTORIES, shown, detail);
        }
        self.directories += 1;
        match self.skill.list(real, self.names) {
            Ok(Some(names)) => {
                self.names -= names.len();
                for name in names {
                    self.name(shown, real, &name, depth);
                }
            }
            Ok(None) => {
                let detail = format!("the skill has more than {} names", self.limits.resource_names);
                self.stop(&rules::RESOURCE_DIRECTORIES, shown, detail);
            }
            Err(OpenError::Outside) => {
                self.note(&rules::RESOURCE_SCAN_OUTSIDE, shown, format!("`{}` leads out", shown.display()));
            }
            Err(OpenError::NotFile) => {}
            Err(OpenError::Io(error)) => {
                let detail = format!("`{}` cannot be listed: {error}", shown.display());
                self.note(&rules::RESOURCE_DIRECTORY_UNREADABLE, shown, detail);
            }
        }
    }

    fn name(&mut self, shown: &Path, real: &Path, name: &Name, depth: usize) {
        let is_skill_file = depth == 0 && document::FILE_NAMES.iter().any(|file| name.name == *file);
        if self.is_full
            || is_skipped(Path::new(&name.name))
            || is_skill_file && self.is_the_skill_file(&name.name)
        {
            return;
        }
        let (shown, real) = (shown.join(&name.name), real.join(&name.name));
        match name.kind {
            NameKind::Directory => self.directory(&shown, &real, depth + 1),
            NameKind::File => self.file(&shown, &real),
            NameKind::Link => self.link(&shown, &real, depth),
            NameKind::Other => {}
        }
    }

    /// With both spellings in one directory only the first is the skill's; the other is a file like any other.
    fn is_the_skill_file(&self, name: &std::ffi::OsStr) -> bool {
        name == "SKILL.md" || self.skill.file(Path::new("SKILL.md")).is_err()
    }

    fn link(&mut self, shown: &Path, real: &Path, depth: usize) {
        let target = self.skill.path().join(real);
        match self.skill.real(real) {
            Ok(inside) if is_skipped(&inside) => {}
            Ok(inside) if target.is_dir() => self.directory(shown, &inside, depth + 1),
            Ok(inside) => self.file(shown, &inside),
            Err(OpenError::Outside | OpenError::NotFile) => {
                let rule =
                    if target.is_dir() { &rules::RESOURCE_SCAN_OUTSIDE } else { &rules::RESOURCE_OUTSIDE };
                self.note(rule, shown, format!("`{}` leads out of the skill", shown.display()));
            }
            Err(OpenError::Io(error)) => {
                let detail = format!("`{}` leads nowhere: {error}", shown.display());
                self.note(&rules::RESOURCE_UNRESOLVABLE, shown, detail);
            }
        }
    }

    fn file(&mut self, shown: &Path, real: &Path) {
        let Some(path) = shown.to_str().and_then(|text| TreePath::parse(text).ok()) else {
            let detail = format!("`{}` has a name that cannot be used", shown.display());
            return self.note(&rules::UNUSABLE_FILE_NAME, shown, detail);
        };
        if self.files.len() == self.limits.resource_files {
            let detail = format!("the skill has more than {} files", self.limits.resource_files);
            return self.stop(&rules::RESOURCE_FILES, shown, detail);
        }
        match self.skill.file(real) {
            Ok(file) => self.content(shown, real, path, file),
            Err(OpenError::Outside) => {
                self.note(&rules::RESOURCE_OUTSIDE, shown, format!("`{path}` leads out of the skill"));
            }
            Err(OpenError::NotFile) => {}
            Err(OpenError::Io(error)) => {
                self.note(&rules::RESOURCE_UNREADABLE, shown, format!("`{path}` cannot be read: {error}"));
            }
        }
    }

    fn content(&mut self, shown: &Path, real: &Path, path: TreePath, file: File) {
        let mode = match file.metadata() {
            Ok(metadata) => metadata.mode(),
            Err(error) => {
                return self.note(&rules::RESOURCE_UNSTATABLE, shown, format!("`{path}`: {error}"));
            }
        };
        let Content { digest, size, kind, head } = match content::examine(file, content::SNIFFED, self.bytes)
        {
            Ok(content) => content,
            Err(ContentError::TooLarge) => {
                let limit = self.limits.resource_bytes;
                let detail = format!("with `{path}` the skill would have more than {limit} bytes");
                return self.note(&rules::RESOURCE_BYTES, shown, detail);
            }
            Err(ContentError::Io(error)) => {
                return self.note(
                    &rules::RESOURCE_UNREADABLE,
                    shown,
                    format!("`{path}` cannot be read: {error}"),
                );
            }
        };
        self.bytes -= size;
        let is_script = ResourceKind::of(path.as_str()) == ResourceKind::Script;
        let script = is_script.then(|| ScriptFacts::of(path.as_str(), mode, &head, kind));
        let real = real.to_owned();
        self.files.push(Indexed { path, real, size, digest, content_kind: kind, script });
    }
}

/// Whether a path goes through a name that is left out.
pub(crate) fn is_skipped(path: &Path) -> bool {
    path.components().any(|part| SKIPPED.iter().any(|name| part.as_os_str() == *name))
}
