//! Names that lead elsewhere, and files that are none.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fullsend_agent::workspace::{FileProblem, SandboxPath};
use serde_json::{Value, json};

use crate::support::desk::Desk;

/// Each tool with arguments that are right but for the path.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read_file", json!({ "path": path })),
        ("view_image", json!({ "path": path })),
        ("write_file", json!({ "path": path, "content": "mine" })),
        ("write_file", json!({ "path": path, "content": "mine", "mode": "append", "createParents": true })),
        ("edit_file", json!({ "path": path, "edits": [{ "oldText": "secret", "newText": "mine" }] })),
        ("search_files", json!({ "path": path, "pattern": "secret" })),
        ("list_files", json!({ "path": path })),
    ]
}

fn assert_codes(desk: &Desk, path: &str, code: &str) {
    for (tool, input) in calls(path) {
        assert_eq!(desk.code(tool, input), code, "{tool} {path}");
    }
}

#[test]
fn the_artifacts_are_reached_by_no_name() {
    let desk = Desk::new();
    desk.put("inner/x", "x");
    desk.link(".artifacts", "to-artifacts");
    desk.link(".artifacts/run-1/secret.txt", "to-secret");
    desk.link("to-artifacts", "chain-1");
    desk.link("chain-1", "chain-2");
    desk.link("inner/../.artifacts/run-1", "roundabout");
    desk.link("../.artifacts", "inner/up");
    for path in [
        ".artifacts/run-1/secret.txt",
        "/workspace/.artifacts/run-1/secret.txt",
        "inner/../.artifacts/run-1/secret.txt",
        "to-artifacts/run-1/secret.txt",
        "to-secret",
        "chain-2/run-1/secret.txt",
        "roundabout/secret.txt",
        "inner/up/run-1/secret.txt",
        ".artifacts",
        "to-artifacts",
        ".artifacts/run-1",
        ".artifacts/new/file",
    ] {
        assert_codes(&desk, path, "permission_denied");
    }
    assert_eq!(desk.get(".artifacts/run-1/secret.txt"), b"secret of the run\n");
    assert_eq!(desk.names(".artifacts"), ["run-1"]);
}

#[test]
fn the_artifacts_are_reserved_in_other_mounts_too() {
    let desk = Desk::with_mounts(&["name=all,source=work,target=/all"]);
    assert_codes(&desk, "/all/.artifacts/run-1/secret.txt", "permission_denied");
}

#[test]
fn links_that_lead_out_are_not_followed() {
    let desk = Desk::new();
    desk.put("inner/x", "x");
    desk.link(desk.root.join("outside/secret.txt"), "absolute");
    desk.link("../outside/secret.txt", "relative");
    desk.link("../outside", "directory");
    desk.link("inner/../../outside/secret.txt", "roundabout");
    desk.link("/proc/self/root", "magic");
    desk.link(desk.host("inner/x"), "absolute-but-inside");
    for path in [
        "absolute",
        "relative",
        "directory/secret.txt",
        "roundabout",
        "magic/etc/passwd",
        "absolute-but-inside",
    ] {
        assert_codes(&desk, path, "path_outside_workspace");
    }
    let secret = std::fs::read_to_string(desk.root.join("outside/secret.txt")).unwrap();
    assert_eq!(secret, "secret of the host\n");
    assert_eq!(std::fs::read_dir(desk.root.join("outside")).unwrap().count(), 1);
}

#[test]
fn paths_outside_have_one_code_whatever_is_mounted() {
    let mounts = ["name=docs,source=mounted,target=/docs"];
    for desk in [Desk::new(), Desk::with_mounts(&mounts)] {
        for path in ["/etc/passwd", "../../etc/passwd", "/workspace/../root", "/", "/workspaces/x"] {
            assert_codes(&desk, path, "path_outside_workspace");
            assert_eq!(desk.read(path)["path"], path, "what was asked for is repeated");
        }
    }
}

