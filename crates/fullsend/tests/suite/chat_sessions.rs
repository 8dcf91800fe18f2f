//! Conversations through `fullsend chat --stdio`: what is kept from turn to turn, also when the process is another, and what a
//! turn may do.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::suite::agent_place::{AgentPlace, document, runs_with, send, wait_for};
use crate::suite::chat_place::Chat;

const TOKEN: &str = "SECRET_CANARY_xyz";

fn bash(command: &str) -> Value {
    json!({"tool": "bash", "args": {"command": command}})
}

fn place(turns: &[Value]) -> AgentPlace {
    AgentPlace::new(&json!({ "turns": turns }))
}

fn policy(tools: &[&str], change: Value) -> Value {
    let mut policy = json!({"type": "fullsend.chat-policy", "toolMode": "workspace-write", "allowedToolIds": tools,
        "allowedSubagentProfiles": []});
    policy.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    json!({ "policy": policy })
}

/// How the calls of a turn ended, by tool.
fn statuses(chat: &Chat, turn: &str) -> Vec<(String, String)> {
    let of_turn =
        chat.lines.iter().filter(|line| line["turnId"] == turn && line["event"]["kind"] == "tool_completed");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    of_turn.map(|line| (text(&line["event"]["tool"]["toolId"]), text(&line["event"]["status"]))).collect()
}

fn results(place: &AgentPlace) -> Vec<Value> {
    let messages = document(&place.run(), "transcript.json")["messages"].as_array().unwrap().clone();
    let tools = messages.into_iter().filter(|message| message["role"] == "tool");
    tools.map(|message| serde_json::from_str(message["content"].as_str().unwrap()).unwrap()).collect()
}

#[test]
fn a_conversation_goes_on_in_another_process_and_what_was_hidden_stays_hidden() {
    let place = place(&[
        json!({"calls": [{"tool": "read_file", "args": {"path": "notes.txt"}}, bash("mkdir sub; cd sub")]}),
        json!({"say": "I know the password."}),
        json!({"expect": [{"user": "Go: t2."}], "calls": [
            {"tool": "read_file", "args": {"path": "../notes.txt"}},
            {"tool": "web_fetch", "args": {"url": "{{ results[0].handle.handleId }}"}},
        ]}),
        json!({"say": "Done."}),
    ]);
    fs::write(place.workspace().join("notes.txt"), format!("deploy with {TOKEN}\n")).unwrap();
    fs::write(place.beside("canaries"), format!("{TOKEN}\n")).unwrap();
    let options = ["--canary-file", "../canaries"];
    let mut chat = Chat::kept(&place, &options);
    chat.session(&policy(&["read_file", "bash", "web_fetch"], json!({})));
    chat.complete("t1", &json!({}));
    assert_eq!(statuses(&chat, "t1")[0], ("read_file".to_owned(), "denied".to_owned()));
    let run = chat.done("status", &json!({}))["sessions"][0]["harnessRunId"].clone();
    assert_eq!(place.run().file_name().unwrap().to_str(), run.as_str());
    assert_eq!(chat.end().0, Some(0));

    let mut chat = Chat::kept(&place, &options);
    chat.complete("t2", &json!({}));
    assert_eq!(chat.done("status", &json!({}))["sessions"][0]["harnessRunId"], run);
    let denied = |tool: &str| (tool.to_owned(), "denied".to_owned());
    // Reads run beside each other; what is not made ends first.
    assert_eq!(statuses(&chat, "t2"), [denied("web_fetch"), denied("read_file")]);
    let told = results(&place);
    for hidden in [&told[0], &told[3]] {
        assert_eq!(hidden["handle"]["type"], "fullsend.opaque-handle", "{hidden}");
    }
    // The handle of the first turn still stands for what it stood for, and that goes nowhere.
    assert!(told[2]["detail"].to_string().contains("not everybody may see"), "{}", told[2]);
    let events = chat.done("list_events", &json!({})).to_string();
    assert!(!events.contains(TOKEN), "{events}");
    assert!(!fs::read_to_string(place.run().join("transcript.json")).unwrap().contains(TOKEN));
}

