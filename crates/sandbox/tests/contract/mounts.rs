//! Mounts: what is seen, what can be changed, what is refused.

use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::PathBuf;

use fullsend_sandbox::{
    FilesystemAccess, FilesystemMount, SandboxError, SandboxSpec, spec::MEMORY_MOUNT, spec::OUTPUTS_MOUNT,
};

use crate::support::context::{Context, write};
use crate::support::host;

fn spec(mounts: Vec<FilesystemMount>) -> SandboxSpec {
    SandboxSpec { mounts, ..SandboxSpec::default() }
}

/// A fresh directory of the session.
fn fresh(target: &str) -> FilesystemMount {
    FilesystemMount::read_write(PathBuf::new(), target)
}

pub(crate) async fn a_writable_mount_is_the_directory_itself(cx: &Context) {
    let source = cx.place.directory("ws");
    write(&source.join("in"), "from the host");
    let id = cx.with_mounts(vec![FilesystemMount::read_write(&source, "/work/deep/down")]).await;
    assert_eq!(cx.out(&id, "cat /work/deep/down/in").await, "from the host");
    cx.out(&id, "cd /work/deep/down && echo inside > out && mkdir d && mv in d/ && chmod 700 d").await;
    assert_eq!(std::fs::read_to_string(source.join("out")).unwrap(), "inside\n");
    let made = std::fs::metadata(source.join("out")).unwrap();
    assert_eq!(made.uid(), rustix::process::geteuid().as_raw(), "files belong to the caller");
    assert_eq!(std::fs::metadata(source.join("d")).unwrap().mode() & 0o777, 0o700);
    write(&source.join("later"), "seen at once");
    assert_eq!(cx.out(&id, "cat /work/deep/down/later").await, "seen at once");
}

pub(crate) async fn a_read_only_mount_can_be_read_and_run(cx: &Context) {
    let source = cx.place.directory("ro");
    write(&source.join("data"), "content");
    std::fs::copy("/bin/true", source.join("program")).unwrap();
    let before = host::tree(&source);
    let id = cx.with_mounts(vec![FilesystemMount::read_only(&source, "/data")]).await;
    assert_eq!(cx.out(&id, "cat /data/data").await, "content");
    cx.out(&id, "/data/program").await;
    for line in [
        "echo x > /data/new",
        "echo x >> /data/data",
        "rm /data/data",
        "chmod 777 /data/data",
        "mkdir /data/d",
        "touch -d @1 /data/data",
        "mv /data/data /data/x",
        "ln /data/data /tmp/x",
        "chmod 700 /data",
        "rmdir /data",
    ] {
        cx.refused(&id, line).await;
    }
    assert_eq!(host::tree(&source), before);
}

pub(crate) async fn a_read_only_mount_holds_below_a_writable_one(cx: &Context) {
    let source = cx.place.directory("ws");
    write(&source.join("a/b/ro/data"), "content");
    write(&source.join("a/b/rw"), "content");
    let writable = FilesystemMount::read_write(&source, "/work");
    let carved = FilesystemMount::read_only(source.join("a/b/ro"), "/work/a/b/ro");
    for mounts in [vec![writable.clone(), carved.clone()], vec![carved, writable]] {
        let id = cx.with_mounts(mounts).await;
        let before = host::tree(&source.join("a/b/ro"));
        cx.out(&id, "echo x >> /work/a/b/rw").await;
        for line in [
            "echo x > /work/a/b/ro/data",
            "rm -rf /work/a/b/ro",
            "mv /work/a /work/z",
            "mv /work/a/b /work/z",
            "mv /work/a/b/ro /work/z",
            "rm -rf /work/a; test ! -e /work/a/b/ro/data",
        ] {
            cx.refused(&id, line).await;
        }
        assert_eq!(host::tree(&source.join("a/b/ro")), before);
        write(&source.join("a/b/rw"), "content");
    }
}

pub(crate) async fn a_single_file_can_be_mounted(cx: &Context) {
    let (read, change) = (cx.place.path("read"), cx.place.path("change"));
    write(&read, "content");
    write(&change, "content");
    let mounts = vec![
        FilesystemMount::read_only(&read, "/conf/read"),
        FilesystemMount::read_write(&change, "/conf/change"),
    ];
    let id = cx.with_mounts(mounts).await;
    assert_eq!(cx.out(&id, "cat /conf/read /conf/change").await, "contentcontent");
    cx.refused(&id, "echo x > /conf/read").await;
    cx.out(&id, "echo changed > /conf/change").await;
    assert_eq!(std::fs::read_to_string(change).unwrap(), "changed\n");
}

