//! Overlays per platform.

use fullsend_yaml::{
    Diagnostic, FromNode, FromText, Located, Node, Reader, Visitor, Walk, record, rules as yaml_rules,
};
use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::schema::{Env, HostFile, OpenShell, SkillEntry, ValidationLoop};
use crate::value::{ExecutablePath, Platform, ProviderSource, Resource};

record! {
    /// What changes when the harness runs on one platform.
    pub struct ForgeOverlay {
        /// Replaces the harness's `pre_script`.
        pre_script: Located<ExecutablePath>,
        /// Replaces the harness's `post_script`.
        post_script: Located<ExecutablePath>,
        /// Replaces the harness's `policy`.
        policy: Located<Resource>,
        /// Added to the harness's `skills`; one with the same last path element is replaced.
        skills: Vec<SkillEntry>,
        /// Added to the harness's `providers`.
        providers: Vec<Located<ProviderSource>>,
        /// Its profiles are added to the harness's.
        openshell: OpenShell,
        /// Added to the harness's `host_files`; one with the same `dest` is replaced.
        host_files: Vec<HostFile>,
        /// Replaces the harness's `validation_loop` as a whole.
        validation_loop: ValidationLoop,
        /// Laid over the harness's `runner_env`. Deprecated: use `env.runner`.
        runner_env: IndexMap<String, Located<String>>,
        /// Laid over the harness's `env`, key by key.
        env: Env,
    }
}

/// The `forge` block: an overlay per platform; an explicit null disables an inherited one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ForgeOverlays {
    /// The overlays in document order.
    pub platforms: IndexMap<Platform, Option<ForgeOverlay>>,
}

impl FromNode for ForgeOverlays {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let mut platforms = IndexMap::new();
        for entry in reader.mapping(node)? {
            let Ok(platform) = Platform::from_text(&entry.key) else {
                unknown_platform(&entry.key, entry.key_at, reader);
                continue;
            };
            let overlay = reader.at_key(&entry.key, |reader| match entry.value.is_null() {
                true => Some(None),
                false => ForgeOverlay::from_node(&entry.value, reader).map(Some),
            });
            platforms.extend(overlay.map(|overlay| (platform, overlay)));
        }
        Some(Self { platforms })
    }
}

fn unknown_platform(word: &str, at: fullsend_yaml::Location, reader: &mut Reader<'_>) {
    let problem = fullsend_yaml::TextProblem::not_one_of(word, Platform::WORDS);
    let message = format!("{} has no platform `{word}`", reader.subject());
    reader.report(Diagnostic::new(&yaml_rules::UNKNOWN_KEY, at, message).with_help_if(problem.help));
}

impl Serialize for ForgeOverlays {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(&self.platforms)
    }
}

impl Walk for ForgeOverlays {
    fn walk(&self, visitor: &mut Visitor<'_>) {
        for (platform, overlay) in &self.platforms {
            visitor.key(platform.as_str(), overlay);
        }
    }
}

impl JsonSchema for ForgeOverlays {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ForgeOverlays".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let properties: serde_json::Map<_, _> = Platform::WORDS
            .iter()
            .map(|platform| {
                let mut overlay = generator.subschema_for::<Option<ForgeOverlay>>();
                let description =
                    format!("What changes on `{platform}`; null disables an inherited overlay.");
                overlay.insert("description".to_owned(), description.into());
                ((*platform).to_owned(), overlay.to_value())
            })
            .collect();
        json_schema!({
            "description": "Overlays per platform; null disables an inherited one.",
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        })
    }
}
