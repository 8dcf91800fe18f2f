//! Comments on what a run works on: one comment, whatever becomes of the run and of the forge.

use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use fullsend_testkit::gateway::{Ending, GatewayReply, GatewayRequest, ScriptedGateway};
use fullsend_testkit::test_name;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::suite::run_place::{Bench, Told, bash, files_with, surround};
use crate::suite::running::{Place, Ran};

/// A token of no kind that anybody could know by its looks.
const TOKEN: &str = "Quite-an-0rdinary.word_44817";
const RUN_URL: &str = "https://ci.example/runs/5";

/// A forge that takes comments.
fn forge() -> ScriptedGateway {
    ScriptedGateway::start(|request: &GatewayRequest| match request.method.as_str() {
        "POST" => GatewayReply::status(201, r#"{"id": 41, "body": "…"}"#),
        _ => GatewayReply::status(200, r#"{"id": 41}"#),
    })
}

/// What the forge was told: method, target and text.
fn told(forge: &ScriptedGateway) -> Vec<(String, String, String)> {
    let one = |request: GatewayRequest| {
        let body = request.json();
        assert!(body.as_object().unwrap().keys().eq(["body"]), "{body}");
        let text = request.json()["body"].as_str().unwrap().to_owned();
        (request.method, request.target, text)
    };
    forge.requests().into_iter().map(one).collect()
}

fn on_github(bench: &Bench, forge: &str) -> Told {
    let options = ["--status-repo", "owner/name", "--status-number", "7", "--run-url", RUN_URL];
    bench.run_with(&options, &[("GITHUB_API_URL", forge), ("GH_TOKEN", TOKEN)])
}

/// Every warning of a run, also those that came after its record.
fn warnings(told: &Told) -> Vec<&str> {
    let events = told.lines.iter().map(|line| &line["event"]);
    events.filter(|event| event["type"] == "warning").filter_map(|event| event["text"].as_str()).collect()
}

/// The token is in nothing that is left of the run, and in nothing that was printed.
fn is_secret(bench: &Bench, told: &Told) {
    assert_eq!(files_with(&bench.path("out"), TOKEN), Vec::<String>::new());
    assert_eq!(files_with(&bench.path("state"), TOKEN), Vec::<String>::new());
    assert!(!format!("{told:?}").contains(TOKEN), "{told:?}");
}

#[test]
fn one_comment_says_that_a_run_began_and_how_it_ended() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    let forge = forge();
    let run = on_github(&bench, &format!("{}/api/v3/", forge.url()));
    assert_eq!(run.end(), (Some(0), "success"), "{run:?}");
    assert_eq!(warnings(&run), Vec::<&str>::new());
    let said = told(&forge);
    let [(post, made, first), (patch, changed, last)] = &said[..] else { panic!("{said:?}") };
    assert_eq!((post.as_str(), made.as_str()), ("POST", "/api/v3/repos/owner/name/issues/7/comments"));
    assert_eq!((patch.as_str(), changed.as_str()), ("PATCH", "/api/v3/repos/owner/name/issues/comments/41"));
    assert_eq!(*first, format!("**fullsend**: agent `code` is at work ([run](<{RUN_URL}>))"));
    assert!(last.starts_with("**fullsend**: agent `code` ended after "), "{last}");
    assert!(last.ends_with(&format!(" s: **success** ([run](<{RUN_URL}>))")), "{last}");
    for request in forge.requests() {
        assert_eq!(request.header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
    }
    is_secret(&bench, &run);
}

#[test]
fn the_last_word_is_how_the_run_ended() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    let skip = "printf 'skipped=true\\nreason=%s\\n' \"@all \\`x\\` $GH_TOKEN [y](https://evil.example)\" \
                >> \"$FULLSEND_PRESCRIPT_OUTPUT\"";
    for (script, end, expected) in [
        ("exit 3", (Some(1), "failure"), "**failure** ("),
        ("printf 'skipped=true\\n' >> \"$FULLSEND_PRESCRIPT_OUTPUT\"", (Some(0), "skipped"), "**skipped**"),
        (skip, (Some(0), "skipped"), "**skipped** (`@all 'x' [CANARY REDACTED] [y](https://evil.example)`)"),
    ] {
        bench.harness("pre_script: scripts/pre.sh\n");
        bench.script("pre.sh", script);
        let forge = forge();
        let run = on_github(&bench, &forge.url());
        assert_eq!(run.end(), end, "{run:?}");
        let said = told(&forge);
        let [_, (_, _, last)] = &said[..] else { panic!("{said:?}") };
        assert!(last.contains(&format!(": {}", expected.trim_end_matches(" ("))), "{last}");
        is_secret(&bench, &run);
    }
}

#[test]
fn gitlab_counts_issues_and_merge_requests_apart() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    for (number, iid, expected) in [
        ("7", "", "/projects/group%2Fsub%2Fname/issues/7/notes"),
        ("7", "8", "/projects/group%2Fsub%2Fname/issues/7/notes"),
        ("7", "7", "/projects/group%2Fsub%2Fname/merge_requests/7/notes"),
        ("!7", "", "/projects/group%2Fsub%2Fname/merge_requests/7/notes"),
    ] {
        let forge = forge();
        let options = ["--status-repo", "group/sub/name", "--status-number", number, "--forge", "gitlab"];
        let url = forge.url();
        let env = [("CI_API_V4_URL", url.as_str()), ("GITLAB_TOKEN", TOKEN), ("CI_MERGE_REQUEST_IID", iid)];
        let run = bench.run_with(&options, &env);
        assert_eq!(run.end(), (Some(0), "success"), "{run:?}");
        let said: Vec<_> = told(&forge).into_iter().map(|(method, target, _)| (method, target)).collect();
        assert_eq!(
            said,
            [("POST".to_owned(), expected.to_owned()), ("PUT".to_owned(), format!("{expected}/41"))]
        );
        assert!(forge.requests().iter().all(|request| request.header("private-token") == Some(TOKEN)));
        is_secret(&bench, &run);
    }
}

