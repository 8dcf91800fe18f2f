//! Changes of overlaid directories, across everything that starts a new process 1.

use fullsend_sandbox::{FilesystemMount, NetworkPolicy, SandboxSessionId, SandboxSpec};

use crate::support::context::Context;

pub(crate) async fn changes_outlive_process_1(cx: &Context) {
    let (source, more) = (cx.place.directory("source"), cx.place.directory("more"));
    std::fs::write(source.join("kept"), "source").unwrap();
    std::fs::write(source.join("removed"), "source").unwrap();
    let id = SandboxSessionId::new("layered").unwrap();
    cx.remember(&id);
    let mounts = vec![FilesystemMount::overlay(&source, "/work")];
    cx.backend
        .provision(SandboxSpec { session_id: Some(id.clone()), mounts, ..SandboxSpec::default() })
        .await
        .unwrap();
    cx.out(&id, "cd /work && rm removed && echo session > added && chmod 000 added && mkdir -m 700 d").await;
    let describe = "cd /work && stat -c '%n %a %F' * && cat kept";
    let before = cx.out(&id, describe).await;
    cx.backend.attach_filesystem(&id, FilesystemMount::read_only(&more, "/more")).await.unwrap();
    assert_eq!(cx.out(&id, describe).await, before, "after a mount");
    cx.backend.apply_network_policy(&id, NetworkPolicy::limited(["ok.test"])).await.unwrap();
    assert_eq!(cx.out(&id, describe).await, before, "after a change of the network");
    cx.backend.attach_filesystem(&id, FilesystemMount::overlay(&more, "/second")).await.unwrap();
    cx.out(&id, "echo x > /second/f").await;
    assert_eq!(cx.out(&id, describe).await, before, "after another overlay");
    assert_eq!(std::fs::read_dir(&source).unwrap().count(), 2, "the source is as it was");
    for round in 0..12 {
        cx.out(&id, &format!("echo {round} > /work/round")).await;
        cx.backend.snapshot(&id).await.unwrap();
    }
    cx.out(&id, "rm -r /work/*").await;
    cx.backend.resume(&id).await.unwrap();
    assert_eq!(cx.out(&id, "cat /work/round /second/f").await, "11\nx");
}

pub(crate) async fn a_layer_is_shared_and_goes_with_its_last_session(cx: &Context) {
    let source = cx.place.directory("source");
    let id = cx.with_mounts(vec![FilesystemMount::overlay(&source, "/work")]).await;
    cx.out(&id, "echo one > /work/f").await;
    let snapshot = cx.backend.snapshot(&id).await.unwrap();
    let fork = cx.backend.fork(&snapshot).await.unwrap();
    cx.backend.terminate(&id).await.unwrap();
    assert_eq!(cx.out(&fork.id, "cat /work/f; echo two > /work/f; cat /work/f").await, "one\ntwo");
    cx.backend.terminate(&fork.id).await.unwrap();
    assert_eq!(std::fs::read_dir(cx.place.state().join("layers")).unwrap().count(), 0);
}
