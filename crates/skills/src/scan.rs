//! Finding skills below a root.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use fullsend_yaml::Rule;

use crate::beneath::{Name, NameKind, OpenError, Root};
use crate::registry::Note;
use crate::{document, resource, rules};

/// How far a scan goes. Roots lie in repositories: without limits a hostile one keeps a run from ever starting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Levels of directories below a root.
    pub depth: usize,
    /// Directories below a root.
    pub directories: usize,
    /// Names in all directories below a root.
    pub names: usize,
    /// Bytes of all `SKILL.md` below a root.
    pub skill_bytes: u64,
    /// Levels of directories in a skill.
    pub resource_depth: usize,
    /// Directories in a skill.
    pub resource_directories: usize,
    /// Names in all directories of a skill.
    pub resource_names: usize,
    /// Files in a skill.
    pub resource_files: usize,
    /// Bytes of all files in a skill.
    pub resource_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 6,
            directories: 2_000,
            names: 100_000,
            skill_bytes: 32 * 1024 * 1024,
            resource_depth: 8,
            resource_directories: 1_000,
            resource_names: 20_000,
            resource_files: 2_000,
            resource_bytes: 256 * 1024 * 1024,
        }
    }
}

/// A directory with a skill file.
#[derive(Debug)]
pub(crate) struct Found {
    /// Where it really lies, below the root.
    pub(crate) real: PathBuf,
    /// What it is called.
    pub(crate) name: String,
}

/// The directories below a root that hold skills, depth first, in the order of their names.
pub(crate) fn find(root: &Root, limits: &Limits) -> (Vec<Found>, Vec<Note>) {
    let mut scan = Scan {
        root,
        limits,
        visited: HashSet::new(),
        directories: 0,
        names: limits.names,
        is_over: false,
        found: Vec::new(),
        notes: Vec::new(),
    };
    scan.directory(Path::new(""), Path::new(""), 0);
    (scan.found, scan.notes)
}

struct Scan<'a> {
    root: &'a Root,
    limits: &'a Limits,
    visited: HashSet<PathBuf>,
    directories: usize,
    names: usize,
    is_over: bool,
    found: Vec<Found>,
    notes: Vec<Note>,
}

impl Scan<'_> {
    fn note(&mut self, rule: &'static Rule, shown: &Path, detail: impl Into<String>) {
        self.notes.push(Note::new(rule, detail, Some(self.root.path().join(shown))));
    }

    /// A limit is reported once and ends the scan.
    fn stop(&mut self, shown: &Path, detail: String) {
        self.is_over = true;
        self.note(&rules::SCAN_LIMIT, shown, detail);
    }

    fn directory(&mut self, shown: &Path, real: &Path, depth: usize) {
        if self.is_over || !self.visited.insert(real.to_owned()) {
            return;
        }
        if depth > self.limits.depth {
            let detail = format!("`{}` lies deeper than {} levels", shown.display(), self.limits.depth);
            return self.note(&rules::SCAN_DEPTH, shown, detail);
        }
        if self.directories == self.limits.directories {
            let detail = format!("there are more than {} directories", self.limits.directories);
            return self.stop(shown, detail);
        }
        self.directories += 1;
        match self.root.list(real, self.names) {
            Ok(Some(names)) => {
                self.names -= names.len();
                self.listed(shown, real, &names, depth);
            }
            Ok(None) => self.stop(shown, format!("there are more than {} names", self.limits.names)),
            Err(OpenError::Outside) => {
                self.note(
                    &rules::SCAN_OUTSIDE,
                    shown,
                    format!("`{}` leads out of the root", shown.display()),
                );
            }
            Err(OpenError::NotFile) => {}
            Err(OpenError::Io(error)) => {
                let detail = format!("`{}` cannot be listed: {error}", shown.display());
                self.note(&rules::UNREADABLE_DIRECTORY, shown, detail);
            }
        }
    }

    /// A directory with a skill file is a skill, and everything below belongs to it.
    fn listed(&mut self, shown: &Path, real: &Path, names: &[Name], depth: usize) {
        let is_skill_file = |name: &Name| {
            matches!(name.kind, NameKind::File | NameKind::Link)
                && document::FILE_NAMES.iter().any(|file| name.name == *file)
        };
        if names.iter().any(is_skill_file) {
            return self.skill(shown, real);
        }
        for name in names.iter().filter(|name| !resource::is_skipped(Path::new(&name.name))) {
            let (shown, real) = (shown.join(&name.name), real.join(&name.name));
            match name.kind {
                NameKind::Directory => self.directory(&shown, &real, depth + 1),
                NameKind::Link => self.link(&shown, &real, depth),
                NameKind::File | NameKind::Other => {}
            }
        }
    }

    fn skill(&mut self, shown: &Path, real: &Path) {
        let is_clean = |path: &Path| path.to_str().is_some_and(|text| !text.chars().any(char::is_control));
        if !is_clean(shown) || !is_clean(real) {
            let detail = format!("`{}` has a name that cannot be used", shown.display());
            return self.note(&rules::UNUSABLE_FILE_NAME, shown, detail);
        }
        let path = if shown.as_os_str().is_empty() { self.root.path() } else { shown };
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.found.push(Found { real: real.to_owned(), name });
    }

    fn link(&mut self, shown: &Path, real: &Path, depth: usize) {
        match self.root.real(real) {
            Ok(inside) if resource::is_skipped(&inside) => {}
            Ok(inside) if self.root.path().join(&inside).is_dir() => {
                self.directory(shown, &inside, depth + 1)
            }
            Ok(_) => {}
            Err(OpenError::Outside | OpenError::NotFile) => {
                self.note(
                    &rules::SCAN_OUTSIDE,
                    shown,
                    format!("`{}` leads out of the root", shown.display()),
                );
            }
            Err(OpenError::Io(error)) => {
                let detail = format!("`{}` leads nowhere: {error}", shown.display());
                self.note(&rules::SCAN_UNRESOLVABLE, shown, detail);
            }
        }
    }
}
