//! The providers that a harness uses, and the profiles that they refer to.

use std::path::{Path, PathBuf};

use fullsend_harness::schema::{HarnessFile, Profile, ProviderDefinition};
use fullsend_harness::value::{ProviderSource, Resource};
use fullsend_harness::workspace::yaml_files;
use fullsend_harness::{Library, path, rules};
use fullsend_yaml::{Diagnostic, FromNode, Location};

/// A provider that a harness uses.
#[derive(Clone, Debug)]
pub struct ProviderUse {
    /// What its file says.
    pub definition: ProviderDefinition,
    /// Whether that came from elsewhere; then its settings are taken as they are written.
    pub is_remote: bool,
}

/// What a harness uses, and what there is to refer to.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    /// The providers that the harness names, and no others.
    pub providers: Vec<ProviderUse>,
    /// The profiles of the fullsend directory and of the harness.
    pub profiles: Vec<Profile>,
}

/// Reads the providers that a resolved harness names, and all profiles. `is_remote` says whether what was written at a place
/// came from elsewhere. What is wrong is added to `problems`.
pub fn definitions(
    library: &mut Library,
    harness: &HarnessFile,
    is_remote: &dyn Fn(Location) -> bool,
    problems: &mut Vec<Diagnostic>,
) -> Definitions {
    let root = library.root().to_owned();
    let mut found = Definitions::default();
    let named = harness.openshell.iter().filter_map(|openshell| openshell.profiles.as_ref()).flatten();
    let named: Vec<PathBuf> = named.filter_map(|profile| local(&root, &profile.value)).collect();
    for file in named.into_iter().chain(yaml_files(&root.join("profiles"))) {
        let profile: Option<Profile> = read(library, &file, problems);
        // What the harness names itself comes first and counts.
        let is_new =
            |profile: &Profile| found.profiles.iter().all(|known| known.id.value != profile.id.value);
        found.profiles.extend(profile.filter(is_new));
    }
    let files = yaml_files(&root.join("providers"));
    let by_name: Vec<ProviderDefinition> =
        files.iter().filter_map(|file| read(library, file, problems)).collect();
    for used in harness.providers.iter().flatten() {
        let definition = match &used.value {
            ProviderSource::Definition(resource) => {
                local(&root, resource).and_then(|file| read(library, &file, problems))
            }
            ProviderSource::Name(name) => {
                let is_it = |provider: &&ProviderDefinition| {
                    provider.name.as_ref().is_some_and(|known| known.as_str() == name.as_str())
                };
                let definition = by_name.iter().find(is_it).cloned();
                if definition.is_none() {
                    let message = format!("no file under `providers/` defines `{name}`");
                    problems.push(Diagnostic::new(&rules::PROVIDER_UNDEFINED, used.at, message));
                }
                definition
            }
        };
        let is_remote = is_remote(used.at);
        found.providers.extend(definition.map(|definition| ProviderUse { definition, is_remote }));
    }
    found
}

fn local(root: &Path, resource: &Resource) -> Option<PathBuf> {
    path::resolve(root, resource.local()?)
}

fn read<T: FromNode>(library: &mut Library, file: &Path, problems: &mut Vec<Diagnostic>) -> Option<T> {
    match library.document(file, problems) {
        Ok((_, document)) => document,
        Err(error) => {
            problems.push(library.unreadable(file, &error));
            None
        }
    }
}
