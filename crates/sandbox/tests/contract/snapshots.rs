//! Files that are kept, sessions that come back, and sessions that sleep.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use fullsend_sandbox::{
    ExecRequest, FilesystemMount, ResourceLimits, SandboxError, SandboxSessionId, SandboxSnapshot,
    SandboxSpec, SandboxState,
};

use crate::support::context::{Context, text, write};
use crate::support::host;

/// Describes everything below the two directories of [`session`]: kinds, modes, sizes, names, content, link targets.
const DESCRIBE: &str = "cd /; for d in fresh mnt/session/outputs; do \
    find $d -mindepth 1 -printf '%P %y %m %l\\0' | sort -z | tr '\\0' '\\n'; \
    find $d -type f -print0 | sort -z | xargs -0 -r cat; done";

/// A session with files of its own; none, and a declared skip, where snapshots are not supported.
async fn session(cx: &Context) -> Option<SandboxSessionId> {
    if !cx.backend.capabilities().snapshot {
        cx.skip("this backend keeps no files here");
        return None;
    }
    let id = cx.with_mounts(vec![FilesystemMount::read_write(PathBuf::new(), "/fresh")]).await;
    let line = "cd /fresh && echo old > changed && echo old > removed && mkdir -p d/e && echo deep > d/e/f && \
        chmod 640 changed && ln -s changed link && ln changed hard && cp changed /mnt/session/outputs/result";
    cx.out(&id, line).await;
    Some(id)
}

const CHANGE: &str = "cd /fresh && echo new > changed && rm removed && rm -r d && echo x > added && chmod 600 hard && \
    rm link && ln -s added link && echo new > /mnt/session/outputs/result";

pub(crate) async fn a_session_goes_back_to_its_snapshot(cx: &Context) {
    let Some(id) = session(cx).await else { return };
    let before = cx.out(&id, DESCRIBE).await;
    let snapshot = cx.backend.snapshot(&id).await.unwrap();
    assert_eq!((&snapshot.session_id, snapshot.backend.as_str()), (&id, cx.backend.name()));
    assert_eq!(cx.out(&id, DESCRIBE).await, before, "a snapshot changes nothing");
    for _ in 0..2 {
        cx.out(&id, CHANGE).await;
        assert_ne!(cx.out(&id, DESCRIBE).await, before);
        let session = cx.backend.resume(&id).await.unwrap();
        assert_eq!(session.id, id);
        assert_eq!(cx.out(&id, DESCRIBE).await, before);
    }
}

pub(crate) async fn the_last_snapshot_counts(cx: &Context) {
    let Some(id) = session(cx).await else { return };
    cx.backend.snapshot(&id).await.unwrap();
    cx.out(&id, CHANGE).await;
    let later = cx.out(&id, DESCRIBE).await;
    cx.backend.snapshot(&id).await.unwrap();
    cx.out(&id, "rm -rf /fresh/*").await;
    cx.backend.resume(&id).await.unwrap();
    assert_eq!(cx.out(&id, DESCRIBE).await, later);
}

pub(crate) async fn without_a_snapshot_files_stay_as_they_are(cx: &Context) {
    let Some(id) = session(cx).await else { return };
    let before = cx.out(&id, DESCRIBE).await;
    cx.backend.resume(&id).await.unwrap();
    assert_eq!(cx.out(&id, DESCRIBE).await, before);
}

pub(crate) async fn forks_go_their_own_ways(cx: &Context) {
    let Some(id) = session(cx).await else { return };
    let before = cx.out(&id, DESCRIBE).await;
    let snapshot = cx.backend.snapshot(&id).await.unwrap();
    cx.out(&id, "echo original >> /fresh/changed").await;
    let mut forks = Vec::new();
    for name in ["one", "two"] {
        let fork = cx.backend.fork(&snapshot).await.unwrap();
        cx.remember(&fork.id);
        assert_ne!(fork.id, id);
        assert_eq!(cx.out(&fork.id, DESCRIBE).await, before);
        cx.out(&fork.id, &format!("echo {name} > /fresh/changed; rm /fresh/removed")).await;
        forks.push((name, fork.id));
    }
    for (name, fork) in &forks {
        assert_eq!(cx.out(fork, "cat /fresh/changed").await, *name);
    }
    assert_eq!(cx.out(&id, "cat /fresh/changed /fresh/removed").await, "old\noriginal\nold");
    cx.backend.terminate(&forks[0].1).await.unwrap();
    assert_eq!(cx.out(&forks[1].1, "cat /fresh/changed").await, "two");
}

