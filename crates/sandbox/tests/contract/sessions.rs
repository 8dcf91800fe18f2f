//! Sessions: names, life and end, and many of them at once.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::sync::Arc;

use fullsend_sandbox::{
    ExecRequest, FilesystemMount, NetworkPolicy, SandboxError, SandboxSessionId, SandboxSnapshot,
    SandboxSpec, SandboxState,
};
use fullsend_testkit::reexec;

use crate::support::context::{Context, doomed, doomed_place, text};
use crate::support::host;

fn named(id: &str) -> SandboxSpec {
    SandboxSpec { session_id: Some(SandboxSessionId::new(id).unwrap()), ..SandboxSpec::default() }
}

pub(crate) async fn a_session_tells_what_it_is(cx: &Context) {
    let labels = BTreeMap::from([("purpose".to_owned(), "test".to_owned())]);
    let session = cx.backend.provision(SandboxSpec { labels, ..named("my-session.1") }).await.unwrap();
    cx.remember(&session.id);
    assert_eq!((session.id.as_str(), session.backend.as_str()), ("my-session.1", cx.backend.name()));
    assert!(
        matches!(session.state, SandboxState::Provisioned | SandboxState::Running),
        "{:?}",
        session.state
    );
    assert_eq!(session.metadata.get("label.purpose").map(String::as_str), Some("test"));
    let report: Vec<_> = session.metadata.iter().filter(|(key, _)| !key.starts_with("label.")).collect();
    assert!(report.iter().any(|(_, value)| value.starts_with("enforced")), "{report:?}");
    cx.out(&session.id, "true").await;
    assert_eq!(cx.backend.session(&session.id).unwrap().state, SandboxState::Running);
}

pub(crate) async fn a_session_without_a_name_gets_one(cx: &Context) {
    let (one, two) = (cx.session().await, cx.session().await);
    assert_ne!(one, two);
}

pub(crate) async fn a_name_is_given_once(cx: &Context) {
    let id = cx.provision(named("twice")).await;
    cx.out(&id, "echo first > /mnt/session/outputs/f; echo first > /tmp/f").await;
    let error = cx.try_provision(named("twice")).await.unwrap_err();
    assert!(matches!(error, SandboxError::InvalidRequest(_)), "{error:?}");
    assert_eq!(cx.out(&id, "cat /mnt/session/outputs/f /tmp/f").await, "first\nfirst");
}

/// Every verb on a session that is not there.
async fn expect_not_found(cx: &Context, id: &SandboxSessionId) {
    let source = cx.place.directory("not-found");
    let backend = &cx.backend;
    let mut errors = vec![
        ("session", backend.session(id).err()),
        ("attach", backend.attach_filesystem(id, FilesystemMount::read_only(&source, "/x")).await.err()),
        ("network", backend.apply_network_policy(id, NetworkPolicy::none()).await.err()),
        ("spawn", backend.spawn(id, ExecRequest::shell("true")).await.err()),
        ("exec", backend.exec(id, ExecRequest::shell("true")).await.err()),
        ("terminate", backend.terminate(id).await.err()),
    ];
    let capabilities = backend.capabilities();
    if capabilities.snapshot {
        errors.push(("snapshot", backend.snapshot(id).await.err()));
    }
    if capabilities.resume {
        errors.push(("resume", backend.resume(id).await.err()));
    }
    if capabilities.suspend_on_idle {
        errors.push(("suspend", backend.suspend(id).await.err()));
    }
    for (verb, error) in errors {
        assert!(
            matches!(&error, Some(SandboxError::SessionNotFound(found)) if found == id),
            "{verb}: {error:?}"
        );
    }
}

pub(crate) async fn an_unknown_session_is_not_found(cx: &Context) {
    expect_not_found(cx, &SandboxSessionId::new("never-made").unwrap()).await;
}

