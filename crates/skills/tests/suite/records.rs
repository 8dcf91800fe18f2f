//! What is kept among the artifacts of a run.

use fullsend_skills::ContentDigest;
use fullsend_skills::record::{Activation, ActivationSource, ResourceReadRecord};
use serde_json::json;

use crate::suite::place::Place;

const NOW: &str = "2030-01-02T03:04:05Z";

fn place() -> Place {
    let place = Place::with_skill();
    place.write("skills/a/references/f.md", "text");
    place.write("skills/a/scripts/run", "#!/bin/sh\n");
    place
}

#[test]
fn the_registry_is_written_whole() {
    let place = place();
    place.write("skills/broken/SKILL.md", "# Nothing\n");
    let registry = place.scan();
    let host = |name: &str| place.path(name).to_str().unwrap().to_owned();
    let skill_file = "---\nname: a\ndescription: Does a\n---\nHow to a.\n";
    assert_eq!(
        serde_json::to_value(registry.record(NOW)).unwrap(),
        json!({
            "type": "fullsend.skill-registry",
            "version": 1,
            "skillsRoot": host("skills"),
            "sandboxSkillsRoot": "/sandbox/skills",
            "roots": [{ "skillsRoot": host("skills"), "sandboxSkillsRoot": "/sandbox/skills" }],
            "generatedAt": NOW,
            "skills": [{
                "name": "a",
                "description": "Does a",
                "skillPath": host("skills/a/SKILL.md"),
                "skillDir": host("skills/a"),
                "sandboxSkillPath": "/sandbox/skills/a/SKILL.md",
                "sandboxSkillDir": "/sandbox/skills/a",
                "digest": ContentDigest::of(skill_file.as_bytes()).to_string(),
                "resources": [
                    {
                        "path": "references/f.md",
                        "kind": "reference",
                        "resourcePath": host("skills/a/references/f.md"),
                        "sandboxResourcePath": "/sandbox/skills/a/references/f.md",
                        "sizeBytes": 4,
                        "digest": ContentDigest::of(b"text").to_string(),
                        "contentKind": "text",
                        "diagnostics": [],
                    },
                    {
                        "path": "scripts/run",
                        "kind": "script",
                        "resourcePath": host("skills/a/scripts/run"),
                        "sandboxResourcePath": "/sandbox/skills/a/scripts/run",
                        "sizeBytes": 10,
                        "digest": ContentDigest::of(b"#!/bin/sh\n").to_string(),
                        "contentKind": "text",
                        "script": { "executable": false, "shebang": "#!/bin/sh", "runtime": "shebang" },
                        "diagnostics": [],
                    },
                ],
                "frontmatter": { "name": "a", "description": "Does a" },
                "diagnostics": [],
            }],
            "diagnostics": [{
                "severity": "error",
                "code": "missing-description",
                "detail": "line 1: nothing says what the skill is for",
                "path": host("skills/broken/SKILL.md"),
            }],
        })
    );
}

#[test]
fn records_are_read_back_as_they_were_written() {
    let place = place();
    let registry = place.scan();
    let skill = registry.skill("a").unwrap();

    let activation = Activation::new(skill, ActivationSource::CliPreload, "run-1", NOW);
    let entry = serde_json::to_value(&activation).unwrap();
    assert_eq!((&entry["source"], &entry["cfcPromptRole"]), (&json!("cli-preload"), &json!("context")));
    assert_eq!(serde_json::from_value::<Activation>(entry).unwrap(), activation);

    let [read, failed] = [("references/f.md", "read"), ("none", "error")].map(|(path, status)| {
        let read = registry.read_resource("a", path, 2);
        let record = ResourceReadRecord::new(&read, "run-1:read_skill_resource:1", "run-1", NOW);
        let written = serde_json::to_value(&record).unwrap();
        assert_eq!(written["status"], status);
        assert_eq!(serde_json::from_value::<ResourceReadRecord>(written.clone()).unwrap(), record);
        written
    });
    assert_eq!(read["type"], "fullsend.skill-resource-read");
    assert_eq!(read["skillName"], "a");
    assert_eq!(read["truncated"], true);
    assert_eq!(read.get("content"), None, "content is never logged");
    assert_eq!(failed["error"]["code"], "resource_not_indexed");
}

#[test]
fn a_read_is_answered_without_paths_of_the_host() {
    let place = place();
    let read = place.scan().read_resource("a", "references/f.md", 100);
    let digest = ContentDigest::of(b"text").to_string();
    assert_eq!(
        serde_json::to_value(&read).unwrap(),
        json!({
            "skill": "a",
            "path": "references/f.md",
            "status": "read",
            "cfcPromptRole": "context",
            "kind": "reference",
            "sandboxResourcePath": "/sandbox/skills/a/references/f.md",
            "registryDigest": digest,
            "observedDigest": digest,
            "digestMatchesRegistry": true,
            "registrySizeBytes": 4,
            "observedSizeBytes": 4,
            "contentKind": "text",
            "maxBytes": 100,
            "truncated": false,
            "content": "text",
            "diagnostics": [],
        })
    );
}