pub(crate) async fn a_mount_without_a_source_belongs_to_the_session(cx: &Context) {
    let id = cx.with_mounts(vec![fresh("/fresh")]).await;
    assert_eq!(cx.out(&id, "ls -A /fresh; echo x > /fresh/f; cat /fresh/f").await, "x");
    let session = cx.backend.session(&id).unwrap();
    let mount = session.mounts.iter().find(|mount| mount.target == "/fresh").unwrap();
    assert_eq!(mount.access, FilesystemAccess::ReadWrite);
    let other = cx.with_mounts(vec![fresh("/fresh")]).await;
    assert_eq!(cx.out(&other, "ls -A /fresh").await, "");
    cx.backend.terminate(&id).await.unwrap();
    if let Some(path) = &mount.host_path {
        assert!(!path.exists(), "{path:?} outlives its session");
    }
}

pub(crate) async fn memory_is_read_only_and_outputs_are_not(cx: &Context) {
    let id = cx.session().await;
    for line in
        ["echo x > /mnt/memory/f", "mkdir /mnt/memory/d", "rmdir /mnt/memory", "mv /mnt/memory /mnt/m"]
    {
        cx.refused(&id, line).await;
    }
    cx.out(&id, "echo result > /mnt/session/outputs/f").await;
    let session = cx.backend.session(&id).unwrap();
    let find = |target: &str| session.mounts.iter().find(|mount| mount.target == target).unwrap();
    assert_eq!(find(MEMORY_MOUNT).access, FilesystemAccess::ReadOnly);
    assert_eq!(find(OUTPUTS_MOUNT).access, FilesystemAccess::ReadWrite);
    if let Some(path) = &find(OUTPUTS_MOUNT).host_path {
        assert_eq!(std::fs::read_to_string(path.join("f")).unwrap(), "result\n");
    }
}

pub(crate) async fn memory_can_be_given_and_made_writable(cx: &Context) {
    let memory = cx.place.directory("memory");
    write(&memory.join("note"), "remembered");
    let id = cx.with_mounts(vec![FilesystemMount::read_write(&memory, MEMORY_MOUNT)]).await;
    assert_eq!(cx.out(&id, "cat $FULLSEND_MEMORY_DIR/note").await, "remembered");
    cx.out(&id, "echo new > $FULLSEND_MEMORY_DIR/note").await;
    assert_eq!(std::fs::read_to_string(memory.join("note")).unwrap(), "new\n");
}

pub(crate) async fn an_overlay_leaves_its_source_alone(cx: &Context) {
    let source = cx.place.directory("ws");
    write(&source.join("keep"), "old");
    write(&source.join("d/remove"), "old");
    let before = host::tree(&source);
    let spec = spec(vec![FilesystemMount::overlay(&source, "/work")]);
    let id = match cx.try_provision(spec).await {
        Err(SandboxError::Unsupported { .. }) => return cx.skip("layered mounts cannot be made here"),
        other => other.unwrap(),
    };
    cx.out(&id, "cd /work && echo new > keep && rm -r d && echo more > added && chmod 600 keep").await;
    assert_eq!(cx.out(&id, "cd /work; ls; cat keep").await, "added\nkeep\nnew");
    assert_eq!(host::tree(&source), before);
    let mounts = cx.backend.session(&id).unwrap().mounts;
    assert_eq!(mounts.iter().find(|mount| mount.target == "/work").unwrap().host_path, None);
}

pub(crate) async fn a_source_that_is_missing_is_refused_and_not_made(cx: &Context) {
    let missing = cx.place.path("missing");
    for mount in [
        FilesystemMount::read_only(&missing, "/work"),
        FilesystemMount::read_write(&missing, "/work"),
        FilesystemMount::overlay(&missing, "/work"),
        FilesystemMount::read_write(missing.join("deeper"), "/work"),
        FilesystemMount::read_write("relative/path", "/work"),
        FilesystemMount::read_write(cx.place.state().join("../missing"), "/work"),
    ] {
        let error = cx.try_provision(spec(vec![mount.clone()])).await.unwrap_err();
        assert!(matches!(error, SandboxError::InvalidRequest(_)), "{mount:?}: {error:?}");
        assert!(!missing.exists());
    }
}

pub(crate) async fn sources_that_undo_the_sandbox_are_refused(cx: &Context) {
    for source in ["/", "/proc", "/proc/self", "/sys", "/dev"] {
        let error =
            cx.try_provision(spec(vec![FilesystemMount::read_write(source, "/work")])).await.unwrap_err();
        assert!(matches!(error, SandboxError::InvalidRequest(_)), "{source}: {error:?}");
    }
    let state = cx.place.state();
    for source in [state.clone(), state.parent().unwrap().to_owned()] {
        let error =
            cx.try_provision(spec(vec![FilesystemMount::read_write(&source, "/work")])).await.unwrap_err();
        assert!(matches!(error, SandboxError::InvalidRequest(_)), "{source:?}: {error:?}");
    }
}

