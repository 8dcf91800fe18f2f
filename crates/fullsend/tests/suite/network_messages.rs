//! What a person reads when the network, the forge or its rights fail.

use fullsend_testkit::{Host, Reply, TestFile, TestRepo, in_namespace, test_name};

use crate::suite::forge_place::{ForgePlace, hosts, sha};
use crate::suite::running::Ran;

const TOKEN: &str = "ghp_verysecrettoken0123456789";

fn with_token(at: &ForgePlace, token: &str, arguments: &[&str]) -> Ran {
    let mut command = at.place.command(arguments);
    command.env("SSL_CERT_FILE", at.place.path().join("ca.pem")).env("GH_TOKEN", token);
    Ran::from(command.output().unwrap())
}

/// The lines after the first, which names what was wanted.
fn reasons(ran: &Ran) -> Vec<&str> {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    assert!(!ran.stderr.contains("verysecret"), "{}", ran.stderr);
    ran.stderr.lines().skip(1).map(str::trim).collect()
}

#[test]
fn what_the_network_does_is_said_once_with_the_next_step() {
    let hosts: Vec<Host> =
        hosts().into_iter().chain([Host::new("refused.example", "140.82.112.99")]).collect();
    in_namespace(test_name!(), &hosts, || {
        let at = ForgePlace::new();
        assert_eq!(
            reasons(&at.run(&["pin", "https://nowhere.example/x.md"])),
            [
                "cause: the address of `nowhere.example` cannot be found",
                "cause: failed to lookup address information: Temporary failure in name resolution",
                "help: check the network and try again",
            ]
        );
        assert_eq!(
            reasons(&at.run(&["pin", "https://refused.example/x.md"])),
            [
                "cause: cannot connect to `refused.example`",
                "cause: Connection refused (os error 111)",
                "help: check the network and try again",
            ]
        );
        let file = "https://raw.githubusercontent.com/org/agents/main/x.md";
        assert_eq!(
            reasons(&at.place.run(&["pin", file])),
            [
                "cause: the server cannot prove that it is `raw.githubusercontent.com`",
                "cause: invalid peer certificate: UnknownIssuer",
                "help: if your network has its own certificate authority, name its file in `SSL_CERT_FILE`",
            ]
        );
        assert_eq!(
            reasons(&at.run(&["pin", file])),
            [
                "cause: `raw.githubusercontent.com` answered with status 404",
                "help: check the URL; a private resource needs a token",
            ]
        );
    });
}

#[test]
fn what_a_forge_refuses_is_said_with_the_variable_that_helps() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        let mut repo = TestRepo::new("org", "secret").private();
        repo.commit(&[TestFile::new("skills/a/SKILL.md", "# A\n")]);
        at.forge.add(repo);
        at.forge.accept_token(TOKEN, &["org/other"], 404);
        let url = "https://github.com/org/secret/tree/main/skills/a";
        let missing = "cause: `skills/a` in github.com/org/secret at `main` was not found";
        let cases = [
            (
                at.run(&["pin", url]),
                missing,
                "help: check the URL; a private repository needs a token in `GH_TOKEN` or `GITHUB_TOKEN`",
            ),
            (
                with_token(&at, TOKEN, &["pin", url]),
                missing,
                "help: check the URL, and that the token in `GH_TOKEN` or `GITHUB_TOKEN` may read the repository",
            ),
            (
                with_token(&at, "ghp_verysecret", &["pin", url]),
                "cause: the forge refused access to `skills/a` in github.com/org/secret at `main` (status 401)",
                "help: check the token in `GH_TOKEN` or `GITHUB_TOKEN`: it is not accepted",
            ),
        ];
        for (ran, cause, help) in &cases {
            assert_eq!(reasons(ran), [*cause, *help]);
        }
        let ran = with_token(&at, "verysecret token", &["pin", url]);
        assert!(
            ran.stderr.starts_with("error: `GH_TOKEN` or `GITHUB_TOKEN` for `github.com`: "),
            "{}",
            ran.stderr
        );
        reasons(&ran);
        at.forge.interject(0, 9, Reply::status(429));
        assert_eq!(
            reasons(&at.run(&["pin", url])),
            [
                "cause: the quota of requests for `skills/a` in github.com/org/secret at `main` is used up",
                "help: wait, or give a token, which has a larger quota, in `GH_TOKEN` or `GITHUB_TOKEN`",
            ]
        );
    });
}

#[test]
fn failures_are_logged_with_their_reason_and_without_secrets_and_leave_nothing() {
    in_namespace(test_name!(), &hosts(), || {
        let at = ForgePlace::new();
        at.harness(&format!(
            "agent: https://raw.githubusercontent.com/org/no/main/x.md#sha256={}\n",
            sha(b"x")
        ));
        for command in [&["fetch", "code"][..], &["lock", "code"]] {
            let asked = at.forge.requests().len();
            let ran = with_token(&at, TOKEN, &[command, &["--offline"]].concat());
            assert_eq!(
                reasons(&ran)[1..],
                [
                    "cause: it is not in the cache, and the network may not be used",
                    "help: run `fullsend fetch` with a network first"
                ]
            );
            assert_eq!(at.forge.requests().len(), asked, "nothing was asked of the network");
            reasons(&with_token(&at, TOKEN, command));
        }
        let audit = at.audit();
        let codes: Vec<_> = audit.iter().map(|line| line["refused"].as_str().unwrap()).collect();
        assert_eq!(codes, ["offline", "fetch-status", "offline", "fetch-status"]);
        assert_eq!(audit[1]["reason"], "`raw.githubusercontent.com` answered with status 404");
        assert!(!format!("{audit:?}").contains("verysecret"));
        assert_eq!(at.cached(), 0);
        assert!(!at.place.path().join(".fullsend/lock.yaml").exists());
        let left: Vec<_> = std::fs::read_dir(at.place.path().join(".fullsend/.fullsend-cache"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(left, ["fetch-audit.jsonl"]);
    });
}
