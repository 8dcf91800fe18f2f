//! Mounts, snapshots, and what is left on the host.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown};

use fullsend_sandbox::{ByteString, FilesystemMount, SandboxBackend as _, SandboxError, SandboxSpec};
use fullsend_testkit::test_name;

use super::fixture::{Fixture, Runtime, USER};

fn spec(mounts: Vec<FilesystemMount>) -> SandboxSpec {
    SandboxSpec { mounts, ..SandboxSpec::default() }
}

/// A directory that commands may write to, whoever runs the tests.
fn writable() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    if rustix::process::geteuid().is_root() {
        chown(directory.path(), Some(USER), Some(USER)).unwrap();
    }
    directory
}

#[tokio::test(flavor = "multi_thread")]
async fn mounts_are_where_and_what_they_should_be() {
    for runtime in [Runtime::Runc, Runtime::Runsc] {
        let Some(fixture) = Fixture::new(test_name!(), runtime).await else { continue };
        let (work, odd) = (writable(), tempfile::Builder::new().prefix("odd, \"name\" ").tempdir().unwrap());
        fs::create_dir_all(work.path().join("sub/ro")).unwrap();
        fs::write(odd.path().join("file"), "readable").unwrap();
        if rustix::process::geteuid().is_root() {
            chown(work.path().join("sub"), Some(USER), Some(USER)).unwrap();
        }
        let mounts = vec![
            FilesystemMount::read_write(work.path(), "/work"),
            FilesystemMount::read_only(work.path().join("sub/ro"), "/work/sub/ro"),
            FilesystemMount::read_only(odd.path(), "/odd"),
        ];
        let id = fixture.provision(spec(mounts)).await;
        let checks = [
            ("pwd | grep -x /work", 0),
            ("echo hello > file", 0),
            ("cat /odd/file && touch /odd/x", 1),
            ("touch sub/ro/x", 1),
            ("mv sub sub2", 1),
            ("rm -rf sub", 1),
        ];
        for (line, code) in checks {
            let result = fixture.shell(&id, line).await;
            assert_eq!(result.exit_code, code, "{runtime:?}: {line}: {result:?}");
        }
        assert_eq!(fs::read(work.path().join("file")).unwrap(), b"hello\n");
        assert!(work.path().join("sub/ro").is_dir());
        let error = fixture.backend.snapshot(&id).await.unwrap_err();
        assert!(matches!(error, SandboxError::Unsupported { .. }), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overlay_never_changes_its_source_and_survives_in_snapshots() {
    let Some(fixture) = Fixture::new(test_name!(), Runtime::Runc).await else { return };
    let source = tempfile::tempdir().unwrap();
    fs::write(source.path().join("kept"), "source").unwrap();
    let before = fs::metadata(source.path().join("kept")).unwrap().mtime_nsec();
    let id = fixture.provision(spec(vec![FilesystemMount::overlay(source.path(), "/work")])).await;
    let write = fixture
        .shell(&id, "echo one > kept; mkfifo pipe; ln -s /etc/passwd link; mkdir -m 0 closed; chmod 640 kept")
        .await;
    assert_eq!(write.exit_code, 0, "{write:?}");
    let snapshot = fixture.backend.snapshot(&id).await.unwrap();
    fixture.shell(&id, "echo two > kept; rm pipe link; echo new > new").await;
    let fork = fixture.backend.fork(&snapshot).await.unwrap().id;
    let state = "cat kept; stat -c '%a %F' kept pipe link closed; test -e new; echo $?";
    let expected = "one\n640 regular file\n644 fifo\n777 symbolic link\n0 directory\n1\n";
    let forked = fixture.shell(&fork, state).await;
    assert_eq!(forked.stdout, ByteString::from(expected), "{forked:?}");
    assert_eq!(fixture.shell(&id, "cat kept new").await.stdout, ByteString::from("two\nnew\n"));
    fixture.backend.resume(&id).await.unwrap();
    assert_eq!(fixture.shell(&id, state).await.stdout, ByteString::from(expected));
    assert_eq!(fs::read(source.path().join("kept")).unwrap(), b"source");
    assert_eq!(fs::metadata(source.path().join("kept")).unwrap().mtime_nsec(), before);
    assert_eq!(fs::read_dir(source.path()).unwrap().count(), 1);
    for id in [id, fork] {
        fixture.backend.terminate(&id).await.unwrap();
    }
    assert_eq!(fs::read_dir(fixture.state.path().join("sessions")).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mount_can_be_added_and_a_bad_one_changes_nothing() {
    let Some(fixture) = Fixture::new(test_name!(), Runtime::Runc).await else { return };
    let id = fixture.session().await;
    fixture.shell(&id, "echo kept > /mnt/session/outputs/file").await;
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("there"), "").unwrap();
    for bad in [
        FilesystemMount::read_only(directory.path().join("missing"), "/added"),
        FilesystemMount::read_only(directory.path(), "/mnt/memory"),
        FilesystemMount::read_only(fixture.state.path(), "/added"),
    ] {
        let error = fixture.backend.attach_filesystem(&id, bad).await.unwrap_err();
        assert!(matches!(error, SandboxError::InvalidRequest(_)), "{error}");
    }
    let mount = FilesystemMount::read_only(directory.path(), "/added");
    let session = fixture.backend.attach_filesystem(&id, mount).await.unwrap();
    assert!(session.mounts.iter().any(|mount| mount.target == "/added"));
    let result = fixture.shell(&id, "ls /added; cat /mnt/session/outputs/file").await;
    assert_eq!(result.stdout, ByteString::from("there\nkept\n"));
}
