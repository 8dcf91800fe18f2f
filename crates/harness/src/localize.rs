//! A harness whose resources lie elsewhere: the same harness with other paths in it.
//!
//! Resolution fetches what a harness names and then needs the harness to name the verified copies. A resource is known
//! by the place where it was written, which is unique in everything that was read.

use std::path::{Path, PathBuf};

use fullsend_yaml::{Located, Location};

use crate::schema::HarnessFile;
use crate::value::{ExecutablePath, ProviderSource, Resource, Template};

/// Tells where the resource written at a place lies now; `None` leaves it as it is.
pub type Places<'p> = &'p dyn Fn(Location) -> Option<PathBuf>;

/// The harness with every resource that `places` knows replaced by its path.
#[must_use]
pub fn localize(mut harness: HarnessFile, places: Places<'_>) -> HarnessFile {
    move_resource(&mut harness.agent, places);
    move_resource(&mut harness.policy, places);
    for skill in harness.skills.iter_mut().flatten() {
        moved(&mut skill.source, places, Resource::at_path);
        for replacement in
            skill.overrides.iter_mut().flatten().filter_map(|(_, replacement)| replacement.as_mut())
        {
            moved(replacement, places, Resource::at_path);
        }
    }
    let profiles = harness.openshell.iter_mut().filter_map(|openshell| openshell.profiles.as_mut()).flatten();
    for resource in harness.plugins.iter_mut().flatten().chain(profiles) {
        moved(resource, places, Resource::at_path);
    }
    for provider in harness.providers.iter_mut().flatten() {
        moved(provider, places, |path| Resource::at_path(path).map(ProviderSource::Definition));
    }
    for script in [&mut harness.pre_script, &mut harness.post_script, &mut harness.agent_input] {
        move_executable(script, places);
    }
    if let Some(validation) = &mut harness.validation_loop {
        move_executable(&mut validation.script, places);
        move_template(&mut validation.schema, places);
    }
    harness.host_files.iter_mut().flatten().for_each(|file| move_template(&mut file.src, places));
    harness.api_servers.iter_mut().flatten().for_each(|server| move_executable(&mut server.script, places));
    harness
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
