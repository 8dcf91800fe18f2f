//! What is kept among the artifacts of a run.

use std::path::PathBuf;

use fullsend_skills::record::{
    Activation, ActivationLog, ActivationSource, ExecutionContext, ResourceReadLog, ResourceReadRecord,
    ScriptExecutionLog, ScriptExecutionRecord,
};
use fullsend_skills::{ContentDigest, ExecutionTarget, ScriptErrorCode, ScriptRefusal, ScriptRequest};
use serde_json::{Value, json};

use crate::suite::place::{Place, set};

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
fn logs_are_read_back_as_they_were_written() {
    let place = place();
    let registry = place.scan();
    let skill = registry.skill("a").unwrap();

    let activation = Activation::new(skill, ActivationSource::CliPreload, "run-1", NOW);
    let log = ActivationLog::new(NOW, vec![activation]);
    let written = serde_json::to_value(&log).unwrap();
    assert_eq!((&written["type"], &written["version"]), (&json!("fullsend.skill-activations"), &json!(1)));
    let entry = &written["activations"][0];
    assert_eq!((&entry["source"], &entry["cfcPromptRole"]), (&json!("cli-preload"), &json!("context")));
    assert_eq!(serde_json::from_value::<ActivationLog>(written).unwrap(), log);

    let reads = [("references/f.md", "read"), ("none", "error")].map(|(path, status)| {
        let read = registry.read_resource("a", path, 2);
        let record = ResourceReadRecord::new(&read, "run-1:read_skill_resource:1", "run-1", NOW);
        assert_eq!(serde_json::to_value(&record).unwrap()["status"], status);
        record
    });
    let log = ResourceReadLog::new(NOW, reads.to_vec());
    let written = serde_json::to_value(&log).unwrap();
    assert_eq!(written["reads"][0]["type"], "fullsend.skill-resource-read");
    assert_eq!(written["reads"][0]["skillName"], "a");
    assert_eq!(written["reads"][0]["truncated"], true);
    assert_eq!(written["reads"][0].get("content"), None, "content is never logged");
    assert_eq!(written["reads"][1]["error"]["code"], "resource_not_indexed");
    assert_eq!(serde_json::from_value::<ResourceReadLog>(written).unwrap(), log);
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

#[test]
fn executions_and_refusals_are_logged() {
    let place = place();
    let registry = place.scan();
    let args = ["x".to_owned()];
    let target = ExecutionTarget::Sandbox;
    let request = ScriptRequest { skill: "a", path: "scripts/run", args: &args, run_id: "run-1", target };
    let script = registry.script(&request, &set(&["a"]), &["a:scripts/run".parse().unwrap()]).unwrap();
    let context = ExecutionContext { output_id: "o", run_id: "run-1", executed_at: NOW, target };
    let ran = ScriptExecutionRecord::executed(context, &script, &args, PathBuf::from("/work"), 3);
    let refusal = ScriptRefusal::new(ScriptErrorCode::ScriptNotAllowlisted, "no");
    let refused = ScriptExecutionRecord::refused(context, "a", "scripts/x", refusal);
    let log = ScriptExecutionLog::new(NOW, vec![ran, refused]);
    let written: Value = serde_json::to_value(&log).unwrap();
    assert_eq!(written["type"], "fullsend.skill-script-executions");
    let (ran, refused) = (&written["executions"][0], &written["executions"][1]);
    assert_eq!(ran["type"], "fullsend.skill-script-execution");
    assert_eq!(ran["argv"], json!(["sh", "-s", "--", "x"]));
    assert_eq!(
        (&ran["status"], &ran["exitCode"], &ran["cwd"]),
        (&json!("executed"), &json!(3), &json!("/work"))
    );
    assert_eq!((&ran["executionTarget"], &ran["runtime"]), (&json!("sandbox"), &json!("shebang")));
    assert_eq!(
        (&refused["status"], &refused["error"]["code"]),
        (&json!("error"), &json!("script_not_allowlisted"))
    );
    assert_eq!(serde_json::from_value::<ScriptExecutionLog>(written).unwrap(), log);
}
