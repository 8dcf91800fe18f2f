//! Provider definitions and profiles of the fullsend directory, and the harnesses that use them by name.

use std::collections::HashSet;
use std::path::Path;

use fullsend_yaml::{Diagnostic, FileId, FromNode, Location};

use crate::expand;
use crate::library::Library;
use crate::rules;
use crate::schema::{HarnessFile, Profile, ProviderDefinition};
use crate::value::ProviderSource;
use crate::workspace::yaml_files;

/// The names that are defined.
#[derive(Debug, Default)]
pub(super) struct ProviderFiles {
    providers: HashSet<String>,
}

impl ProviderFiles {
    pub(super) fn read(library: &mut Library, problems: &mut Vec<Diagnostic>) -> Self {
        let root = library.root().to_owned();
        let mut profiles = HashSet::new();
        for path in yaml_files(&root.join("profiles")) {
            let profile: Option<(_, Profile)> = document(library, &path, problems);
            profiles.extend(profile.map(|(_, profile)| profile.id.as_str().to_owned()));
        }
        let mut providers = HashSet::new();
        for path in yaml_files(&root.join("providers")) {
            let Some((file, provider)) = document::<ProviderDefinition>(library, &path, problems) else {
                continue;
            };
            definition(file, &provider, &profiles, problems);
            providers.extend(provider.name.map(|name| name.as_str().to_owned()));
        }
        Self { providers }
    }

    pub(super) fn check_uses(&self, harness: &HarnessFile, problems: &mut Vec<Diagnostic>) {
        for provider in harness.providers.iter().flatten() {
            if let ProviderSource::Name(name) = &provider.value
                && !self.providers.contains(name.as_str())
            {
                let message = format!("no file under `providers/` defines `{name}`");
                problems.push(Diagnostic::new(&rules::PROVIDER_UNDEFINED, provider.at, message));
            }
        }
    }
}

fn document<T: FromNode>(
    library: &mut Library,
    path: &Path,
    problems: &mut Vec<Diagnostic>,
) -> Option<(FileId, T)> {
    match library.document(path, problems) {
        Ok((file, value)) => value.map(|value| (file, value)),
        Err(error) => {
            problems.push(library.unreadable(path, &error));
            None
        }
    }
}

fn definition(
    file: FileId,
    provider: &ProviderDefinition,
    profiles: &HashSet<String>,
    problems: &mut Vec<Diagnostic>,
) {
    let start = Location::new(file, 0..0);
    for (key, present) in [("name", provider.name.is_some()), ("type", provider.profile_type.is_some())] {
        if !present {
            let problem = Diagnostic::new(&rules::MISSING_KEY, start, format!("the provider has no `{key}`"));
            problems.push(problem.with_help(format!("add `{key}: <name>`")));
        }
    }
    if let Some(profile) =
        provider.profile_type.as_ref().filter(|profile| !profiles.contains(profile.as_str()))
        && !profiles.is_empty()
    {
        let message = format!("no file under `profiles/` has the id `{}`", profile.value);
        let problem = Diagnostic::new(&rules::PROVIDER_UNDEFINED, profile.at, message);
        problems.push(problem.with_help("add the profile, or correct `type`"));
    }
    literal_credentials(provider, problems);
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
