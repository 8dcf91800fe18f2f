//! Writing whole files.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use fullsend_agent::workspace::{FileProblem, Parents, SandboxPath};
use fullsend_origin::Sha256Digest;
use fullsend_testkit::{in_namespace, test_name};
use serde_json::json;

use crate::support::desk::Desk;

fn digest(bytes: &str) -> String {
    format!("sha256:{}", Sha256Digest::of(bytes.as_bytes()))
}

#[test]
fn modes_do_what_they_say() {
    let desk = Desk::new();
    std::fs::create_dir_all(desk.host("repo")).unwrap();
    desk.current.set(SandboxPath::absolute("/workspace/repo").unwrap());
    let write = |mode: &str, content: &str| {
        let input =
            json!({ "path": "notes/log.txt", "content": content, "mode": mode, "createParents": true });
        desk.call("write_file", input)
    };
    let expected = json!({
        "outputId": "run:tool:1", "path": "/workspace/repo/notes/log.txt", "mode": "create", "created": true,
        "digest": digest("one\n"), "sizeBytes": 4,
    });
    assert_eq!(write("create", "one\n"), expected);
    assert_eq!(write("create", "two\n")["error"]["code"], "edit_conflict");
    let appended = write("append", "two\n");
    assert_eq!((&appended["created"], &appended["digest"]), (&json!(false), &json!(digest("one\ntwo\n"))));
    assert_eq!(write("replace", "three\n")["sizeBytes"], 6);
    assert_eq!(desk.get("repo/notes/log.txt"), b"three\n");
    assert_eq!(write("append-twice", "x")["error"]["code"], "invalid_argument");
    assert_eq!(desk.names("repo/notes"), ["log.txt"], "nothing else is left behind");
    let plain = desk.call("write_file", json!({ "path": "new", "content": "" }));
    assert_eq!((&plain["mode"], &plain["created"]), (&json!("replace"), &json!(true)));
}

#[test]
fn parents_are_created_only_when_asked_for() {
    let desk = Desk::new();
    assert_eq!(desk.code("write_file", json!({ "path": "a/b/c", "content": "x" })), "file_not_found");
    assert_eq!(desk.names(""), [".artifacts"]);
    desk.call("write_file", json!({ "path": "a/b/c", "content": "x", "createParents": true }));
    assert_eq!(desk.get("a/b/c"), b"x");
}

#[test]
fn digests_are_expected() {
    let desk = Desk::new();
    desk.put("file", "one");
    let write = |digest: &str| {
        desk.call("write_file", json!({ "path": "file", "content": "two", "expectedDigest": digest }))
    };
    let refused = &write(&digest("other"))["error"];
    assert_eq!(
        (&refused["code"], &refused["actualDigest"]),
        (&json!("edit_conflict"), &json!(digest("one")))
    );
    assert_eq!(desk.get("file"), b"one");
    assert_eq!(write(&digest("one"))["digest"], digest("two"));
    let missing = json!({ "path": "missing", "content": "x", "expectedDigest": digest("one") });
    assert_eq!(desk.code("write_file", missing), "edit_conflict");
    assert!(!desk.host("missing").exists());
}

#[test]
fn permissions_are_kept_but_not_the_dangerous_ones() {
    let desk = Desk::new();
    desk.put("script", "old");
    for (before, after) in [(0o755, 0o755), (0o600, 0o600), (0o4755, 0o755)] {
        let path = desk.host("script");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(before)).unwrap();
        let inode = path.metadata().unwrap().ino();
        desk.call("write_file", json!({ "path": "script", "content": "new" }));
        let now = path.metadata().unwrap();
        assert_eq!(now.mode() & 0o7777, after);
        assert_ne!(now.ino(), inode, "a reader of the old file keeps the old file");
    }
}