#[test]
fn a_turn_may_do_less_and_the_next_one_may_again_do_all() {
    let write =
        |name: &str| json!({"calls": [{"tool": "write_file", "args": {"path": name, "content": "x"}}]});
    let place = place(&[
        write("one"),
        json!({"say": "No."}),
        write("two"),
        json!({"say": "Yes."}),
        write("three"),
        json!({"say": "No."}),
        write("four"),
        json!({"say": "Yes."}),
    ]);
    let mut chat = Chat::kept(&place, &[]);
    chat.session(&policy(&["write_file", "read_file"], json!({})));
    let read_only = policy(&["read_file", "write_file"], json!({"toolMode": "read-only"}));
    chat.complete("t1", &read_only);
    chat.complete("t2", &json!({}));
    chat.complete("t3", &json!({"context": {"type": "comment-thread"}}));
    assert_eq!(chat.end().0, Some(0));
    let mut chat = Chat::kept(&place, &[]);
    chat.complete("t4", &json!({}));
    let names: Vec<String> =
        place.files().into_iter().map(|(path, _)| path.to_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["four", "two"]);
    let beyond = policy(&["bash"], json!({}))["policy"].clone();
    let more = json!({"sessionId": "s1", "input": {"text": "x"}, "policy": beyond});
    assert_eq!(chat.ask("start_turn", &more)["error"]["code"], "policy_denied");
}

#[test]
fn a_person_decides_about_calls() {
    let call = || json!({"calls": [bash("echo made >> log")]});
    let place =
        place(&[call(), json!({"say": "1"}), call(), json!({"say": "2"}), call(), json!({"say": "3"})]);
    let mut chat = Chat::start(&place, &[]);
    chat.session(&policy(&["bash"], json!({"approvalToolIds": ["bash"]})));
    for (turn, decision, status) in [("t1", "allow", "completed"), ("t2", "deny", "denied")] {
        chat.turn(turn, &json!({}));
        let approval = chat.event("approval_requested")["approval"].clone();
        assert_eq!(approval["tool"]["toolId"], "bash");
        assert_eq!(approval["input"]["command"], "echo made >> log");
        let id = &approval["approvalId"];
        chat.send("resolve_approval", &json!({"sessionId": "s1", "approvalId": id, "decision": decision}));
        chat.event("turn_completed");
        assert_eq!(statuses(&chat, turn), [("bash".to_owned(), status.to_owned())]);
    }
    chat.turn("t3", &json!({}));
    chat.event("approval_requested");
    chat.send("cancel_turn", &json!({"sessionId": "s1"}));
    let resolved = chat.event("approval_resolved");
    assert_eq!((&resolved["decision"], &resolved["by"]), (&json!("deny"), &json!("canceled")));
    chat.event("status_changed");
    assert_eq!(fs::read_to_string(place.workspace().join("log")).unwrap(), "made\n");
}

#[test]
fn a_person_may_let_pass_what_the_rules_of_flow_deny() {
    let turns = [
        json!({"calls": [{"tool": "read_file", "args": {"path": "notes.txt"}}]}),
        json!({"calls": [{"tool": "web_fetch", "args": {"url": "{{ results[0].handle.handleId }}"}}]}),
        json!({"say": "Done."}),
    ];
    for (decision, asks) in [("allow", true), ("deny", true), ("deny", false)] {
        let place = place(&turns);
        fs::write(place.workspace().join("notes.txt"), format!("deploy with {TOKEN}\n")).unwrap();
        fs::write(place.beside("canaries"), format!("{TOKEN}\n")).unwrap();
        let mut chat = Chat::start(&place, &["--canary-file", "../canaries"]);
        chat.session(&policy(&["read_file", "web_fetch"], json!({"askOnFlowDenial": asks})));
        chat.turn("t1", &json!({}));
        if asks {
            let approval = chat.event("approval_requested")["approval"].clone();
            assert!(approval["reason"].as_str().unwrap().contains("not everybody may see"), "{approval}");
            assert!(approval["input"]["url"].as_str().unwrap().ends_with(":read_file:1"), "{approval}");
            let id = &approval["approvalId"];
            chat.send(
                "resolve_approval",
                &json!({"sessionId": "s1", "approvalId": id, "decision": decision}),
            );
        }
        chat.event("turn_completed");
        let status = statuses(&chat, "t1")[1].1.clone();
        // What was let pass reaches nobody there; what was not let pass is not tried.
        assert_eq!(status == "denied", decision == "deny", "{decision} {asks} {status}");
        assert!(chat.lines.iter().all(|line| !line.to_string().contains(TOKEN)));
    }
}

#[test]
fn a_turn_that_has_used_all_it_may_says_of_what() {
    let call = || json!({"calls": [bash("true")]});
    let place = place(&[call(), call(), call(), json!({"say": "Done."})]);
    let mut chat = Chat::start(&place, &["--max-model-turns", "2"]);
    chat.session(&json!({}));
    chat.turn("t1", &json!({}));
    let error = chat.event("turn_failed")["error"].clone();
    assert_eq!(
        (&error["code"], &error["details"]),
        (&json!("limit_reached"), &json!({"limit": "modelTurns", "allowed": 2}))
    );
    chat.complete("t2", &json!({}));
}