pub(crate) async fn bad_targets_are_refused(cx: &Context) {
    let source = cx.place.directory("ws");
    let bad = [
        "",
        "work",
        "/",
        "//",
        "/a/../b",
        "/a/./b",
        "/proc",
        "/proc/sys",
        "/dev",
        "/dev/shm/x",
        "/sys",
        "/run",
        "/a\nb",
        "/a\0b",
        "/.fullsend",
    ];
    for target in bad {
        let mounts = vec![FilesystemMount::read_only(&source, target)];
        let error = cx.try_provision(spec(mounts)).await.unwrap_err();
        assert!(matches!(error, SandboxError::InvalidRequest(_)), "{target:?}: {error:?}");
    }
    for (one, two) in
        [("/work", "/work"), ("/work", "/work/"), ("/work", "//work"), (MEMORY_MOUNT, MEMORY_MOUNT)]
    {
        let mounts =
            vec![FilesystemMount::read_only(&source, one), FilesystemMount::read_write(&source, two)];
        let error = cx.try_provision(spec(mounts)).await.unwrap_err();
        assert!(matches!(error, SandboxError::InvalidRequest(_)), "{one} {two}: {error:?}");
    }
}

pub(crate) async fn a_mount_can_be_added_later(cx: &Context) {
    let source = cx.place.directory("later");
    write(&source.join("f"), "content");
    let id = cx.session().await;
    cx.out(&id, "test ! -e /later; echo kept > /mnt/session/outputs/kept").await;
    let session =
        cx.backend.attach_filesystem(&id, FilesystemMount::read_only(&source, "/later")).await.unwrap();
    assert!(session.mounts.iter().any(|mount| mount.target == "/later"));
    assert_eq!(cx.backend.session(&id).unwrap().mounts, session.mounts);
    assert_eq!(cx.out(&id, "cat /later/f /mnt/session/outputs/kept").await, "contentkept");
    cx.refused(&id, "echo x > /later/f").await;
    for bad in [
        FilesystemMount::read_write(&source, "/later"),
        FilesystemMount::read_only(cx.place.path("missing"), "/other"),
        FilesystemMount::read_only(&source, "/proc"),
    ] {
        let error = cx.backend.attach_filesystem(&id, bad.clone()).await.unwrap_err();
        assert!(matches!(error, SandboxError::InvalidRequest(_)), "{bad:?}: {error:?}");
    }
    assert_eq!(cx.backend.session(&id).unwrap().mounts, session.mounts, "a refusal changes nothing");
    assert_eq!(cx.out(&id, "cat /later/f").await, "content");
}

pub(crate) async fn a_source_is_the_one_that_was_given(cx: &Context) {
    let (source, outside) = (cx.place.directory("ws"), cx.place.directory("outside"));
    write(&source.join("f"), "mine");
    write(&outside.join("f"), "secret");
    let before = host::tree(&outside);
    let id = cx.with_mounts(vec![FilesystemMount::read_write(&source, "/work")]).await;
    std::fs::rename(&source, cx.place.path("moved")).unwrap();
    symlink(&outside, &source).unwrap();
    // Either it still sees the directory it was given, or nothing runs.
    if let Ok(result) = cx.backend.exec(&id, cx.line("cat /work/f; echo x > /work/g")).await {
        assert!(!result.stdout.display().contains("secret"), "{result:?}");
    }
    let again =
        cx.backend.attach_filesystem(&id, FilesystemMount::read_write(cx.place.directory("x"), "/x")).await;
    if again.is_ok()
        && let Ok(result) = cx.backend.exec(&id, cx.line("cat /work/f; echo x > /work/h")).await
    {
        assert!(!result.stdout.display().contains("secret"), "{result:?}");
    }
    assert_eq!(host::tree(&outside), before);
}

pub(crate) async fn only_listed_programs_run(cx: &Context) {
    let programs = Some(vec!["sh".to_owned(), "cat".to_owned()]);
    let id = match cx.try_provision(SandboxSpec { programs, ..SandboxSpec::default() }).await {
        Err(SandboxError::Unsupported { .. }) => return cx.skip("lists of programs cannot be enforced here"),
        other => other.unwrap(),
    };
    assert_eq!(cx.out(&id, "echo x > /tmp/f; cat /tmp/f").await, "x");
    let result = cx.sh(&id, "ls /").await;
    assert!(matches!(result.exit_code, 126 | 127), "{result:?}");
    for way in ["cat /usr/bin/ls > /tmp/ls; chmod +x /tmp/ls; /tmp/ls /", "/usr/bin/env true"] {
        let result = cx.sh(&id, way).await;
        assert!(!result.success(), "{way}: {result:?}");
    }
}
