//! What sessions and turns may do: what they ask for or less, and never more than was agreed on.

use std::collections::BTreeSet;

use fullsend_agent::gate::FlowMode;
use fullsend_chat::protocol::ToolMode;
use fullsend_chat::service::{Allowance, READ_ONLY_TOOLS, Settings};
use serde_json::{Value, json};

use super::scripted::Talk;

fn policy(tools: &[&str], change: Value) -> Value {
    let mut policy = json!({"type": "fullsend.chat-policy", "toolMode": "workspace-write", "allowedToolIds": tools,
        "allowedSubagentProfiles": ["default"]});
    policy.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    policy
}

fn session(policy: Value, more: Value) -> Value {
    let mut ask = json!({"sessionId": "s1", "workspace": {"hostPath": "/w"}, "policy": policy});
    ask.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    ask
}

fn words(list: &Value) -> BTreeSet<&str> {
    list.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_session_that_asks_for_nothing_has_the_usual() {
    let talk = Talk::new();
    let started = talk.start("s1").await;
    let policy = &started["policy"];
    assert_eq!(policy["type"], "fullsend.chat-policy");
    assert_eq!(policy["toolMode"], "workspace-write");
    assert_eq!(policy["allowedSubagentProfiles"], json!(["default"]));
    assert_eq!(policy["cfcEnforcementMode"], "enforce-explicit");
    let tools = words(&policy["allowedToolIds"]);
    assert!(tools.contains("bash") && !tools.contains("web_fetch") && !tools.contains("run_skill_script"));
}

#[tokio::test]
async fn read_only_leaves_nothing_that_changes_something() {
    let read_only = json!({"toolMode": "read-only", "allowedSubagentProfiles": ["browser"]});
    let asked = policy(&["bash", "read_file", "delegate_task"], read_only);
    let talk = Talk::new();
    let started = talk.done("start_session", session(asked, json!({}))).await;
    assert_eq!(started["policy"]["allowedToolIds"], json!(["read_file"]));
    assert_eq!(started["policy"]["allowedSubagentProfiles"], json!([]));
}

#[tokio::test]
async fn a_thread_of_comments_is_read_only_whatever_is_asked_for() {
    let asked = policy(&["bash"], json!({"cfcEnforcementMode": "enforce-strict"}));
    let thread = json!({"context": {"type": "comment-thread", "threadId": "7"}});
    let talk = Talk::new();
    let started = talk.done("start_session", session(asked, thread)).await;
    assert_eq!(started["policy"]["toolMode"], "read-only");
    assert_eq!(words(&started["policy"]["allowedToolIds"]), READ_ONLY_TOOLS.into_iter().collect());
    assert_eq!(started["policy"]["allowedSubagentProfiles"], json!([]));
    assert_eq!(started["policy"]["cfcEnforcementMode"], "enforce-strict");
}

#[tokio::test]
async fn a_turn_may_do_less_and_only_for_itself() {
    let talk = Talk::new();
    talk.done("start_session", session(policy(&["bash", "read_file"], json!({})), json!({}))).await;
    let less = policy(
        &["read_file"],
        json!({"allowedSubagentProfiles": [], "cfcEnforcementMode": "enforce-strict"}),
    );
    let turn = json!({"sessionId": "s1", "turnId": "t1", "input": {"text": "x"}, "policy": less});
    talk.done("start_turn", turn).await;
    talk.ended("s1", "t1").await;
    let thread = json!({"sessionId": "s1", "turnId": "t2", "input": {"text": "x"}, "context": {"type": "comment-thread"}});
    talk.done("start_turn", thread).await;
    talk.ended("s1", "t2").await;
    talk.said("s1", "t3", "hello").await;
    let orders = talk.script.orders.lock().unwrap();
    let tools: Vec<Vec<&str>> = orders
        .iter()
        .map(|one| one.turn.policy.allowed_tool_ids.iter().map(String::as_str).collect())
        .collect();
    assert_eq!(tools, [vec!["read_file"], vec!["read_file"], vec!["bash", "read_file"]]);
    let modes: Vec<&str> =
        orders.iter().map(|one| one.turn.policy.cfc_enforcement_mode.as_deref().unwrap()).collect();
    assert_eq!(modes, ["enforce-strict", "enforce-explicit", "enforce-explicit"]);
}

#[tokio::test]
async fn a_turn_may_not_do_more_than_its_session() {
    let talk = Talk::new();
    let slot = json!({"type": "https://commonfabric.org/cfc/atom/PromptSlotBound", "source": "doc:1", "role": "quote",
        "kernelName": "k", "surface": "chat"});
    let mut command = slot.clone();
    command["role"] = json!("direct-command");
    let asked =
        json!({"cfcEnforcementMode": "enforce-explicit", "promptSlot": slot, "approvalToolIds": ["bash"]});
    talk.done("start_session", session(policy(&["bash", "read_file"], asked), json!({}))).await;
    let table = [
        (policy(&["bash", "write_file"], json!({})), "allowedToolIds: write_file"),
        (
            policy(&["bash"], json!({"allowedSubagentProfiles": ["web_fetch"]})),
            "allowedSubagentProfiles: web_fetch",
        ),
        (
            policy(&["bash"], json!({"cfcEnforcementMode": "observe"})),
            "cfcEnforcementMode: observe (at least enforce-explicit)",
        ),
        (policy(&["bash"], json!({"askOnFlowDenial": true})), "askOnFlowDenial"),
        (policy(&["bash"], json!({"promptSlot": command})), "promptSlot.role"),
    ];
    for (asked, beyond) in table {
        let mut asked = asked;
        if asked.get("promptSlot").is_none() {
            asked["promptSlot"] = slot.clone();
        }
        let turn = json!({"sessionId": "s1", "input": {"text": "x"}, "policy": asked});
        let error = talk.refused("start_turn", turn).await;
        assert_eq!(
            (&error["code"], &error["details"]["beyond"]),
            (&json!("policy_denied"), &json!([beyond]))
        );
    }
    assert_eq!(talk.kinds().await.len(), 1);
    // Leaving out who is asked does not make anybody less asked.
    let turn = json!({"sessionId": "s1", "turnId": "t1", "input": {"text": "x"},
        "policy": policy(&["bash"], json!({"promptSlot": slot}))});
    talk.done("start_turn", turn).await;
    talk.ended("s1", "t1").await;
    let orders = talk.script.orders.lock().unwrap();
    assert!(orders[0].turn.policy.approval_tool_ids.contains("bash"));
}

#[tokio::test]
async fn a_turn_of_a_read_only_session_is_read_only_whatever_it_is_about() {
    let talk = Talk::new();
    let read_only = policy(&["read_file"], json!({"toolMode": "read-only", "allowedSubagentProfiles": []}));
    talk.done("start_session", session(read_only, json!({}))).await;
    let writes = policy(&["read_file"], json!({"allowedSubagentProfiles": []}));
    for context in [json!(null), json!({"type": "workspace"})] {
        let turn = json!({"sessionId": "s1", "input": {"text": "x"}, "policy": writes, "context": context});
        let error = talk.refused("start_turn", turn).await;
        assert_eq!(error["code"], "policy_denied");
        assert_eq!(error["details"]["beyond"], json!(["toolMode: workspace-write"]));
    }
    let turn =
        json!({"sessionId": "s1", "turnId": "t1", "input": {"text": "x"}, "context": {"type": "workspace"}});
    talk.done("start_turn", turn).await;
    talk.ended("s1", "t1").await;
    assert_eq!(talk.script.orders.lock().unwrap()[0].turn.policy.tool_mode, ToolMode::ReadOnly);
}

#[tokio::test]
async fn a_policy_without_evidence_is_held_to_that_of_its_session() {
    let talk = Talk::new();
    let slot = json!({"type": "https://commonfabric.org/cfc/atom/PromptSlotBound", "source": "doc:1", "role": "quote",
        "kernelName": "k", "surface": "chat"});
    talk.done("start_session", session(policy(&["bash"], json!({"promptSlot": slot})), json!({}))).await;
    let turn = json!({"sessionId": "s1", "turnId": "t1", "input": {"text": "x"}, "policy": policy(&["bash"], json!({}))});
    talk.done("start_turn", turn).await;
    talk.ended("s1", "t1").await;
    let orders = talk.script.orders.lock().unwrap();
    assert_eq!(orders[0].turn.policy.prompt_slot.as_ref().unwrap()["role"], "quote");
}

#[tokio::test]
async fn a_session_may_not_do_more_than_the_service() {
    let one = |name: &str| BTreeSet::from([name.to_owned()]);
    let allowance = Allowance {
        tools: one("read_file"),
        usual_tools: one("read_file"),
        profiles: BTreeSet::new(),
        usual_profiles: BTreeSet::new(),
        usual_mode: FlowMode::EnforceStrict,
        least_mode: FlowMode::EnforceStrict,
    };
    let talk = Talk::with(None, Settings { allowance, ..Settings::default() });
    let asked = policy(&["bash", "read_file"], json!({"cfcEnforcementMode": "disabled"}));
    let error = talk.refused("start_session", session(asked, json!({}))).await;
    assert_eq!(error["code"], "policy_denied");
    let beyond = [
        "allowedToolIds: bash",
        "allowedSubagentProfiles: default",
        "cfcEnforcementMode: disabled (at least enforce-strict)",
    ];
    assert_eq!(error["details"]["beyond"], json!(beyond));
    assert_eq!(talk.start("s1").await["policy"]["allowedToolIds"], json!(["read_file"]));
}

#[tokio::test]
async fn a_browser_is_lent_and_told_to_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let talk = Talk::on(Some(&directory.path().join("chat.db")));
    let asked = policy(&["delegate_task"], json!({"allowedSubagentProfiles": ["browser"]}));
    talk.done("start_session", session(asked, json!({}))).await;
    let turn = json!({"sessionId": "s1", "turnId": "t1", "input": {"text": "x"}});
    assert_eq!(talk.refused("start_turn", turn).await["code"], "browser_access_required");
    let lease = json!({"type": "cf-harness.chat.browser-access-lease", "leaseId": "lease-1",
        "cdpUrl": "http://127.0.0.1:9222/secret", "profileMode": "transient"});
    let turn = json!({"sessionId": "s1", "turnId": "t1", "input": {"text": "x"}, "browserAccess": lease});
    talk.done("start_turn", turn).await;
    talk.ended("s1", "t1").await;
    assert_eq!(
        talk.script.orders.lock().unwrap()[0].browser.as_ref().unwrap().cdp_url,
        "http://127.0.0.1:9222/secret"
    );
    let turns = talk.done("list_turns", json!({})).await;
    assert_eq!(turns["turns"][0]["browserLeaseId"], "lease-1");
    assert!(!turns.to_string().contains("secret"));
    assert!(!serde_json::to_string(&talk.events().await).unwrap().contains("secret"));
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(6).any(|window| window == b"secret"));
    }
}
