//! The launcher of a backend can die without taking anything with it.

use crate::support::context::Context;

pub(crate) async fn a_dead_launcher_is_started_again(cx: &Context) {
    let id = cx.session().await;
    let launchers = launchers();
    let [launcher] = launchers.as_slice() else { panic!("{launchers:?}") };
    let pid = rustix::process::Pid::from_raw(*launcher).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert_eq!(cx.out(&id, "echo still here").await, "still here");
    // The one that finds it dead may fail, and says so.
    let first = cx.try_provision(fullsend_sandbox::SandboxSpec::default()).await;
    if let Err(error) = &first {
        assert!(error.to_string().contains("launcher"), "{error}");
    }
    let again = cx.session().await;
    assert_eq!(cx.out(&again, "echo new").await, "new");
}

/// Children of this process that are launchers. Tests run side by side in threads, so only this test's own process may
/// have one: it runs as an ordinary user, in a process of its own.
fn launchers() -> Vec<i32> {
    let children = std::fs::read_dir("/proc/self/task").unwrap().flatten().flat_map(|task| {
        let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        children.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<i32>>()
    });
    children
        .filter(|pid| {
            std::fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| line.starts_with(b"fullsend-sandbox"))
        })
        .collect()
}