#[test]
fn a_model_that_cannot_be_asked_fails_the_turn_and_not_the_session() {
    let place = place(&[json!({"say": "Hi."})]);
    let mut chat = Chat::start(&place, &[]);
    chat.session(&json!({}));
    chat.complete("t1", &json!({}));
    chat.turn("t2", &json!({}));
    assert_eq!(chat.event("turn_failed")["error"]["code"], "provider_unavailable");
    assert_eq!(chat.done("status", &json!({}))["sessions"][0]["status"], "idle");
}

#[test]
fn a_killed_service_goes_on_where_it_was() {
    let place = place(&[
        json!({"say": "First.", "calls": [bash("echo once >> log; sleep 86534")]}),
        json!({"expect": [{"json": "fullsend.interrupted", "at": "/type"}], "say": "I see."}),
    ]);
    let mut chat = Chat::kept(&place, &[]);
    chat.session(&json!({}));
    chat.turn("t1", &json!({}));
    chat.event("tool_started");
    assert!(wait_for(&mut chat.child, || runs_with("86534")));
    send(&chat.child, Signal::KILL);
    chat.child.wait().unwrap();
    let mut chat = Chat::kept(&place, &[]);
    let failed = chat.event("turn_failed");
    assert_eq!(
        failed["error"]["details"],
        json!({"terminalReason": "process_interrupted", "priorStatus": "running"})
    );
    chat.complete("t2", &json!({}));
    assert_eq!(fs::read_to_string(place.workspace().join("log")).unwrap(), "once\n");
    assert!(!runs_with("86534"));
}

#[test]
fn a_session_whose_record_is_gone_says_so_for_good() {
    let place = place(&[json!({"say": "Hi."})]);
    let mut chat = Chat::kept(&place, &[]);
    chat.session(&json!({}));
    chat.complete("t1", &json!({}));
    fs::remove_dir_all(place.run()).unwrap();
    chat.turn("t2", &json!({}));
    assert_eq!(chat.event("turn_failed")["error"]["code"], "session_unusable");
    let error = chat.until(|line| line["event"]["kind"] == "error");
    assert_eq!(error["event"]["fatal"], true);
    let again = json!({"sessionId": "s1", "input": {"text": "x"}});
    // The answer about the turn before may come after all of its events.
    chat.send("start_turn", &again);
    assert_eq!(chat.until(|line| line["ok"] == false)["error"]["code"], "session_unusable");
}

#[test]
fn a_service_with_other_options_does_not_widen_a_session() {
    let place = place(&[json!({"say": "1"}), json!({"say": "2"})]);
    let mut chat = Chat::kept(&place, &[]);
    chat.session(&json!({}));
    chat.complete("t1", &json!({}));
    assert_eq!(chat.end().0, Some(0));
    let mut chat = Chat::kept(&place, &["--allow-host", "example.com"]);
    chat.turn("t2", &json!({}));
    let error = chat.event("turn_failed")["error"].clone();
    assert_eq!(error["code"], "session_unusable");
    assert!(error["message"].as_str().unwrap().contains("networkHosts"), "{error}");
    assert_eq!(chat.end().0, Some(0));
    let mut chat = Chat::kept(&place, &[]);
    chat.complete("t3", &json!({}));
}

#[test]
fn pictures_come_with_any_turn() {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde";
    let place = place(&[json!({"say": "1"}), json!({"say": "2"})]);
    fs::write(place.workspace().join("a.png"), PNG).unwrap();
    let mut chat = Chat::start(&place, &[]);
    chat.session(&json!({}));
    for turn in ["t1", "t2"] {
        let input = json!({"text": "Look.", "imageAttachments": [{"path": "a.png"}]});
        chat.complete(turn, &json!({ "input": input }));
    }
    let messages = document(&place.run(), "transcript.json")["messages"].as_array().unwrap().clone();
    let shown = messages.iter().filter(|message| message["imageAttachments"][0]["mediaType"] == "image/png");
    assert_eq!(shown.count(), 2);
    chat.turn("t3", &json!({"input": {"text": "Look.", "imageAttachments": [{"path": "none.png"}]}}));
    assert_eq!(chat.event("turn_failed")["error"]["code"], "invalid_request");
}

