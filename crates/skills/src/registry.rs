//! The skills of a run, as they were when it started.

mod record;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use fullsend_yaml::{Diagnostic, Rule, SourceMap, printable};
use thiserror::Error;

pub use self::record::RegistryRecord;
use crate::beneath::{OpenError, Root};
use crate::document::{self, FileError};
use crate::load::{self, LoadError, Loaded};
use crate::resource::{self, ResourceNote};
use crate::scan::{self, Found};
use crate::{ContentDigest, Limits, Manifest, Resource, ResourceKind, rules};

/// A directory of skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillRoot {
    /// Where it is on the host.
    pub host: PathBuf,
    /// Where it is in the sandbox.
    pub sandbox: PathBuf,
}

impl SkillRoot {
    /// A directory that is in the same place on both sides.
    #[must_use]
    pub fn same(path: impl Into<PathBuf>) -> Self {
        let host = path.into();
        Self { sandbox: host.clone(), host }
    }
}

/// A remark about a root, a skill or a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The rule that it is about.
    pub rule: &'static Rule,
    /// What was seen.
    pub detail: String,
    /// Where.
    pub path: Option<PathBuf>,
}

impl Note {
    pub(crate) fn new(rule: &'static Rule, detail: impl Into<String>, path: Option<PathBuf>) -> Self {
        Self { rule, detail: printable(detail.into()), path }
    }
}

/// A skill that can be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Skill {
    /// What it says about itself.
    pub manifest: Manifest,
    /// Its `SKILL.md` on the host.
    pub skill_path: PathBuf,
    /// Its directory on the host.
    pub skill_dir: PathBuf,
    /// Its `SKILL.md` in the sandbox.
    pub sandbox_skill_path: PathBuf,
    /// Its directory in the sandbox.
    pub sandbox_skill_dir: PathBuf,
    /// The digest of its `SKILL.md`.
    pub digest: ContentDigest,
    /// Its other files, sorted by path.
    pub resources: Vec<Resource>,
    /// What was odd about it.
    pub diagnostics: Vec<Note>,
    /// The real path of its root.
    pub(crate) root: PathBuf,
}

impl Skill {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// The resource with a normalised path.
    #[must_use]
    pub fn resource(&self, path: &str) -> Option<&Resource> {
        let found = self.resources.binary_search_by(|resource| resource.path.as_str().cmp(path));
        found.ok().and_then(|position| self.resources.get(position))
    }

    /// Opens the skill's directory again, by its real path: a link that stands in it now is a refusal.
    pub(crate) fn open(&self) -> Result<Root, OpenError> {
        let relative = self.skill_dir.strip_prefix(&self.root).map_err(|_| OpenError::Outside)?;
        Root::open_real(&self.root)?.below(relative)
    }
}

/// Skills that were asked for and do not exist.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown skills: {}; available: {}", missing.join(", "), list(available))]
pub struct UnknownSkills {
    /// The names that are not known.
    pub missing: Vec<String>,
    /// The names that are.
    pub available: Vec<String>,
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The skills below some roots.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    pub(crate) roots: Vec<SkillRoot>,
    pub(crate) skills: Vec<Skill>,
    pub(crate) diagnostics: Vec<Note>,
    pub(crate) limits: Limits,
}

impl Registry {
    /// Finds and indexes the skills below `roots`, of which the first has precedence.
    ///
    /// Never fails: what cannot be used is left out and stands among the [`diagnostics`](Self::diagnostics).
    #[must_use]
    pub fn scan(roots: &[SkillRoot], limits: Limits) -> Self {
        let mut building = Building {
            registry: Self { roots: roots.to_vec(), limits, ..Self::default() },
            names: HashSet::new(),
            directories: HashSet::new(),
        };
        for root in roots {
            building.root(root);
        }
        let mut registry = building.registry;
        registry.skills.sort_unstable_by(|one, other| one.name().cmp(other.name()));
        registry
    }

