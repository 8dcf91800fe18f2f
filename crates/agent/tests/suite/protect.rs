//! What commands may not change, in every sandbox and for every caller.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use fullsend_agent::execution::{Execution, GivenSession, Ground, Guards};
use fullsend_agent::gate::FlowMode;
use fullsend_agent::protect::Protection;
use fullsend_agent::tool::ToolOutput;
use fullsend_agent::tools::{Bash, BashLimits};
use fullsend_agent::workspace::{Access, WORKSPACE_TARGET, Workspace, WorkspacePlan};
use fullsend_flow::{Label, Policy};
use fullsend_sandbox::{ExecRequest, FilesystemMount};
use serde_json::json;

use crate::support::room::{Room, in_rooms};

in_rooms![what_a_command_does_to_protected_paths_is_undone, a_session_that_is_given_is_held_to_the_same];

/// Commands in the sandbox of a room that are kept from what they may not change.
fn guarded(room: &Room, ground: Ground) -> (Execution, Bash) {
    let workspace = Workspace::open(&WorkspacePlan {
        root: &room.workspace,
        target: WORKSPACE_TARGET,
        access: Access::Writable,
        mounts: &[],
        relative_to: &room.workspace,
        reserved: std::slice::from_ref(&room.artifacts),
    });
    let protection = Protection::new(
        FlowMode::EnforceExplicit,
        Arc::new(Policy::default()),
        Arc::new(workspace.unwrap()),
        room.artifacts.clone(),
    );
    let guards = Guards { sidecars: None, protection: Some(Arc::new(protection)) };
    let execution = Execution::covering(Arc::clone(&room.backend), ground, None, guards);
    let (place, spill) = (Arc::clone(&room.place), Arc::clone(&room.spill));
    let bash = Bash::new(execution.clone(), place, spill, BashLimits::default(), Arc::clone(&room.sources));
    (execution, bash)
}

async fn what_a_command_does_to_protected_paths_is_undone(room: &Room) {
    try_to_change(room, room.plan.clone().into()).await;
}

async fn a_session_that_is_given_is_held_to_the_same(room: &Room) {
    // As in a run of a harness: the workspace is a directory of what is mounted, and not what is mounted first.
    let mut spec = room.plan.spec().unwrap();
    let other = room.artifacts.join("other");
    fs::create_dir(&other).unwrap();
    spec.mounts.insert(0, FilesystemMount::read_only(other, "/other"));
    let given = room.backend.provision(spec.clone()).await.unwrap();
    let env = BTreeMap::from([("WORD".to_owned(), "given".to_owned())]);
    let session = GivenSession { id: given.id.clone(), spec, env };
    let output = try_to_change(room, Ground::Given(Box::new(session))).await;
    assert_eq!(output.record["stdout"], "given\n", "{}", output.record);
    // Whoever has given it still has it.
    let asked = room.backend.exec(&given.id, ExecRequest::new("/bin/sh", ["-c", "cat AGENTS.md"])).await;
    assert_eq!(asked.unwrap().stdout.display(), "mine\n");
    room.backend.terminate(&given.id).await.unwrap();
}

/// Tries to change protected paths in many ways; the output of the last command.
async fn try_to_change(room: &Room, ground: Ground) -> ToolOutput {
    let file = |path: &str| fs::read_to_string(room.workspace.join(path)).ok();
    for (path, text) in [("AGENTS.md", "Be polite.\n"), (".github/ci.yml", "on: push\n"), ("code", "x\n")] {
        let path = room.workspace.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let (execution, bash) = guarded(room, ground);
    let usual = room.sources.usual().clone();
    let call =
        async |command: &str, label: &Label| room.call_of(&bash, json!({"command": command}), label).await;
    for command in [
        "echo x >> AGENTS.md; echo x > CLAUDE.md; echo x >> code",
        "rm -rf .github; mkdir .github; echo x > .github/ci.yml; rm -f AGENTS.md; ln -s code AGENTS.md",
        "mkdir -p .vscode/a .git/hooks; echo x > .vscode/a/b; echo x > .git/hooks/update; chmod 000 .vscode",
    ] {
        let output = call(command, &usual).await;
        assert_eq!(file("AGENTS.md").as_deref(), Some("Be polite.\n"), "{command}: {}", output.record);
        assert_eq!(file(".github/ci.yml").as_deref(), Some("on: push\n"), "{command}: {}", output.record);
        for path in ["CLAUDE.md", ".vscode", ".git/hooks"] {
            assert!(fs::symlink_metadata(room.workspace.join(path)).is_err(), "{path}: {}", output.record);
        }
    }
    assert_eq!(file("code").as_deref(), Some("x\nx\n"));
    let kept = room.artifacts.join("quarantine/run-1-bash-1/CLAUDE.md.quarantined");
    assert_eq!(fs::read_to_string(kept).unwrap(), "x\n");
    // Whoever is trusted to change it does so, wherever a session can be had for that.
    let output = call("echo mine > CLAUDE.md; echo mine > AGENTS.md; echo $WORD", &Label::bottom()).await;
    assert_eq!(file("CLAUDE.md").as_deref(), Some("mine\n"), "{}", output.record);
    assert_eq!(file("AGENTS.md").as_deref(), Some("mine\n"), "{}", output.record);
    execution.end().await.unwrap();
    output
}
