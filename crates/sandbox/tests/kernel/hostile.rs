//! What commands do to the processes and files that serve them.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use fullsend_sandbox::{
    ExecEvent, ExecRequest, FilesystemMount, LimitHit, ResourceLimits, SandboxError, SandboxSpec,
    TerminalSize,
};

use crate::support::context::{Context, text};
use crate::support::host;

/// Longer than anything here takes, on however slow a machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command that runs beside another has a process that looks after it, which it can kill. What it started ends all
/// the same.
pub(crate) async fn a_command_cannot_outlive_the_one_that_looks_after_it(cx: &Context) {
    let id = cx.session().await;
    let line = "setsid sleep 1000 & kill -KILL $PPID; sleep 1000";
    let mark = format!("{}-hostile", cx.mark());
    let hostile = || {
        let request = ExecRequest { timeout: Some(PATIENCE), ..ExecRequest::shell(line) };
        ExecRequest { env: [("HOSTILE".to_owned(), mark.clone())].into(), ..request }
    };
    let mut other = cx.backend.spawn(&id, cx.line("echo up; sleep 1000")).await.unwrap();
    other.next().await.unwrap();
    // It may be over before it counts as started, which is an error.
    let result = cx.backend.exec(&id, hostile()).await;
    assert!(!result.is_ok_and(|result| result.success() || result.timed_out));
    host::expect_gone(&mark);
    let alive = format!("{}\0", cx.mark());
    assert!(!host::marked(&alive).is_empty(), "the other command is not to blame");

    // The same when the other command ends first, so that nobody is left whose end could be waited for.
    let mut running =
        cx.backend.spawn(&id, ExecRequest { interactive: true, ..hostile_later(&mark) }).await.unwrap();
    running.next().await.unwrap();
    drop(other);
    host::wait_until("the end of the other command", || host::marked(&alive).is_empty());
    running.feed(b"\n".to_vec());
    let result = running.collect().await.unwrap();
    assert!(!result.success(), "{result:?}");
    host::expect_gone(&mark);
    assert_eq!(cx.out(&id, "echo next").await, "next");
}

fn hostile_later(mark: &str) -> ExecRequest {
    let line = "echo up; read line; setsid sleep 1000 & kill -KILL $PPID; sleep 1000";
    let request = ExecRequest { timeout: Some(PATIENCE), ..ExecRequest::shell(line) };
    ExecRequest { env: [("HOSTILE".to_owned(), mark.to_owned())].into(), ..request }
}

/// A process that may live on and never stops writing does not keep its command's end from being told.
pub(crate) async fn background_output_does_not_hold_up_the_end(cx: &Context) {
    let Some(probe) = cx.probe_mount() else { return };
    let id = cx.with_mounts(vec![probe]).await;
    for terminal in [None, Some(TerminalSize { rows: 24, columns: 80 })] {
        let request = ExecRequest { keep_background: true, terminal, ..cx.probe("drown") };
        let mut running = cx.backend.spawn(&id, request).await.unwrap();
        let end = async {
            loop {
                if let ExecEvent::Exited(exit) = running.next().await.unwrap() {
                    return exit.exit_code;
                }
                // Somebody who takes in less than is put out.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        assert_eq!(tokio::time::timeout(PATIENCE, end).await.expect("the end is told"), 7);
    }
}

/// Directories that are nested deeper than any stack are removed like others.
pub(crate) async fn nested_directories_are_removed(cx: &Context) {
    let Some(probe) = cx.probe_mount() else { return };
    let source = cx.place.directory("source");
    let mounts = vec![FilesystemMount::overlay(&source, "/work"), probe];
    let id = cx.with_mounts(mounts).await;
    let line = "for place in /mnt/session/outputs /work; do cd $place && mkdir -p a b/c && /attack/probe nest 20000 && \
                cd $place && mkdir -p d/e && chmod 000 d/e b/c && chmod 500 b; done";
    cx.out(&id, line).await;
    cx.backend.terminate(&id).await.unwrap();
    for directory in ["sessions", "layers"] {
        assert_eq!(std::fs::read_dir(cx.place.state().join(directory)).unwrap().count(), 0, "{directory}");
    }
}

/// A snapshot takes no more of the disk than what it is of: holes stay holes, and links stay links.
pub(crate) async fn a_snapshot_is_not_larger_than_its_files(cx: &Context) {
    let id = cx.session().await;
    let line = "cd /mnt/session/outputs && truncate -s 3G hole && printf end >> hole && \
                head -c 1000000 /dev/urandom > file && for i in $(seq 100); do ln file link$i; done && \
                mkdir d && ln file d/link && mkfifo fifo && ln fifo d/fifo";
    cx.out(&id, line).await;
    let before = used(&cx.place.state());
    cx.backend.snapshot(&id).await.unwrap();
    let after = used(&cx.place.state());
    assert!(after - before < 20_000_000, "{} bytes more", after - before);
    cx.out(&id, "rm -r /mnt/session/outputs/*").await;
    cx.backend.resume(&id).await.unwrap();
    let list =
        "cd /mnt/session/outputs && stat -c '%h %s' file hole d/link && tail -c 3 hole && cmp file link7";
    assert_eq!(cx.out(&id, list).await, "102 1000000\n1 3221225475\n102 1000000\nend");
}

/// What a tree takes of the disk, every file counted once.
fn used(root: &Path) -> u64 {
    let mut seen = std::collections::BTreeSet::new();
    let (mut total, mut open) = (0, vec![root.to_owned()]);
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).unwrap().flatten() {
            let data = entry.path().symlink_metadata().unwrap();
            if seen.insert(data.ino()) {
                total += data.blocks() * 512;
            }
            if data.is_dir() {
                open.push(entry.path());
            }
        }
    }
    total
}

