//! The registry as an artifact: `skill-registry.json`.

use std::borrow::Cow;
use std::path::Path;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{ContentDigest, Note, Registry, Resource, Skill};

/// `skill-registry.json`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RegistryRecord<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    version: u32,
    /// Of the first root; all of them stand under `roots`.
    #[serde(skip_serializing_if = "Option::is_none")]
    skills_root: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox_skills_root: Option<Cow<'a, str>>,
    roots: Vec<RootRecord<'a>>,
    generated_at: &'a str,
    skills: &'a [Skill],
    diagnostics: &'a [Note],
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RootRecord<'a> {
    skills_root: Cow<'a, str>,
    sandbox_skills_root: Cow<'a, str>,
}

impl Registry {
    /// The registry as it is kept among the artifacts of a run.
    #[must_use]
    pub fn record<'a>(&'a self, generated_at: &'a str) -> RegistryRecord<'a> {
        let root = |root: &'a crate::SkillRoot| RootRecord {
            skills_root: root.host.to_string_lossy(),
            sandbox_skills_root: root.sandbox.to_string_lossy(),
        };
        RegistryRecord {
            kind: "fullsend.skill-registry",
            version: 1,
            skills_root: self.roots.first().map(|root| root.host.to_string_lossy()),
            sandbox_skills_root: self.roots.first().map(|root| root.sandbox.to_string_lossy()),
            roots: self.roots.iter().map(root).collect(),
            generated_at,
            skills: &self.skills,
            diagnostics: &self.diagnostics,
        }
    }
}

impl Serialize for Skill {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Record<'a> {
            name: &'a str,
            description: &'a str,
            skill_path: &'a Path,
            skill_dir: &'a Path,
            sandbox_skill_path: &'a Path,
            sandbox_skill_dir: &'a Path,
            digest: ContentDigest,
            resources: &'a [Resource],
            frontmatter: &'a Map<String, Value>,
            diagnostics: &'a [Note],
        }
        let record = Record {
            name: &self.manifest.name,
            description: &self.manifest.description,
            skill_path: &self.skill_path,
            skill_dir: &self.skill_dir,
            sandbox_skill_path: &self.sandbox_skill_path,
            sandbox_skill_dir: &self.sandbox_skill_dir,
            digest: self.digest,
            resources: &self.resources,
            frontmatter: &self.manifest.front_matter,
            diagnostics: &self.diagnostics,
        };
        record.serialize(serializer)
    }
}

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut note = serializer.serialize_struct("Note", 4)?;
        note.serialize_field("severity", self.rule.severity.as_str())?;
        note.serialize_field("code", self.rule.code)?;
        note.serialize_field("detail", &self.detail)?;
        match &self.path {
            Some(path) => note.serialize_field("path", &path.to_string_lossy())?,
            None => note.skip_field("path")?,
        }
        note.end()
    }
}
