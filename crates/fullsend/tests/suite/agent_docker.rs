//! Runs whose commands are executed in containers, on whatever engine the environment names.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use fullsend_testkit::{declare_skip, test_name};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::suite::agent_place::{AgentPlace, document, finish, kill_group, runs_with, send, wait_for};
use crate::suite::docker_engine::{self, IMAGE};
use crate::suite::running::Ran;

fn bash(command: &str) -> Value {
    json!({"tool": "bash", "args": {"command": command}})
}

/// A workspace whose runs are in containers. None, and a skip, when there is no engine or no image.
fn place(test: &str, turns: &[Value]) -> Option<AgentPlace> {
    docker_engine::is_there(test).then(|| AgentPlace::new(&json!({ "turns": turns })))
}

fn exec(place: &AgentPlace, arguments: &[&str]) -> Command {
    let mut command = place.exec(&[&["--sandbox-image", IMAGE], arguments].concat());
    docker_engine::announce(&mut command);
    command
}

fn resume(place: &AgentPlace, run: &Path, arguments: &[&str]) -> Ran {
    let words = [&["exec", "--resume-run", run.to_str().unwrap()], arguments].concat();
    let mut command = place.command(&words);
    docker_engine::announce(&mut command);
    finish(command)
}

/// Containers, and files of their sessions.
fn left(place: &AgentPlace) -> (String, usize) {
    let sessions = fs::read_dir(place.beside("state/fullsend/docker/sessions")).unwrap();
    (docker_engine::containers(&place.beside("state")), sessions.count())
}

fn nothing() -> (String, usize) {
    (String::new(), 0)
}