pub(crate) async fn an_overlay_is_part_of_the_snapshot(cx: &Context) {
    if !cx.backend.capabilities().snapshot {
        return cx.skip("this backend keeps no files here");
    }
    let source = cx.place.directory("ws");
    for name in ["kept", "removed", "changed"] {
        write(&source.join(name), "source");
    }
    let before = host::tree(&source);
    let id = cx.with_mounts(vec![FilesystemMount::overlay(&source, "/work")]).await;
    cx.out(&id, "cd /work && echo session > changed && rm removed && echo a > added").await;
    let snapshot = cx.backend.snapshot(&id).await.unwrap();
    cx.out(&id, "cd /work && rm -r * && echo other > other").await;
    let fork = cx.backend.fork(&snapshot).await.unwrap();
    cx.remember(&fork.id);
    cx.backend.resume(&id).await.unwrap();
    for session in [&id, &fork.id] {
        assert_eq!(cx.out(session, "cd /work && ls && cat changed").await, "added\nchanged\nkept\nsession");
    }
    assert_eq!(host::tree(&source), before);
}

pub(crate) async fn a_session_that_writes_to_the_host_has_no_snapshot(cx: &Context) {
    if !cx.backend.capabilities().snapshot {
        return cx.skip("this backend keeps no files here");
    }
    let id = cx.with_mounts(vec![FilesystemMount::read_write(cx.place.directory("ws"), "/work")]).await;
    let error = cx.backend.snapshot(&id).await.unwrap_err();
    assert!(matches!(error, SandboxError::Unsupported { .. } | SandboxError::InvalidRequest(_)), "{error:?}");
    assert_eq!(cx.out(&id, "echo next").await, "next");
}

pub(crate) async fn odd_files_survive(cx: &Context) {
    let Some(id) = session(cx).await else { return };
    let line = "cd /fresh && touch -- \"$(printf 'new\\nline')\" ..x '...' -n ' ' \"$(printf '\\377\\376')\" \
        $(printf '%0255d' 0) && mkfifo fifo && mkdir -p $(printf 'a/%.0s' $(seq 200)) && truncate -s 1G sparse && \
        mkdir closed && echo x > closed/f && chmod 000 closed/f && chmod 500 closed && ln -s / root && ln -s missing dangling";
    cx.out(&id, line).await;
    let list =
        "cd /fresh && find . -printf '%P %y %m %s %l\\0' | grep -zv '^[^ ]* d' | sort -z | od -c | cksum";
    let before = cx.out(&id, list).await;
    let snapshot = cx.backend.snapshot(&id).await.unwrap();
    cx.sh(&id, "cd /fresh && chmod 700 closed && rm -rf -- * ..x").await;
    let fork = cx.backend.fork(&snapshot).await.unwrap();
    cx.remember(&fork.id);
    cx.backend.resume(&id).await.unwrap();
    for session in [&id, &fork.id] {
        assert_eq!(cx.out(session, list).await, before);
    }
}

pub(crate) async fn a_snapshot_ends_background_processes(cx: &Context) {
    let Some(id) = session(cx).await else { return };
    let request = ExecRequest { keep_background: true, ..cx.line("sleep 1000 & exit 0") };
    cx.exec(&id, request).await;
    cx.backend.snapshot(&id).await.unwrap();
    host::expect_gone(cx.mark());
    assert_eq!(cx.out(&id, "echo next").await, "next");
}

pub(crate) async fn a_snapshot_that_is_not_there_cannot_be_forked(cx: &Context) {
    let Some(id) = session(cx).await else { return };
    let snapshot = cx.backend.snapshot(&id).await.unwrap();
    for snapshot_id in ["no-such-snapshot", "../../etc", ""] {
        let wrong = SandboxSnapshot { snapshot_id: snapshot_id.to_owned(), ..snapshot.clone() };
        assert!(cx.backend.fork(&wrong).await.is_err(), "{snapshot_id:?}");
    }
    let wrong =
        SandboxSnapshot { backend: "another".to_owned(), metadata: BTreeMap::new(), ..snapshot.clone() };
    assert!(cx.backend.fork(&wrong).await.is_err());
    cx.backend.terminate(&id).await.unwrap();
    assert!(cx.backend.fork(&snapshot).await.is_err(), "the snapshot outlives its session");
}

