//! `run_skill_script`: what is prepared is what runs, and everything that goes wrong is a result.

use std::collections::BTreeMap;
use std::sync::Arc;

use fullsend_agent::Tool as _;
use fullsend_agent::tools::{Prepared, Refusal, ScriptSource, SkillScript};
use fullsend_flow::Label;
use serde_json::json;

use crate::support::room::{Room, expect_gone, in_rooms};

in_rooms![a_script_runs_as_it_was_prepared, what_goes_wrong_is_a_result];

/// Scripts by path; the text is what the interpreter reads.
#[derive(Debug)]
struct Scripts;

impl ScriptSource for Scripts {
    fn prepare(&self, skill: &str, path: &str, args: &[String]) -> Result<Prepared, Refusal> {
        let (program, text) = match path {
            "scripts/hello.sh" => ("bash", "echo \"$SKILL_NAME:$(pwd):$*\"; exit 3"),
            "scripts/slow.sh" => ("bash", "echo so far; sleep 3600.75"),
            "scripts/odd.ts" => ("no-such-runtime", ""),
            _ => {
                let (code, message) = ("script_not_allowlisted".to_owned(), "not on the list".to_owned());
                return Err(Refusal { code, message });
            }
        };
        let fixed = [program, "-s", "--"].map(str::to_owned);
        Ok(Prepared {
            runtime: "shebang".to_owned(),
            argv: fixed.into_iter().chain(args.iter().cloned()).collect(),
            stdin: text.into(),
            environment: BTreeMap::from([("SKILL_NAME".to_owned(), skill.to_owned())]),
            sandbox_path: format!("/skills/{skill}/{path}"),
            digest: "sha256:00".to_owned(),
            label: Label::untrusted(),
        })
    }
}

fn tool(room: &Room) -> SkillScript {
    let place = Arc::clone(&room.place);
    let (spill, sources) = (Arc::clone(&room.spill), Arc::clone(&room.sources));
    SkillScript::new(room.execution.clone(), place, spill as _, Arc::new(Scripts), sources)
}

async fn a_script_runs_as_it_was_prepared(room: &Room) {
    room.sh("cd /tmp").await;
    let input = json!({ "skill": "greet", "path": "scripts/hello.sh", "args": ["a", "b c"] });
    let output = room.call(&tool(room), input).await;
    let expected = json!({
        "type": "fullsend.run-skill-script-output", "outputId": "run-1:run_skill_script:2", "skill": "greet",
        "path": "scripts/hello.sh", "status": "executed", "executionTarget": "sandbox", "runtime": "shebang",
        "argv": ["bash", "-s", "--", "a", "b c"], "args": ["a", "b c"], "cwd": "/workspace",
        "sandboxResourcePath": "/skills/greet/scripts/hello.sh", "registryDigest": "sha256:00",
        "observedDigest": "sha256:00", "digestMatchesRegistry": true, "sizeBytes": 36,
        "stdout": "greet:/workspace:a b c\n", "stderr": "", "exitCode": 3, "diagnostics": [],
    });
    assert_eq!(output.record, expected);
    assert_eq!(output.failure, None);
    assert_eq!(output.label, Label::untrusted(), "who wrote the script wrote what it prints");
    assert_eq!(room.out("pwd").await, "/tmp", "the current directory is left alone");
    let parameters = tool(room).spec().parameters["properties"].clone();
    assert_eq!(parameters.get("executionTarget"), None, "there is nothing but the sandbox");
}

async fn what_goes_wrong_is_a_result(room: &Room) {
    for (input, code, kind) in [
        (json!({ "skill": "s", "path": "scripts/other.sh" }), "script_not_allowlisted", "tool_not_allowed"),
        (json!({ "skill": "s", "path": "scripts/odd.ts" }), "unsupported_runtime", "missing_binary"),
        (
            json!({ "skill": "s", "path": "scripts/hello.sh", "cwd": "/etc" }),
            "script_path_invalid",
            "harness_error",
        ),
        (
            json!({ "skill": "s", "path": "scripts/hello.sh", "args": ["\0"] }),
            "script_path_invalid",
            "harness_error",
        ),
    ] {
        let output = room.call(&tool(room), input).await;
        let record = &output.record;
        assert_eq!(
            (&record["status"], &record["error"]["code"]),
            (&json!("error"), &json!(code)),
            "{record}"
        );
        assert_eq!(output.failure.unwrap().kind, kind);
    }
    let slow = json!({ "skill": "s", "path": "scripts/slow.sh", "timeoutMs": 300 });
    let output = room.call(&tool(room), slow).await;
    let record = &output.record;
    assert_eq!((&record["stdout"], &record["exitCode"]), (&json!("so far\n"), &json!(124)), "{record}");
    assert_eq!(output.failure.unwrap().kind, "timeout");
    expect_gone("3600.75").await;
}