pub(crate) async fn a_terminated_session_is_gone(cx: &Context) {
    let id = cx.provision(named("gone")).await;
    let background = ExecRequest { keep_background: true, ..cx.line("setsid sleep 1000 & exit 0") };
    cx.exec(&id, background).await;
    host::wait_until("a process that lives on", || !host::marked(cx.mark()).is_empty());
    cx.backend.terminate(&id).await.unwrap();
    host::expect_gone(cx.mark());
    expect_not_found(cx, &id).await;
    let left = host::tree(&cx.place.state());
    assert!(left.keys().all(|name| !name.contains("gone")), "{:?}", left.keys());
    let again = cx.provision(named("gone")).await;
    assert_eq!(cx.out(&again, "ls -A /mnt/session/outputs /tmp | grep -v : ; true").await, "");
}

pub(crate) async fn terminating_ends_a_command_under_way(cx: &Context) {
    let id = cx.session().await;
    let mut running = cx.backend.spawn(&id, cx.line("echo ready; sleep 1000")).await.unwrap();
    running.next().await.unwrap();
    cx.backend.terminate(&id).await.unwrap();
    host::expect_gone(cx.mark());
    // The command is told as ended or its end as unknown; it does not hang.
    let _ = running.collect().await;
}

pub(crate) async fn what_is_not_supported_is_refused(cx: &Context) {
    let id = cx.session().await;
    let (backend, can) = (&cx.backend, cx.backend.capabilities());
    let snapshot = SandboxSnapshot {
        session_id: id.clone(),
        backend: backend.name().to_owned(),
        snapshot_id: "none".to_owned(),
        metadata: BTreeMap::new(),
    };
    let hosts = NetworkPolicy::limited(["ok.test"]);
    let limited = SandboxSpec { network_policy: hosts.clone(), ..SandboxSpec::default() };
    let attempts = [
        ("snapshot", can.snapshot, backend.snapshot(&id).await.err()),
        ("fork", can.snapshot, backend.fork(&snapshot).await.err()),
        ("suspend", can.suspend_on_idle, backend.suspend(&id).await.err()),
        ("resume", can.resume, backend.resume(&id).await.err()),
        ("allow-list at start", can.network_policy, cx.try_provision(limited).await.err()),
        ("allow-list later", can.network_policy, backend.apply_network_policy(&id, hosts).await.err()),
    ];
    for (what, declared, error) in attempts {
        let refused = matches!(error, Some(SandboxError::Unsupported { .. }));
        assert_eq!(refused, !declared, "{what}: {error:?}");
    }
    assert_eq!(cx.out(&id, "echo next").await, "next");
}

pub(crate) async fn background_processes_stay_only_when_asked_for(cx: &Context) {
    let id = cx.session().await;
    let line = "sleep 1000 & echo $! > /tmp/pid";
    cx.out(&id, line).await;
    cx.refused(&id, "kill -0 $(cat /tmp/pid)").await;
    cx.exec(&id, ExecRequest { keep_background: true, ..cx.line(line) }).await;
    cx.out(&id, "kill -0 $(cat /tmp/pid)").await;
    cx.out(&id, "kill -0 $(cat /tmp/pid)").await;
    cx.backend
        .attach_filesystem(&id, FilesystemMount::read_only(cx.place.directory("a"), "/a"))
        .await
        .unwrap();
    host::expect_gone(cx.mark());
}

pub(crate) async fn a_thread_that_ends_takes_no_command_with_it(cx: &Context) {
    let id = cx.session().await;
    let handle = tokio::runtime::Handle::current();
    let request = ExecRequest { keep_background: true, ..cx.line("sleep 1000 & echo $! > /tmp/pid") };
    let (backend, there) = (Arc::clone(&cx.backend), id.clone());
    let thread =
        std::thread::spawn(move || handle.block_on(async { backend.exec(&there, request).await.unwrap() }));
    tokio::task::block_in_place(|| thread.join().unwrap());
    cx.out(&id, "sleep 0.2; kill -0 $(cat /tmp/pid)").await;
}