#[test]
fn read_only_mounts_are_not_written() {
    let desk = Desk::with_mounts(&["name=docs,source=mounted,target=/docs"]);
    std::fs::write(desk.root.join("mounted/file"), "text").unwrap();
    assert_eq!(desk.read("/docs/file")["content"], "text");
    for (tool, input) in [
        ("write_file", json!({ "path": "/docs/file", "content": "x" })),
        ("write_file", json!({ "path": "/docs/new", "content": "x" })),
        ("write_file", json!({ "path": "/docs/a/b", "content": "x", "createParents": true })),
        ("edit_file", json!({ "path": "/docs/file", "edits": [{ "oldText": "text", "newText": "x" }] })),
        ("edit_file", json!({ "path": "/docs/missing", "edits": [{ "oldText": "text", "newText": "x" }] })),
    ] {
        assert_eq!(desk.code(tool, input), "permission_denied");
    }
    let names: Vec<_> = std::fs::read_dir(desk.root.join("mounted")).unwrap().collect();
    assert_eq!(names.len(), 1);
}

#[test]
fn large_contents_are_written() {
    let desk = Desk::new();
    let content = "0123456789abcde\n".repeat(640 * 1024);
    let written = desk.output("write_file", &json!({ "path": "large", "content": content })).unwrap();
    assert_eq!(written.record["sizeBytes"], 10 * 1024 * 1024);
    assert_eq!(written.shown.diff, None);
    let edit = json!({ "path": "large", "edits": [{ "oldText": content, "newText": "small\n" }] });
    assert_eq!(desk.call("edit_file", edit)["newSizeBytes"], 6);
}

#[test]
fn a_person_sees_what_changed() {
    let desk = Desk::new();
    desk.put("file", "one\n");
    let output = desk.output("write_file", &json!({ "path": "file", "content": "two\n" })).unwrap();
    assert_eq!(output.shown.line, "write_file /workspace/file: written, 4 bytes");
    let diff = "--- /workspace/file\n+++ /workspace/file\n@@ -1,1 +1,1 @@\n-one\n+two\n";
    assert_eq!(output.shown.diff.as_deref(), Some(diff));
}

#[test]
fn a_change_meanwhile_is_noticed_before_the_file_is_replaced() {
    let desk = Desk::new();
    let path = SandboxPath::absolute("/workspace/file").unwrap();
    desk.put("file", "one");
    let place = desk.workspace.place(&path, Parents::MustExist).unwrap();
    let old = place.old_bytes(100).unwrap().unwrap();
    desk.put("file", "two");
    assert!(matches!(place.put(b"mine", Some(&old)), Err(FileProblem::Changed)));
    assert_eq!(desk.get("file"), b"two");

    let place = desk.workspace.place(&path, Parents::MustExist).unwrap();
    std::fs::remove_file(desk.host("file")).unwrap();
    assert!(matches!(place.put(b"mine", Some(b"two")), Err(FileProblem::Changed)));
    assert!(!desk.host("file").exists());

    let place = desk.workspace.place(&path, Parents::MustExist).unwrap();
    desk.put("file", "theirs");
    assert!(matches!(place.put(b"mine", None), Err(FileProblem::Exists)));
    assert_eq!(desk.get("file"), b"theirs");
    assert_eq!(desk.names(""), [".artifacts", "file"]);
}

/// A disk that is full loses neither the old file nor leaves a part of the new one.
#[test]
fn a_full_disk_leaves_the_old_file() {
    in_namespace(test_name!(), &[], || {
        let directory = tempfile::tempdir().unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=256k", "none"])
            .arg(directory.path())
            .status();
        assert!(mounted.unwrap().success());
        let desk = Desk::at(directory.path(), &[]);
        desk.put("file", "old\n");
        let content = "x".repeat(1024 * 1024);
        for path in ["file", "new"] {
            let error = desk.call("write_file", json!({ "path": path, "content": content }));
            assert_eq!(error["error"]["code"], "unknown");
            assert!(error["error"]["detail"].as_str().unwrap().contains("No space left"), "{error}");
        }
        assert_eq!(desk.get("file"), b"old\n");
        assert_eq!(desk.names(""), [".artifacts", "file"]);
    });
}
