//! `fullsend hook serve`, and hooks that ask it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::{after, before, denial, silence, stop};
use crate::suite::running::Place;

#[test]
fn what_is_not_our_service_is_not_taken_for_it() {
    let place = Place::new();
    let file = place.write("hook.sock", "");
    place.write("hook.json", json!({"service": file}).to_string());
    assert!(denial(&before(&place, &json!({"tool_name": "Read"}))).starts_with("HOOK_ERROR: nobody answers"));
    for answer in
        ["", "fsa1", "HTTP/1.1 200 OK\r\n\r\n", "fsa1\0\u{1}\0\0\0\0\0\0\0", "fsa1\0\0\0\0\0\0\0\0\0more"]
    {
        std::fs::remove_file(&file).unwrap();
        let listener = UnixListener::bind(&file).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            });
            assert!(
                denial(&before(&place, &json!({"tool_name": "Read"}))).starts_with("HOOK_ERROR: "),
                "{answer:?}"
            );
        });
    }
}

#[test]
fn a_hook_in_a_sandbox_asks_the_service_and_denies_without_one() {
    let place = Place::new();
    let socket = place.path().join("no-such.sock");
    place.write("hook.json", json!({"service": socket}).to_string());
    assert!(denial(&before(&place, &json!({"tool_name": "Read"}))).starts_with("HOOK_ERROR: nobody answers"));
    assert!(stop(&after(&place, b"{}")).starts_with("HOOK_ERROR: nobody answers"));
}

#[test]
fn a_service_decides_for_hooks_and_leaves_a_sealed_log() {
    let place = Place::new();
    place.write("serve.json", r#"{"checks": {"tool_allowlist": {"enabled": true, "tools": ["Read"]}}}"#);
    let arguments =
        ["hook", "serve", "--config", "serve.json", "--directory", "service", "--findings", "findings.jsonl"];
    let mut serving = place.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(serving.stdout.take().unwrap()).lines();
    let listening: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(listening["event"], "listening");
    place.write("hook.json", json!({"service": listening["socket"]}).to_string());
    assert_eq!(before(&place, &json!({"tool_name": "Read"})), silence());
    assert!(
        denial(&before(&place, &json!({"tool_name": "Bash"})))
            .starts_with("Tool 'Bash' is NOT in the allowlist")
    );
    let end = std::process::Command::new("kill").arg(serving.id().to_string()).status().unwrap();
    assert!(end.success());
    let sealed: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!((&sealed["event"], &sealed["answered"]), (&json!("sealed"), &json!(2)));
    assert_eq!(serving.wait().unwrap().code(), Some(0));
    let log = std::fs::read_to_string(place.path().join("findings.jsonl")).unwrap();
    assert!(log.contains("tool_blocked") && log.contains("log_sealed"), "{log}");
    assert!(log.contains(sealed["head"].as_str().unwrap()));
}

/// A service that listens, and its lines.
fn serving(place: &Place, log: &str) -> (Child, impl Iterator<Item = Value>) {
    place.write("serve.json", r#"{"checks": {"tool_allowlist": {"enabled": true, "tools": ["Read"]}}}"#);
    let arguments = ["hook", "serve", "--config", "serve.json", "--directory", "service", "--findings", log];
    let mut child = place.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap());
    let listening: Value = lines.next().unwrap();
    place.write("hook.json", json!({"service": listening["socket"]}).to_string());
    (child, lines)
}

fn send(child: &Child, signal: &str) {
    let sent =
        std::process::Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn signals_seal_the_log_and_a_kill_shows() {
    let place = Place::new();
    for signal in ["INT", "TERM", "HUP"] {
        let log = format!("{signal}.jsonl");
        let (mut child, mut lines) = serving(&place, &log);
        send(&child, signal);
        assert_eq!(lines.next().unwrap()["event"], "sealed");
        assert_eq!(child.wait().unwrap().code(), Some(0), "{signal}");
        assert_eq!(place.run(&["scan", "verify-findings", &log]).code, Some(0), "{signal}");
    }
    let (mut child, mut lines) = serving(&place, "killed.jsonl");
    assert!(denial(&before(&place, &json!({"tool_name": "Bash"}))).starts_with("Tool 'Bash'"));
    send(&child, "KILL");
    assert_eq!((lines.next(), child.wait().unwrap().code()), (None, None));
    assert!(denial(&before(&place, &json!({"tool_name": "Read"}))).starts_with("HOOK_ERROR: nobody answers"));
    let verdict = place.run(&["scan", "verify-findings", "killed.jsonl"]);
    assert_ne!(verdict.code, Some(0));
    assert!(verdict.stdout.contains("the end is missing; 1 entry before it"), "{}", verdict.stdout);
    // The next one starts where the last one was killed, with a log of its own.
    let again = place.run(&[
        "hook",
        "serve",
        "--config",
        "serve.json",
        "--directory",
        "service",
        "--findings",
        "killed.jsonl",
    ]);
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("name a new file for `--findings`"), "{}", again.stderr);
    let (mut child, mut lines) = serving(&place, "next.jsonl");
    let second = place.run(&[
        "hook",
        "serve",
        "--config",
        "serve.json",
        "--directory",
        "service",
        "--findings",
        "second.jsonl",
    ]);
    assert_eq!(second.code, Some(2));
    assert!(second.stderr.contains("another service is running in this directory"), "{}", second.stderr);
    assert!(!place.path().join("second.jsonl").exists(), "a service that never was leaves no log");
    assert_eq!(before(&place, &json!({"tool_name": "Read"})), silence());
    send(&child, "TERM");
    assert_eq!(lines.next().unwrap()["answered"], 1);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_service_that_nobody_listens_to_leaves_a_sealed_log() {
    let place = Place::new();
    place.write("serve.json", "{}");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let arguments =
        ["hook", "serve", "--config", "serve.json", "--directory", "service", "--findings", "log.jsonl"];
    let ran = place.command(&arguments).stdout(full).output().unwrap();
    assert_ne!(ran.status.code(), Some(0));
    assert_eq!(place.run(&["scan", "verify-findings", "log.jsonl"]).code, Some(0));
}
