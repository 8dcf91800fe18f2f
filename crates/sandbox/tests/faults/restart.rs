//! A session outlives the process that made it, with the files of its last snapshot.

use fullsend_sandbox::{
    ExecRequest, FilesystemMount, LocalBackend, SandboxBackend as _, SandboxSessionId, SandboxSpec,
};

use super::watch::{Watch, block_on};
use crate::support::backends::Place;
use crate::support::context::{text, write};
use crate::support::host;

const SESSION: &str = "victim-restart";
/// Everything about the files that a session can see, and what is in them.
const DESCRIBE: &str = "for d in /work /fresh /mnt/session/outputs; do cd $d; \
    find . ! -type d -printf '%P %y %m %n %s %l %T@ %U\\n' | sort; find . -type d -printf '%P %m\\n' | sort; \
    find . -type f -readable | sort | xargs -r cksum; done";
const BEFORE: &str = "set -e; cd /work; echo session > changed; rm removed; rm -r directory; mkdir directory; \
    echo new > directory/new; chmod 4500 script 2>/dev/null || chmod 500 script; ln -s /etc/passwd link; \
    mkdir -p a/b/c; echo deep > a/b/c/deep; chmod 700 a/b; touch -d @1000000000 changed; mv moved elsewhere; \
    cd /fresh; echo one > one; ln one two; mkfifo fifo; truncate -s 10M sparse; mkdir closed; echo x > closed/x; chmod 0 closed/x; chmod 555 closed; \
    cp /work/changed /mnt/session/outputs/result; umask 077; echo secret > /mnt/session/outputs/secret";
const AFTER: &str = "cd /work; rm -rf * 2>/dev/null; echo late > late; chmod 755 /fresh/closed; rm -rf /fresh/*; \
    echo late > /mnt/session/outputs/result; echo late > removed; true";

/// Makes a session, keeps it, and goes on.
pub(super) async fn prepare(backend: &LocalBackend, place: &Place) {
    let source = place.directory("source");
    for name in ["changed", "removed", "kept", "moved", "script", "directory/old", "directory/other"] {
        write(&source.join(name), "source\n");
    }
    let mounts = vec![FilesystemMount::overlay(&source, "/work"), FilesystemMount::read_write("", "/fresh")];
    let id = SandboxSessionId::new(SESSION).unwrap();
    let spec = SandboxSpec { session_id: Some(id.clone()), mounts, ..SandboxSpec::default() };
    backend.provision(spec).await.unwrap();
    let sh = async |line: &str| {
        let result = backend.exec(&id, ExecRequest::shell(line)).await.unwrap();
        assert!(result.success(), "{line}: {result:?}");
        text(&result)
    };
    // Several snapshots make several layers.
    sh("echo first > /work/first; echo first > /work/directory/first; rm /work/kept").await;
    backend.snapshot(&id).await.unwrap();
    sh(BEFORE).await;
    backend.snapshot(&id).await.unwrap();
    let description = sh(DESCRIBE).await;
    std::fs::write(place.path("description"), description).unwrap();
    sh(AFTER).await;
    println!("READY");
}

fn resume(watch: &Watch) {
    let before = host::tree(&watch.place.path("source"));
    block_on(async {
        let backend = watch.backend();
        assert_eq!(backend.sweep().unwrap(), [], "a session with a snapshot is kept");
        let id = SandboxSessionId::new(SESSION).unwrap();
        let expected = std::fs::read_to_string(watch.place.path("description")).unwrap();
        assert!(expected.contains("deep") && expected.contains("fifo"), "{expected}");
        for _ in 0..2 {
            backend.resume(&id).await.unwrap();
            let result = backend.exec(&id, ExecRequest::shell(DESCRIBE)).await.unwrap();
            assert_eq!(text(&result), expected);
            assert!(backend.exec(&id, ExecRequest::shell(AFTER)).await.unwrap().success());
        }
        let gone = "test ! -e /work/removed -a ! -e /work/kept -a ! -e /work/directory/old -a ! -e /work/moved && test $(stat -c %b /fresh/sparse) -lt 100 -a /fresh/one -ef /fresh/two";
        backend.resume(&id).await.unwrap();
        assert!(backend.exec(&id, ExecRequest::shell(gone)).await.unwrap().success());
        backend.terminate(&id).await.unwrap();
    });
    assert_eq!(host::tree(&watch.place.path("source")), before, "the source was changed");
    watch.expect_nothing_running();
    watch.expect_nothing_kept(|_, _| {});
}

pub(crate) fn after_a_proper_end(watch: &Watch) {
    let mut victim = watch.victim("snapshots-and-ends");
    assert!(victim.wait().unwrap().success());
    watch.expect_nothing_running();
    resume(watch);
}

pub(crate) fn after_a_kill(watch: &Watch) {
    let mut victim = watch.victim("snapshots-and-waits");
    victim.kill().unwrap();
    victim.wait().unwrap();
    watch.expect_nothing_running();
    resume(watch);
}
