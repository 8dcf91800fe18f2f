//! File tools against paths that lead elsewhere: up, through links, into the records, and into what changes meanwhile.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use fullsend_testkit::test_name;
use serde_json::{Value, json};

use crate::suite::hostile_run::{Target, bash, call};

const SECRET: &str = "the-secret-of-the-host";

/// One call of every tool that takes a path.
fn each_tool(path: &str) -> Vec<Value> {
    let edits = json!([{"oldText": "secret", "newText": "public"}]);
    vec![
        call("read_file", &json!({"path": path})),
        call("write_file", &json!({"path": path, "content": "overwritten"})),
        call(
            "write_file",
            &json!({"path": path, "content": "more", "mode": "append", "createParents": true}),
        ),
        call("edit_file", &json!({"path": path, "edits": edits})),
        call("view_image", &json!({"path": path})),
        call("list_files", &json!({"path": path, "includeIgnored": true})),
        call("search_files", &json!({"path": path, "pattern": "secret|kind", "includeIgnored": true})),
        call("bash", &json!({"command": "pwd; ls", "cwd": path})),
    ]
}

/// The same without what would make a directory where none is for a moment.
fn race(path: &str) -> impl Iterator<Item = Value> {
    let makes = |call: &Value| call["args"]["createParents"] == true || call["tool"] == "bash";
    each_tool(path).into_iter().filter(move |call| !makes(call))
}

fn is_refused(result: &Value) -> bool {
    let nothing = |key: &str| result[key].as_array().is_some_and(Vec::is_empty);
    result["ok"] == false
        || result["type"] == "fullsend.observation-denied"
        || result["exitCode"].as_i64().is_some_and(|code| code != 0)
        || nothing("matches")
        || nothing("entries")
}

#[test]
fn no_tool_leaves_the_workspace() {
    let Some(target) = Target::new(test_name!()) else { return };
    let (workspace, secret) = (target.workspace(), target.secret());
    let home = secret.parent().unwrap();
    symlink(&secret, workspace.join("link")).unwrap();
    symlink(home, workspace.join("dir-link")).unwrap();
    symlink("../home/secret.txt", workspace.join("up-link")).unwrap();
    symlink("/proc/self/cwd/home", workspace.join("proc-link")).unwrap();
    symlink("loop", workspace.join("loop")).unwrap();
    let absolute = secret.display().to_string();
    let paths = [
        "../home/secret.txt",
        "x/../../home/secret.txt",
        "/workspace/../home/secret.txt",
        &absolute,
        "link",
        "dir-link",
        "dir-link/secret.txt",
        "dir-link/new.txt",
        "up-link",
        "proc-link/secret.txt",
        "loop",
        "loop/x",
        "/etc/passwd",
        "/proc/self/environ",
        "/proc/1/root/etc/passwd",
        "//etc/passwd",
        "/workspace/./../../etc/passwd",
    ];
    let calls: Vec<Value> = paths.iter().flat_map(|path| each_tool(path)).collect();
    for (call, result) in calls.iter().zip(target.results_of(&calls)) {
        assert!(is_refused(&result), "{call}: {result}");
        assert!(!result.to_string().contains(SECRET), "{call}: {result}");
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), format!("{SECRET}\n"));
    assert_eq!(
        fs::read_dir(home).unwrap().filter(|entry| entry.as_ref().unwrap().file_name() == "new.txt").count(),
        0
    );
}

#[test]
fn no_tool_reaches_the_records_by_any_name() {
    let Some(target) = Target::new(test_name!()) else { return };
    let before = target.play(&json!([{"say": "a secret of the first run"}]), &[]);
    let run = before.directory.file_name().unwrap().to_str().unwrap().to_owned();
    let journal = fs::read(before.directory.join("journal.jsonl")).unwrap();
    let root = target.workspace().join(".fullsend-artifacts").display().to_string();
    symlink(&root, target.workspace().join("by-host")).unwrap();
    let mut calls = vec![bash(
        "ln -sfn .fullsend-artifacts README.md; ln -s /workspace/.fullsend-artifacts absolute; mkdir d; ln -s ../.fullsend-artifacts d/up",
    )];
    for base in
        [".fullsend-artifacts", "./d/../.fullsend-artifacts", "README.md", "absolute", "d/up", "by-host"]
    {
        calls.extend(each_tool(&format!("{base}/{run}/journal.jsonl")));
        calls.extend(each_tool(&format!("{base}/forged/new.json")));
    }
    calls.push(call("list_files", &json!({"depth": 5, "includeIgnored": true})));
    calls.push(call("search_files", &json!({"pattern": "first run", "includeIgnored": true})));
    let results = target.results_of(&calls);
    let (whole, parts) = results.split_at(results.len() - 2);
    for (call, result) in calls.iter().zip(whole).skip(1) {
        assert!(is_refused(result), "{call}: {result}");
    }
    for result in parts {
        assert!(!result.to_string().contains("journal") && !result.to_string().contains(&run), "{result}");
    }
    assert_eq!(fs::read(before.directory.join("journal.jsonl")).unwrap(), journal);
    assert!(!target.workspace().join(".fullsend-artifacts/forged").exists());
}