pub(crate) async fn commands_in_one_session_run_side_by_side(cx: &Context) {
    let id = cx.session().await;
    let mut doomed =
        cx.backend.spawn(&id, cx.line("echo $$ > /tmp/doomed; echo up; sleep 1000")).await.unwrap();
    doomed.next().await.unwrap();
    let other = ExecRequest { interactive: true, ..cx.line("echo up; read x; echo got $x") };
    let mut other = cx.backend.spawn(&id, other).await.unwrap();
    other.next().await.unwrap();
    doomed.signal(9).unwrap();
    let end = doomed.collect().await.unwrap();
    assert_eq!((end.exit_code, end.signal), (137, Some(9)));
    other.feed("word\n");
    let end = other.collect().await.unwrap();
    assert_eq!((end.exit_code, text(&end).as_str()), (0, "got word\n"));
}

pub(crate) async fn a_time_limit_ends_only_its_own_command(cx: &Context) {
    let id = cx.session().await;
    let long = ExecRequest {
        interactive: true,
        ..cx.line("sleep 1000 & echo up; read x; kill -0 $! && echo child $x")
    };
    let mut long = cx.backend.spawn(&id, long).await.unwrap();
    long.next().await.unwrap();
    assert!(cx.timed(&id, "sleep 1000", std::time::Duration::from_millis(200)).await.timed_out);
    cx.out(&id, "sleep 0.1").await;
    long.feed("alive\n");
    assert_eq!(text(&long.collect().await.unwrap()), "child alive\n");
}

pub(crate) async fn many_sessions_do_not_mix(cx: &Context) {
    let sessions = 64;
    let mut tasks = Vec::new();
    for number in 0..sessions {
        let backend = Arc::clone(&cx.backend);
        let id = cx.provision(named(&format!("many-{number}"))).await;
        tasks.push(tokio::spawn(async move {
            for round in 0..20 {
                let line = format!("echo {number}.{round} >> /tmp/log; wc -l < /tmp/log; tail -n1 /tmp/log");
                let result = backend.exec(&id, ExecRequest::shell(line)).await.unwrap();
                assert_eq!(text(&result), format!("{}\n{number}.{round}\n", round + 1), "{result:?}");
            }
            backend.terminate(&id).await.unwrap();
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

pub(crate) async fn sessions_leave_no_descriptors(cx: &Context) {
    if reexec::role().is_none() {
        // Other tests of this process open descriptors too; the run as another user has a process of its own.
        return;
    }
    for _ in 0..3 {
        let id = cx.session().await;
        cx.out(&id, "true").await;
        cx.backend.terminate(&id).await.unwrap();
    }
    let before = descriptors();
    for _ in 0..30 {
        let id = cx.session().await;
        for _ in 0..10 {
            cx.out(&id, "true").await;
        }
        cx.backend.terminate(&id).await.unwrap();
    }
    host::wait_until("descriptors closed", || descriptors() <= before + 2);
}

pub(crate) async fn a_killed_caller_takes_its_sessions_with_it(cx: &Context) {
    if doomed_place().is_some() {
        let id = cx.provision(named("orphan")).await;
        cx.out(&id, "echo kept > /mnt/session/outputs/f").await;
        let keep = ExecRequest {
            keep_background: true,
            ..cx.line("setsid sh -c 'trap \"\" TERM; sleep 1000' & exit 0")
        };
        cx.exec(&id, keep).await;
        let mut running = cx.backend.spawn(&id, cx.line("echo up; sleep 1000")).await.unwrap();
        running.next().await.unwrap();
        println!("READY");
        loop {
            std::thread::park();
        }
    }
    let mut child = doomed(cx).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.ends_with("READY")), "the other process failed");
    host::wait_until("three processes", || host::marked(cx.mark()).len() >= 3);
    child.kill().unwrap();
    child.wait().unwrap();
    host::expect_gone(cx.mark());
    let backend = cx.start_again();
    let id = SandboxSessionId::new("orphan").unwrap();
    cx.remember(&id);
    if backend.capabilities().resume {
        assert_eq!(backend.resume(&id).await.unwrap().id, id);
        let result = backend.exec(&id, ExecRequest::shell("cat /mnt/session/outputs/f")).await.unwrap();
        assert_eq!(text(&result), "kept\n");
        backend.terminate(&id).await.unwrap();
    }
}
