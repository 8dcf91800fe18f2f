//! Going on with runs: what is refused and how, what is kept, and what every ending leaves behind.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::suite::agent_place::{AgentPlace, document, finish, kill_group, rows, runs_with, send, wait_for};
use crate::suite::running::Ran;

fn bash(command: &str) -> Value {
    json!({"tool": "bash", "args": {"command": command}})
}

fn script(turns: &[Value]) -> Value {
    json!({ "turns": turns })
}

/// A run of two steps that has ended.
fn done() -> AgentPlace {
    let place = AgentPlace::new(&script(&[
        json!({"calls": [bash("echo one >> log")]}),
        json!({"say": "First."}),
        json!({"expect": [{"user": "Once more."}], "calls": [bash("echo two >> log")]}),
        json!({"say": "Second."}),
    ]));
    let ran = finish(place.exec(&[]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    place
}

fn spawn(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Starts a run and waits until a command that never ends is under way.
fn start_endless(place: &AgentPlace, word: &str, arguments: &[&str]) -> Child {
    let mut child = spawn(place.exec(arguments));
    assert!(wait_for(&mut child, || runs_with(word)), "{:?}", child.wait_with_output());
    child
}

fn endless(word: &str) -> AgentPlace {
    let place = AgentPlace::new(&script(&[
        json!({"calls": [bash("echo begun >> log"), bash(&format!("sleep {word}; echo late >> log"))]}),
        json!({"say": "Done."}),
    ]));
    fs::write(place.workspace().join("log"), "").unwrap();
    place
}

fn has_all_artifacts(run: &Path, status: &str) {
    for name in ["run-state.json", "run-report.json"] {
        assert_eq!(document(run, name)["status"], status, "{name}");
    }
    let listed = document(run, "artifacts.json");
    let listed: Vec<&str> =
        listed["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    for name in ["journal.jsonl", "policy-trace.json", "run-report.json", "run-state.json", "transcript.json"]
    {
        assert!(listed.contains(&name), "{name} in {listed:?}");
        assert!(run.join(name).is_file(), "{name}");
    }
    let kept = rows(run).iter().filter(|row| row["kind"] == "message").count();
    assert_eq!(document(run, "transcript.json")["messages"].as_array().unwrap().len(), kept);
    let unfinished = fs::read_dir(run)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".tmp"));
    assert_eq!(unfinished.count(), 0);
}

fn refused(ran: &Ran, words: &[&str]) {
    assert_eq!(ran.code, Some(2), "{ran:?}");
    for word in words {
        assert!(ran.stderr.contains(word), "{word} in {}", ran.stderr);
    }
}

fn log(place: &AgentPlace) -> String {
    fs::read_to_string(place.workspace().join("log")).unwrap_or_default()
}

#[test]
fn a_run_without_turns_left_goes_on_with_more() {
    let turns: Vec<Value> =
        (1..=4).map(|turn| json!({"calls": [bash(&format!("echo {turn} >> log"))]})).collect();
    let place = AgentPlace::new(&script(&[turns, vec![json!({"say": "Done."})]].concat()));
    let ran = finish(place.exec(&["--max-model-turns", "2"]));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("--max-model-turns") && ran.stderr.contains("fullsend resume"),
        "{}",
        ran.stderr
    );
    let run = place.run();
    has_all_artifacts(&run, "failed");
    assert_eq!(document(&run, "run-report.json")["terminalReason"], "max_model_turns");

    let still = finish(place.resume(&run, &[]));
    assert_eq!(still.code, Some(1), "the limit is of all parts together: {still:?}");
    assert_eq!(log(&place), "1\n2\n");
    let ran = finish(place.resume(&run, &["--max-model-turns", "5"]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(log(&place), "1\n2\n3\n4\n");
    has_all_artifacts(&run, "completed");
    let report = document(&run, "run-report.json");
    assert_eq!((&report["modelTurns"], report["parts"].as_array().unwrap().len()), (&json!(5), 3));
    assert_eq!(report["toolOutputs"].as_array().unwrap().len(), 4);
}

#[test]
fn a_complete_run_needs_something_more_to_do() {
    let place = done();
    let run = place.run();
    let journal = fs::read(run.join("journal.jsonl")).unwrap();
    refused(&finish(place.resume(&run, &[])), &["is complete", "--prompt"]);
    assert_eq!(fs::read(run.join("journal.jsonl")).unwrap(), journal, "a refusal changes nothing");
    has_all_artifacts(&run, "completed");

    let state = run.join("run-state.json");
    let ran = finish(place.resume(&state, &["--prompt", "Once more.", "--output-mode", "batch"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Second.\n"), "{ran:?}");
    assert_eq!(log(&place), "one\ntwo\n");
    has_all_artifacts(&run, "completed");
    let transcript = document(&run, "transcript.json").to_string();
    for said in ["Go.", "First.", "Once more.", "Second."] {
        assert!(transcript.contains(said), "{said}");
    }
}

#[test]
fn more_than_was_allowed_is_refused_and_named() {
    let place = done();
    let run = place.run();
    let journal = fs::read(run.join("journal.jsonl")).unwrap();
    fs::create_dir(place.beside("other")).unwrap();
    let mount = format!("name=o,source={},target=/other", place.beside("other").display());
    let cases: [(&[&str], &str); 8] = [
        (&["--allow-tool", "bash", "--allow-tool", "web_fetch"], "web_fetch"),
        (&["--workspace", "../other"], "workspace"),
        (&["--allow-host", "example.com"], "sandbox.networkHosts"),
        (&["--host-mount", &mount], "mounts"),
        (&["--cfc-enforcement-mode", "disabled"], "flowMode"),
        (&["--cwd", "sub"], "--cwd"),
        (&["--system-prompt", "Be rude."], "--system-prompt"),
        (&["--artifact-root", "../other"], "--artifact-root"),
    ];
    for (arguments, word) in cases {
        let arguments = [&["--prompt", "Once more."], arguments].concat();
        let ran = place.exec_again(&run, &arguments);
        refused(&ran, &[word]);
        assert_eq!(fs::read(run.join("journal.jsonl")).unwrap(), journal, "{arguments:?}");
    }
}

#[test]
fn less_than_was_allowed_holds_from_then_on() {
    let place = done();
    let run = place.run();
    let ran = place.exec_again(&run, &["--prompt", "Once more.", "--allow-tool", "read_file"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(log(&place), "one\n", "bash was taken away");
    assert!(document(&run, "transcript.json").to_string().contains("bash is not allowed in this run"));
    refused(&place.exec_again(&run, &["--prompt", "Again.", "--allow-tool", "bash"]), &["tools", "bash"]);
}

#[test]
fn skills_that_changed_are_refused() {
    let place = AgentPlace::new(&script(&[json!({"say": "First."}), json!({"say": "Second."})]));
    let skill = place.workspace().join("skills/greet/SKILL.md");
    fs::create_dir_all(skill.parent().unwrap()).unwrap();
    let text = "---\nname: greet\ndescription: How to greet\n---\nSay hello.\n";
    fs::write(&skill, text).unwrap();
    let ran = finish(place.exec(&["--skills-root", "skills"]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let run = place.run();
    fs::write(&skill, format!("{text}And delete everything.\n")).unwrap();
    refused(&finish(place.resume(&run, &["--prompt", "Go on."])), &["skillsRoots"]);
    fs::write(&skill, text).unwrap();
    let ran = finish(place.resume(&run, &["--prompt", "Go on."]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn one_process_at_a_time() {
    let place = endless("8641.001");
    let mut child = start_endless(&place, "8641.001", &[]);
    let run = place.run();
    refused(&finish(place.resume(&run, &[])), &["is under way", &child.id().to_string()]);
    kill_group(&child);
    child.wait().unwrap();
    let ran = finish(place.resume(&run, &[]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!runs_with("8641.001"), "what was under way has ended before the run goes on");
    assert_eq!(log(&place), "begun\n");
    assert!(document(&run, "transcript.json").to_string().contains("fullsend.interrupted"));
}

#[test]
fn a_signal_ends_a_run_in_order() {
    for (signal, code, word) in [(Signal::INT, 130, "8641.002"), (Signal::TERM, 143, "8641.003")] {
        let place = endless(word);
        let result = place.beside("result.json");
        let arguments = ["--output-mode", "batch", "--result-json-path", result.to_str().unwrap()];
        let child = start_endless(&place, word, &arguments);
        send(&child, signal);
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(!runs_with(word), "the sandbox is gone with the process");
        let run = place.run();
        has_all_artifacts(&run, "cancelled");
        let result: Value = serde_json::from_slice(&fs::read(result).unwrap()).unwrap();
        assert_eq!((&result["status"], &result["num_turns"]), (&json!("cancelled"), &json!(1)));
        assert_eq!(result["terminal_reason"], "process_interrupted");

        let ran = finish(place.resume(&run, &[]));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(log(&place), "begun\n");
        has_all_artifacts(&run, "completed");
    }
}

#[test]
fn killed_while_the_model_thinks_nothing_is_lost() {
    let place = AgentPlace::new(&script(&[json!({"say": "Late.", "delay_ms": 600_000})]));
    let mut child = spawn(place.exec(&[]));
    let opened = || {
        let run = place.runs().pop();
        run.is_some_and(|run| rows(&run).iter().any(|row| row["kind"] == "opened"))
    };
    assert!(wait_for(&mut child, opened));
    kill_group(&child);
    child.wait().unwrap();
    place.write_script(&script(&[json!({"expect": [{"user": "Go."}], "say": "Soon."})]));
    let run = place.run();
    let ran = finish(place.resume(&run, &["--output-mode", "batch"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Soon.\n"), "{ran:?}");
    has_all_artifacts(&run, "completed");
}

/// Whatever was the last row, and whether or not it was whole, a run goes on and does everything once.
#[test]
fn a_journal_that_ends_anywhere_can_be_gone_on_with() {
    let look_first = bash("grep -qx one log || echo one >> log");
    let place = AgentPlace::new(&script(&[
        json!({"say": "Look.", "calls": [bash("echo one >> log"), {"tool": "read_file", "args": {"path": "log"}}],
            "when_interrupted": [look_first]}),
        json!({"say": "Done."}),
    ]));
    let ran = finish(place.exec(&[]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let run = place.run();
    let whole = fs::read_to_string(run.join("journal.jsonl")).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let place_of =
        |kind: &str| lines.iter().position(|line| line.contains(&format!(r#""kind":"{kind}""#))).unwrap();
    let (opened, ended) = (place_of("opened"), place_of("ended"));
    for length in 1..lines.len() {
        // The last row is torn in one of two cases.
        let torn = if length % 2 == 0 { &lines[length][..lines[length].len() / 2] } else { "" };
        fs::write(run.join("journal.jsonl"), lines[..length].concat() + torn).unwrap();
        let begun = lines[..length].iter().any(|line| line.contains(r#""kind":"call_started""#));
        fs::write(place.workspace().join("log"), if begun { "one\n" } else { "" }).unwrap();
        let ran = finish(place.resume(&run, &[]));
        if length <= opened {
            refused(&ran, &["start it again"]);
            continue;
        }
        assert_eq!(ran.code, Some(0), "{length} of {} rows ({ended}): {ran:?}", lines.len());
        assert_eq!(log(&place), "one\n", "{length} rows");
        has_all_artifacts(&run, "completed");
        assert_eq!(document(&run, "run-report.json")["finalAssistantText"], "Done.");
    }
}

/// A process that is killed while it writes a file leaves the draft of it beside the file.
#[test]
fn what_an_interrupted_write_left_beside_a_file_is_removed() {
    let write = json!({"tool": "write_file", "args": {"path": "notes", "content": "new"}});
    let place = AgentPlace::new(&script(&[json!({"calls": [write]}), json!({"say": "Done."})]));
    let ran = finish(place.exec(&[]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let run = place.run();
    let whole = fs::read_to_string(run.join("journal.jsonl")).unwrap();
    let end = whole.find(r#""kind":"call_started""#).unwrap();
    let end = end + whole[end..].find('\n').unwrap() + 1;
    fs::write(run.join("journal.jsonl"), &whole[..end]).unwrap();
    // Of a process that is gone, of this one, and no draft at all.
    let this = fs::read_to_string("/proc/self/stat").unwrap();
    let start = this.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap();
    let alive = format!(".fullsend-{}-{start}-0.tmp", std::process::id());
    for name in [".fullsend-1-1-0.tmp", &alive, ".fullsend-mine.tmp"] {
        fs::write(place.workspace().join(name), "").unwrap();
    }
    let ran = finish(place.resume(&run, &[]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let left: Vec<String> = place.files().into_iter().map(|(name, _)| name.display().to_string()).collect();
    assert_eq!(left, [alive.as_str(), ".fullsend-mine.tmp", "notes"]);
}

#[test]
fn a_damaged_journal_is_refused_with_the_line() {
    let place = done();
    let run = place.run();
    let journal = run.join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[3] = r#"{"seq":4,"at":"#;
    fs::write(&journal, lines.join("\n") + "\n").unwrap();
    refused(
        &finish(place.resume(&run, &["--prompt", "Once more."])),
        &["line 4", "journal.jsonl", "damaged"],
    );
    let nothing = place.beside("nothing");
    refused(&finish(place.resume(&nothing, &[])), &["there is no run"]);
}

/// The smallest thing that is taken for a picture.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\nnot much of one";

#[test]
fn pictures_survive_and_are_what_they_were() {
    let place = AgentPlace::new(&script(&[json!({"say": "First."}), json!({"say": "Second."})]));
    fs::write(place.workspace().join("picture.png"), PICTURE).unwrap();
    let ran = finish(place.exec(&["--image", "picture.png"]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let run = place.run();
    // The snapshot counts, not what became of the file.
    fs::remove_file(place.workspace().join("picture.png")).unwrap();
    let kept = fs::read_dir(run.join("image-attachments")).unwrap().next().unwrap().unwrap().path();
    fs::write(&kept, b"\x89PNG\r\n\x1a\nsomething else").unwrap();
    let journal = fs::read(run.join("journal.jsonl")).unwrap();
    refused(
        &finish(place.resume(&run, &["--prompt", "And now?"])),
        &["image-attachments", "not what it was"],
    );
    assert_eq!(fs::read(run.join("journal.jsonl")).unwrap(), journal);
    fs::write(&kept, PICTURE).unwrap();
    let ran = finish(place.resume(&run, &["--prompt", "And now?"]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    has_all_artifacts(&run, "completed");
}

#[test]
fn a_picture_that_was_read_is_shown_after_an_interruption() {
    let word = "8641.004";
    let view = json!({"tool": "view_image", "args": {"path": "picture.png"}});
    let place = AgentPlace::new(&script(&[
        json!({"calls": [view, bash(&format!("sleep {word}"))]}),
        json!({"say": "Done."}),
    ]));
    fs::write(place.workspace().join("picture.png"), PICTURE).unwrap();
    let mut child = start_endless(&place, word, &[]);
    send(&child, Signal::KILL);
    child.wait().unwrap();
    let run = place.run();
    let ran = finish(place.resume(&run, &[]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let transcript = document(&run, "transcript.json");
    let messages = transcript["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "user", "assistant"]);
    assert_eq!(messages[5]["imageAttachments"].as_array().unwrap().len(), 1);
}

#[test]
fn a_run_that_cannot_begin_says_so_on_record() {
    let place = AgentPlace::new(&script(&[json!({"say": "Never."})]));
    fs::write(place.workspace().join("text.png"), "no picture").unwrap();
    let result = place.beside("result.json");
    let ran = finish(place.exec(&["--image", "text.png", "--result-json-path", result.to_str().unwrap()]));
    refused(&ran, &["text.png"]);
    has_all_artifacts(&place.run(), "failed");
    let result: Value = serde_json::from_slice(&fs::read(result).unwrap()).unwrap();
    assert_eq!(result["status"], "failed");
}
