//! The command line of `fullsend exec`: what it takes, what it refuses and says, and what it leaves for programs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use fullsend_testkit::gateway::{GatewayReply, GatewayRequest, ScriptedGateway};
use fullsend_testkit::{Reply, Server, TestCa, Validity, test_name};
use serde_json::{Value, json};

use crate::suite::running::{Place, Ran};

const SAYS: &str = "turns:\n  - say: \"Batch result.\"\n";
const SCHEMA: &str = r#"{"type":"object","required":["ok"],"properties":{"ok":{"type":"boolean"}}}"#;

/// Environment variables and their values.
type Variables<'a> = &'a [(&'a str, &'a str)];

/// Runs `fullsend exec` with a script that gives one answer, and these environment variables.
fn exec_with(place: &Place, variables: Variables<'_>, arguments: &[&str]) -> Ran {
    let mut command = place.command(&["exec"]);
    command.args(arguments).env("HOME", place.path().join("home")).envs(variables.iter().copied());
    Ran::from(command.output().unwrap())
}

/// A place with a script that gives one answer, outside of the workspace `ws`.
fn place() -> Place {
    let place = Place::new();
    place.write("says.yaml", SAYS);
    place.write("ws/README.md", "hello\n");
    place
}

/// The same with the usual options first.
fn replayed(place: &Place, arguments: &[&str]) -> Ran {
    let usual = ["--workspace", "ws", "--replay", "says.yaml", "--output-mode", "batch"];
    exec_with(place, &[], &[&usual, arguments].concat())
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The runs below `ws`.
fn runs(place: &Place) -> Vec<std::path::PathBuf> {
    let Ok(entries) = fs::read_dir(place.path().join("ws/.fullsend-artifacts")) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
}

#[test]
fn a_batch_prints_exactly_the_answer() {
    let place = place();
    let ran = replayed(&place, &["--prompt", "do it"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "Batch result.\n", ""));
    let ran = exec_with(&place, &[], &["--output-mode", "loud", "do it"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("operator, batch"), "{}", ran.stderr);
}

#[test]
fn the_prompt_comes_from_one_source() {
    let place = place();
    place.write("prompt.txt", "from a file\n");
    place.write("says.yaml", "turns:\n  - say: \"{{ user }}|\"\n");
    for (arguments, prompt) in [
        (&["--prompt", "from an option"][..], "from an option"),
        (&["--prompt=--help"], "--help"),
        (&["--prompt-file", "prompt.txt"], "from a file\n"),
        (&["several", "words"], "several words"),
        (&["--", "--help"], "--help"),
    ] {
        let ran = replayed(&place, arguments);
        assert_eq!(
            (ran.code, ran.stdout),
            (Some(0), format!("{prompt}|\n")),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
}

#[test]
fn what_cannot_be_done_is_refused_with_advice_before_anything_happens() {
    let place = place();
    place.write("blank.txt", " \n");
    place.write("outside.txt", "x");
    place.write("library/picture.txt", "no picture");
    place.write("ws/old.json", "{}");
    fs::create_dir(place.path().join("elsewhere")).unwrap();
    symlink("../elsewhere", place.path().join("ws/out")).unwrap();
    let library = "name=lib,source=library,target=/library,mode=readonly";
    let schema = ["--structured-result-schema", SCHEMA];
    let structured = |path: &'static str| ["--structured-result-path", path, schema[0], schema[1]];
    let in_library = place.path().join("library/r.json");
    let in_library = in_library.to_str().unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["nothing to do", "--prompt"]),
        (&["--prompt", " "], &["the prompt is empty"]),
        (&["--prompt-file", "blank.txt"], &["the prompt is empty"]),
        (&["--prompt-file", "missing.txt"], &["missing.txt"]),
        (&["--prompt", "a", "b"], &["more than one prompt"]),
        (&["p", "--max-model-turns", "2.5"], &["--max-model-turns", "2.5"]),
        (&["p", "--max-model-turns", "0"], &["--max-model-turns"]),
        (&["p", "--max-cost-usd", "-1"], &["--max-cost-usd"]),
        (&["p", "--max-cost-usd", "NaN"], &["--max-cost-usd"]),
        (&["p", "--no-such-flag"], &["--no-such-flag"]),
        (&["p", "--prompt-slot-role", "boss"], &["direct-command", "context", "quote"]),
        (&["p", "--allow-tool", "agent-browser"], &["agent-browser", "bash", "read_file", "web_fetch"]),
        (&["p", "--cfc-enforcement-mode", "bogus"], &["bogus", "use one of", "observe"]),
        (&["p", "--skill", "s"], &["--skill", "--skills-root"]),
        (&["p", "--allow-skill-script", "a:scripts/b.ts"], &["--allow-skill-script", "--skills-root"]),
        (&["p", "--skills-root", "no"], &["ws/no", "name a directory"]),
        (&["p", "--cwd", "../elsewhere"], &["outside of the workspace"]),
        (&["p", "--cwd", "nowhere"], &["nowhere", "--cwd"]),
        (&["p", "--focus-root", "../elsewhere"], &["--focus-root", "outside of the workspace"]),
        (&["p", "--workspace-root", "x"], &["--workspace-root"]),
        (&["p", "--image", "../outside.txt"], &["outside.txt", "outside of the workspace"]),
        (&["p", "--image", "missing.png"], &["missing.png"]),
        (&["p", "--image", "README.md"], &["README.md", "PNG, JPEG, GIF or WebP"]),
        (&["p", "--image", ""], &["--image"]),
        (&["p", "--result-json-path", "nowhere/r.json"], &["nowhere/r.json", "make the directory `nowhere`"]),
        (&["p", "--image", "c.png", "--resume-run", "r"], &["--image", "--prompt"]),
        (&["p", "--sandbox-docker-runtime", "runsc"], &["--sandbox-image"]),
        (&["p", "--host-mount", "name=a,source=.,target=/"], &["target `/`"]),
        (&["p", "--host-mount", "name=a,target=/a"], &["`source` is missing"]),
        (&["p", "--host-mount", "name=a,source=nowhere,target=/a"], &["nowhere"]),
        (&["p", "--host-mount", "name=a,source=.,target=/a,mode=rw"], &["readonly", "writable"]),
        (&["p", "--host-mount", "name=a,source=.,target=/workspace/a"], &["/workspace"]),
        (&["p", "--structured-result-path", "r.json"], &["schema"]),
        (&["p", schema[0], schema[1]], &["--structured-result-path"]),
        (&["p", "--structured-result-path", "r.json", schema[0], "{"], &["not JSON"]),
        (&["p", "--structured-result-path", "r.json", schema[0], r#"{"type":7}"#], &["schema"]),
        (
            &[
                "p",
                "--structured-result-path",
                "r.json",
                schema[0],
                r#"{"$ref":"https://example.com/s.json"}"#,
            ],
            &["schema"],
        ),
        (&[&["p"][..], &structured("../r.json")].concat(), &["outside of the workspace"]),
        (&[&["p"][..], &structured("out/r.json")].concat(), &["outside of the workspace"]),
        (&[&["p"][..], &structured("old.json")].concat(), &["exists already", "remove it"]),
        (
            &["p", "--host-mount", library, "--structured-result-path", in_library, schema[0], schema[1]],
            &["may not write"],
        ),
    ];
    for (arguments, told) in cases {
        let ran = replayed(&place, arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments:?}: {}", ran.stderr);
        for part in *told {
            assert!(ran.stderr.contains(part), "{arguments:?} without {part:?}: {}", ran.stderr);
        }
    }
    assert_eq!(runs(&place), Vec::<std::path::PathBuf>::new(), "a run was recorded that never began");
}

#[test]
fn a_program_learns_of_every_ending() {
    let place = place();
    place.write("departs.yaml", "turns:\n  - expect: [{user: something else}]\n    say: no\n");
    let result = place.path().join("result.json");
    let ask = |arguments: &[&str]| {
        let _ = fs::remove_file(&result);
        let ran = replayed(&place, &[&["--result-json-path", "result.json"], arguments].concat());
        (ran.code, json_of(&result))
    };
    let (code, told) = ask(&["--prompt", "p"]);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!((&told["status"], &told["response"]), (&json!("completed"), &json!("Batch result.")));
    assert_eq!((&told["terminal_reason"], &told["num_turns"]), (&json!("assistant_completed"), &json!(1)));
    assert!(Path::new(told["transcript_path"].as_str().unwrap()).is_file(), "{told}");
    // Before anything ran: from the options, from the configuration, and for lack of a prompt.
    for arguments in
        [&["--prompt", "p", "--cwd", "nowhere"][..], &["--prompt", "p", "--image", "no.png"], &[]]
    {
        let (code, told) = ask(arguments);
        assert_eq!((code, &told["status"]), (Some(2), &json!("failed")), "{told}");
        assert!(!told["error"].as_str().unwrap().is_empty(), "{told}");
    }
    // While it ran.
    let _ = fs::remove_file(&result);
    let ran = exec_with(
        &place,
        &[],
        &["--workspace", "ws", "--replay", "departs.yaml", "--output-mode", "batch"]
            .into_iter()
            .chain(["--result-json-path", "result.json", "--prompt", "p"])
            .collect::<Vec<_>>(),
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("departed from the script") && ran.stderr.contains("fullsend resume"));
    assert_eq!(json_of(&result)["status"], json!("failed"));
}

#[test]
fn events_go_to_standard_error() {
    let place = place();
    let ran = replayed(&place, &["--stream-events", "--prompt", "do it"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Batch result.\n"));
    assert_eq!(ran.stderr, "user: do it\nassistant: Batch result.\n");
}

#[test]
fn a_structured_result_is_checked_and_may_be_repaired() {
    let write = |text: &str| {
        let arguments = json!({"path": "result.json", "content": text, "mode": "replace"});
        format!("  - calls: [{{tool: write_file, args: {arguments}}}]\n  - say: written\n")
    };
    let (good, bad) = (write(r#"{"ok":true}"#), write(r#"{"ok":"secret-value"}"#));
    for (name, script, code, status) in [
        ("valid", good.clone(), 0, "valid"),
        ("repaired", format!("{bad}{good}"), 0, "valid"),
        ("never", bad.repeat(9), 1, "invalid"),
        ("missing", "  - say: nothing\n    repeat: 9\n".to_owned(), 1, "invalid"),
    ] {
        let place = place();
        place.write("says.yaml", format!("turns:\n{script}"));
        let ran = replayed(
            &place,
            &["--prompt", "p", "--max-model-turns", "30", "--result-json-path", "told.json"]
                .into_iter()
                .chain(["--structured-result-path", "result.json", "--structured-result-schema", SCHEMA])
                .collect::<Vec<_>>(),
        );
        let told = json_of(&place.path().join("told.json"));
        assert_eq!(
            (ran.code, told["structured_result"]["status"].as_str()),
            (Some(code), Some(status)),
            "{name}: {told} {}",
            ran.stderr
        );
        assert!(!ran.stdout.is_empty(), "{name}: the answer is there either way");
        let error = told["structured_result"]["validation_error"].as_str().unwrap_or_default();
        assert!(!error.contains("secret-value"), "{name}: {error}");
        assert_eq!(code == 1, ran.stderr.contains("result.json"), "{name}: {}", ran.stderr);
    }
}

#[test]
fn a_structured_result_behind_a_link_that_the_agent_made_is_none() {
    let place = place();
    if !place.has_sandbox(test_name!()) {
        return;
    }
    let outside = place.write("elsewhere/result.json", r#"{"ok":true}"#);
    let outside = outside.parent().unwrap().to_str().unwrap();
    let call = json!({"tool": "bash", "args": {"command": format!("ln -s {outside} sub && readlink sub")}});
    place.write("says.yaml", format!("turns:\n  - calls: [{call}]\n  - say: done\n    repeat: 9\n"));
    let arguments = ["--prompt", "p", "--structured-result-path", "sub/result.json"];
    let ran = replayed(&place, &[&arguments[..], &["--structured-result-schema", SCHEMA]].concat());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("there is a symbolic link in the path"), "{}", ran.stderr);
}

#[test]
fn pictures_and_directories_may_lie_in_mounts() {
    let place = place();
    let png = [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0"[..], &[0; 16]].concat();
    let image = place.write("library/picture.png", png);
    fs::create_dir(place.path().join("ws/.ops")).unwrap();
    place.write("says.yaml", "turns:\n  - calls: [{tool: list_files, args: {path: .}}]\n  - say: seen\n");
    let ran = replayed(
        &place,
        &[
            "--host-mount",
            "name=lib,source=library,target=/library,mode=readonly",
            "--cwd",
            ".ops",
            "--image",
        ]
        .into_iter()
        .chain([image.to_str().unwrap(), "--prompt", "p", "--print-transcript"])
        .collect::<Vec<_>>(),
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("seen\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("image/png") && ran.stdout.contains("/workspace/.ops"), "{}", ran.stdout);
}

/// A gateway that answers with the model and the key that it was asked with.
fn telling_gateway() -> ScriptedGateway {
    ScriptedGateway::start(|request: &GatewayRequest| {
        let key = request.header("authorization").unwrap_or("no key").to_owned();
        let told = format!("{} {key}", request.json()["model"].as_str().unwrap_or_default());
        GatewayReply::events(&[
            json!({"choices": [{"index": 0, "delta": {"content": told}}]}),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        ])
    })
}

#[test]
fn options_win_over_the_environment_and_our_names_over_older_ones() {
    let place = place();
    let gateway = telling_gateway();
    let url = gateway.url();
    let nowhere = "http://127.0.0.1:1";
    let cases: &[(Variables<'_>, &[&str], &str)] = &[
        (
            &[("FULLSEND_GATEWAY_BASE_URL", &url), ("FULLSEND_MODEL", "m"), ("FULLSEND_API_KEY", "k")],
            &[],
            "m Bearer k",
        ),
        (
            &[
                ("CF_HARNESS_GATEWAY_BASE_URL", &url),
                ("CF_HARNESS_MODEL", "older"),
                ("CF_HARNESS_API_KEY", "older-key"),
                ("OPENAI_API_KEY", "general"),
            ],
            &[],
            "older Bearer older-key",
        ),
        (
            &[
                ("CF_HARNESS_GATEWAY_BASE_URL", nowhere),
                ("FULLSEND_GATEWAY_BASE_URL", &url),
                ("CF_HARNESS_MODEL", "older"),
                ("FULLSEND_MODEL", "ours"),
                ("CF_HARNESS_API_KEY", "older-key"),
                ("FULLSEND_API_KEY", "our-key"),
            ],
            &[],
            "ours Bearer our-key",
        ),
        // Blank is unset.
        (
            &[
                ("FULLSEND_MODEL", "  "),
                ("CF_HARNESS_MODEL", "m"),
                ("FULLSEND_API_KEY", ""),
                ("OPENAI_API_KEY", "general"),
            ],
            &["--gateway-base-url", &url],
            "m Bearer general",
        ),
        (
            &[
                ("FULLSEND_MODEL", "m"),
                ("FULLSEND_GATEWAY_BASE_URL", nowhere),
                ("FULLSEND_GATEWAY_AUTH_MODE", "none"),
                ("FULLSEND_API_KEY", "k"),
            ],
            &["--model", "o", "--gateway-base-url", &url, "--gateway-auth-mode", "bearer"],
            "o Bearer k",
        ),
        (&[], &["--model", "m", "--gateway-base-url", &url, "--gateway-auth-mode", "none"], "m no key"),
    ];
    for (variables, arguments, answer) in cases {
        let usual = ["--workspace", "ws", "--output-mode", "batch", "--prompt", "p"];
        let ran = exec_with(&place, variables, &[&usual, *arguments].concat());
        assert_eq!((ran.code, ran.stdout), (Some(0), format!("{answer}\n")), "{variables:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("key"), "{}", ran.stderr);
    }
}

#[test]
fn what_the_environment_lacks_or_has_wrong_is_said() {
    let place = place();
    let url = ("FULLSEND_GATEWAY_BASE_URL", "http://127.0.0.1:1");
    let model = ("FULLSEND_MODEL", "m");
    let cases: &[(Variables<'_>, &[&str])] = &[
        (&[], &["no model is named", "--model", "FULLSEND_MODEL"]),
        (&[("FULLSEND_MODEL", " ")], &["no model is named"]),
        (&[model], &["no model gateway is named", "--gateway-base-url"]),
        (&[model, url], &["no key", "FULLSEND_API_KEY", "--gateway-auth-mode none"]),
        (&[model, url, ("FULLSEND_API_KEY", " ")], &["no key"]),
        (
            &[model, url, ("FULLSEND_GATEWAY_AUTH_MODE", "basic")],
            &["basic", "`bearer`, `bearer-unencrypted` or `none`"],
        ),
        (
            &[model, ("FULLSEND_GATEWAY_BASE_URL", "http://192.0.2.7:1"), ("FULLSEND_API_KEY", "k")],
            &["`http://192.0.2.7:1` without encryption", "https", "--gateway-auth-mode bearer-unencrypted"],
        ),
        (
            &[model, url, ("OPENAI_API_KEY", "k"), ("CF_CFC_MODE", "bogus")],
            &["bogus", "disabled", "observe", "enforce-explicit", "enforce-strict"],
        ),
    ];
    for (variables, told) in cases {
        let ran = exec_with(&place, variables, &["--workspace", "ws", "--prompt", "p"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{variables:?}: {}", ran.stderr);
        for part in *told {
            assert!(ran.stderr.contains(part), "{variables:?} without {part:?}: {}", ran.stderr);
        }
    }
}

#[test]
fn the_whole_file_system_is_no_workspace_and_a_plain_directory_no_run() {
    let place = place();
    let ran = exec_with(&place, &[], &["--workspace", "/", "--replay", "says.yaml", "--prompt", "p"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("root of the file system"), "{}", ran.stderr);
    fs::create_dir(place.path().join("plain")).unwrap();
    let ran = place.run(&["resume", "plain"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("plain"), "{}", ran.stderr);
    assert_eq!(fs::read_dir(place.path().join("plain")).unwrap().count(), 0, "nothing is left there");
}

#[test]
fn a_gateway_may_have_a_certificate_of_an_authority_that_is_named() {
    let place = place();
    let ca = TestCa::new();
    let pem = place.write("ca.pem", ca.pem());
    let server = Server::start(&ca.leaf(&["localhost"], Validity::Current), &["127.0.0.1:0"]);
    let answer =
        json!({"choices": [{"message": {"role": "assistant", "content": "safe"}, "finish_reason": "stop"}]});
    let reply = Reply::ok(answer.to_string()).header("content-type", "application/json");
    server.route("/v1/chat/completions", reply);
    let url = format!("https://localhost:{}", server.address().port());
    let usual = ["--workspace", "ws", "--output-mode", "batch", "--prompt", "p", "--model", "m"];
    let arguments = [&usual[..], &["--gateway-base-url", &url, "--gateway-auth-mode", "none"]].concat();
    let trusted = exec_with(&place, &[("SSL_CERT_FILE", pem.to_str().unwrap())], &arguments);
    assert_eq!((trusted.code, trusted.stdout.as_str()), (Some(0), "safe\n"), "{}", trusted.stderr);
    let stranger = exec_with(&place, &[], &[&arguments[..], &["--max-seconds", "5"]].concat());
    assert_eq!((stranger.code, stranger.stdout.as_str()), (Some(1), ""), "{}", stranger.stderr);
}

/// The two commands of the README: a run that stops at its limit, and the rest of it.
#[test]
fn the_example_works_and_goes_on_where_it_stopped() {
    let place = place();
    let command = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env("HOME", place.path().join("home")).env("PATH", "/usr/bin:/bin");
        Ran::from(command.output().unwrap())
    };
    if !place.has_sandbox(test_name!()) {
        return;
    }
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/agent/greet.yaml");
    let first =
        command(&["exec", "--replay", example, "--workspace", "ws", "--max-model-turns", "2", "Write it"]);
    assert_eq!(first.code, Some(1), "{}", first.stderr);
    assert!(
        first.stderr.contains("--max-model-turns") && first.stderr.contains("fullsend resume"),
        "{}",
        first.stderr
    );
    let [run] = &runs(&place)[..] else { panic!("one run: {:?}", runs(&place)) };
    let rest =
        command(&["resume", run.to_str().unwrap(), "--max-model-turns", "8", "--output-mode", "batch"]);
    assert_eq!(rest.code, Some(0), "{}", rest.stderr);
    assert!(rest.stdout.ends_with("Hello, world! and Hello, Ada!\n"), "{}", rest.stdout);
    assert_eq!(runs(&place).len(), 1);
}

#[test]
fn capabilities_need_nothing_and_name_every_flag_and_tool() {
    let place = Place::new();
    let ran = place.run(&["exec", "--describe-capabilities"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let has = |key: &str, value: &str| told[key].as_array().unwrap().contains(&json!(value));
    assert!(has("cliFlags", "--structured-result-path") && has("cliFlags", "--describe-capabilities"));
    assert!(has("repeatableCliFlags", "--host-mount") && !has("repeatableCliFlags", "--prompt"));
    assert!(has("builtinToolIds", "bash") && has("builtinToolIds", "web_fetch"));
    assert!(fs::read_dir(place.path()).unwrap().next().is_none(), "nothing is written");
}