#[test]
fn a_link_of_a_repository_does_not_let_the_agent_write_its_own_record() {
    let forge = "rm .fullsend-artifacts; mkdir -p .fullsend-artifacts/{{ (results[0].outputId | split(':'))[0] }} && \
                 echo '{}' > .fullsend-artifacts/{{ (results[0].outputId | split(':'))[0] }}/journal.jsonl && echo done";
    let place = place(&[
        json!({"calls": [bash("echo one")]}),
        json!({"calls": [bash(forge)]}),
        json!({"say": "Forged.", "expect": [{"json": {"stdout": "done\n"}}]}),
        json!({"say": "And on.", "expect": [{"user": "Go: t2."}]}),
    ]);
    let workspace = place.workspace();
    fs::create_dir(workspace.join("docs")).unwrap();
    std::os::unix::fs::symlink("docs", workspace.join(".fullsend-artifacts")).unwrap();
    let mut chat = Chat::start(&place, &[]);
    let session = chat.session(&policy(&["bash"], json!({})));
    let root = workspace.canonicalize().unwrap().join("docs");
    assert_eq!(session["artifactRoot"], root.to_str().unwrap());
    chat.complete("t1", &json!({}));
    assert_eq!(chat.complete("t2", &json!({}))["finalText"], "And on.");
    // What was real when the session began must be real when it goes on.
    fs::rename(&root, workspace.join("moved")).unwrap();
    std::os::unix::fs::symlink("moved", &root).unwrap();
    chat.turn("t3", &json!({}));
    assert_eq!(chat.event("turn_failed")["error"]["code"], "session_unusable");
}

#[test]
fn a_session_that_could_not_work_does_not_begin() {
    let place = place(&[json!({"say": "Hello."})]);
    let workspace = place.workspace().canonicalize().unwrap();
    fs::create_dir(place.beside("other")).unwrap();
    for (link, target) in [("out", "../other"), ("nowhere", "gone"), (".fullsend-artifacts", "../other")] {
        std::os::unix::fs::symlink(target, workspace.join(link)).unwrap();
    }
    let mut chat = Chat::start(&place, &["--workspace", "."]);
    let table = [
        (json!({"cwd": "/etc"}), json!({"artifactRoot": "runs"}), "invalid_request"),
        (json!({"cwd": ".."}), json!({"artifactRoot": "runs"}), "invalid_request"),
        (json!({"cwd": "out"}), json!({"artifactRoot": "runs"}), "invalid_request"),
        (json!({"cwd": "none"}), json!({"artifactRoot": "runs"}), "invalid_request"),
        (json!({}), json!({"artifactRoot": "."}), "invalid_request"),
        (json!({}), json!({"artifactRoot": "/"}), "invalid_request"),
        (json!({}), json!({"artifactRoot": "nowhere"}), "invalid_request"),
        (json!({}), json!({"artifactRoot": "out/runs"}), "policy_denied"),
        (json!({}), json!({"artifactRoot": "../other"}), "policy_denied"),
        (json!({}), json!({}), "policy_denied"),
    ];
    for (place, more, code) in table {
        let mut params = json!({"workspace": place});
        params["workspace"]["hostPath"] = json!(workspace);
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = chat.ask("start_session", &params);
        assert_eq!(answer["error"]["code"], code, "{params} {answer}");
    }
    assert_eq!(chat.kinds().len(), 0);
    assert_eq!(chat.session(&json!({"artifactRoot": "runs"}))["artifactRoot"], json!(workspace.join("runs")));
}

#[test]
fn a_question_about_a_call_of_a_subagent_does_not_tell_what_a_handle_stands_for() {
    let place = AgentPlace::new(&json!({
        "turns": [{"calls": [{"tool": "delegate_task", "args": {"goal": "Look."}}]}, {"say": "Done."}],
        "conversations": [{"user": "Look.", "turns": [
            {"calls": [{"tool": "read_file", "args": {"path": "notes.txt"}}]},
            {"calls": [bash("{{ results[0].handle.handleId }}")]},
            {"say": "Looked."},
        ]}],
    }));
    fs::write(place.workspace().join("notes.txt"), format!("deploy with {TOKEN}\n")).unwrap();
    fs::write(place.beside("canaries"), format!("{TOKEN}\n")).unwrap();
    let mut chat = Chat::kept(&place, &["--canary-file", "../canaries"]);
    let asked = json!({"allowedSubagentProfiles": ["default"], "approvalToolIds": ["bash"]});
    chat.session(&policy(&["delegate_task", "read_file", "bash"], asked));
    chat.turn("t1", &json!({}));
    let approval = chat.event("approval_requested")["approval"].clone();
    let command = approval["input"]["command"].as_str().unwrap();
    assert!(command.ends_with(":read_file:1"), "{approval}");
    let answer = json!({"sessionId": "s1", "approvalId": approval["approvalId"], "decision": "deny"});
    chat.done("resolve_approval", &answer);
    let (_, _, lines) = chat.end();
    assert!(!lines.iter().any(|line| line.to_string().contains(TOKEN)));
}
