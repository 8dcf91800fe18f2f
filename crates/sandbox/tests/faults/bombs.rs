//! Commands that want everything: they are contained, told about, and cost the host little.

use std::time::{Duration, Instant};

use fullsend_sandbox::cgroup::Cgroups;
use fullsend_sandbox::{
    ExecRequest, ExecResult, FilesystemMount, LimitHit, LocalBackend, ResourceLimits, SandboxBackend as _,
    SandboxSessionId, SandboxSpec,
};

use super::growth::status;
use super::watch::{Watch, block_on, scaled};
use crate::support::context::{PROBE, text};
use crate::support::{host, probe};

/// The most that this process may have had in memory, in KiB: the program itself and what is kept of outputs.
const PEAK_KB: u64 = 192 << 10;

async fn session(backend: &LocalBackend, limits: ResourceLimits) -> SandboxSessionId {
    let program = probe::probe().expect("a C compiler");
    let mounts = vec![FilesystemMount::read_only(program.parent().unwrap(), "/attack")];
    backend.provision(SandboxSpec { mounts, limits, ..SandboxSpec::default() }).await.unwrap().id
}

async fn run(backend: &LocalBackend, id: &SandboxSessionId, request: ExecRequest) -> ExecResult {
    let result = backend.exec(id, request).await.unwrap();
    // Whatever happened, the session answers.
    let next = backend.exec(id, ExecRequest::shell("echo next")).await.unwrap();
    assert_eq!(text(&next), "next\n", "{result:?}");
    result
}

pub(crate) fn of_processes(watch: &Watch) {
    block_on(async {
        let backend = watch.backend();
        let limits = ResourceLimits { processes: Some(128), ..ResourceLimits::default() };
        let id = session(&backend, limits).await;
        let counted = Cgroups::detect().available().pids.is_enforced();
        let result = run(&backend, &id, ExecRequest::new(PROBE, ["forks", "10000"])).await;
        let made: u32 = text(&result).lines().next().unwrap().trim_start_matches("forked ").parse().unwrap();
        assert!((32..=128).contains(&made), "{result:?}");
        if counted {
            assert!(result.limits_hit.contains(&LimitHit::Processes), "{result:?}");
        }
        let bomb = ExecRequest::shell("f() { f | f & }; f; while :; do :; done");
        let result = run(&backend, &id, ExecRequest { timeout: Some(Duration::from_secs(3)), ..bomb }).await;
        assert!(result.timed_out && result.limits_hit.contains(&LimitHit::Time), "{result:?}");
        if counted {
            assert!(result.limits_hit.contains(&LimitHit::Processes), "{result:?}");
        }
        backend.terminate(&id).await.unwrap();
    });
    watch.expect_nothing_running();
}

pub(crate) fn of_memory(watch: &Watch) {
    block_on(async {
        let backend = watch.backend();
        let limits = ResourceLimits { memory_mb: Some(256), ..ResourceLimits::default() };
        let id = session(&backend, limits).await;
        for line in [
            "exec /attack/probe eat 1500",
            "for i in 1 2 3 4 5 6 7 8; do /attack/probe eat 200 & done; wait; exit 1",
            "setsid /attack/probe eat 1500; exit 1",
        ] {
            let result = run(&backend, &id, ExecRequest::shell(line)).await;
            // One after another some of them may have had enough; all of them never.
            let reached = text(&result).matches("REACHED all of it").count();
            assert!(!result.success() && reached < 8, "{result:?}");
            assert!(result.limits_hit.contains(&LimitHit::Memory), "{line}: {result:?}");
        }
        backend.terminate(&id).await.unwrap();
    });
    assert!(status("VmHWM:") < PEAK_KB, "{} KiB", status("VmHWM:"));
    watch.expect_nothing_running();
}

pub(crate) fn of_output(watch: &Watch) {
    block_on(async {
        let backend = watch.backend();
        let id = session(&backend, ResourceLimits::default()).await;
        let megabytes: u64 = scaled(1024, 4096);
        let line = format!("/attack/probe flood {megabytes} & /attack/probe flood {megabytes} >&2; wait");
        let result = run(&backend, &id, ExecRequest::shell(line)).await;
        for (kept, omitted) in
            [(&result.stdout, result.stdout_omitted), (&result.stderr, result.stderr_omitted)]
        {
            assert_eq!(kept.0.len() as u64 + omitted, megabytes << 20);
            assert!(kept.0.len() <= 16 << 20);
        }
        assert_eq!(result.limits_hit, [LimitHit::Output]);
        backend.terminate(&id).await.unwrap();
        // However fast it comes, the time limit holds.
        let limits = ResourceLimits { output_bytes: Some(1 << 16), ..ResourceLimits::default() };
        let id = session(&backend, limits).await;
        for terminal in [None, Some(fullsend_sandbox::TerminalSize { rows: 24, columns: 80 })] {
            let endless = ExecRequest::new(PROBE, ["flood", "1000000000"]);
            let start = Instant::now();
            let timeout = Some(Duration::from_secs(1));
            let result = run(&backend, &id, ExecRequest { timeout, terminal, ..endless }).await;
            assert!(result.timed_out, "{:?}", result.limits_hit);
            assert_eq!(result.limits_hit, [LimitHit::Time, LimitHit::Output]);
            assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
        }
        backend.terminate(&id).await.unwrap();
    });
    assert!(status("VmHWM:") < PEAK_KB, "{} KiB", status("VmHWM:"));
    watch.expect_nothing_running();
}

/// A command whose output nobody reads waits, and can be ended.
pub(crate) fn that_nobody_reads(watch: &Watch) {
    block_on(async {
        let backend = watch.backend();
        let id = session(&backend, ResourceLimits::default()).await;
        let mut running = backend.spawn(&id, ExecRequest::new(PROBE, ["flood", "100000"])).await.unwrap();
        running.next().await.unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(status("VmHWM:") < PEAK_KB, "{} KiB", status("VmHWM:"));
        drop(running);
        let gone = "while grep -qx probe /proc/[0-9]*/comm; do sleep 0.05; done";
        let gone = ExecRequest { timeout: Some(Duration::from_secs(60)), ..ExecRequest::shell(gone) };
        assert!(backend.exec(&id, gone).await.unwrap().success(), "it was not ended");
        backend.terminate(&id).await.unwrap();
    });
    host::wait_until("nothing runs", || super::watch::descendants().is_empty());
    watch.expect_nothing_running();
}
