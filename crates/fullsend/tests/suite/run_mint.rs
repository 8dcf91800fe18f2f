//! Tokens that a mint gives to a run: where they get to, and where they must not.

use fullsend_testkit::gateway::{GatewayReply, GatewayRequest, ScriptedGateway};
use fullsend_testkit::test_name;
use serde_json::json;

use crate::suite::run_place::{Bench, Told, files_with};

/// A token of no kind that anybody could know by its looks.
const TOKEN: &str = "Quite-an-0rdinary.word_91772";
const IDENTITY: &str = "header.payload.signature-of-the-workflow";

/// A mint, and on the same port the service that vouches for jobs.
fn mint() -> ScriptedGateway {
    ScriptedGateway::start(|request: &GatewayRequest| match request.target.as_str() {
        "/mint" => GatewayReply::json(&json!({"token": TOKEN, "expires_at": "2030-01-01T00:00:00Z"})),
        _ => GatewayReply::json(&json!({ "value": IDENTITY })),
    })
}

fn is_secret(bench: &Bench, told: &Told) {
    for secret in [TOKEN, IDENTITY] {
        assert_eq!(files_with(&bench.path("out"), secret), Vec::<String>::new());
        assert_eq!(files_with(&bench.path("state"), secret), Vec::<String>::new());
        assert!(!format!("{told:?}").contains(secret), "{told:?}");
    }
}

#[test]
fn a_minted_token_reaches_scripts_and_is_masked_everywhere() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    bench.harness(
        "pre_script: scripts/pre.sh\npost_script: scripts/pre.sh\nenv: {sandbox: {GH_TOKEN: '${GH_TOKEN}'}, runner: {AGAIN: '${PUSH_TOKEN}'}}\n",
    );
    bench.place.write("home/expected", TOKEN);
    bench.script(
        "pre.sh",
        "for one in GH_TOKEN PUSH_TOKEN AGAIN; do eval \"value=\\$$one\"\n\
         [ \"$value\" = \"$(cat \"$HOME/expected\")\" ] && echo \"$one is right: $value\"; done\n\
         echo \"source $PUSH_TOKEN_SOURCE\"\nprintf %s \"$GH_TOKEN\" | base64",
    );
    bench.does("echo \"it is $GH_TOKEN\"; echo \"$GH_TOKEN\" > \"$FULLSEND_OUTPUT_DIR/x.txt\"");
    let mint = mint();
    let url = format!("{}/mint", mint.url());
    let run =
        bench.run_with(&["--mint-url", &url], &[("REPO_FULL_NAME", "owner/name"), ("GH_TOKEN", "other")]);
    let [request] = &mint.requests()[..] else { panic!("{run:?}") };
    assert_eq!(request.json(), json!({"role": "coder", "repos": ["name"]}));
    let printed = run.printed("pre_script");
    for one in ["GH_TOKEN", "PUSH_TOKEN", "AGAIN"] {
        assert!(printed.contains(&format!("{one} is right: [")), "{printed}");
    }
    assert!(printed.contains("source github-app"), "{printed}");
    assert_eq!(run.step("agent"), Some("done"), "{run:?}");
    is_secret(&bench, &run);
}

