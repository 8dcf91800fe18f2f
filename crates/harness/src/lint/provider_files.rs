//! Provider definitions and profiles of the fullsend directory, and the harnesses that use them by name.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use fullsend_yaml::{Diagnostic, FromNode};

use crate::expand;
use crate::library::Library;
use crate::path;
use crate::rules;
use crate::schema::{HarnessFile, Profile, ProviderDefinition};
use crate::value::{ProviderSource, Resource};
use crate::workspace::yaml_files;

/// The definitions read so far.
#[derive(Debug, Default)]
pub(super) struct ProviderFiles {
    providers: Names,
    profiles: Names,
    read: HashSet<PathBuf>,
}

/// The names that files define.
#[derive(Debug, Default)]
struct Names {
    defined: HashSet<String>,
    /// A file could not be read, so what seems undefined may be defined there.
    damaged: bool,
}

impl ProviderFiles {
    pub(super) fn read(library: &mut Library, problems: &mut Vec<Diagnostic>) -> Self {
        let root = library.root().to_owned();
        let mut files = Self::default();
        for path in yaml_files(&root.join("profiles")) {
            files.profile(library, path, problems);
        }
        for path in yaml_files(&root.join("providers")) {
            files.provider(library, path, problems);
        }
        files
    }

    fn profile(&mut self, library: &mut Library, path: PathBuf, problems: &mut Vec<Diagnostic>) {
        match document::<Profile>(library, &path, problems) {
            Some(profile) => drop(self.profiles.defined.insert(profile.id.as_str().to_owned())),
            None => self.profiles.damaged = true,
        }
        self.read.insert(path);
    }

    fn provider(&mut self, library: &mut Library, path: PathBuf, problems: &mut Vec<Diagnostic>) {
        let provider = document::<ProviderDefinition>(library, &path, problems);
        if let Some(provider) = &provider {
            profile_exists(provider, &self.profiles, problems);
            literal_credentials(provider, problems);
        }
        match provider.and_then(|provider| provider.name) {
            Some(name) => drop(self.providers.defined.insert(name.as_str().to_owned())),
            None => self.providers.damaged = true,
        }
        self.read.insert(path);
    }

    /// Checks the names that a harness uses, and the definitions that it names by their path.
    pub(super) fn check_uses(
        &mut self,
        library: &mut Library,
        harness: &HarnessFile,
        problems: &mut Vec<Diagnostic>,
    ) {
        let profiles = harness.openshell.iter().filter_map(|openshell| openshell.profiles.as_ref()).flatten();
        for path in profiles.filter_map(|profile| self.unread(library, &profile.value)).collect::<Vec<_>>() {
            self.profile(library, path, problems);
        }
        for provider in harness.providers.iter().flatten() {
            match &provider.value {
                ProviderSource::Definition(definition) => {
                    if let Some(path) = self.unread(library, definition) {
                        self.provider(library, path, problems);
                    }
                }
                ProviderSource::Name(name) => {
                    if !self.providers.damaged && !self.providers.defined.contains(name.as_str()) {
                        let message = format!("no file under `providers/` defines `{name}`");
                        problems.push(Diagnostic::new(&rules::PROVIDER_UNDEFINED, provider.at, message));
                    }
                }
            }
        }
    }

    /// The path of a local definition that has not been read yet; whether it exists is checked elsewhere.
    fn unread(&self, library: &Library, definition: &Resource) -> Option<PathBuf> {
        let path = path::resolve(library.root(), definition.local()?)?;
        (!self.read.contains(&path) && path.is_file()).then_some(path)
    }
}

fn document<T: FromNode>(library: &mut Library, path: &Path, problems: &mut Vec<Diagnostic>) -> Option<T> {
    match library.document(path, problems) {
        Ok((_, value)) => value,
        Err(error) => {
            problems.push(library.unreadable(path, &error));
            None
        }
    }
}

/// Profiles may also be built into the sandbox, so a directory without any says nothing.
fn profile_exists(provider: &ProviderDefinition, profiles: &Names, problems: &mut Vec<Diagnostic>) {
    let Some(profile) = &provider.profile_type else { return };
    let judged = !profiles.damaged && !profiles.defined.is_empty();
    if judged && !profiles.defined.contains(profile.as_str()) {
        let message = format!("no file under `profiles/` has the id `{}`", profile.value);
        let problem = Diagnostic::new(&rules::PROVIDER_UNDEFINED, profile.at, message);
        problems.push(problem.with_help("add the profile, or correct `type`"));
    }
}

/// A credential is empty or exactly one `${NAME}`.
fn literal_credentials(provider: &ProviderDefinition, problems: &mut Vec<Diagnostic>) {
    let is_variable = |text: &str| {
        text.starts_with("${") && text.find('}') == Some(text.len() - 1) && expand::check(text).is_ok()
    };
    let mut literals: Vec<_> = provider
        .credentials
        .iter()
        .flatten()
        .filter(|(_, value)| !value.is_empty() && !is_variable(value))
        .collect();
    literals.sort_by(|one, other| one.0.cmp(other.0));
    if let Some((_, first)) = literals.first() {
        let names: Vec<&str> = literals.iter().map(|(name, _)| name.as_str()).collect();
        let message = format!("credentials are written out: {}", names.join(", "));
        problems.push(Diagnostic::new(&rules::CREDENTIAL, first.at, message));
    }
}
