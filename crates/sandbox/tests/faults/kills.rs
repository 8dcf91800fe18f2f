//! The process that uses sandboxes is killed: nothing of them may be left.

use std::time::{Duration, SystemTime};

use super::watch::{Watch, block_on, descendants, scaled};
use fullsend_sandbox::{ExecRequest, SandboxBackend as _};

use crate::support::caller::is_root;
use crate::support::context::text;

/// Numbers without a pattern.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

pub(crate) fn at_any_instant(watch: &Watch) {
    let rounds = if is_root() { scaled(12, 40) } else { scaled(6, 20) };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let mut random = now.as_nanos() as u64 | 1;
    for round in 0..rounds {
        let victim = watch.victim("busy");
        let pause = Duration::from_micros(next(&mut random) % 150_000);
        std::thread::sleep(pause);
        println!("round {round}: killed after {pause:?}");
        watch.kill(victim);
    }
}

pub(crate) fn while_a_session_is_suspended(watch: &Watch) {
    let mut victim = watch.victim("suspended");
    assert!(descendants().len() >= 4, "{:?}", descendants());
    victim.kill().unwrap();
    victim.wait().unwrap();
    watch.expect_nothing_running();
    let seen = std::cell::Cell::new(0);
    watch.expect_nothing_kept(|backend, id| {
        seen.set(seen.get() + 1);
        let request = ExecRequest::shell("cat /mnt/session/outputs/f");
        let result = tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(backend.exec(id, request)).unwrap()
        });
        assert_eq!(text(&result), "kept\n");
    });
    assert_eq!(seen.get(), 1, "a suspended session is meant to be resumed");
}

pub(crate) fn while_a_command_has_a_terminal(watch: &Watch) {
    let victim = watch.victim("terminal");
    assert!(descendants().len() >= 4, "{:?}", descendants());
    watch.kill(victim);
}

pub(crate) fn while_64_sessions_run(watch: &Watch) {
    let victim = watch.victim("many");
    assert!(descendants().len() >= 64 * 3, "{:?}", descendants());
    watch.kill(victim);
}

/// The same for a backend that is dropped without ending its sessions.
pub(crate) fn or_just_drops_everything(watch: &Watch) {
    block_on(async {
        let backend = watch.backend();
        for _ in 0..3 {
            let session = backend.provision(fullsend_sandbox::SandboxSpec::default()).await.unwrap();
            let request =
                ExecRequest { keep_background: true, ..ExecRequest::shell("setsid sleep 1000 & exit 0") };
            backend.exec(&session.id, request).await.unwrap();
        }
    });
    watch.expect_nothing_running();
    watch.expect_nothing_kept(|_, _| {});
}

/// Another process tidies up all the time meanwhile.
pub(crate) fn or_sweeps_while_others_work(watch: &Watch) {
    let mut other = watch.victim("sweeping");
    block_on(async {
        let backend = watch.backend();
        for _ in 0..scaled(30, 100) {
            let session = backend.provision(fullsend_sandbox::SandboxSpec::default()).await.unwrap();
            let result = backend.exec(&session.id, ExecRequest::shell("echo here")).await.unwrap();
            assert_eq!(text(&result), "here\n");
            backend.snapshot(&session.id).await.unwrap();
            backend.resume(&session.id).await.unwrap();
            backend.terminate(&session.id).await.unwrap();
        }
    });
    assert!(other.try_wait().unwrap().is_none(), "the other process failed");
    watch.kill(other);
}
