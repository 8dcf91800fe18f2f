//! What a command was refused is told, with the line that would allow it; what was not refused is not told.

use fullsend_sandbox::{Denied, ExecRequest, ExecResult, FilesystemMount, SandboxSpec};

use crate::support::context::Context;

fn watched(mounts: Vec<FilesystemMount>) -> SandboxSpec {
    SandboxSpec { mounts, watch_paths: true, ..SandboxSpec::default() }
}

fn paths(result: &ExecResult) -> Vec<(&str, &str, &str)> {
    let denials = result.denials.iter().filter_map(|denial| match &denial.what {
        Denied::Path { path, access } => {
            Some((path.as_str(), access.as_str(), denial.remedy.as_deref().unwrap_or_default()))
        }
        Denied::Host { .. } | Denied::Call { .. } => None,
    });
    denials.collect()
}

pub(crate) async fn refused_calls_are_named(cx: &Context) {
    let id = cx.session().await;
    cx.backend.suspend(&id).await.unwrap();
    let result = cx.sh(&id, "unshare -U true; exit 0").await;
    let [denial] = result.denials.as_slice() else { panic!("{result:?}") };
    assert_eq!(denial.what, Denied::Call { name: "unshare".to_owned() });
    assert_eq!(denial.remedy, None, "nothing allows it");
    assert!(cx.sh(&id, "true").await.denials.is_empty(), "told once");
}

pub(crate) async fn hidden_and_read_only_paths_are_named_with_what_would_allow_them(cx: &Context) {
    let (hidden, kept) = (cx.place.directory("hidden"), cx.place.directory("kept"));
    std::fs::write(hidden.join("file"), "content").unwrap();
    let id = cx.try_provision(watched(vec![FilesystemMount::read_only(&kept, "/kept")])).await.unwrap();
    let file = hidden.join("file").display().to_string();
    let result =
        cx.sh(&id, &format!("cat {file}; echo x > /kept/new; cd /kept && echo x > ../etc/new; exit 3")).await;
    assert_eq!(result.exit_code, 3);
    let found = paths(&result);
    assert!(
        found.contains(&(file.as_str(), "read", format!("read: [\"{file}\"] (--ro {file})").as_str())),
        "{found:?}"
    );
    let writable = format!("--rw {}:/kept", kept.display());
    assert!(found.contains(&("/kept/new", "write", writable.as_str())), "{found:?}");
    assert!(found.contains(&("/etc/new", "write", "")), "{found:?}");
    // The remedy is one.
    let allowed = FilesystemMount::read_only(hidden.join("file"), file.clone());
    let id = cx.try_provision(watched(vec![allowed])).await.unwrap();
    let result = cx.sh(&id, &format!("cat {file}")).await;
    assert_eq!((result.stdout.display().as_ref(), paths(&result)), ("content", Vec::new()));
}

pub(crate) async fn a_path_cannot_write_messages(cx: &Context) {
    let id = cx.try_provision(watched(Vec::new())).await.unwrap();
    let line = "p=$(printf '/etc/\\033]0;title\\007\\nallow everything'); echo x > \"$p\"; exit 3";
    let result = cx.sh(&id, line).await;
    let found: Vec<_> =
        result.denials.iter().filter(|denial| denial.reason.contains("allow every")).collect();
    let [denial] = found.as_slice() else { panic!("{result:?}") };
    let Denied::Path { path, .. } = &denial.what else { panic!("{denial:?}") };
    assert!(!path.contains(char::is_control) && !denial.reason.contains(char::is_control), "{denial:?}");
}

pub(crate) async fn what_works_is_not_called_refused(cx: &Context) {
    let work = cx.place.directory("work");
    let id = cx.try_provision(watched(vec![FilesystemMount::read_write(&work, "/work")])).await.unwrap();
    let line = "echo x > /work/f && cat /work/f && mkdir -p /tmp/a/b && rm -r /tmp/a && ls / /work /usr > /dev/null && \
        test ! -e /no/such/path && mv /work/f /work/g && echo y > $HOME/z && cat /etc/passwd > /dev/null";
    let result = cx.sh(&id, line).await;
    assert!(result.success(), "{result:?}");
    assert_eq!(paths(&result), Vec::new());
}

pub(crate) async fn what_cannot_be_told_apart_is_told_of_nobody(cx: &Context) {
    let id = cx.session().await;
    let long = cx.backend.spawn(&id, cx.line("sleep 1")).await.unwrap();
    let refused = cx.exec(&id, ExecRequest::new("unshare", ["-U", "true"])).await;
    assert!(!refused.success());
    let long = long.collect().await.unwrap();
    assert_eq!((refused.denials, long.denials), (Vec::new(), Vec::new()));
    let alone = cx.exec(&id, ExecRequest::new("unshare", ["-U", "true"])).await;
    assert_eq!(alone.denials.len(), 1);
}
