//! Directories of skills to try things on.

use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use fullsend_skills::{Limits, Registry, SkillRoot};
use tempfile::TempDir;

/// A directory with a root `skills` and whatever lies outside it.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("skills")).unwrap();
        Self { directory }
    }

    /// A place with a usable skill called `a`.
    pub(crate) fn with_skill() -> Self {
        let place = Self::new();
        place.skill("a", "Does a");
        place
    }

    pub(crate) fn skill(&self, name: &str, description: &str) {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\nHow to {name}.\n");
        self.write(&format!("skills/{name}/SKILL.md"), text);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn executable(&self, name: &str, content: &str) {
        let path = self.write(name, content);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn link(&self, name: &str, target: impl AsRef<Path>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    pub(crate) fn root(&self) -> SkillRoot {
        SkillRoot { host: self.path("skills"), sandbox: PathBuf::from("/sandbox/skills") }
    }

    pub(crate) fn scan(&self) -> Registry {
        Registry::scan(&[self.root()], Limits::default())
    }
}

/// The names of the skills.
pub(crate) fn names(registry: &Registry) -> Vec<&str> {
    registry.skills().iter().map(|skill| skill.name()).collect()
}

/// The codes of the registry's diagnostics.
pub(crate) fn codes(registry: &Registry) -> Vec<&'static str> {
    registry.diagnostics().iter().map(|note| note.rule.code).collect()
}

/// The codes of a skill's diagnostics.
pub(crate) fn skill_codes(registry: &Registry, name: &str) -> Vec<&'static str> {
    registry.skill(name).unwrap().diagnostics.iter().map(|note| note.rule.code).collect()
}

pub(crate) fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