    /// The same with the skills below one more root; those whose names are taken are left out.
    #[must_use]
    pub fn with_root(&self, root: &SkillRoot) -> Self {
        let mut building = Building {
            registry: self.clone(),
            names: self.skills.iter().map(|skill| skill.name().to_owned()).collect(),
            directories: self.skills.iter().map(|skill| skill.skill_dir.clone()).collect(),
        };
        building.registry.roots.push(root.clone());
        building.root(root);
        let mut registry = building.registry;
        registry.skills.sort_unstable_by(|one, other| one.name().cmp(other.name()));
        registry
    }

    /// The skills, sorted by name.
    #[must_use]
    pub fn skills(&self) -> &[Skill] {
        &self.skills
    }

    /// What was left out, and what is doubtful.
    #[must_use]
    pub fn diagnostics(&self) -> &[Note] {
        &self.diagnostics
    }

    /// The skill with a name, in any form that means the same.
    #[must_use]
    pub fn skill(&self, name: &str) -> Option<&Skill> {
        let name = crate::name::canonical(name);
        let found = self.skills.binary_search_by(|skill| skill.name().cmp(&name));
        found.ok().and_then(|position| self.skills.get(position))
    }

    /// The skills with these names, in this order, each once.
    ///
    /// # Errors
    /// When some do not exist: all of them, and those that do exist.
    pub fn select(&self, names: &[impl AsRef<str>]) -> Result<Vec<&Skill>, UnknownSkills> {
        let mut selected: Vec<&Skill> = Vec::new();
        let mut missing = Vec::new();
        for name in names.iter().map(AsRef::as_ref) {
            match self.skill(name) {
                Some(skill) if selected.iter().any(|known| known.name() == skill.name()) => {}
                Some(skill) => selected.push(skill),
                None => missing.push(printable(name.to_owned())),
            }
        }
        if missing.is_empty() {
            return Ok(selected);
        }
        Err(UnknownSkills {
            missing,
            available: self.skills.iter().map(|skill| skill.name().to_owned()).collect(),
        })
    }
}

struct Building {
    registry: Registry,
    names: HashSet<String>,
    /// Real directories of skills: roots that overlap, or are links to each other, name a skill once.
    directories: HashSet<PathBuf>,
}

impl Building {
    fn note(&mut self, rule: &'static Rule, detail: impl Into<String>, path: PathBuf) {
        self.registry.diagnostics.push(Note::new(rule, detail, Some(path)));
    }

    fn root(&mut self, skill_root: &SkillRoot) {
        let root = match Root::resolve(&skill_root.host) {
            Ok(root) => root,
            Err(error) => {
                let detail = match error {
                    OpenError::Io(error) => error.to_string(),
                    OpenError::Outside | OpenError::NotFile => "it is not a directory".to_owned(),
                };
                return self.note(&rules::UNUSABLE_ROOT, detail, skill_root.host.clone());
            }
        };
        if root.path().to_str().is_none() || skill_root.sandbox.to_str().is_none() {
            let detail = "its path is not UTF-8 text, which records and prompts are";
            return self.note(&rules::UNUSABLE_ROOT, detail, skill_root.host.clone());
        }
        let limits = self.registry.limits;
        let (found, notes) = scan::find(&root, &limits);
        self.registry.diagnostics.extend(notes);
        let mut bytes = limits.skill_bytes;
        for found in found {
            let directory = root.path().join(&found.real);
            if !self.directories.insert(directory.clone()) {
                continue;
            }
            match read(&root, &found) {
                Ok(read) if read.size > bytes => {
                    let detail = format!("the skills have more than {} bytes", limits.skill_bytes);
                    return self.note(&rules::SCAN_LIMIT, detail, directory);
                }
                Ok(read) => {
                    bytes -= read.size;
                    self.skill(skill_root, &root, read);
                }
                Err(note) => self.registry.diagnostics.push(note),
            }
        }
    }

