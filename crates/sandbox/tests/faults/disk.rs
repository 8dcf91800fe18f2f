//! The disk with the sessions' files is full: that is said, nothing is lost, and it passes.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use fullsend_sandbox::{
    ExecRequest, FilesystemMount, LocalBackend, NetworkPolicy, SandboxBackend as _, SandboxError,
    SandboxSessionId, SandboxSpec,
};

use super::watch::{Watch, block_on, names};
use crate::support::context::{text, write};

/// What there is none of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    Space,
    Files,
}

/// Takes everything there is, until it is dropped.
struct Filler(PathBuf);

impl Filler {
    fn new(watch: &Watch, lack: Lack) -> Self {
        let path = watch.place.state().join("filler");
        std::fs::create_dir(&path).unwrap();
        match lack {
            Lack::Space => {
                let mut file = File::create(path.join("large")).unwrap();
                for size in [1 << 16, 1 << 10, 1] {
                    while file.write_all(&vec![b'x'; size]).is_ok() {}
                }
            }
            Lack::Files => while tempfile::Builder::new().disable_cleanup(true).tempfile_in(&path).is_ok() {},
        }
        Self(path)
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

/// The error tells which path of the state directory could not be written, and why.
fn expect_told(watch: &Watch, what: &str, error: Option<SandboxError>) {
    let error = error.unwrap_or_else(|| panic!("{what}: no error"));
    let message = error.to_string();
    let state = watch.place.state().display().to_string();
    // What the kernel itself keeps there it keeps for a mount of the session.
    let where_to = message.contains(&state) || message.contains("stacking directories on /work");
    assert!(where_to && message.contains("No space left"), "{what}: {message}");
}

async fn sh(backend: &LocalBackend, id: &SandboxSessionId, line: &str) -> String {
    let result = backend.exec(id, ExecRequest::shell(line)).await.unwrap();
    assert!(result.success(), "{line}: {result:?}");
    text(&result)
}

pub(crate) fn has_no_space(watch: &Watch) {
    lacks(watch, Lack::Space);
}

pub(crate) fn has_no_room_for_another_file(watch: &Watch) {
    lacks(watch, Lack::Files);
}

fn lacks(watch: &Watch, lack: Lack) {
    block_on(async {
        let backend = watch.backend();
        let source = watch.place.directory("source");
        write(&source.join("f"), "source\n");
        let mounts =
            vec![FilesystemMount::overlay(&source, "/work"), FilesystemMount::read_write("", "/fresh")];
        let id = backend.provision(SandboxSpec { mounts, ..SandboxSpec::default() }).await.unwrap().id;
        let describe = "cd /; rm -f fresh/more; sha256sum work/* fresh/* mnt/session/outputs/*";
        sh(&backend, &id, "head -c 300000 /dev/urandom | tee /work/f /fresh/f > /mnt/session/outputs/f")
            .await;
        backend.snapshot(&id).await.unwrap();
        let kept = sh(&backend, &id, describe).await;
        sh(&backend, &id, "echo later > /fresh/later").await;
        let later = sh(&backend, &id, describe).await;
        let state = watch.place.state();
        let before = names(&state.join("sessions"));

        let filler = Filler::new(watch, lack);
        let result = backend.exec(&id, ExecRequest::shell("cp /bin/sh /fresh/more")).await.unwrap();
        assert!(!result.success() && result.stderr.display().contains("No space"), "{result:?}");
        assert_eq!(sh(&backend, &id, describe).await, later, "a command sees other files");
        for _ in 0..2 {
            let named = SandboxSpec {
                session_id: Some(SandboxSessionId::new("full").unwrap()),
                ..SandboxSpec::default()
            };
            expect_told(watch, "provision", backend.provision(named).await.err());
            assert_eq!(names(&state.join("sessions")), before, "half a session is left");
            let policy = NetworkPolicy::limited(["ok.test"]);
            expect_told(watch, "network", backend.apply_network_policy(&id, policy).await.err());
            expect_told(watch, "snapshot", backend.snapshot(&id).await.err());
            expect_told(watch, "resume", backend.resume(&id).await.err());
            // The layer of a session that has ended needs directories to be mounted again.
            match backend.exec(&id, ExecRequest::shell(describe)).await {
                Ok(result) => assert_eq!(text(&result), later, "a command sees other files"),
                Err(error) => {
                    assert_eq!(lack, Lack::Files);
                    expect_told(watch, "exec", Some(error));
                }
            }
        }
        drop(filler);

        assert_eq!(sh(&backend, &id, describe).await, later, "files were lost");
        backend.resume(&id).await.unwrap();
        assert_eq!(sh(&backend, &id, describe).await, kept, "the snapshot has changed");
        sh(&backend, &id, "echo again > /fresh/again; echo again > /work/again; rm /work/f").await;
        backend.snapshot(&id).await.unwrap();
        let again = sh(&backend, &id, describe).await;
        sh(&backend, &id, "rm /fresh/again").await;
        backend.resume(&id).await.unwrap();
        assert_eq!(sh(&backend, &id, describe).await, again);
        backend.terminate(&id).await.unwrap();
    });
    watch.expect_nothing_running();
    watch.expect_nothing_kept(|_, _| {});
}

/// A process that ends while the disk is full leaves what can be resumed.
pub(crate) fn is_full_when_the_next_process_comes(watch: &Watch) {
    let id = block_on(async {
        let backend = watch.backend();
        let id = backend.provision(SandboxSpec::default()).await.unwrap().id;
        sh(&backend, &id, "head -c 300000 /dev/urandom > /mnt/session/outputs/f").await;
        backend.snapshot(&id).await.unwrap();
        id
    });
    watch.expect_nothing_running();
    let filler = Filler::new(watch, Lack::Space);
    block_on(async {
        let backend = watch.backend();
        assert_eq!(backend.sweep().unwrap(), []);
        expect_told(watch, "resume", backend.resume(&id).await.err());
    });
    drop(filler);
    block_on(async {
        let backend = watch.backend();
        backend.resume(&id).await.unwrap();
        assert_eq!(sh(&backend, &id, "stat -c %s /mnt/session/outputs/f").await, "300000\n");
        backend.terminate(&id).await.unwrap();
    });
    watch.expect_nothing_kept(|_, _| {});
}
