//! Variables: where they come from, what becomes of references to them, and who gets which.

use std::collections::BTreeMap;
use std::path::Path;

use fullsend_runner::environment::{
    DotenvError, Environment, PostScript, Validation, child, expand, parse_dotenv,
};

use super::support::{Folder, harness, shown};

const DENIED: [&str; 4] = [
    "ACTIONS_ID_TOKEN_REQUEST_URL",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "FULLSEND_GCP_OIDC_URL",
    "FULLSEND_GCP_OIDC_AUTH_FILE",
];

fn environment(pairs: &[(&str, &str)]) -> Environment {
    Environment::new(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

#[test]
fn lines_of_files_with_variables() {
    for (line, expected) in [
        ("K=v", Some("v")),
        ("export K=v", Some("v")),
        ("K=\"v\" # c", Some("v")),
        ("K='v # not a comment' # c", Some("v # not a comment")),
        ("K=v#t", Some("v#t")),
        ("K=v # c", Some("v")),
        ("K=\"v'", Some("\"v'")),
        ("K=\"a\\n$B\"", Some("a\\n$B")),
        ("K=", Some("")),
        ("K= # c", Some("")),
        ("K=a=b", Some("a=b")),
        ("K=v\r", Some("v")),
        ("# K=v", None),
        ("no variable", None),
        ("", None),
    ] {
        let found = parse_dotenv(Path::new("f"), line).unwrap();
        let expected: Vec<_> = expected.map(|value| ("K".to_owned(), value.to_owned())).into_iter().collect();
        assert_eq!(found, expected, "{line:?}");
    }
    for bad in ["export  K=v", "A-B=1", "1A=b", "=v", "K =v", "a b=c"] {
        let error = parse_dotenv(Path::new("f.env"), &format!("# first\n{bad}\n")).unwrap_err();
        assert!(matches!(error, DotenvError::Name { line: 2, .. }), "{bad}: {error}");
        assert!(error.to_string().starts_with("f.env:2: "), "{error}");
    }
}

#[test]
fn later_files_win_and_files_that_cannot_be_read_are_named() {
    let folder = Folder::new();
    let (one, two) = (folder.write("one.env", "A=1\nB=1\n"), folder.write("two.env", "B=2\n"));
    let mut variables = environment(&[("A", "0"), ("C", "0")]);
    variables.load(&one).unwrap();
    variables.load(&two).unwrap();
    assert_eq!(variables.iter().collect::<Vec<_>>(), [("A", "1"), ("B", "2"), ("C", "0")]);
    for (path, text) in [("large.env", vec![b'#'; (1 << 20) + 1]), ("bytes.env", vec![0xff, b'='])] {
        let error = variables.load(&folder.write(path, text)).unwrap_err();
        assert!(error.to_string().contains(path), "{error}");
    }
    assert!(matches!(variables.load(&folder.path().join("none")), Err(DotenvError::Io { .. })));
    assert!(matches!(variables.load(Path::new("/dev/zero")), Err(DotenvError::NotAFile { .. })));
}

#[test]
fn values_of_secrets_are_in_no_message() {
    let error = parse_dotenv(Path::new("f"), "A-B=hunter2\n").unwrap_err();
    assert!(!error.to_string().contains("hunter2"), "{error}");
}

#[test]
fn identity_tokens_are_nowhere() {
    let folder = Folder::new();
    let text: String = DENIED.iter().map(|name| format!("{name}=secret\n")).collect();
    let mut variables = environment(&DENIED.map(|name| (name, "secret")));
    variables.load(&folder.write("f.env", text)).unwrap();
    let runner: BTreeMap<String, String> =
        DENIED.iter().map(|name| ((*name).to_owned(), "secret".to_owned())).collect();
    let child = child(&variables, &runner, None);
    assert!(!format!("{variables:?}{child:?}").contains("secret"));
}

#[test]
fn everything_that_is_not_set_is_said_at_once_with_its_place() {
    let (harness, sources) = harness(
        "runner_env:\n  A: ${ONE}\nenv:\n  runner: {B: '${TWO}'}\n  sandbox:\n    C: x${THREE}y\n\
         host_files:\n  - {src: '${FOUR}/f', dest: /sandbox/workspace/f}\n\
         \x20 - {src: '${FIVE}/f', dest: /sandbox/workspace/g, optional: true}\n\
         validation_loop:\n  script: s\n  schema: ${SIX}.json\n  preflight_check: test -n \"${SEVEN}\" -a \"${X:-y}\"\n\
         api_servers:\n  - {name: a, script: s, env: {K: '${EIGHT}'}}\n",
    );
    let problems = expand(&harness, &Environment::default(), Path::new("/f")).unwrap_err();
    let mut lines = shown(&problems, &sources);
    lines.sort();
    let expected = [
        "13:20 `validation_loop.preflight_check` refers to `${SEVEN}`, which is not set",
        "12:11 `validation_loop.schema` refers to `${SIX}`, which is not set",
        "15:35 `api_servers env.K` refers to `${EIGHT}`, which is not set",
        "2:6 `runner_env.A` refers to `${ONE}`, which is not set",
        "4:15 `env.runner.B` refers to `${TWO}`, which is not set",
        "6:8 `env.sandbox.C` refers to `${THREE}`, which is not set",
        "8:11 `host_files src` refers to `${FOUR}`, which is not set",
    ];
    let mut expected: Vec<String> = expected.iter().map(|line| (*line).to_owned()).collect();
    expected.sort();
    assert_eq!(lines, expected);
}

#[test]
fn variables_are_replaced_and_the_newer_key_wins() {
    let (harness, _) = harness(
        "runner_env: {A: '${X}', B: old}\nenv:\n  runner: {B: '${FULLSEND_DIR}/b'}\n  sandbox: {C: \"it's ${X}\"}\n\
         host_files:\n  - {src: '${X}', dest: /a}\n  - {src: '${EMPTY}', dest: /b, optional: true}\n",
    );
    let variables = environment(&[("X", "x $Y"), ("EMPTY", ""), ("FULLSEND_DIR", "/elsewhere")]);
    let expanded = expand(&harness, &variables, Path::new("/dir")).unwrap();
    let runner: Vec<_> =
        expanded.runner.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(runner, [("A", "x $Y"), ("B", "/dir/b")]);
    assert_eq!(expanded.sandbox["C"], "it's x $Y");
    assert_eq!(expanded.host_files, [Some("x $Y".to_owned()), None]);
}

#[test]
fn variables_that_only_the_run_sets_are_refused_by_name() {
    for name in [
        "PATH",
        "CLAUDE_CONFIG_DIR",
        "FULLSEND_TRACE_ID",
        "FULLSEND_CANARY_TOKEN",
        "FULLSEND_ENDPOINT_MODEL",
        "BASH_ENV",
        "NODE_OPTIONS",
        "https_proxy",
        "LD_PRELOAD",
        "ACTIONS_ID_TOKEN_REQUEST_URL",
    ] {
        let (harness, sources) = harness(&format!("env: {{sandbox: {{{name}: x}}}}\n"));
        let problems = expand(&harness, &Environment::default(), Path::new("/f")).unwrap_err();
        let lines = shown(&problems, &sources);
        assert!(lines[0].ends_with(&format!("`env.sandbox.{name}` cannot be set")), "{lines:?}");
    }
}

#[test]
fn scripts_get_what_is_theirs_and_nothing_stale() {
    let variables = environment(&[
        ("HOME", "/h"),
        ("TRACEPARENT", "00-outer"),
        ("FULLSEND_OUTPUT_SCHEMA", "/stale"),
        ("REPO_DIR", "/stale"),
        ("FULLSEND_VALIDATED_ITERATION_DIR", "/stale"),
    ]);
    let runner = BTreeMap::from([("HOME".to_owned(), "/mine".to_owned())]);
    assert!(!child(&variables, &runner, None).contains_key("TRACEPARENT"));
    let mut post = child(&variables, &runner, Some("00-ours"));
    PostScript { schema: None, repo: None, validated: None }.add_to(&mut post);
    assert_eq!((post["HOME"].as_str(), post["TRACEPARENT"].as_str()), ("/mine", "00-ours"));
    assert_eq!(post["REPO_DIR"], "");
    assert!(!post.contains_key("FULLSEND_OUTPUT_SCHEMA"));
    assert!(!post.contains_key("FULLSEND_VALIDATED_ITERATION_DIR"));
    let mut validation = child(&variables, &runner, None);
    let (run, schema) = (Path::new("/run"), Path::new("/s.json"));
    Validation { repo: None, run, schema: Some(schema) }.add_to(&mut validation);
    assert_eq!(validation["TARGET_REPO_DIR"], "");
    assert_eq!(validation["FULLSEND_RUN_DIR"], "/run");
    assert_eq!(validation["FULLSEND_OUTPUT_SCHEMA"], "/s.json");
}