    /// The name decides before the files are read: those of a skill that does not count need no digests.
    fn skill(&mut self, skill_root: &SkillRoot, root: &Root, read: Read) {
        let name = &read.loaded.skill.name;
        if !self.names.insert(name.clone()) {
            let detail = format!("another skill is already called `{name}`; this one is left out");
            return self.note(&rules::DUPLICATE, detail, read.directory.path().join(read.file));
        }
        let skill_dir = read.directory.path().to_owned();
        let relative = skill_dir.strip_prefix(root.path()).unwrap_or(Path::new(""));
        let sandbox_skill_dir = if relative.as_os_str().is_empty() {
            skill_root.sandbox.clone()
        } else {
            skill_root.sandbox.join(relative)
        };
        let Loaded { skill: manifest, sources, warnings } = read.loaded;
        let mut diagnostics: Vec<Note> =
            warnings.into_iter().map(|warning| located(&sources, warning)).collect();
        let (files, notes) = resource::index(&read.directory, &self.registry.limits);
        diagnostics.extend(notes.into_iter().map(|ResourceNote { rule, relative, detail }| {
            Note::new(rule, detail, Some(skill_dir.join(relative)))
        }));
        let resources = files
            .into_iter()
            .map(|file| Resource {
                kind: ResourceKind::of(file.path.as_str()),
                resource_path: skill_dir.join(file.path.as_str()),
                sandbox_resource_path: sandbox_skill_dir.join(file.path.as_str()),
                path: file.path.as_str().to_owned(),
                size_bytes: file.size,
                digest: file.digest,
                content_kind: file.content_kind,
                script: file.script,
                diagnostics: [],
                real: file.real,
            })
            .collect();
        self.registry.skills.push(Skill {
            manifest,
            skill_path: skill_dir.join(read.file),
            sandbox_skill_path: sandbox_skill_dir.join(read.file),
            skill_dir,
            sandbox_skill_dir,
            digest: read.digest,
            resources,
            diagnostics,
            root: root.path().to_owned(),
        });
    }
}

/// A skill whose files have not been looked at.
struct Read {
    directory: Root,
    file: &'static str,
    size: u64,
    digest: ContentDigest,
    loaded: Loaded,
}

fn read(root: &Root, found: &Found) -> Result<Read, Note> {
    let path = root.path().join(&found.real);
    let refuse =
        |rule: &'static Rule, detail: String, file: &str| Note::new(rule, detail, Some(path.join(file)));
    let directory = root
        .below(&found.real)
        .map_err(|_| refuse(&rules::UNREADABLE_DIRECTORY, "the directory cannot be opened".to_owned(), ""))?;
    let file = document::read(&directory).map_err(|error| match error {
        FileError::Missing => {
            refuse(&rules::SKILL_UNRESOLVABLE, "SKILL.md leads nowhere".to_owned(), "SKILL.md")
        }
        FileError::Outside { name } => {
            refuse(&rules::SKILL_OUTSIDE, format!("{name} is not a regular file inside the skill"), name)
        }
        FileError::TooLarge { name } => {
            refuse(&rules::TOO_LARGE, format!("{name} has more than {} bytes", document::MAX_BYTES), name)
        }
        FileError::Io { name, error } => {
            refuse(&rules::UNREADABLE, format!("{name} cannot be read: {error}"), name)
        }
    })?;
    let (size, digest) = (file.bytes.len() as u64, ContentDigest::of(&file.bytes));
    let loaded = load::read(&path.join(file.name), file.bytes, &found.name).map_err(|error| {
        let detail = if let LoadError::Content { line, message, .. } = &error {
            format!("line {line}: {message}")
        } else {
            error.to_string()
        };
        refuse(error.rule(), detail, file.name)
    })?;
    Ok(Read { directory, file: file.name, size, digest, loaded })
}

/// A warning with its line; the sources are not kept.
fn located(sources: &SourceMap, warning: Diagnostic) -> Note {
    let place = sources.resolve(warning.at);
    let line = place.map_or(1, |(_, position)| position.line);
    let path = place.map(|(path, _)| path.to_owned());
    Note::new(warning.rule, format!("line {line}: {}", warning.message), path)
}