#[test]
fn a_workflow_vouches_for_the_run_at_the_mint_and_nowhere_else() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    bench.harness("pre_script: scripts/pre.sh\n");
    bench.script("pre.sh", "env | grep -c ACTIONS_ID_TOKEN");
    let mint = mint();
    let (url, vouching) = (format!("{}/mint", mint.url()), format!("{}/id?api-version=2.0", mint.url()));
    bench.place.write(".fullsend/config.yaml", format!("version: '1'\nmint_url: {url}\n"));
    let identity = [
        ("ACTIONS_ID_TOKEN_REQUEST_URL", vouching.as_str()),
        ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "opens-the-door"),
        ("MINT_REPOS", "a,b"),
    ];
    // A configured mint is for runs that somebody vouches for.
    assert_eq!(bench.run(&[]).step("check"), Some("done"));
    assert_eq!(mint.requests().len(), 0);
    for in_workflow in [false, true] {
        let mut env = identity.to_vec();
        env.extend(in_workflow.then_some(("GITHUB_ACTIONS", "true")));
        let run = bench.run_with(&[], &env);
        let mut requests = mint.requests();
        let [vouch, ask] = &requests.split_off(requests.len() - 2)[..] else { panic!("{run:?}") };
        let audience = format!("http%3A%2F%2F{}", mint.address().to_string().replace(':', "%3A"));
        assert_eq!(vouch.target, format!("/id?api-version=2.0&audience={audience}"));
        assert_eq!(vouch.header("authorization"), Some("Bearer opens-the-door"));
        assert_eq!(ask.header("authorization"), Some(format!("Bearer {IDENTITY}").as_str()));
        assert_eq!(ask.json()["repos"], json!(["a", "b"]));
        assert_eq!(run.printed("pre_script"), "0\n");
        let masks: Vec<&str> =
            run.ran.stderr.lines().filter(|line| line.starts_with("::add-mask::")).collect();
        let expected = format!("::add-mask::{TOKEN}");
        assert_eq!(masks, if in_workflow { vec![expected.as_str()] } else { Vec::new() });
        if !in_workflow {
            is_secret(&bench, &run);
        }
    }
}

#[test]
fn a_run_without_its_token_does_not_begin() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    let repo = ("REPO_FULL_NAME", "owner/name");
    let huge = json!({"token": "x".repeat(100_000)}).to_string();
    for (reply, env, expected) in [
        (
            GatewayReply::status(401, r#"{"error": "unknown repository"}"#),
            vec![repo],
            "answered 401: unknown repository",
        ),
        (GatewayReply::status(200, huge), vec![repo], "more than 65536 bytes"),
        (GatewayReply::status(200, "{}"), vec![repo], "answered without a token"),
        (GatewayReply::status(200, "{}"), vec![], "neither `MINT_REPOS` nor `REPO_FULL_NAME` is set"),
        (
            GatewayReply::status(200, "{}"),
            vec![("MINT_REPOS", "../x")],
            "`MINT_REPOS` does not name repositories",
        ),
    ] {
        let mint = ScriptedGateway::sequence(vec![reply]);
        let run = bench.run_with(&["--mint-url", &mint.url()], &env);
        assert_eq!(run.end(), (Some(1), "failure"), "{run:?}");
        assert_eq!((run.step("check"), run.step("resolve")), (Some("failed"), None));
        assert!(run.ran.stderr.contains(expected), "{}", run.ran.stderr);
        assert!(run.ran.stderr.contains("help: "), "{}", run.ran.stderr);
        assert!(mint.requests().len() <= 1, "{run:?}");
    }
}

#[test]
fn what_is_no_token_is_asked_for_once_more() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    let mint = ScriptedGateway::sequence(vec![
        GatewayReply::json(&json!({"token": "not a token"})),
        GatewayReply::json(&json!({ "token": TOKEN })),
    ]);
    let url = mint.url();
    let run = bench.run_with(&[], &[("FULLSEND_MINT_URL", &url), ("REPO_FULL_NAME", "o/n")]);
    assert_eq!(run.end(), (Some(0), "success"), "{run:?}");
    assert_eq!(mint.requests().len(), 2);
    is_secret(&bench, &run);
}

#[test]
fn a_mint_is_spoken_to_in_private() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    for (url, expected) in [
        ("http://mint.example/", "`--mint-url` would send a secret without encryption"),
        ("mint.example", "`--mint-url` is not an absolute URL"),
        ("https://a:b@mint.example/", "`--mint-url` has a user name or password"),
    ] {
        let run = bench.run(&["--mint-url", url]);
        assert_eq!((run.ran.code, run.dir.is_none()), (Some(2), true), "{run:?}");
        assert!(run.ran.stderr.contains(expected), "{}", run.ran.stderr);
    }
}
