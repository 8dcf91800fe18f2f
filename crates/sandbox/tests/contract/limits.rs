//! Time, memory, processes, files and output: what a command can use up, and what is told about it.

use std::time::{Duration, Instant};

use fullsend_sandbox::{ExecRequest, LimitHit, ResourceLimits, SandboxSpec};

use crate::support::context::{Context, text};
use crate::support::host;

/// Children that survive careless ways of ending a command; each says that it is there.
const STUBBORN: &str = "
    sh -c 'trap \"\" TERM INT HUP; echo ignoring; while :; do sleep 1000; done' &
    setsid sh -c 'echo apart; sleep 1000' &
    (setsid sh -c 'sleep 1000 & echo forked twice' &)
    sh -c 'echo stopped; kill -STOP $$; sleep 1000' &
    ";

pub(crate) async fn the_time_limit_ends_a_command_and_keeps_its_output(cx: &Context) {
    let id = cx.session().await;
    let limit = Duration::from_millis(300);
    let result = cx.timed(&id, "echo before; echo error >&2; sleep 600; echo after", limit).await;
    assert!(result.timed_out && !result.success());
    assert_eq!((result.exit_code, text(&result).as_str()), (124, "before\n"));
    assert_eq!(result.stderr.display(), "error\n");
    assert_eq!(result.limits_hit, [LimitHit::Time]);
    assert!(result.usage.wall >= limit, "{:?}", result.usage);
    assert_eq!(cx.out(&id, "echo next").await, "next");
}

pub(crate) async fn the_time_limit_is_not_in_whole_seconds(cx: &Context) {
    let id = cx.session().await;
    let start = Instant::now();
    let result = cx.timed(&id, "sleep 600", Duration::from_millis(2600)).await;
    assert!(result.timed_out);
    assert!(start.elapsed() >= Duration::from_millis(2600), "too early: {:?}", start.elapsed());
    let in_time = cx.timed(&id, "sleep 0.1; echo done", Duration::from_secs(600)).await;
    assert_eq!((in_time.timed_out, text(&in_time).as_str()), (false, "done\n"));
}

pub(crate) async fn an_exit_code_of_124_is_no_time_limit(cx: &Context) {
    let id = cx.session().await;
    let result = cx.timed(&id, "exit 124", Duration::from_secs(600)).await;
    assert_eq!((result.exit_code, result.timed_out, result.limits_hit), (124, false, vec![]));
}

pub(crate) async fn the_session_has_a_time_limit_that_a_request_can_change(cx: &Context) {
    let limits = ResourceLimits { wall_time: Some(Duration::from_millis(400)), ..ResourceLimits::default() };
    let id = cx.provision(SandboxSpec { limits, ..SandboxSpec::default() }).await;
    assert!(cx.sh(&id, "sleep 600").await.timed_out);
    let longer = cx.timed(&id, "sleep 0.8; echo done", Duration::from_secs(600)).await;
    assert_eq!((longer.timed_out, text(&longer).as_str()), (false, "done\n"));
}

pub(crate) async fn the_time_limit_ends_everything_that_was_started(cx: &Context) {
    let id = cx.session().await;
    let result = cx.timed(&id, &format!("{STUBBORN} sleep 600"), Duration::from_secs(2)).await;
    assert!(result.timed_out);
    for word in ["ignoring", "apart", "forked twice", "stopped"] {
        assert!(text(&result).contains(word), "{word}: {}", text(&result));
    }
    host::expect_gone(cx.mark());
    assert_eq!(cx.out(&id, "echo next").await, "next");
}

pub(crate) async fn the_end_of_a_command_ends_everything_that_it_started(cx: &Context) {
    let id = cx.session().await;
    let result = cx.sh(&id, &format!("{STUBBORN} sleep 0.3; exit 4")).await;
    assert_eq!(result.exit_code, 4);
    host::expect_gone(cx.mark());
    let left = cx.out(&id, "cat /proc/[0-9]*/comm 2>/dev/null | grep -c '^sleep$'; true").await;
    assert_eq!(left, "0");
}

pub(crate) async fn a_command_can_kill_everything_but_the_session(cx: &Context) {
    let id = cx.session().await;
    // The shell itself is spared: a process that signals all does not signal itself.
    let result = cx.sh(&id, "sleep 1000 & kill -9 -1; exit 7").await;
    assert_eq!(result.exit_code, 7, "{result:?}");
    assert_eq!(cx.out(&id, "echo next").await, "next");
}

pub(crate) async fn memory_is_limited(cx: &Context) {
    let limits = ResourceLimits { memory_mb: Some(256), ..ResourceLimits::default() };
    let Some(id) = cx.limited(limits).await else { return };
    assert!(cx.exec(&id, cx.probe("eat 64")).await.success());
    let result = cx.exec(&id, cx.probe("eat 1024")).await;
    assert!(!result.success() && !text(&result).contains("REACHED"), "{result:?}");
    // A command that is refused memory knows; one that is killed for it does not.
    assert!(text(&result).contains("ENOMEM") || result.limits_hit.contains(&LimitHit::Memory), "{result:?}");
    let together = cx.sh(&id, "for i in 1 2 3 4 5 6; do /attack/probe eat 100 & done; wait").await;
    assert!(
        text(&together).matches("REACHED").count() < 6 || together.limits_hit.contains(&LimitHit::Memory)
    );
    assert_eq!(cx.out(&id, "echo next").await, "next");
}

pub(crate) async fn files_in_memory_count_as_memory(cx: &Context) {
    let limits = ResourceLimits { memory_mb: Some(128), scratch_mb: Some(1024), ..ResourceLimits::default() };
    let Some(id) = cx.limited(limits).await else { return };
    for directory in ["/tmp", "/dev/shm"] {
        cx.refused(&id, &format!("head -c 600000000 /dev/zero > {directory}/f")).await;
        cx.sh(&id, &format!("rm -f {directory}/f")).await;
    }
    assert_eq!(cx.out(&id, "echo next").await, "next");
}

