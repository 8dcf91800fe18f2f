//! Policies that change while a session runs, and what is told about them.

use fullsend_sandbox::{Denied, ExecEvent, NetworkPolicy, SandboxSpec};
use serde_json::json;

use super::allowed::{CURL, WITHOUT_PROXY, has};
use super::world::{World, decided, session};
use crate::support::context::Context;

pub(crate) async fn taking_the_network_away_cuts_open_connections(cx: &Context) {
    let id = session(cx, &["ok.test"]).await;
    if !has(cx, &id, "curl").await {
        return;
    }
    for prefix in ["", WITHOUT_PROXY] {
        let slow = format!("{prefix} curl -sS -N --max-time 120 --cacert /ca/ca.pem https://ok.test/stall");
        let mut running = cx.backend.spawn(&id, cx.line(slow)).await.unwrap();
        match running.next().await.unwrap() {
            ExecEvent::Stdout(bytes) => assert_eq!(&bytes[..], b"start\n"),
            other @ (ExecEvent::Stderr(_) | ExecEvent::Exited(_)) => panic!("{other:?}"),
        }
        cx.backend.apply_network_policy(&id, NetworkPolicy::none()).await.unwrap();
        // Nothing else would end it: the server says nothing more for as long as anybody waits.
        let result = running.collect().await.unwrap();
        assert!(!result.success() && result.usage.wall.as_secs() < 60, "{result:?}");
        cx.refused(&id, &format!("{prefix} {CURL} https://ok.test/")).await;
        cx.backend.apply_network_policy(&id, NetworkPolicy::limited(["ok.test"])).await.unwrap();
        assert_eq!(cx.out(&id, &format!("{prefix} {CURL} https://ok.test/")).await, "hello");
    }
}

pub(crate) async fn a_network_that_is_given_is_there_for_the_next_command(cx: &Context) {
    let spec = SandboxSpec { mounts: vec![World::here().authority()], ..SandboxSpec::default() };
    let id = cx.provision(spec).await;
    if !has(cx, &id, "curl").await {
        return;
    }
    let line = format!("{CURL} https://ok.test/");
    cx.refused(&id, &line).await;
    cx.out(&id, "echo kept > /mnt/session/outputs/f").await;
    cx.backend.apply_network_policy(&id, NetworkPolicy::limited(["ok.test"])).await.unwrap();
    assert_eq!(cx.out(&id, &line).await, "hello");
    assert_eq!(cx.out(&id, "cat /mnt/session/outputs/f").await, "kept");
    cx.backend.apply_network_policy(&id, NetworkPolicy::limited(["other.test:80"])).await.unwrap();
    cx.refused(&id, &line).await;
    assert_eq!(cx.out(&id, &format!("{CURL} http://other.test/")).await, "plain");
    cx.backend.apply_network_policy(&id, NetworkPolicy::none()).await.unwrap();
    cx.refused(&id, &line).await;
    assert_eq!(World::here().requests().len(), 2);
}

/// Each refusal tells what would allow it, and that is true.
pub(crate) async fn a_denial_names_the_remedy(cx: &Context) {
    for url in ["https://ok.test/", "https://ok.test:8443/", "http://other.test/"] {
        for prefix in ["", WITHOUT_PROXY] {
            let id = session(cx, &["six.test"]).await;
            if !has(cx, &id, "curl").await {
                return;
            }
            let line = format!("{prefix} {CURL} -f {url}");
            let result = cx.sh(&id, &line).await;
            assert!(!result.success(), "{result:?}");
            let told = result.denials.first().unwrap_or_else(|| panic!("nothing told: {result:?}"));
            let Denied::Host { host, port } = &told.what else { panic!("{told:?}") };
            assert!(url.contains(host.as_str()), "{told:?}");
            // A program without the proxy has only asked for the name so far.
            let expected = match (prefix, url.starts_with("https://ok.test:8443")) {
                ("", true) => 8443,
                ("", false) => {
                    if url.starts_with("https") {
                        443
                    } else {
                        80
                    }
                }
                _ => 0,
            };
            assert_eq!(*port, expected, "{told:?}");
            let remedy = told.remedy.as_deref().unwrap();
            let entry = remedy.split('"').nth(1).unwrap();
            assert!(entry.contains(host.as_str()), "{remedy}");
            let entry = if *port == 0 && url.contains(":8443") { "ok.test:8443" } else { entry };
            cx.backend.apply_network_policy(&id, NetworkPolicy::limited(["six.test", entry])).await.unwrap();
            let result = cx.sh(&id, &line).await;
            assert!(result.success() && result.denials.is_empty(), "{remedy}: {result:?}");
        }
    }
}

pub(crate) async fn decisions_carry_the_command(cx: &Context) {
    let id = session(cx, &["ok.test"]).await;
    if !has(cx, &id, "curl").await {
        return;
    }
    cx.out(&id, &format!("{CURL} https://ok.test/first")).await;
    cx.refused(&id, &format!("{CURL} https://evil.test/second")).await;
    let allowed = decided(cx, &[("decision", json!("allow")), ("host", json!("ok.test"))]);
    let denied = decided(cx, &[("decision", json!("deny")), ("host", json!("evil.test"))]);
    for (line, word) in [(&allowed, "/first"), (&denied, "/second")] {
        assert!(line["command"].as_str().is_some_and(|command| command.contains(word)), "{line}");
        assert_eq!(line["session"], id.as_str());
    }
    assert_eq!(allowed["address"], "140.82.112.3:443");
    assert_eq!((&denied["port"], &denied["reason"]), (&json!(443), &json!("host-not-allowed")));
}
