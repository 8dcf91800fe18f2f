//! What a session may reach it reaches, with the programs that people use and in every way they know.

use fullsend_sandbox::{Endpoint, ExecRequest, NetworkPolicy, SandboxSpec, Secret};
use serde_json::json;

use super::world::{World, decisions, session};
use crate::support::context::{Context, text};

/// Forgets the proxy: programs then look names up and connect as if there were none.
pub(super) const WITHOUT_PROXY: &str = "unset HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY \
    http_proxy https_proxy all_proxy no_proxy NODE_USE_ENV_PROXY;";
/// With the other machine's authority.
pub(super) const CURL: &str = "curl -sS --max-time 30 --cacert /ca/ca.pem";

/// Whether a program is there in the session.
pub(super) async fn has(cx: &Context, id: &fullsend_sandbox::SandboxSessionId, program: &str) -> bool {
    let there = cx.sh(id, &format!("command -v {program}")).await.success();
    if !there {
        cx.skip(&format!("there is no {program}"));
    }
    there
}

pub(crate) async fn curl_gets_through_every_way(cx: &Context) {
    let id = session(cx, &["ok.test"]).await;
    if !has(cx, &id, "curl").await {
        return;
    }
    for line in [
        format!("{CURL} https://ok.test/"),
        format!("{CURL} --proxy $ALL_PROXY https://ok.test/"),
        format!("{CURL} --proxy $HTTP_PROXY --proxytunnel https://ok.test/"),
        format!("{WITHOUT_PROXY} {CURL} https://ok.test/"),
        format!("{WITHOUT_PROXY} {CURL} -4 https://OK.test/"),
    ] {
        assert_eq!(cx.out(&id, &line).await, "hello", "{line}");
    }
    for line in [
        format!("{CURL} http://ok.test/"),
        format!("{CURL} --proxy $ALL_PROXY http://ok.test/"),
        format!("{WITHOUT_PROXY} {CURL} http://ok.test/"),
    ] {
        assert_eq!(cx.out(&id, &line).await, "plain", "{line}");
    }
    assert_eq!(World::here().requests().len(), 8);
    assert!(decisions(cx).iter().all(|line| line["decision"] != "deny"), "{:?}", decisions(cx));
}

pub(crate) async fn lists_name_ports_and_domains(cx: &Context) {
    let id = session(cx, &["ok.test:8443", "*.wild.test", "six.test"]).await;
    if !has(cx, &id, "curl").await {
        return;
    }
    for prefix in ["", WITHOUT_PROXY] {
        for url in ["https://ok.test:8443/", "https://a.wild.test/", "https://six.test/"] {
            assert_eq!(cx.out(&id, &format!("{prefix} {CURL} {url}")).await, "hello", "{prefix} {url}");
        }
        for url in ["https://ok.test/", "https://wild.test/", "https://a.wild.test:8443/"] {
            cx.refused(&id, &format!("{prefix} {CURL} {url}")).await;
        }
    }
    assert_eq!(World::here().requests().len(), 6);
}

pub(crate) async fn git_clones(cx: &Context) {
    let id = session(cx, &["ok.test"]).await;
    if !has(cx, &id, "git").await {
        return;
    }
    for (name, prefix) in [("proxied", ""), ("direct", WITHOUT_PROXY)] {
        let line = format!(
            "{prefix} cd /tmp && GIT_SSL_CAINFO=/ca/ca.pem git clone -q https://ok.test/repo.git {name} && cat {name}/file"
        );
        assert_eq!(cx.out(&id, &line).await, "content", "{name}");
        let line = format!(
            "{prefix} cd /tmp && GIT_SSL_CAINFO=/ca/ca.pem git clone -q https://evil.test/repo.git x"
        );
        cx.refused(&id, &line).await;
    }
    assert!(World::here().requests().iter().all(|request| request["sni"] == "ok.test"));
}