/// Memory counts as the session's also when it is not a process's own.
pub(crate) async fn memory_that_could_be_shared_is_limited(cx: &Context) {
    let limits = ResourceLimits { memory_mb: Some(128), ..ResourceLimits::default() };
    let Some(id) = cx.limited(limits).await else { return };
    for attempt in ["share 512", "hoard 512", "segment 512"] {
        let result = cx.exec(&id, cx.probe(attempt)).await;
        assert!(!text(&result).contains("REACHED"), "{attempt}: {result:?}");
        let knows = text(&result).contains("BLOCKED") || result.limits_hit.contains(&LimitHit::Memory);
        assert!(knows, "{attempt}: {result:?}");
    }
    assert_eq!(cx.out(&id, "/attack/probe share 64 && echo next").await, "REACHED all of it\nnext");
}

/// A list of programs is not widened by a program that exists in memory only.
pub(crate) async fn a_program_in_memory_is_not_on_the_list(cx: &Context) {
    let programs = Some(vec!["sh".to_owned(), "python3".to_owned()]);
    let id = match cx.try_provision(SandboxSpec { programs, ..SandboxSpec::default() }).await {
        Err(SandboxError::InvalidRequest(_)) => return cx.skip("there is no Python"),
        other => other.unwrap(),
    };
    let shell = "open('/bin/sh', 'rb').read()";
    let run = "os.execve(f, ['sh', '-c', 'echo REACHED'], {})";
    for make in ["f = os.memfd_create('x', 0)", "f = os.open('/tmp/x', os.O_RDWR | os.O_CREAT, 0o700)"] {
        let program = format!("import os; {make}; os.write(f, {shell}); {run}");
        let result = cx.sh(&id, &format!("python3 -c \"{program}\"")).await;
        assert!(!text(&result).contains("REACHED") && result.exit_code == 1, "{make}: {result:?}");
    }
}

/// The limits of process 1 are those of every later command.
pub(crate) async fn a_command_cannot_limit_later_ones(cx: &Context) {
    let id = cx.session().await;
    let limits = "ulimit -n; ulimit -u; ulimit -f";
    let before = cx.out(&id, limits).await;
    for resource in ["nofile", "nproc", "fsize"] {
        cx.sh(&id, &format!("prlimit --pid 1 --{resource}=5:5")).await;
    }
    assert_eq!(cx.out(&id, limits).await, before);
    assert_eq!(cx.out(&id, "ulimit -n 50; ulimit -n").await, "50");
}

/// One session cannot take the terminals of all.
pub(crate) async fn terminals_are_shared_out(cx: &Context) {
    let Some(probe) = cx.probe_mount() else { return };
    let spec = SandboxSpec { mounts: vec![probe], ..SandboxSpec::default() };
    let id = cx.provision(spec).await;
    let result = cx.exec(&id, cx.probe("terminals 2000")).await;
    assert!(text(&result).contains("BLOCKED"), "{result:?}");
}