/// A run of two commands, of which the second never ends; returned once that one is under way.
fn under_way(place: &AgentPlace, word: &str) -> Child {
    let mut command = exec(place, &[]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(wait_for(&mut child, || runs_with(word)), "{:?}", child.wait_with_output());
    child
}

fn endless(word: &str) -> Vec<Value> {
    vec![
        json!({"calls": [bash("mkdir -p sub; echo begun >> log; cd sub"), bash(&format!("sleep {word}; echo late >> ../log"))]}),
        json!({"expect": [{"contains": "fullsend.interrupted"}], "calls": [bash("pwd; echo after >> ../log")]}),
        json!({"expect": [{"json": {"stdout": "/workspace/sub\n"}}], "say": "Done."}),
    ]
}

/// The results of calls, as the model saw them.
fn results(run: &Path) -> Vec<Value> {
    let transcript = document(run, "transcript.json");
    let messages = transcript["messages"].as_array().unwrap().iter();
    let results = messages.filter(|message| message["role"] == "tool");
    results.map(|message| serde_json::from_str(message["content"].as_str().unwrap()).unwrap()).collect()
}

fn log(place: &AgentPlace) -> String {
    fs::read_to_string(place.workspace().join("log")).unwrap()
}

#[test]
fn tools_and_commands_see_the_same_files() {
    let edit = json!({"path": "/workspace/notes", "edits": [{"oldText": "beta", "newText": "BETA"}]});
    let turns = [
        json!({"calls": [bash("printf 'alpha\\nbeta\\n' > notes; mkdir sub; cd sub; echo $HOME; exit 3")]}),
        json!({"expect": [{"json": {"exitCode": 3, "cwd": "/workspace/sub"}}],
            "calls": [{"tool": "edit_file", "args": edit}, {"tool": "read_file", "args": {"path": "../notes"}}]}),
        json!({"expect": [{"json": {"content": "alpha\nBETA\n"}}],
            "calls": [{"tool": "write_file", "args": {"path": "new", "content": "of the tool\n"}},
                bash("pwd; cat ../notes new; echo of the command >> new; no-such-program")]}),
        json!({"expect": [{"json": {"stdout": "/workspace/sub\nalpha\nBETA\nof the tool\n", "exitCode": 127}}],
            "calls": [{"tool": "read_file", "args": {"path": "new"}}]}),
        json!({"expect": [{"json": {"content": "of the tool\nof the command\n"}}], "say": "Done."}),
    ];
    let Some(place) = place(test_name!(), &turns) else { return };
    let ran = finish(exec(&place, &["--output-mode", "batch"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Done.\n"), "{ran:?}");
    let expected = [("notes", "alpha\nBETA\n"), ("sub/new", "of the tool\nof the command\n")];
    assert_eq!(place.files(), expected.map(|(name, content)| (name.into(), content.to_owned())));
    assert_eq!(document(&place.run(), "capabilities.json")["sandbox"], "docker");
    assert_eq!(left(&place), nothing());
}

#[test]
fn records_are_out_of_reach_of_commands() {
    let record = ".fullsend-artifacts";
    let look = format!("ls -A {record}; touch {record}/x; mv {record} y; rm -rf {record}; ls -A /");
    let turns = [json!({"calls": [bash(&look)]}), json!({"say": "Done."})];
    let Some(place) = place(test_name!(), &turns) else { return };
    let ran = finish(exec(&place, &[]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let run = place.run();
    let result = &results(&run)[0];
    let seen = result["stdout"].as_str().unwrap();
    assert!(seen.starts_with("bin\n") || seen.starts_with(".dockerenv\n"), "nothing but the root: {result}");
    assert!(!place.workspace().join("y").exists() && !place.workspace().join(record).join("x").exists());
    assert_eq!(document(&run, "run-state.json")["status"], "completed");
}

#[test]
fn a_killed_run_goes_on_in_another_container() {
    let word = "8642.001";
    let Some(place) = place(test_name!(), &endless(word)) else { return };
    let mut child = under_way(&place, word);
    kill_group(&child);
    child.wait().unwrap();
    let run = place.run();
    for (arguments, setting) in [
        (["--sandbox-docker-runtime", "runsc"], "sandbox.runtime"),
        (["--sandbox-image", "other"], "sandbox.image"),
    ] {
        let ran = resume(&place, &run, &arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(setting), "{ran:?}");
    }
    let ran = resume(&place, &run, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!runs_with(word), "what was under way has ended");
    assert_eq!((log(&place).as_str(), left(&place)), ("begun\nafter\n", nothing()));
}

#[test]
fn a_signal_leaves_no_container() {
    for (signal, code, word) in [(Signal::INT, 130, "8642.002"), (Signal::TERM, 143, "8642.003")] {
        let Some(place) = place(test_name!(), &endless(word)) else { return };
        let child = under_way(&place, word);
        send(&child, signal);
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert_eq!((runs_with(word), left(&place)), (false, nothing()));
        let ran = resume(&place, &place.run(), &[]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!((log(&place).as_str(), left(&place)), ("begun\nafter\n", nothing()));
    }
}

/// A signal while the container is being made, which takes longest.
#[test]
fn an_early_signal_leaves_no_container() {
    let turns = [json!({"say": "Late.", "delay_ms": 600_000})];
    let Some(place) = place(test_name!(), &turns) else { return };
    let mut command = exec(&place, &[]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let sessions = place.beside("state/fullsend/docker/sessions");
    let begun = || fs::read_dir(&sessions).is_ok_and(|entries| entries.count() > 0);
    assert!(wait_for(&mut child, begun), "{:?}", child.wait_with_output());
    send(&child, Signal::INT);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ran.code, left(&place)), (Some(130), nothing()), "{ran:?}");
}

/// Such a runtime runs one command at a time, also while the sandbox is still being looked at.
#[test]
fn the_runtime_is_on_record() {
    let look = || bash("head -n 1 /proc/version; echo x >> log");
    let turns = [
        json!({"calls": [look()]}),
        json!({"expect": [{"json": {"exitCode": 0}}], "say": "First."}),
        json!({"calls": [look(), look()]}),
        json!({"expect": [{"json": {"exitCode": 0}}], "say": "Second."}),
    ];
    let Some(place) = place(test_name!(), &turns) else { return };
    // Files cannot be shown to a kernel of its own as another user's.
    fs::set_permissions(place.workspace(), fs::Permissions::from_mode(0o777)).unwrap();
    let ran = finish(exec(&place, &["--sandbox-docker-runtime", "runsc"]));
    if ran.stderr.contains("no runtime `runsc`") {
        return declare_skip(test_name!(), "the engine has no runtime runsc");
    }
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let run = place.run();
    let ran = resume(&place, &run, &["--prompt", "More.", "--sandbox-docker-runtime", "runc"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("sandbox.runtime"), "{ran:?}");
    let ran = resume(&place, &run, &["--prompt", "More."]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let host = fs::read_to_string("/proc/version").unwrap();
    let kernels: Vec<String> =
        results(&run).iter().map(|result| result["stdout"].as_str().unwrap().to_owned()).collect();
    assert_eq!((kernels.len(), log(&place).as_str()), (3, "x\nx\nx\n"));
    assert!(kernels.iter().all(|kernel| *kernel == kernels[0] && *kernel != host), "{kernels:?}");
}

/// No model can mend that, and none is told to try.
#[test]
fn a_container_that_cannot_be_made_ends_the_run() {
    let turns = [json!({"calls": [bash("true")]}), json!({"say": "Done."})];
    let Some(place) = place(test_name!(), &turns) else { return };
    fs::create_dir(place.beside("other")).unwrap();
    let mount = format!("name=o,source={},target=/etc/passwd/x", place.beside("other").display());
    let ran = finish(exec(&place, &["--host-mount", &mount]));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let report = document(&place.run(), "run-report.json");
    assert_eq!((&report["status"], &report["terminalReason"]), (&json!("failed"), &json!("tool_error")));
    assert_eq!(left(&place), nothing());
}

#[test]
fn an_engine_that_is_not_there_ends_the_run_on_record() {
    let place = AgentPlace::new(&json!({"turns": [{"say": "Never."}]}));
    let mut command = place.exec(&["--sandbox-image", IMAGE]);
    command.env("DOCKER_HOST", "unix:///no/such/socket");
    let ran = finish(command);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("docker"), "{ran:?}");
    assert_eq!(document(&place.run(), "run-state.json")["status"], "failed");
}
