//! Every resource that a harness names, in one list: what it is, where it comes from, where it was written.

use std::fmt;

use fullsend_origin::{PinnedUrl, Reference};
use fullsend_yaml::{Located, Location};

use crate::schema::{ForgeOverlay, HarnessFile, HostFile, SkillEntry, ValidationLoop};
use crate::value::{ExecutablePath, ProviderSource, Resource};

/// What a resource is used as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResourceKind {
    /// The agent definition.
    Agent,
    /// A plain file: policy, provider, override, schema.
    File,
    /// A sandbox profile.
    Profile,
    /// A script that runs on the host.
    Script,
    /// A skill directory.
    Skill,
    /// A plugin directory.
    Plugin,
    /// The agent's input directory.
    Directory,
    /// A file that may be missing.
    OptionalFile,
}

/// Where a resource comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source<'h> {
    /// A path.
    Local(&'h str),
    /// A path that is only known once its variables are expanded.
    Template(&'h str),
    /// A pinned URL.
    Remote(&'h PinnedUrl),
}

/// The key under which a resource stands, such as `skills[2]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    key: &'static str,
    index: Option<usize>,
    part: &'static str,
}

impl Field {
    /// The key without a position. Composition moves list elements, so the position in the composed list is not the one
    /// that stands in the file; in a message the place says which element is meant.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}{}", self.key, self.part)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.key)?;
        if let Some(index) = self.index {
            write!(formatter, "[{index}]")?;
        }
        formatter.write_str(self.part)
    }
}

/// One use of a resource.
#[derive(Debug, Clone, Copy)]
pub struct ResourceUse<'h> {
    /// The key.
    pub field: Field,
    /// Where it was written.
    pub at: Location,
    /// What it is used as.
    pub kind: ResourceKind,
    /// Where it comes from.
    pub source: Source<'h>,
    /// The file inside the skill that it replaces, when it is an override.
    pub overrides: Option<&'h str>,
}

impl ResourceUse<'_> {
    /// The name under which lock files and reports know the resource, such as `skills[0].overrides[x.md]`.
    #[must_use]
    pub fn label(&self) -> String {
        match (self.overrides, self.field.index) {
            (Some(file), Some(index)) => format!("{}[{index}].overrides[{file}]", self.field.key),
            _ => self.field.to_string(),
        }
    }
}

/// The resources of a harness, in the order in which a run resolves them. Overlays are not included: apply the active
/// one first.
#[must_use]
pub fn resources(harness: &HarnessFile) -> Vec<ResourceUse<'_>> {
    let mut list = Collector(Vec::with_capacity(16));
    list.declarative("agent", harness.agent.as_ref(), ResourceKind::Agent);
    list.declarative("policy", harness.policy.as_ref(), ResourceKind::File);
    list.skills(harness.skills.as_deref().unwrap_or_default());
    list.many("plugins", harness.plugins.as_deref(), ResourceKind::Plugin);
    let profiles = harness.openshell.as_ref().and_then(|openshell| openshell.profiles.as_deref());
    list.many("openshell.profiles", profiles, ResourceKind::Profile);
    list.providers(harness.providers.as_deref().unwrap_or_default());
    list.executable("pre_script", harness.pre_script.as_ref(), ResourceKind::Script);
    list.executable("post_script", harness.post_script.as_ref(), ResourceKind::Script);
    list.executable("agent_input", harness.agent_input.as_ref(), ResourceKind::Directory);
    list.validation(harness.validation_loop.as_ref());
    list.host_files(harness.host_files.as_deref().unwrap_or_default());
    for (index, server) in harness.api_servers.iter().flatten().enumerate() {
        if let Some(script) = &server.script {
            let field = Field { key: "api_servers", index: Some(index), part: ".script" };
            list.push(field, script.at, ResourceKind::Script, Source::Local(script.as_str()));
        }
    }
    list.0
}