pub(crate) async fn python_fetches(cx: &Context) {
    let id = session(cx, &["ok.test"]).await;
    if !has(cx, &id, "/usr/bin/python3").await {
        return;
    }
    let fetch = |host: &str| {
        format!(
            "SSL_CERT_FILE=/ca/ca.pem /usr/bin/python3 -c 'import urllib.request as r; \
             print(r.urlopen(\"https://{host}/\", timeout=30).read().decode())'"
        )
    };
    for prefix in ["", WITHOUT_PROXY] {
        assert_eq!(cx.out(&id, &format!("{prefix} {}", fetch("ok.test"))).await, "hello", "{prefix}");
        cx.refused(&id, &format!("{prefix} {}", fetch("evil.test"))).await;
    }
    assert_eq!(World::here().requests().len(), 2);
}

pub(crate) async fn node_fetches(cx: &Context) {
    let id = session(cx, &["ok.test"]).await;
    if !has(cx, &id, "node").await {
        return;
    }
    let fetch = |host: &str| {
        format!(
            "NODE_EXTRA_CA_CERTS=/ca/ca.pem node -e 'fetch(\"https://{host}/\").then(r => r.text()).then(t => console.log(t))'"
        )
    };
    let get = |host: &str| {
        format!(
            "NODE_EXTRA_CA_CERTS=/ca/ca.pem node -e 'require(\"https\").get(\"https://{host}/\", r => r.pipe(process.stdout))'"
        )
    };
    for prefix in ["", WITHOUT_PROXY] {
        for line in [fetch("ok.test"), get("ok.test")] {
            assert_eq!(cx.out(&id, &format!("{prefix} {line}")).await, "hello", "{prefix} {line}");
        }
        for line in [fetch("evil.test"), get("evil.test")] {
            cx.refused(&id, &format!("{prefix} {line}")).await;
        }
    }
    assert_eq!(World::here().requests().len(), 4);
}

/// A key that is only outside.
pub(crate) async fn a_credential_is_added_outside(cx: &Context) {
    const KEY: &str = "sk-very-secret-5c1f";
    let endpoint = Endpoint {
        name: "model".to_owned(),
        upstream: "https://api.test/v1".to_owned(),
        headers: vec![("Authorization".to_owned(), Secret::new(format!("Bearer {KEY}")))],
        rules: vec![],
    };
    let spec = SandboxSpec { endpoints: vec![endpoint], ..SandboxSpec::default() };
    let id = cx.provision(spec).await;
    if !has(cx, &id, "curl").await {
        return;
    }
    let line = "env; curl -sS -v --max-time 30 -H 'Authorization: Bearer mine' $FULLSEND_ENDPOINT_MODEL/messages?q=1 2>&1; \
        cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; ls -R / 2>/dev/null | grep -a very-secret";
    let result = cx.exec(&id, cx.marked(ExecRequest::shell(line))).await;
    let seen = text(&result) + &result.stderr.display();
    assert!(seen.contains("hello"), "{seen}");
    // The api's host itself is not on any list.
    cx.refused(&id, &format!("{CURL} https://api.test/")).await;
    let requests = World::here().requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    let request = &requests[0];
    assert_eq!((&request["sni"], &request["target"]), (&json!("api.test"), &json!("/v1/messages?q=1")));
    assert_eq!(request["headers"]["authorization"], format!("Bearer {KEY}"));
    let log = std::fs::read_to_string(cx.place.path("egress.jsonl")).unwrap();
    assert!(log.contains("endpoint:model"), "{log}");
    let kept = std::process::Command::new("grep").args(["-rla", KEY]).arg(cx.place.root()).output().unwrap();
    for text in [seen, log, String::from_utf8_lossy(&kept.stdout).into_owned()] {
        assert!(!text.contains(KEY) && !text.contains("state"), "{text}");
    }
    cx.backend.apply_network_policy(&id, NetworkPolicy::none()).await.unwrap();
    assert!(cx.out(&id, "curl -sS --max-time 30 $FULLSEND_ENDPOINT_MODEL/again").await.contains("hello"));
}
