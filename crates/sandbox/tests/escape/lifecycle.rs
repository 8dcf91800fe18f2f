//! Attacks that take more than one command, or need the host to do something meanwhile.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use fullsend_sandbox::{ExecRequest, FilesystemMount, SandboxError};

use crate::support::context::{Context, text, write};
use crate::support::host;

/// The first command puts links in the place of every mount; the second follows them.
pub(crate) async fn mounts_are_not_replaced_by_links(cx: &Context) {
    let (source, outside) = (cx.place.directory("ws"), cx.place.directory("outside"));
    write(&outside.join("secret"), "secret");
    let before = host::tree(&outside);
    let mounts = vec![
        FilesystemMount::read_write(&source, "/work"),
        FilesystemMount::read_write(PathBuf::new(), "/fresh"),
        FilesystemMount::read_write(PathBuf::new(), "/deep/er/fresh"),
    ];
    let id = cx.with_mounts(mounts).await;
    let vd = outside.display();
    for place in [
        "/mnt/memory",
        "/mnt/session/outputs",
        "/mnt/session",
        "/work",
        "/fresh",
        "/deep/er",
        "/tmp",
        "$HOME",
    ] {
        cx.sh(
            &id,
            &format!("rm -rf {place}; rmdir {place}; ln -sfn {vd} {place}; ln -sfn {vd} {place}/link"),
        )
        .await;
        for path in [place.to_owned(), format!("{place}/link")] {
            let result = cx.sh(&id, &format!("cat {path}/secret; echo x > {path}/new")).await;
            assert!(!text(&result).contains("secret"), "{path}: {result:?}");
        }
    }
    let attached = FilesystemMount::read_write(cx.place.directory("later"), "/work/link/later");
    if cx.backend.attach_filesystem(&id, attached).await.is_ok() {
        cx.sh(&id, "echo x > /work/link/later/new").await;
    }
    cx.sh(&id, &format!("cat {vd}/secret; echo x > {vd}/new")).await;
    assert_eq!(host::tree(&outside), before);
}

/// The guest swaps a directory for a link, again and again, while the host mounts what is below it.
pub(crate) async fn no_race_leads_outside(cx: &Context) {
    let Some(probe) = cx.probe_mount() else { return };
    let (source, outside) = (cx.place.directory("ws"), cx.place.directory("outside"));
    write(&outside.join("inner/secret"), "secret");
    write(&source.join("a/inner/secret"), "mine");
    symlink(&outside, source.join("b")).unwrap();
    let before = host::tree(&outside);
    let id = cx.with_mounts(vec![FilesystemMount::read_write(&source, "/work"), probe]).await;
    let mut racer = cx.backend.spawn(&id, cx.probe("swap /work/a /work/b")).await.unwrap();
    racer.next().await.unwrap();
    for round in 0..100 {
        // Of the guest's view: the target's parent is what is swapped. Of the host's: the source's parent is.
        let mounts = [
            FilesystemMount::read_write(cx.place.directory("later"), format!("/work/a/t{round}")),
            FilesystemMount::read_write(source.join("a/inner"), format!("/inner{round}")),
        ];
        for mount in mounts {
            let other = cx.session().await;
            let target = mount.target.clone();
            let made = cx.backend.attach_filesystem(&other, mount).await;
            if made.is_ok() {
                let line = format!("cat {target}/secret; echo x > {target}/new");
                let result = cx.sh(&other, &line).await;
                assert!(!text(&result).contains("secret"), "{result:?}");
            }
            cx.backend.terminate(&other).await.unwrap();
        }
    }
    racer.signal(15).unwrap();
    let raced = racer.collect().await.unwrap();
    let rounds: u32 = text(&raced).trim().parse().unwrap();
    assert!(rounds >= 10_000, "{rounds} rounds are no race");
    assert_eq!(host::tree(&outside), before);
}

/// The same while the session itself gets a mount and starts anew.
pub(crate) async fn no_race_leads_outside_at_attach(cx: &Context) {
    let Some(probe) = cx.probe_mount() else { return };
    let (source, outside) = (cx.place.directory("ws"), cx.place.directory("outside"));
    write(&outside.join("sub/secret"), "secret");
    write(&source.join("a/sub/data"), "mine");
    symlink(&outside, source.join("b")).unwrap();
    let before = host::tree(&outside);
    let id = cx.with_mounts(vec![FilesystemMount::read_write(&source, "/work"), probe]).await;
    for round in 0..20 {
        let request =
            ExecRequest { keep_background: true, ..cx.line("/attack/probe swap /work/a /work/b & exit 0") };
        cx.exec(&id, request).await;
        let mount = FilesystemMount::read_write(cx.place.directory("later"), format!("/work/a/sub/t{round}"));
        match cx.backend.attach_filesystem(&id, mount).await {
            Ok(_)
            | Err(SandboxError::InvalidRequest(_) | SandboxError::Lifecycle(_) | SandboxError::Io { .. }) => {
            }
            Err(other) => panic!("{other:?}"),
        }
        if let Ok(result) = cx.backend.exec(&id, cx.line("cat /work/a/sub/secret /work/b/sub/secret")).await {
            assert!(!text(&result).contains("secret"), "{result:?}");
        }
        assert_eq!(host::tree(&outside), before, "round {round}");
    }
}