/// The resources that an overlay names itself, as [`resources`] lists those of a harness.
#[must_use]
pub fn overlay_resources(overlay: &ForgeOverlay) -> Vec<ResourceUse<'_>> {
    let mut list = Collector(Vec::new());
    list.declarative("policy", overlay.policy.as_ref(), ResourceKind::File);
    list.skills(overlay.skills.as_deref().unwrap_or_default());
    let profiles = overlay.openshell.as_ref().and_then(|openshell| openshell.profiles.as_deref());
    list.many("openshell.profiles", profiles, ResourceKind::Profile);
    list.providers(overlay.providers.as_deref().unwrap_or_default());
    list.executable("pre_script", overlay.pre_script.as_ref(), ResourceKind::Script);
    list.executable("post_script", overlay.post_script.as_ref(), ResourceKind::Script);
    list.validation(overlay.validation_loop.as_ref());
    list.host_files(overlay.host_files.as_deref().unwrap_or_default());
    list.0
}

struct Collector<'h>(Vec<ResourceUse<'h>>);

impl<'h> Collector<'h> {
    fn push(&mut self, field: Field, at: Location, kind: ResourceKind, source: Source<'h>) {
        self.0.push(ResourceUse { field, at, kind, source, overrides: None });
    }

    fn resource(&mut self, field: Field, resource: &'h Located<Resource>, kind: ResourceKind) {
        let source = match resource.value.reference() {
            Reference::Local(path) => Source::Local(path.as_str()),
            Reference::Remote(url) => Source::Remote(url),
        };
        self.push(field, resource.at, kind, source);
    }

    fn declarative(
        &mut self,
        key: &'static str,
        resource: Option<&'h Located<Resource>>,
        kind: ResourceKind,
    ) {
        if let Some(resource) = resource {
            self.resource(Field { key, index: None, part: "" }, resource, kind);
        }
    }

    fn many(&mut self, key: &'static str, list: Option<&'h [Located<Resource>]>, kind: ResourceKind) {
        for (index, resource) in list.unwrap_or_default().iter().enumerate() {
            self.resource(Field { key, index: Some(index), part: "" }, resource, kind);
        }
    }

    fn skills(&mut self, skills: &'h [SkillEntry]) {
        for (index, skill) in skills.iter().enumerate() {
            let field = Field { key: "skills", index: Some(index), part: "" };
            self.resource(field, &skill.source, ResourceKind::Skill);
            for (file, replacement) in skill.overrides.iter().flatten() {
                let Some(replacement) = replacement else { continue };
                self.resource(Field { part: " override", ..field }, replacement, ResourceKind::File);
                if let Some(added) = self.0.last_mut() {
                    added.overrides = Some(file);
                }
            }
        }
    }

    fn providers(&mut self, providers: &'h [Located<ProviderSource>]) {
        for (index, provider) in providers.iter().enumerate() {
            if let ProviderSource::Definition(resource) = &provider.value {
                let field = Field { key: "providers", index: Some(index), part: "" };
                let source = match resource.reference() {
                    Reference::Local(path) => Source::Local(path.as_str()),
                    Reference::Remote(url) => Source::Remote(url),
                };
                self.push(field, provider.at, ResourceKind::File, source);
            }
        }
    }

    fn executable(
        &mut self,
        key: &'static str,
        path: Option<&'h Located<ExecutablePath>>,
        kind: ResourceKind,
    ) {
        if let Some(path) = path {
            self.push(Field { key, index: None, part: "" }, path.at, kind, Source::Local(path.as_str()));
        }
    }

    fn template(&mut self, field: Field, path: &'h Located<crate::value::Template>, kind: ResourceKind) {
        let source =
            if path.has_variables() { Source::Template(path.as_str()) } else { Source::Local(path.as_str()) };
        self.push(field, path.at, kind, source);
    }

    fn validation(&mut self, validation: Option<&'h ValidationLoop>) {
        let Some(validation) = validation else { return };
        self.executable("validation_loop.script", validation.script.as_ref(), ResourceKind::Script);
        if let Some(schema) = &validation.schema {
            let field = Field { key: "validation_loop.schema", index: None, part: "" };
            self.template(field, schema, ResourceKind::File);
        }
    }

    fn host_files(&mut self, files: &'h [HostFile]) {
        for (index, file) in files.iter().enumerate() {
            let Some(src) = &file.src else { continue };
            let optional = file.optional.as_ref().is_some_and(|optional| optional.value);
            let kind = if optional { ResourceKind::OptionalFile } else { ResourceKind::File };
            self.template(Field { key: "host_files", index: Some(index), part: ".src" }, src, kind);
        }
    }
}
