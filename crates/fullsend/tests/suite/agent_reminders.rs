//! Answers that are cut off or withheld, and results to be mended: what follows is the same wherever a run is killed.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::suite::agent_place::{AgentPlace, document, finish};
use crate::suite::running::Ran;

/// What was said, as the role and the beginning of the text, without the system message.
fn said(run: &Path) -> Vec<(String, String)> {
    let transcript = document(run, "transcript.json");
    let messages = transcript["messages"].as_array().unwrap();
    let text = |message: &Value, key: &str| message[key].as_str().unwrap().to_owned();
    let short =
        |message: &Value| (text(message, "role"), text(message, "content").chars().take(20).collect());
    messages.iter().skip(1).map(short).collect()
}

/// Runs a script to its end, then kills and resumes it after each of its rows: all of it must be the same.
fn the_same_wherever_killed(script: &Value, arguments: &[&str], code: i32) -> (AgentPlace, Ran) {
    let place = AgentPlace::new(script);
    let ran = finish(place.exec(&[&["--output-mode", "batch"], arguments].concat()));
    assert_eq!(ran.code, Some(code), "{ran:?}");
    let run = place.run();
    let (expected, report) = (said(&run), document(&run, "run-report.json"));
    let whole = fs::read_to_string(run.join("journal.jsonl")).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let opened = lines.iter().position(|line| line.contains(r#""kind":"opened""#)).unwrap();
    for length in opened + 1..lines.len() {
        fs::write(run.join("journal.jsonl"), lines[..length].concat()).unwrap();
        let again = finish(place.resume(&run, &["--output-mode", "batch"]));
        assert_eq!((again.code, &again.stdout), (Some(code), &ran.stdout), "{length} rows: {again:?}");
        assert_eq!(said(&run), expected, "{length} rows");
        let now = document(&run, "run-report.json");
        for key in ["status", "terminalReason", "modelTurns"] {
            assert_eq!(now[key], report[key], "{key} after {length} rows");
        }
    }
    (place, ran)
}

#[test]
fn an_answer_that_was_cut_off_is_gone_on_with() {
    let script = json!({"turns": [
        {"say": "One, two,", "finish": "length"},
        {"expect": [{"user": "cut off"}], "say": "three."},
    ]});
    let (place, ran) = the_same_wherever_killed(&script, &[], 0);
    assert_eq!(ran.stdout, "three.\n");
    let roles: Vec<String> = said(&place.run()).into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    let transcript = document(&place.run(), "transcript.json");
    assert_eq!(transcript["messages"][2]["finishReason"], "length");
    assert_eq!(transcript["messages"][4]["finishReason"], "stop");
}

#[test]
fn a_model_that_is_always_cut_off_is_told_to_go_on_three_times() {
    let script = json!({"turns": [
        {"say": "And", "finish": "length", "repeat": 4},
        {"expect": [{"user": "Be brief."}], "say": "Yes."},
    ]});
    let (place, ran) = the_same_wherever_killed(&script, &[], 1);
    assert!(ran.stderr.contains("again and again"), "{ran:?}");
    let run = place.run();
    assert_eq!(document(&run, "run-report.json")["modelTurns"], 4);
    let ran = finish(place.resume(&run, &["--output-mode", "batch", "--prompt", "Be brief."]));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Yes.\n"), "{ran:?}");
}

#[test]
fn an_answer_that_was_withheld_is_none() {
    let script = json!({"turns": [{"say": "", "finish": "content_filter"}]});
    let (_, ran) = the_same_wherever_killed(&script, &[], 1);
    assert!(ran.stderr.contains("withheld"), "{ran:?}");
}

#[test]
fn a_result_is_mended_as_often_as_is_allowed_and_no_more() {
    let script = json!({"turns": [{"say": "There it is.", "repeat": 9}]});
    let arguments =
        ["--structured-result-path", "result.json", "--structured-result-schema", r#"{"type": "object"}"#];
    let (place, _) = the_same_wherever_killed(&script, &arguments, 1);
    let told = said(&place.run()).into_iter().filter(|(_, text)| text.starts_with("The result in"));
    assert_eq!(told.count(), 3);
}
