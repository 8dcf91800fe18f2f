//! A harness whose resources lie elsewhere: the same harness with other paths in it.
//!
//! Resolution fetches what a harness names and then needs the harness to name the verified copies. A resource is known
//! by the place where it was written, which is unique in everything that was read.

use std::path::{Path, PathBuf};

use fullsend_yaml::{Located, Location};

use crate::schema::{ForgeOverlay, HarnessFile, OpenShell, SkillEntry, ValidationLoop};
use crate::value::{ExecutablePath, ProviderSource, Resource, Template};

/// Tells where the resource written at a place lies now; `None` leaves it as it is.
pub type Places<'p> = &'p dyn Fn(Location) -> Option<PathBuf>;

/// The harness with every resource that `places` knows replaced by its path, in its overlays too.
#[must_use]
pub fn localize(mut harness: HarnessFile, places: Places<'_>) -> HarnessFile {
    move_resource(&mut harness.agent, places);
    move_resource(&mut harness.policy, places);
    move_skills(&mut harness.skills, places);
    for plugin in harness.plugins.iter_mut().flatten() {
        moved(plugin, places, Resource::at_path);
    }
    move_profiles(&mut harness.openshell, places);
    move_providers(&mut harness.providers, places);
    for script in [&mut harness.pre_script, &mut harness.post_script, &mut harness.agent_input] {
        move_executable(script, places);
    }
    move_validation(&mut harness.validation_loop, places);
    harness.host_files.iter_mut().flatten().for_each(|file| move_template(&mut file.src, places));
    harness.api_servers.iter_mut().flatten().for_each(|server| move_executable(&mut server.script, places));
    let overlays = harness.forge.iter_mut().flat_map(|forge| forge.platforms.values_mut());
    overlays.flatten().for_each(|overlay| localize_overlay(overlay, places));
    harness
}

fn localize_overlay(overlay: &mut ForgeOverlay, places: Places<'_>) {
    move_resource(&mut overlay.policy, places);
    move_skills(&mut overlay.skills, places);
    move_profiles(&mut overlay.openshell, places);
    move_providers(&mut overlay.providers, places);
    move_executable(&mut overlay.pre_script, places);
    move_executable(&mut overlay.post_script, places);
    move_validation(&mut overlay.validation_loop, places);
    overlay.host_files.iter_mut().flatten().for_each(|file| move_template(&mut file.src, places));
}

fn move_skills(skills: &mut Option<Vec<SkillEntry>>, places: Places<'_>) {
    for skill in skills.iter_mut().flatten() {
        moved(&mut skill.source, places, Resource::at_path);
        let replacements = skill.overrides.iter_mut().flatten();
        for replacement in replacements.filter_map(|(_, replacement)| replacement.as_mut()) {
            moved(replacement, places, Resource::at_path);
        }
    }
}

fn move_profiles(openshell: &mut Option<OpenShell>, places: Places<'_>) {
    let profiles = openshell.iter_mut().filter_map(|openshell| openshell.profiles.as_mut());
    profiles.flatten().for_each(|profile| moved(profile, places, Resource::at_path));
}

fn move_providers(providers: &mut Option<Vec<Located<ProviderSource>>>, places: Places<'_>) {
    for provider in providers.iter_mut().flatten() {
        moved(provider, places, |path| Resource::at_path(path).map(ProviderSource::Definition));
    }
}

fn move_validation(validation: &mut Option<ValidationLoop>, places: Places<'_>) {
    if let Some(validation) = validation {
        move_executable(&mut validation.script, places);
        move_template(&mut validation.schema, places);
    }
}

fn move_resource(resource: &mut Option<Located<Resource>>, places: Places<'_>) {
    if let Some(resource) = resource {
        moved(resource, places, Resource::at_path);
    }
}

fn move_executable(path: &mut Option<Located<ExecutablePath>>, places: Places<'_>) {
    if let Some(path) = path {
        moved(path, places, ExecutablePath::at_path);
    }
}

fn move_template(path: &mut Option<Located<Template>>, places: Places<'_>) {
    if let Some(path) = path {
        moved(path, places, Template::at_path);
    }
}

fn moved<T>(value: &mut Located<T>, places: Places<'_>, make: impl Fn(&Path) -> Option<T>) {
    if let Some(new) = places(value.at).and_then(|path| make(&path)) {
        value.value = new;
    }
}
