//! What commands find around them.

use std::collections::BTreeMap;

use fullsend_sandbox::{ExecRequest, SandboxError, SandboxSessionId};

use crate::support::context::{Context, text};

/// What every system has, and with values that may be the same everywhere.
const ORDINARY: [&str; 10] =
    ["PATH", "HOME", "LANG", "LC_ALL", "TERM", "TZ", "PWD", "USER", "SHELL", "LOGNAME"];

async fn environment(cx: &Context, id: &SandboxSessionId, request: ExecRequest) -> BTreeMap<String, String> {
    let result = cx.exec(id, request).await;
    let pairs = text(&result);
    let pairs = pairs.split('\0').filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn env_command() -> ExecRequest {
    ExecRequest::new("env", ["-0"])
}

pub(crate) async fn nothing_of_the_hosts_environment_is_there(cx: &Context) {
    let id = cx.session().await;
    let inside = environment(cx, &id, env_command()).await;
    let mut compared = 0;
    for (key, value) in std::env::vars().filter(|(key, _)| !ORDINARY.contains(&key.as_str())) {
        assert_ne!(inside.get(&key), Some(&value), "{key}");
        compared += 1;
    }
    assert!(compared > 0, "the test has no environment to compare with");
    let everything = cx.out(&id, "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'").await;
    assert!(!everything.contains("CARGO_"), "{everything}");
}

pub(crate) async fn variables_are_added_and_not_kept(cx: &Context) {
    let id = cx.session().await;
    let given = [("A", "1"), ("EMPTY", ""), ("ODD", "a=b\n'\"$HOME ü"), ("_x9", "y")];
    let env: BTreeMap<String, String> =
        given.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let inside = environment(cx, &id, ExecRequest { env: env.clone(), ..env_command() }).await;
    for (key, value) in &env {
        assert_eq!(inside.get(key), Some(value), "{key}");
    }
    assert!(inside.contains_key("PATH"));
    let after = environment(cx, &id, env_command()).await;
    assert!(env.keys().all(|key| !after.contains_key(key)), "{after:?}");
}

pub(crate) async fn a_variable_that_is_none_is_refused(cx: &Context) {
    let id = cx.session().await;
    for (key, value) in [("", "x"), ("A=B", "x"), ("A\0B", "x"), ("A", "x\0y")] {
        let env = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        let error = cx.backend.exec(&id, ExecRequest { env, ..env_command() }).await.unwrap_err();
        assert!(matches!(error, SandboxError::InvalidRequest(_)), "{key:?}: {error:?}");
    }
}

pub(crate) async fn memory_and_outputs_are_named_and_real(cx: &Context) {
    let id = cx.session().await;
    assert_eq!(cx.out(&id, "echo $FULLSEND_MEMORY_DIR").await, "/mnt/memory");
    assert_eq!(cx.out(&id, "echo $FULLSEND_OUTPUTS_DIR").await, "/mnt/session/outputs");
    cx.out(&id, "test -d /mnt/memory && test -d /mnt/session/outputs").await;
}

pub(crate) async fn the_usual_places_are_writable(cx: &Context) {
    let id = cx.session().await;
    for place in ["/tmp", "/var/tmp", "/dev/shm", "$HOME", "/dev/null"] {
        let line = match place {
            "/dev/null" => "echo x > /dev/null".to_owned(),
            directory => format!("echo x > {directory}/f && rm {directory}/f"),
        };
        cx.out(&id, &line).await;
    }
}

pub(crate) async fn there_is_no_terminal_unless_asked_for(cx: &Context) {
    let id = cx.session().await;
    cx.refused(&id, "exec 3< /dev/tty").await;
    cx.refused(&id, "test -t 0 || test -t 1 || test -t 2").await;
}

pub(crate) async fn the_first_process_shows_nothing_of_the_host(cx: &Context) {
    let id = cx.session().await;
    let shown = cx.out(&id, "cat /proc/1/cmdline /proc/1/comm 2>/dev/null | tr '\\0' ' '").await;
    let root = cx.place.root().display().to_string();
    assert!(!shown.contains(&root), "{shown}");
    cx.refused(&id, "cat /proc/1/environ > /tmp/e && test -s /tmp/e").await;
}

pub(crate) async fn no_other_processes_are_seen(cx: &Context) {
    let id = cx.session().await;
    let count: u32 = cx.out(&id, "ls -d /proc/[0-9]* | wc -l").await.parse().unwrap();
    assert!(count < 10, "{count} processes");
    let own = format!("/proc/{}", std::process::id());
    // The number may be in use inside; the command line tells.
    let line = format!("tr '\\0' ' ' < {own}/cmdline 2>/dev/null; true");
    assert!(!cx.out(&id, &line).await.contains("test-threads"));
}

pub(crate) async fn private_files_stay_private(cx: &Context) {
    let (one, two) = (cx.session().await, cx.session().await);
    let name = format!("private-{}", cx.mark());
    for directory in ["/tmp", "/var/tmp", "/dev/shm"] {
        cx.out(&one, &format!("echo x > {directory}/{name}")).await;
        assert!(!std::path::Path::new(directory).join(&name).exists(), "{directory} is the host's");
        cx.out(&two, &format!("test ! -e {directory}/{name}")).await;
    }
    assert_eq!(cx.out(&one, &format!("cat /tmp/{name}")).await, "x", "files last as long as the session");
}

pub(crate) async fn an_unknown_call_is_not_there(cx: &Context) {
    let Some(mount) = cx.probe_mount() else { return };
    let id = cx.with_mounts(vec![mount]).await;
    for number in ["999", "700", "100000"] {
        let result = cx.exec(&id, cx.probe(&format!("unknown {number}"))).await;
        assert_eq!(text(&result), "BLOCKED ENOSYS\n", "libraries fall back on ENOSYS only: {number}");
    }
}