#[test]
fn a_directory_that_turns_into_a_link_while_tools_run_leads_nowhere() {
    let Some(target) = Target::new(test_name!()) else { return };
    let workspace = target.workspace();
    fs::create_dir(workspace.join("real")).unwrap();
    fs::write(workspace.join("real/secret.txt"), "harmless\n").unwrap();
    symlink(target.secret().parent().unwrap(), workspace.join("lure")).unwrap();
    fs::create_dir(workspace.join("d")).unwrap();
    let calls: Vec<Value> = (0..40).flat_map(|_| race("d/secret.txt")).collect();
    let stop = AtomicBool::new(false);
    let results = thread::scope(|scope| {
        scope.spawn(|| {
            let (here, spare) = (workspace.join("d"), workspace.join("spare"));
            let mut names = ["real", "lure"].iter().cycle();
            while !stop.load(Ordering::Relaxed) {
                let name = workspace.join(names.next().unwrap());
                fs::rename(&here, &spare).unwrap();
                fs::rename(&name, &here).unwrap();
                thread::yield_now();
                fs::rename(&here, &name).unwrap();
                fs::rename(&spare, &here).unwrap();
            }
        });
        let results = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| target.results_of(&calls)));
        stop.store(true, Ordering::Relaxed);
        results.unwrap()
    });
    for result in &results {
        assert!(!result.to_string().contains(SECRET), "{result}");
    }
    assert_eq!(fs::read_to_string(target.secret()).unwrap(), format!("{SECRET}\n"));
}

#[test]
fn one_answer_cannot_read_more_than_the_run_may_hold() {
    let Some(target) = Target::new(test_name!()) else { return };
    let workspace = target.workspace();
    fs::write(workspace.join("text"), "line of text\n".repeat(80_000)).unwrap();
    let picture = [b"\x89PNG\r\n\x1a\n".to_vec(), vec![0; 19 << 20]].concat();
    fs::write(workspace.join("picture.png"), picture).unwrap();
    let read = call("read_file", &json!({"path": "text", "maxBytes": 900_000}));
    let view = call("view_image", &json!({"path": "picture.png"}));
    for (asked, most, limit) in [(read, 16, "8000000"), (view, 2, "33554432")] {
        let turns = json!([{"repeat": 3, "calls": vec![asked; 64]}]);
        let ended = target.play(&turns, &["--max-output-bytes", limit]);
        assert_eq!((ended.ran.code, ended.turns(), ended.reason()), (Some(1), 1, "budget_exhausted"));
        let refused = |result: &&Value| result["reason"] == "budget-exhausted";
        let made = 64 - ended.results().iter().filter(refused).count();
        assert!((1..=most).contains(&made), "{made}");
        assert_eq!(ended.rows_of("call_started").len(), made);
    }
}

#[test]
fn files_that_are_no_text_or_too_large_or_no_files_are_told_apart() {
    let Some(target) = Target::new(test_name!()) else { return };
    let workspace = target.workspace();
    let binary: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    fs::write(workspace.join("binary"), &binary).unwrap();
    fs::File::create(workspace.join("huge")).unwrap().set_len(3 << 30).unwrap();
    fs::write(workspace.join("line"), "a".repeat(20 << 20)).unwrap();
    let edits = json!([{"oldText": "\u{0}", "newText": "x", "replaceAll": true}]);
    let calls = [
        bash("mkfifo pipe; mknod device c 1 5 2>/dev/null; true"),
        call("edit_file", &json!({"path": "binary", "edits": edits})),
        call("edit_file", &json!({"path": "huge", "edits": edits})),
        call("write_file", &json!({"path": "huge", "content": "x", "mode": "append"})),
        call("read_file", &json!({"path": "pipe"})),
        call("write_file", &json!({"path": "pipe", "content": "x"})),
        call("view_image", &json!({"path": "huge"})),
        call("read_file", &json!({"path": "huge"})),
        call("read_file", &json!({"path": "line", "maxBytes": 1 << 20})),
        call("read_file", &json!({"path": "binary"})),
        call("search_files", &json!({"pattern": "(a*)*b"})),
        call("search_files", &json!({"pattern": "(((a{1,900}){1,900}){1,900})"})),
        call("list_files", &json!({"glob": "**/".repeat(80)})),
    ];
    let results = target.results_of(&calls);
    for number in [1, 2, 4, 5, 6] {
        assert_eq!(results[number]["ok"], false, "{} {}", calls[number], results[number]);
    }
    for result in &results {
        assert!(result.to_string().len() < 2 << 20);
    }
    assert_eq!(fs::read(workspace.join("binary")).unwrap(), binary);
}
