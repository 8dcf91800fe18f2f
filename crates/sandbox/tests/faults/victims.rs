//! Processes that use sandboxes until they are killed.

use std::sync::Arc;
use std::time::Duration;

use fullsend_sandbox::{
    ExecRequest, FilesystemMount, LocalBackend, NetworkPolicy, ResourceLimits, SandboxBackend as _,
    SandboxError, SandboxSession, SandboxSessionId, SandboxSpec, TerminalSize,
};

use super::watch::{backend, block_on};
use crate::support::backends::Place;

/// Part of the names of all their sessions, and so of their control groups.
pub(crate) const NAME: &str = "victim";
/// What a session writes before each snapshot, in two places; after `$1` times.
const CHANGE: &str = "echo $N > /work/count; rm -f /work/old-*; echo $N > /work/old-$N; chmod 640 /work/count; \
    echo $N > /mnt/session/outputs/count";
/// Both places are of the same snapshot, or nothing was written yet.
pub(crate) const CONSISTENT: &str = "cd /work 2>/dev/null || exit 0; [ -e count ] || exit 0; \
    cmp count /mnt/session/outputs/count && cmp count old-* && [ $(stat -c %a count) = 640 ]";

/// What each of them does.
pub(crate) fn play(part: &str, place: &Place) {
    block_on(async {
        let backend = Arc::new(backend(place));
        match part {
            "busy" => busy(&backend, place).await,
            "suspended" => suspended(&backend).await,
            "terminal" => terminal(&backend).await,
            "many" => many(&backend).await,
            "sweeping" => sweeping(&backend),
            "snapshots-and-ends" => return super::restart::prepare(&backend, place).await,
            "snapshots-and-waits" => super::restart::prepare(&backend, place).await,
            other => panic!("there is no part `{other}`"),
        }
        loop {
            tokio::time::sleep(Duration::from_secs(1000)).await;
        }
    });
}

fn ready() {
    println!("READY");
}

fn id(kind: &str, number: usize) -> SandboxSessionId {
    SandboxSessionId::new(format!("{NAME}-{kind}-{}-{number}", std::process::id())).unwrap()
}

/// Does everything that a backend can do, in three tasks at once.
async fn busy(backend: &Arc<LocalBackend>, place: &Place) {
    let source = place.directory("source");
    ready();
    for task in 0..3 {
        let (backend, source) = (Arc::clone(backend), source.clone());
        tokio::spawn(async move {
            for round in 0.. {
                let number = round * 3 + task;
                let limits = ResourceLimits {
                    memory_mb: (number % 2 == 0).then_some(256),
                    ..ResourceLimits::default()
                };
                let hosts: &[&str] = if number % 3 == 0 { &["ok.test"] } else { &[] };
                let spec = SandboxSpec {
                    session_id: Some(id("busy", number)),
                    mounts: vec![FilesystemMount::overlay(&source, "/work")],
                    network_policy: NetworkPolicy::limited(hosts.iter().copied()),
                    limits,
                    ..SandboxSpec::default()
                };
                life(&backend, spec, &source).await.unwrap();
            }
        });
    }
}

async fn life(
    backend: &LocalBackend,
    spec: SandboxSpec,
    source: &std::path::Path,
) -> Result<(), SandboxError> {
    let SandboxSession { id, .. } = backend.provision(spec).await?;
    let change = |number: usize| {
        let request = ExecRequest::shell(format!("N={number}; {CHANGE}"));
        ExecRequest { keep_background: true, ..request }
    };
    backend.exec(&id, ExecRequest::shell("sleep 1000 & exit 0")).await?;
    for number in 0..2 {
        backend.exec(&id, change(number)).await?;
        backend.snapshot(&id).await?;
    }
    let background =
        ExecRequest { keep_background: true, ..ExecRequest::shell("setsid sleep 1000 & exit 0") };
    backend.exec(&id, background).await?;
    backend.suspend(&id).await?;
    backend.attach_filesystem(&id, FilesystemMount::read_only(source, "/more")).await?;
    backend.apply_network_policy(&id, NetworkPolicy::limited(["other.test"])).await?;
    backend.exec(&id, change(7)).await?;
    let snapshot = backend.snapshot(&id).await?;
    let fork = backend.fork(&snapshot).await?;
    backend.exec(&fork.id, ExecRequest::shell(CONSISTENT)).await?;
    backend.resume(&id).await?;
    backend.terminate(&fork.id).await?;
    backend.terminate(&id).await
}

/// Sleeps with a background process.
async fn suspended(backend: &LocalBackend) {
    let spec = SandboxSpec { session_id: Some(id("suspended", 0)), ..SandboxSpec::default() };
    let session = backend.provision(spec).await.unwrap();
    let line = "echo kept > /mnt/session/outputs/f; (while :; do :; done) & exit 0";
    let request = ExecRequest { keep_background: true, ..ExecRequest::shell(line) };
    backend.exec(&session.id, request).await.unwrap();
    backend.suspend(&session.id).await.unwrap();
    ready();
}

/// Has a command on a terminal that ignores every signal that it can ignore.
async fn terminal(backend: &LocalBackend) {
    let spec = SandboxSpec { session_id: Some(id("terminal", 0)), ..SandboxSpec::default() };
    let session = backend.provision(spec).await.unwrap();
    let size = TerminalSize { rows: 24, columns: 80 };
    let line = "trap '' HUP INT TERM QUIT; echo up; sleep 1000 & wait; sleep 1000";
    let request = ExecRequest { terminal: Some(size), ..ExecRequest::shell(line) };
    let mut running = backend.spawn(&session.id, request).await.unwrap();
    running.next().await.unwrap();
    ready();
    std::mem::forget(running);
}

/// Has 64 sessions at once, each with a command.
async fn many(backend: &LocalBackend) {
    for number in 0..64 {
        let limits =
            ResourceLimits { memory_mb: (number % 2 == 0).then_some(256), ..ResourceLimits::default() };
        let spec = SandboxSpec { session_id: Some(id("many", number)), limits, ..SandboxSpec::default() };
        let session = backend.provision(spec).await.unwrap();
        let request = ExecRequest::shell("setsid sleep 1000 & echo up; sleep 1000");
        let mut running = backend.spawn(&session.id, request).await.unwrap();
        running.next().await.unwrap();
        std::mem::forget(running);
    }
    ready();
}

/// Tidies up without end.
fn sweeping(backend: &LocalBackend) {
    ready();
    loop {
        backend.sweep().unwrap();
        // Others on this machine want to get something done too.
        std::thread::sleep(Duration::from_micros(500));
    }
}