pub(crate) async fn processes_are_limited(cx: &Context) {
    let limits = ResourceLimits { processes: Some(64), ..ResourceLimits::default() };
    let Some(id) = cx.limited(limits).await else { return };
    let result = cx.exec(&id, cx.probe("forks 10000")).await;
    let made: u32 = text(&result).lines().next().unwrap().trim_start_matches("forked ").parse().unwrap();
    assert!((8..=64).contains(&made), "{made} processes");
    assert!(text(&result).contains("BLOCKED EAGAIN"), "{result:?}");
    host::expect_gone(cx.mark());
    assert_eq!(cx.out(&id, "echo next").await, "next");
}

pub(crate) async fn a_fork_bomb_ends_with_its_time(cx: &Context) {
    let limits = ResourceLimits { processes: Some(100), ..ResourceLimits::default() };
    let Some(id) = cx.limited(limits).await else { return };
    // In a shell of its own: the one that goes on for ever must not need a process when there is none left.
    let bomb = "(f() { f | f & }; f) & while :; do :; done";
    assert!(cx.timed(&id, bomb, Duration::from_secs(2)).await.timed_out);
    host::expect_gone(cx.mark());
    assert_eq!(cx.out(&id, "echo next").await, "next");
}

pub(crate) async fn processors_are_limited(cx: &Context) {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return cx.skip("a machine with one processor shows no limit of one");
    }
    let limits = ResourceLimits { cpu_count: Some(1), ..ResourceLimits::default() };
    let Some(id) = cx.limited(limits).await else { return };
    let start = Instant::now();
    let used: u128 = text(&cx.exec(&id, cx.probe("spin 4 2000")).await).trim().parse().unwrap();
    let wall = start.elapsed().as_millis();
    assert!(used * 10 <= wall * 13, "{used} ms of processor time in {wall} ms");
}

pub(crate) async fn files_are_limited(cx: &Context) {
    let limits = ResourceLimits { file_size_mb: Some(8), scratch_mb: Some(64), ..ResourceLimits::default() };
    let Some(id) = cx.limited(limits).await else { return };
    let large = |megabytes: u32| {
        let request = cx.probe(&format!("fallocate {megabytes}"));
        let env =
            request.env.clone().into_iter().chain([("S".to_owned(), "/tmp/large".to_owned())]).collect();
        ExecRequest { env, ..request }
    };
    assert!(cx.exec(&id, large(4)).await.success());
    assert_eq!(text(&cx.exec(&id, large(16)).await), "BLOCKED EFBIG\n");
    cx.refused(&id, "head -c 16000000 /dev/zero > $FULLSEND_OUTPUTS_DIR/large").await;
    assert!(cx.out(&id, "stat -c %s $FULLSEND_OUTPUTS_DIR/large").await.parse::<u64>().unwrap() <= 8 << 20);
}

pub(crate) async fn scratch_space_is_limited(cx: &Context) {
    let limits = ResourceLimits { scratch_mb: Some(16), ..ResourceLimits::default() };
    let Some(id) = cx.limited(limits).await else { return };
    cx.out(&id, "head -c 4000000 /dev/zero > /tmp/some && rm /tmp/some").await;
    for directory in ["/tmp", "/dev/shm", "$HOME"] {
        cx.refused(&id, &format!("head -c 64000000 /dev/zero > {directory}/fill")).await;
        cx.sh(&id, &format!("rm -f {directory}/fill")).await;
    }
    let files = "mkdir /tmp/many && cd /tmp/many && seq 1 300000 | xargs touch";
    cx.refused(&id, files).await;
    assert_eq!(cx.out(&id, "rm -rf /tmp/many; echo next").await, "next");
}

pub(crate) async fn a_flood_of_output_is_cut_and_counted(cx: &Context) {
    let kept = 1 << 20;
    let limits = ResourceLimits { output_bytes: Some(kept), ..ResourceLimits::default() };
    let Some(id) = cx.limited(limits).await else { return };
    let result = cx.exec(&id, cx.probe("flood 2048")).await;
    assert_eq!(result.exit_code, 0);
    assert!(result.stdout.0.len() as u64 <= kept, "{} bytes", result.stdout.0.len());
    assert_eq!(result.stdout.0.len() as u64 + result.stdout_omitted, 2048 << 20);
    assert_eq!(result.limits_hit, [LimitHit::Output]);
    let exact = cx.sh(&id, "head -c 1048576 /dev/zero").await;
    assert_eq!((exact.stdout.0.len() as u64, exact.stdout_omitted, exact.limits_hit), (kept, 0, vec![]));
}

pub(crate) async fn output_is_limited_by_default(cx: &Context) {
    let Some(id) = cx.limited(ResourceLimits::default()).await else { return };
    let result = cx.exec(&id, cx.probe("flood 512")).await;
    assert!(result.stdout_omitted > 0, "{} bytes were kept", result.stdout.0.len());
}

pub(crate) async fn no_core_files_are_written(cx: &Context) {
    let id = cx.session().await;
    assert_eq!(cx.out(&id, "ulimit -c").await, "0");
}

pub(crate) async fn a_flood_of_output_does_not_stop_the_clock(cx: &Context) {
    let id = cx.session().await;
    let request = ExecRequest { timeout: Some(Duration::from_millis(400)), ..cx.line("yes") };
    let result = cx.exec(&id, request).await;
    assert!(result.timed_out && result.exit_code == 124, "{:?}", (result.exit_code, result.usage));
    assert_eq!(cx.out(&id, "echo next").await, "next");
}