#[test]
fn a_run_that_is_interrupted_still_says_so() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    bench.says(&json!([{"calls": [bash("sleep 60")]}, {"say": "done"}]));
    let forge = forge();
    let mut command = command(&bench.place, &["--status-repo", "o/n", "--status-number", "7"]);
    command.env("GITHUB_API_URL", forge.url()).env("GH_TOKEN", TOKEN);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let at_work =
        || files_with(&bench.path("out"), "\"step\":\"agent\"").iter().any(|file| file.ends_with(".jsonl"));
    for _ in 0..2000 {
        if at_work() && forge.requests().len() == 1 {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{ran:?}");
    let said = told(&forge);
    let [_, (_, _, last)] = &said[..] else { panic!("{said:?}, {ran:?}") };
    assert!(last.ends_with(": **cancelled**"), "{last}");
}

/// The command of a run that goes on by itself.
fn command(place: &Place, options: &[&str]) -> Command {
    let usual =
        ["run", "code", "--fullsend-dir", ".fullsend", "--target-repo", "repo", "--output-dir", "out"];
    let model = ["--runtime", "replay", "--replay", "model.yaml", "--format", "json"];
    let mut command = place.command(&[&usual[..], &model, options].concat());
    surround(&mut command, place.path());
    command
}

#[test]
fn a_forge_that_does_not_take_comments_changes_nothing() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let elsewhere = forge();
    let moved = format!("Location: {}/x\r\n", elsewhere.url());
    let refusing = |reply: GatewayReply| ScriptedGateway::sequence(vec![reply]);
    let said = json!({"message": format!("Resource not accessible with {TOKEN}")}).to_string();
    let forges = [
        refusing(GatewayReply::status(403, said)),
        refusing(GatewayReply::with_headers(307, &moved, "")),
        refusing(GatewayReply::status(201, "{}")),
        refusing(GatewayReply::raw("", Ending::Close)),
    ];
    let mut cases: Vec<(String, &str)> = vec![
        (format!("http://{unused}"), "was not completed: `127.0.0.1` cannot be reached"),
        ("http://192.0.2.1".to_owned(), "`GITHUB_API_URL` would send a secret without encryption"),
        ("nonsense".to_owned(), "`GITHUB_API_URL` is not an absolute URL"),
    ];
    let expected = [
        "`127.0.0.1` answered 403: Resource not accessible with [secret]",
        "a redirect, and none is followed",
        "did not say which comment it made",
        "the conversation with `127.0.0.1` broke off",
    ];
    cases.extend(forges.iter().map(ScriptedGateway::url).zip(expected));
    for (url, expected) in cases {
        let run = on_github(&bench, &url);
        assert_eq!(run.end(), (Some(0), "success"), "{url}: {run:?}");
        let warnings = warnings(&run);
        assert!(warnings.len() == 1 && warnings[0].contains(expected), "{url}: {warnings:?}");
        is_secret(&bench, &run);
    }
    assert_eq!(elsewhere.connections(), 0);
    let run = bench.run(&["--status-repo", "o/n", "--status-number", "7"]);
    assert_eq!(run.end(), (Some(0), "success"));
    assert!(warnings(&run)[0].contains("there is no token; set `GH_TOKEN` or `GITHUB_TOKEN`"), "{run:?}");
}

#[test]
fn services_that_never_answer_do_not_keep_a_run() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    let silent = ScriptedGateway::sequence(vec![GatewayReply::raw("", Ending::Hang)]);
    let url = silent.url();
    let env = [
        ("GITHUB_API_URL", url.as_str()),
        ("GITHUB_TOKEN", TOKEN),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
    ];
    let run = bench.run_with(&["--status-repo", "o/n", "--status-number", "7"], &env);
    assert_eq!(run.end(), (Some(0), "success"));
    let mut warnings = warnings(&run);
    warnings.sort_unstable();
    let expected = [
        "the status comment was not completed: `127.0.0.1` did not answer in time",
        "the trace was not sent: `127.0.0.1` did not answer in time",
    ];
    assert_eq!(warnings, expected);
}

#[test]
fn options_that_belong_together_are_asked_for_together() {
    let place = Place::with_harness();
    for (options, missing) in [
        (&["--status-repo", "o/n"][..], "--status-number <N>"),
        (&["--status-number", "7"], "--status-repo <OWNER/NAME>"),
        (&["--run-url", RUN_URL], "--status-repo <OWNER/NAME>"),
        (&["--status-repo", "o", "--status-number", "7"], "is not a repository; write `owner/name`"),
        (&["--status-repo", "o/n", "--status-number", "#7"], "is not a number"),
        (&["--status-repo", "o/n", "--status-number", "7", "--run-url", "x"], "is not an absolute URL"),
    ] {
        let ran = place.run(&[&["run", "code"][..], options].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(missing), "{options:?}: {}", ran.stderr);
    }
}

#[test]
fn a_configuration_that_wants_no_comments_gets_none() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    for (said, comments) in [("none", 0), ("false", 0), ("'off'", 0), ("{start: true}", 2)] {
        bench.place.write(".fullsend/config.yaml", format!("version: '1'\nstatus_notifications: {said}\n"));
        let forge = forge();
        let run = on_github(&bench, &forge.url());
        assert_eq!(run.end(), (Some(0), "success"), "{run:?}");
        assert_eq!(forge.requests().len(), comments, "{said}");
    }
}