/// A background process that leaves a trace as long as it runs.
async fn ticking(cx: &Context, id: &SandboxSessionId) {
    let line = "(while :; do echo x >> /mnt/session/outputs/ticks; sleep 0.02; done) & exit 0";
    cx.exec(id, ExecRequest { keep_background: true, ..cx.line(line) }).await;
}

/// Ticks so far, seen from the host so that nothing wakes up.
fn ticks(cx: &Context, id: &SandboxSessionId) -> Option<usize> {
    let session = cx.backend.session(id).unwrap();
    let outputs = session.mounts.iter().find(|mount| mount.target == "/mnt/session/outputs")?;
    Some(std::fs::read(outputs.host_path.as_ref()?.join("ticks")).map_or(0, |bytes| bytes.len()))
}

/// Processor time of all marked processes, in ticks of the clock.
fn processor_time(cx: &Context) -> Vec<String> {
    let time = |line: String| {
        let stat =
            std::fs::read_to_string(format!("{}/stat", line.split(':').next().unwrap())).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
        fields.get(12..14).map(|times| times.join(" ")).unwrap_or_default()
    };
    let mut times: Vec<String> = host::marked(cx.mark()).into_iter().map(time).collect();
    times.sort();
    times
}

pub(crate) async fn a_suspended_session_does_nothing_until_the_next_command(cx: &Context) {
    if !cx.backend.capabilities().suspend_on_idle {
        return cx.skip("this backend suspends nothing here");
    }
    let id = cx.session().await;
    ticking(cx, &id).await;
    cx.backend.suspend(&id).await.unwrap();
    assert_eq!(cx.backend.session(&id).unwrap().state, SandboxState::Suspended);
    let (before, used) = (ticks(cx, &id), processor_time(cx));
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!((ticks(cx, &id), processor_time(cx)), (before, used), "it went on");
    assert_eq!(cx.out(&id, "echo awake").await, "awake");
    assert_eq!(cx.backend.session(&id).unwrap().state, SandboxState::Running);
    let count = cx.out(&id, "wc -l < /mnt/session/outputs/ticks").await;
    let line = format!("while [ $(wc -l < /mnt/session/outputs/ticks) -le {count} ]; do sleep 0.05; done");
    assert!(cx.timed(&id, &line, Duration::from_secs(60)).await.success(), "the process did not go on");
}

pub(crate) async fn resume_wakes_a_suspended_session(cx: &Context) {
    let can = cx.backend.capabilities();
    if !can.suspend_on_idle || !can.resume {
        return cx.skip("this backend suspends nothing here");
    }
    let id = cx.session().await;
    cx.out(&id, "echo kept > /mnt/session/outputs/f").await;
    cx.backend.suspend(&id).await.unwrap();
    cx.backend.suspend(&id).await.unwrap();
    assert_ne!(cx.backend.resume(&id).await.unwrap().state, SandboxState::Suspended);
    assert_eq!(cx.out(&id, "cat /mnt/session/outputs/f").await, "kept");
}

pub(crate) async fn an_idle_session_is_suspended(cx: &Context) {
    let limits =
        ResourceLimits { idle_timeout: Some(Duration::from_millis(300)), ..ResourceLimits::default() };
    let spec = SandboxSpec { limits, ..SandboxSpec::default() };
    let id = match cx.try_provision(spec).await {
        Err(SandboxError::Unsupported { .. }) => {
            assert!(!cx.backend.capabilities().suspend_on_idle);
            return cx.skip("this backend suspends nothing here");
        }
        other => other.unwrap(),
    };
    ticking(cx, &id).await;
    // A command that takes longer than that is not idle.
    let result = cx.sh(&id, "sleep 1; echo done").await;
    assert_eq!(text(&result), "done\n");
    let suspended = || cx.backend.session(&id).unwrap().state == SandboxState::Suspended;
    tokio::task::block_in_place(|| host::wait_until("it is idle", suspended));
    let before = ticks(cx, &id);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(ticks(cx, &id), before);
    assert_eq!(cx.out(&id, "echo awake").await, "awake");
}
