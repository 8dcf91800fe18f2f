//! Suspending, resuming, ending, and what is left after a sudden death.

use std::io::Read as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use fullsend_sandbox::{
    ByteString, ExecRequest, ResourceLimits, SandboxBackend as _, SandboxError, SandboxSessionId,
    SandboxSpec, SandboxState,
};
use fullsend_testkit::{reexec, test_name};

use super::fixture::{Fixture, Runtime, backend_at};

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_session_wakes_up_for_the_next_command() {
    let Some(fixture) = Fixture::new(test_name!(), Runtime::Runc).await else { return };
    let id = fixture.session().await;
    let request = ExecRequest { keep_background: true, ..ExecRequest::shell("sleep 1234 & echo $!") };
    assert_eq!(fixture.backend.exec(&id, request).await.unwrap().exit_code, 0);
    fixture.backend.suspend(&id).await.unwrap();
    assert_eq!(fixture.backend.session(&id).unwrap().state, SandboxState::Suspended);
    let result = fixture.shell(&id, "pidof sleep").await;
    assert_eq!(result.exit_code, 0, "background processes live on: {result:?}");
    assert_eq!(fixture.backend.session(&id).unwrap().state, SandboxState::Running);
    fixture.backend.suspend(&id).await.unwrap();
    fixture.backend.terminate(&id).await.unwrap();
    assert_eq!(fixture.containers(), Vec::<String>::new());
    let error = fixture.backend.exec(&id, ExecRequest::shell("true")).await.unwrap_err();
    assert!(matches!(error, SandboxError::SessionNotFound(_)), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_session_is_suspended() {
    let Some(fixture) = Fixture::new(test_name!(), Runtime::Runc).await else { return };
    let limits =
        ResourceLimits { idle_timeout: Some(Duration::from_millis(100)), ..ResourceLimits::default() };
    let id = fixture.provision(SandboxSpec { limits, ..SandboxSpec::default() }).await;
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let session = fixture.backend.session(&id);
        if session.is_ok_and(|session| session.state == SandboxState::Suspended) {
            break;
        }
        assert!(Instant::now() < deadline, "it is not suspended");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(fixture.shell(&id, "sleep 0.5; echo awake").await.stdout, ByteString::from("awake\n"));
}

/// Makes sessions, says so, and waits to be killed.
async fn be_killed(state: &str) {
    let backend = backend_at(state.as_ref()).await;
    let id = SandboxSessionId::new("left").unwrap();
    let spec = SandboxSpec { session_id: Some(id.clone()), ..SandboxSpec::default() };
    backend.provision(spec).await.unwrap();
    let write =
        |word: &str| ExecRequest::shell(format!("echo {word} > /mnt/session/outputs/file; sleep 1234 &"));
    backend.exec(&id, write("old")).await.unwrap();
    backend.snapshot(&id).await.unwrap();
    backend.exec(&id, ExecRequest { keep_background: true, ..write("new") }).await.unwrap();
    backend.provision(SandboxSpec::default()).await.unwrap();
    println!("ready to be killed");
    std::future::pending::<()>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_leaves_no_container_and_its_session_can_be_resumed() {
    if let Some(state) = reexec::role() {
        return be_killed(&state).await;
    }
    let Some(fixture) = Fixture::new(test_name!(), Runtime::Runc).await else { return };
    let state = fixture.state.path().to_str().unwrap();
    let mut child = reexec::command(test_name!(), state).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut heard = String::new();
    while !heard.contains("ready to be killed") {
        let mut bytes = [0; 100];
        let count = output.read(&mut bytes).unwrap();
        assert!(count > 0, "the other process ended: {heard}");
        heard.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    assert_eq!(fixture.containers().len(), 2);
    let left = SandboxSessionId::new("left").unwrap();
    let error = fixture.backend.resume(&left).await.unwrap_err();
    assert!(matches!(&error, SandboxError::InvalidRequest(text) if text.contains("in use")), "{error}");
    child.kill().unwrap();
    child.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !fixture.containers().is_empty() {
        assert!(Instant::now() < deadline, "containers are left: {:?}", fixture.containers());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    fixture.backend.sweep().await.unwrap();
    let sessions = std::fs::read_dir(fixture.state.path().join("sessions")).unwrap();
    let names: Vec<_> = sessions.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["left"], "only what can be resumed is kept");
    fixture.backend.resume(&left).await.unwrap();
    assert_eq!(fixture.shell(&left, "cat /mnt/session/outputs/file").await.stdout, ByteString::from("old\n"));
    fixture.backend.terminate(&left).await.unwrap();
    assert_eq!(fixture.containers(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_is_removed_from_outside_is_noticed_and_replaced() {
    let Some(fixture) = Fixture::new(test_name!(), Runtime::Runc).await else { return };
    let id = fixture.session().await;
    let running = fixture.backend.spawn(&id, ExecRequest::shell("sleep 1234")).await.unwrap();
    let name = fixture.containers().pop().unwrap();
    fixture.docker(&["rm", "-f", &name]);
    let error = running.collect().await.unwrap_err();
    assert!(matches!(error, SandboxError::Exec(_)), "{error}");
    assert_eq!(fixture.shell(&id, "echo again").await.stdout, ByteString::from("again\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn leftovers_with_our_label_and_no_owner_are_swept() {
    let Some(fixture) = Fixture::new(test_name!(), Runtime::Runc).await else { return };
    let id = fixture.session().await;
    let state = fixture.state.path().canonicalize().unwrap();
    let label = format!("dev.fullsend.state={}", state.display());
    let arguments =
        ["run", "-d", "--rm", "--network", "none", "--label", &label, "--label", "dev.fullsend.session=gone"];
    let left = fixture.docker(&[&arguments[..], &["fullsend-test:latest", "sleep", "1234"]].concat());
    // As a suspended session is left by a process that is killed.
    fixture.docker(&["pause", left.trim()]);
    assert_eq!(fixture.containers().len(), 2);
    fixture.backend.sweep().await.unwrap();
    assert_eq!(fixture.containers().len(), 1);
    assert_eq!(fixture.shell(&id, "echo alive").await.exit_code, 0);
}
