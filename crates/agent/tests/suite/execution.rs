//! The session of a run: made once, ended for good, and nothing of a command that was dropped is left.

use std::sync::Arc;
use std::time::Duration;

use fullsend_agent::execution::{Capture, CaptureLimits, Execution, MountPoint, SessionPlan, Stream};
use fullsend_sandbox::{ExecRequest, NetworkPolicy, SandboxError};
use serde_json::json;

use crate::support::room::{Room, expect_gone, in_rooms, runs};

in_rooms![
    it_is_made_once_and_ended_for_good,
    a_dropped_call_ends_with_everything_it_started,
    output_can_be_watched,
    a_read_only_workspace_cannot_be_changed,
    what_is_hidden_cannot_be_mounted,
    programs_are_found,
];

async fn it_is_made_once_and_ended_for_good(room: &Room) {
    let (one, two) = tokio::join!(room.execution.warm_up(), room.execution.describe());
    one.unwrap();
    let id = two.unwrap().id;
    // Whoever waits for a session may give up; it is made all the same.
    let other = Execution::lazy(Arc::clone(&room.backend), SessionPlan::new(&room.workspace));
    assert!(tokio::time::timeout(Duration::ZERO, other.warm_up()).await.is_err());
    let made = other.describe().await.unwrap().id;
    assert_ne!(made, id);
    assert_eq!(room.execution.describe().await.unwrap().id, id);
    other.end().await.unwrap();
    other.end().await.unwrap();
    assert!(matches!(room.backend.session(&made), Err(SandboxError::SessionNotFound(_))));
    assert!(matches!(other.warm_up().await, Err(SandboxError::Lifecycle(_))));
    let never = Execution::lazy(Arc::clone(&room.backend), SessionPlan::new("/no/such/place"));
    assert!(never.warm_up().await.is_err());
    never.end().await.unwrap();
}

async fn a_dropped_call_ends_with_everything_it_started(room: &Room) {
    room.execution.warm_up().await.unwrap();
    let call = room.call(&room.bash, json!({ "command": "setsid sleep 3600.5 & sleep 3600.5" }));
    let started = async {
        while !runs("3600.5") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        _ = call => panic!("it does not end by itself"),
        () = started => {}
    }
    expect_gone("3600.5").await;
    assert_eq!(room.out("echo next").await, "next");
}

async fn output_can_be_watched(room: &Room) {
    let mut seen = Vec::new();
    let mut listener = |stream: Stream, bytes: &[u8]| seen.push((stream.name(), bytes.to_vec()));
    let capture = Capture {
        output_id: "run-1:x:1",
        limits: CaptureLimits::default(),
        spill: room.spill.as_ref(),
        listener: Some(&mut listener),
    };
    let request = ExecRequest::shell("echo one; sleep 0.1; echo two >&2");
    let captured = room.execution.run(request, capture).await.unwrap();
    assert_eq!((captured.stdout.text.as_str(), captured.stderr.text.as_str()), ("one\n", "two\n"));
    assert_eq!(seen, [("stdout", b"one\n".to_vec()), ("stderr", b"two\n".to_vec())]);
}

async fn a_read_only_workspace_cannot_be_changed(room: &Room) {
    let mut plan = room.plan.clone();
    plan.mounts[0].writable = false;
    let data = room.workspace.parent().unwrap().join("data");
    std::fs::create_dir(&data).unwrap();
    plan.mounts.push(MountPoint { sandbox: "/data".to_owned(), host: data.clone(), writable: true });
    let execution = Execution::start(Arc::clone(&room.backend), plan).await.unwrap();
    let capture = || Capture {
        output_id: "run-1:x:1",
        limits: CaptureLimits::default(),
        spill: room.spill.as_ref(),
        listener: None,
    };
    let denied = execution.run(ExecRequest::shell("touch /workspace/new"), capture()).await.unwrap();
    assert_ne!(denied.exit.exit_code, 0);
    let allowed = execution.run(ExecRequest::shell("touch /data/new"), capture()).await.unwrap();
    assert_eq!(allowed.exit.exit_code, 0, "{allowed:?}");
    assert!(data.join("new").exists());
    execution.end().await.unwrap();
}

async fn what_is_hidden_cannot_be_mounted(room: &Room) {
    let runs = room.artifacts.parent().unwrap();
    let link = room.workspace.parent().unwrap().join("link");
    std::os::unix::fs::symlink(&room.artifacts, &link).unwrap();
    std::fs::create_dir(room.artifacts.join("below")).unwrap();
    for host in [room.artifacts.clone(), room.artifacts.join("below"), link] {
        let mut plan = room.plan.clone();
        plan.mounts.push(MountPoint { sandbox: "/data".to_owned(), host, writable: false });
        assert!(matches!(plan.spec(), Err(SandboxError::InvalidRequest(_))), "{plan:?}");
    }
    let mut plan = SessionPlan { network: NetworkPolicy::limited(["a.test"]), ..room.plan.clone() };
    plan.mounts.push(MountPoint { sandbox: "/data".to_owned(), host: runs.to_owned(), writable: false });
    let spec = plan.spec().unwrap();
    let targets: Vec<&str> = spec.mounts.iter().map(|mount| mount.target.as_str()).collect();
    let expected =
        ["/workspace", "/data", "/data/one", "/workspace/.fullsend/runs/one", "/mnt/session/shell"];
    assert_eq!(targets, expected, "covered wherever it is seen");
    assert_eq!(spec.network_policy, NetworkPolicy::limited(["a.test"]));
}

async fn programs_are_found(room: &Room) {
    let found = room.execution.probe().await.unwrap();
    let names: Vec<&str> = found.commands.keys().map(String::as_str).collect();
    assert_eq!(names, ["bash", "deno", "git", "node", "python", "python3", "sh"]);
    let shell = &found.commands["sh"];
    assert!(shell.present && shell.path.as_deref().unwrap().ends_with("/sh"), "{found:?}");
    assert_eq!(found.sandbox, room.backend.name());
    let written = serde_json::to_value(&found).unwrap();
    assert_eq!(written["type"], "fullsend.capability-snapshot");
    for (name, command) in &found.commands {
        let there = room.sh(&format!("command -v {name} >/dev/null; echo $?")).await["stdout"] == "0\n";
        assert_eq!(command.present, there, "{name}");
    }
}