/// What a session leaves in the workspace is not dangerous for the host.
pub(crate) async fn nothing_dangerous_is_left_in_the_workspace(cx: &Context) {
    let source = cx.place.directory("ws");
    let id = cx.with_mounts(vec![FilesystemMount::read_write(&source, "/work")]).await;
    let lines = [
        "cp /bin/sh /work/s && chmod 4755 /work/s",
        "mkdir -m 2755 /work/d",
        "cp /bin/sh /tmp/s; chmod 6755 /tmp/s; cp -p /tmp/s /work/t",
        "install -m 4755 /bin/sh /work/u",
        "umask 0; cp /bin/sh /work/v; chmod u+s /work/v; chmod g+s /work/v",
        "cd /tmp && cp /bin/sh x && chmod 4755 x; tar cpf - x | tar xpf - -C /work",
        "mknod /work/n b 8 0; mknod /work/m c 1 1",
    ];
    for line in lines {
        cx.sh(&id, line).await;
    }
    assert_eq!(host::identity_changers(&source), Vec::<String>::new());
    let devices = host::tree(&source)
        .into_values()
        .filter(|line| line.starts_with("6") || line.starts_with("2"))
        .count();
    assert_eq!(devices, 0);
}

/// A program in the workspace that would change the user does not.
pub(crate) async fn planted_programs_change_no_identity(cx: &Context) {
    let source = cx.place.directory("ws");
    let program = source.join("id");
    std::fs::copy("/usr/bin/id", &program).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o6755)).unwrap();
    let id = cx.with_mounts(vec![FilesystemMount::read_write(&source, "/work")]).await;
    assert_eq!(cx.out(&id, "/work/id -u; /work/id -ru").await, cx.out(&id, "id -u; id -u").await);
    assert_eq!(cx.out(&id, "/work/id -g; /work/id -rg").await, cx.out(&id, "id -g; id -g").await);
}

/// Filling what is private to a session does not fill the host.
pub(crate) async fn a_full_scratch_space_is_not_the_hosts(cx: &Context) {
    let id = cx.session().await;
    let free = || {
        let space = rustix::fs::statvfs("/tmp").unwrap();
        space.f_bavail * space.f_frsize
    };
    let before = free();
    let result = cx.sh(&id, "head -c 20000000000 /dev/zero > /tmp/fill").await;
    assert!(!result.success(), "20 GB fit into a private /tmp: {result:?}");
    // Others write to the disk meanwhile; a leak would be far larger.
    assert!(free() + 2_000_000_000 > before, "the host's /tmp got full");
    assert_eq!(cx.out(&id, "rm -f /tmp/fill; echo x > /tmp/f; cat /tmp/f").await, "x");
}

/// Files of every kind in the workspace neither block nor mislead what the host does with them.
pub(crate) async fn odd_files_do_not_block_the_host(cx: &Context) {
    if !cx.backend.capabilities().snapshot {
        return cx.skip("this backend keeps no files here");
    }
    let source = cx.place.directory("ws");
    write(&source.join("f"), "content");
    let outside = cx.place.directory("outside");
    write(&outside.join("secret"), "secret");
    let id = cx.with_mounts(vec![FilesystemMount::overlay(&source, "/work")]).await;
    let line = format!(
        "cd /work && mkfifo fifo && ln -s {0} out && ln -s {0}/secret file && rm f && ln -s {0}/secret f && mkdir d && \
         ln -s ../../../.. d/up",
        outside.display()
    );
    cx.out(&id, &line).await;
    let snapshot = cx.backend.snapshot(&id).await.unwrap();
    let fork = cx.backend.fork(&snapshot).await.unwrap();
    cx.remember(&fork.id);
    for session in [&id, &fork.id] {
        assert_eq!(cx.out(session, "cd /work && test -p fifo && test -h f && ls | wc -l").await, "5");
        cx.refused(session, "cat /work/f /work/file /work/out/secret").await;
    }
    let kept = host::tree(&cx.place.state());
    let secret = format!("{:x?}", <sha2::Sha256 as sha2::Digest>::digest("secret"));
    assert!(kept.values().all(|line| !line.contains(&secret)), "the snapshot followed a link");
}