#[test]
fn what_is_no_regular_file_is_refused_without_waiting() {
    let desk = Desk::new();
    std::fs::create_dir(desk.host("directory")).unwrap();
    desk.link("directory", "to-directory");
    let pipe = desk.host("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    desk.link("pipe", "to-pipe");
    let _socket = UnixListener::bind(desk.host("socket")).unwrap();
    desk.link("loop-b", "loop-a");
    desk.link("loop-a", "loop-b");
    for path in ["pipe", "to-pipe", "socket", "loop-a"] {
        assert_codes(&desk, path, "not_a_file");
    }
    for path in ["directory", "to-directory", "."] {
        for (tool, input) in calls(path).into_iter().filter(|(tool, _)| !tool.ends_with("_files")) {
            assert_eq!(desk.code(tool, input), "not_a_file", "{tool} {path}");
        }
    }
    desk.put("file", "text");
    for (tool, input) in calls("file/below") {
        assert_eq!(desk.code(tool, input), "not_a_file", "{tool}");
    }
    assert_eq!(desk.code("list_files", json!({ "path": "file" })), "not_a_file");
}

#[test]
fn devices_are_not_opened() {
    let desk = Desk::with_mounts(&["name=devices,source=/dev,target=/devices,mode=writable"]);
    for device in ["zero", "null", "tty"] {
        assert_codes(&desk, &format!("/devices/{device}"), "not_a_file");
    }
}

#[test]
fn odd_paths_are_answered() {
    let desk = Desk::new();
    for path in ["", "a\0b", &"x".repeat(10 * 1024 * 1024)] {
        assert_codes(&desk, path, "invalid_argument");
    }
    let name = "x".repeat(300);
    assert_eq!(desk.code("read_file", json!({ "path": name })), "file_not_found");
    assert_eq!(desk.code("read_file", json!({ "path": 7 })), "invalid_argument");
    assert_eq!(desk.code("read_file", json!({})), "invalid_argument");
    assert_eq!(desk.code("read_file", json!({ "path": "x", "surprise": 1 })), "invalid_argument");
    let error = desk.call("read_file", json!({ "path": "\0".repeat(10_000) }));
    assert!(error.to_string().len() < 8_000, "a refused path is not repeated whole");
}

#[test]
fn names_that_are_not_utf_8_are_listed_and_harm_nothing() {
    let desk = Desk::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
    std::fs::write(desk.host("").join(name), "needle\n").unwrap();
    let listed = desk.call("list_files", json!({}));
    assert_eq!(listed["entries"][0]["path"], "caf\u{fffd}.txt");
    assert_eq!(listed["entries"][0]["nameIsNotUtf8"], true);
    let found = desk.call("search_files", json!({ "pattern": "needle" }));
    assert_eq!(found["matches"][0]["text"], "needle");
    assert_eq!(desk.code("read_file", json!({ "path": "caf\u{fffd}.txt" })), "file_not_found");
}

#[test]
fn links_inside_are_followed_and_written_through() {
    let desk = Desk::new();
    desk.put("a/b/file", "one\n");
    desk.link("a/b", "short");
    desk.link("../short/file", "a/again");
    desk.link("nowhere", "dangling");
    assert_eq!(desk.read("a/again")["content"], "one\n");
    let edited = desk
        .call("edit_file", json!({ "path": "a/again", "edits": [{ "oldText": "one", "newText": "two" }] }));
    assert_eq!(edited["replacements"], 1);
    assert_eq!(desk.get("a/b/file"), b"two\n");
    assert!(desk.host("a/again").is_symlink(), "the link stays a link");
    desk.call("write_file", json!({ "path": "short/new", "content": "new" }));
    assert_eq!(desk.get("a/b/new"), b"new");
    assert_eq!(desk.code("write_file", json!({ "path": "dangling", "content": "x" })), "not_a_file");
    let create = json!({ "path": "dangling/x", "content": "x", "createParents": true });
    assert_eq!(desk.code("write_file", create), "file_not_found");
    assert!(!desk.host("nowhere").exists());
}

/// A command that swaps names as fast as it can never makes a tool read or write what is outside or reserved.
#[test]
fn swapping_names_meanwhile_leads_nowhere() {
    let desk = Desk::new();
    desk.put("good/secret.txt", "harmless\n");
    let done = Arc::new(AtomicBool::new(false));
    let swapper = {
        let (root, done) = (desk.root.clone(), Arc::clone(&done));
        std::thread::spawn(move || {
            let target = root.join("work/target");
            let spare = root.join("work/spare");
            while !done.load(Ordering::Relaxed) {
                for place in ["../outside", "good", ".artifacts/run-1"] {
                    let _ = std::fs::remove_file(&spare);
                    std::os::unix::fs::symlink(place, &spare).unwrap();
                    std::fs::rename(&spare, &target).unwrap();
                }
            }
        })
    };
    let path = SandboxPath::absolute("/workspace/target/secret.txt").unwrap();
    let mut counts = [0_u32; 2];
    for _ in 0..3_000 {
        match desk.workspace.open_file(&path) {
            Ok(file) => {
                assert_eq!(file.read_all(100).unwrap(), b"harmless\n");
                counts[0] += 1;
            }
            Err(FileProblem::Outside | FileProblem::Reserved | FileProblem::NotFound) => counts[1] += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    for _ in 0..300 {
        let _ = desk.output("write_file", &json!({ "path": "target/secret.txt", "content": "harmless\n" }));
        let _ = desk.output("write_file", &json!({ "path": "target/new.txt", "content": "harmless\n" }));
    }
    done.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    assert!(counts.iter().all(|count| *count > 0), "both happened: {counts:?}");
    assert_eq!(std::fs::read(desk.root.join("outside/secret.txt")).unwrap(), b"secret of the host\n");
    assert_eq!(std::fs::read_dir(desk.root.join("outside")).unwrap().count(), 1);
    assert_eq!(desk.names(".artifacts/run-1"), ["secret.txt"]);
    assert_eq!(desk.get(".artifacts/run-1/secret.txt"), b"secret of the run\n");
}

/// The same for a file that is swapped with a link and a pipe.
#[test]
fn swapping_the_file_itself_leads_nowhere() {
    let desk = Desk::new();
    let pipe = desk.host("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let done = Arc::new(AtomicBool::new(false));
    let swapper = {
        let (work, done) = (desk.host(""), Arc::clone(&done));
        std::thread::spawn(move || {
            let (spare, target) = (work.join("spare"), work.join("target"));
            while !done.load(Ordering::Relaxed) {
                std::fs::write(&spare, "harmless\n").unwrap();
                std::fs::rename(&spare, &target).unwrap();
                std::os::unix::fs::symlink("../outside/secret.txt", &spare).unwrap();
                std::fs::rename(&spare, &target).unwrap();
                std::fs::hard_link(work.join("pipe"), &spare).unwrap();
                std::fs::rename(&spare, &target).unwrap();
            }
        })
    };
    let path = SandboxPath::absolute("/workspace/target").unwrap();
    for _ in 0..3_000 {
        if let Ok(file) = desk.workspace.open_file(&path) {
            assert_eq!(file.read_all(100).unwrap(), b"harmless\n");
        }
    }
    done.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
}
