//! Tokens from a mint: what is asked, and what is taken for a token.

use std::time::Duration;

use fullsend_fetch::service::{Channel, ServiceClient, ServiceUrl};
use fullsend_harness::value::Platform;
use fullsend_runner::Environment;
use fullsend_runner::outward::mint::{Mint, MintError, Minted, repositories, variables};
use fullsend_testkit::gateway::{GatewayReply, ScriptedGateway};
use serde_json::{Value, json};

/// Asks a mint that gives these answers, without pauses.
fn ask(service: &ScriptedGateway, role: &str) -> Result<Minted, MintError> {
    let url = ServiceUrl::parse(&service.url(), Channel::Confidential).unwrap();
    let mint = Mint { waits: vec![Duration::ZERO; 3], ..Mint::new(url, None) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = ServiceClient::new(&[]).unwrap();
    runtime.block_on(mint.token(&client, role, &["name".to_owned()]))
}

fn gives(answers: &[Value]) -> ScriptedGateway {
    ScriptedGateway::sequence(answers.iter().map(GatewayReply::json).collect())
}

#[test]
fn what_is_no_token_is_asked_for_again_three_times() {
    let good = json!({"token": "ghs_0123456789.abc-D", "expires_at": "2030-01-01T00:00:00Z"});
    for (wrong, expected) in [(0, true), (1, true), (3, true), (4, false)] {
        let mut answers = vec![json!({"token": "two words are none"}); wrong];
        answers.push(good.clone());
        let service = gives(&answers);
        match ask(&service, "coder") {
            Ok(minted) => {
                assert!(expected);
                assert_eq!(minted.token.expose(), "ghs_0123456789.abc-D");
                assert_eq!(minted.expires_at.as_deref(), Some("2030-01-01T00:00:00Z"));
                assert!(!format!("{minted:?}").contains("0123456789"));
            }
            Err(error) => {
                assert!(!expected && matches!(error, MintError::Malformed { attempts: 4, .. }), "{error}");
            }
        }
        assert_eq!(service.requests().len(), (wrong + 1).min(4));
    }
}

#[test]
fn tokens_have_letters_digits_and_little_else() {
    for token in [
        "",
        "short",
        "a\nb0123456789",
        "ghs_0123456789;x",
        "ghs_01234$(id)",
        "ö0123456789",
        &"x".repeat(5000),
    ] {
        let service = gives(&[json!({ "token": token })]);
        let refused = ask(&service, "coder").unwrap_err();
        assert!(matches!(refused, MintError::Malformed { .. }), "{token:?}: {refused}");
        assert!(token.is_empty() || !refused.to_string().contains(token), "{refused}");
    }
}

#[test]
fn everything_else_is_final_at_once() {
    let huge = json!({"token": "x".repeat(70_000)}).to_string();
    for (reply, expected) in [
        (GatewayReply::status(401, r#"{"error": "no such workflow"}"#), "answered 401: no such workflow"),
        (GatewayReply::status(500, "oops"), "answered 500"),
        (GatewayReply::status(200, "oops"), "answered without a token"),
        (GatewayReply::status(200, r#"{"token": 5}"#), "answered without a token"),
        (GatewayReply::status(200, huge), "answered with more than 65536 bytes"),
        (
            GatewayReply::with_headers(302, "Location: http://127.0.0.1:1/\r\n", ""),
            "a redirect, and none is followed",
        ),
    ] {
        let service = ScriptedGateway::sequence(vec![reply]);
        let refused = ask(&service, "coder").unwrap_err();
        assert!(refused.to_string().contains(expected), "{refused}");
        assert!(!refused.help().is_empty());
        assert_eq!(service.requests().len(), 1, "{refused}");
    }
}

#[test]
fn a_mint_is_asked_for_a_role_and_repositories() {
    for (role, asked) in [("coder", "coder"), ("fix", "coder"), ("code", "coder"), ("review", "review")] {
        let service = gives(&[json!({"token": "ghs_0123456789"})]);
        ask(&service, role).unwrap();
        let request = service.requests().remove(0);
        assert_eq!(request.json(), json!({"role": asked, "repos": ["name"]}));
        assert_eq!(request.header("authorization"), None);
    }
}

#[test]
fn repositories_are_named_by_variables() {
    let named = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        repositories(&Environment::new(pairs)).map_err(|error| error.to_string())
    };
    assert_eq!(named(&[("REPO_FULL_NAME", "owner/name")]).unwrap(), ["name"]);
    assert_eq!(named(&[("REPO_FULL_NAME", "o/n"), ("MINT_REPOS", " a, b.c ,")]).unwrap(), ["a", "b.c"]);
    assert!(named(&[]).unwrap_err().contains("REPO_FULL_NAME"));
    for (name, value) in [
        ("REPO_FULL_NAME", "name"),
        ("REPO_FULL_NAME", "a/b/c"),
        ("REPO_FULL_NAME", "owner/.."),
        ("MINT_REPOS", ","),
        ("MINT_REPOS", "a,b c"),
        ("MINT_REPOS", "a/b"),
    ] {
        assert_eq!(named(&[(name, value)]).unwrap_err(), format!("`{name}` does not name repositories"));
    }
}

#[test]
fn a_token_is_given_in_the_variables_of_its_role() {
    let names =
        |role, platform| -> Vec<&str> { variables(role, platform).iter().map(|(name, _)| *name).collect() };
    assert_eq!(names("triage", None), ["GH_TOKEN"]);
    assert_eq!(names("review", None), ["GH_TOKEN", "REVIEW_TOKEN"]);
    assert_eq!(names("fix", None), ["GH_TOKEN", "PUSH_TOKEN", "PUSH_TOKEN_SOURCE"]);
    let source = |platform| variables("coder", platform).pop().unwrap().1;
    assert_eq!(source(Some(Platform::GitHub)), Some("github-app"));
    assert_eq!(source(Some(Platform::GitLab)), Some("pat"));
}
