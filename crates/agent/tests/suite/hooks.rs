//! What the loop makes of what a check says about calls and results.

use std::sync::{Arc, Mutex};

use fullsend_agent::gate::{PromptRole, Verdict};
use fullsend_agent::hooks::{After, Before, CallHooks, HookedCall};
use fullsend_agent::store::EventSeverity;
use fullsend_agent::tool::Pending;
use serde_json::{Value, json};

use crate::support::stage::{SECRET, Stage};

/// Denies calls with a word in their input, and masks it in results.
#[derive(Debug, Default)]
struct Against {
    word: &'static str,
    /// What it was asked, before and after.
    asked: Mutex<Vec<String>>,
    withholds: bool,
    /// Whether it speaks for the operator, and lets calls be made that flow denies.
    lets: bool,
}

impl CallHooks for Against {
    fn before<'a>(&'a self, call: HookedCall<'a>) -> Pending<'a, Before> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(format!("before {}", call.tool));
            match Value::Object(call.input.clone()).to_string().contains(self.word) {
                true => Before::Denied { reason: format!("{} is not for commands", self.word) },
                false => Before::Allowed,
            }
        })
    }

    fn appeal<'a>(&'a self, call: HookedCall<'a>, reason: &'a str) -> Pending<'a, Before> {
        Box::pin(async move {
            assert!(!reason.is_empty() && !call.call_id.is_empty());
            self.asked.lock().unwrap().push(format!("appeal {}", call.tool));
            match self.lets {
                true => Before::Allowed,
                false => Before::Denied { reason: reason.to_owned() },
            }
        })
    }

    fn after<'a>(&'a self, call: HookedCall<'a>, output: &'a Value) -> Pending<'a, After> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(format!("after {}", call.tool));
            let text = output.to_string();
            if !text.contains(self.word) {
                return After::Unchanged;
            }
            if self.withholds {
                return After::Withheld { reason: "it cannot be cleaned".to_owned() };
            }
            let output = serde_json::from_str(&text.replace(self.word, "***")).unwrap();
            After::Replaced { output, remark: Some("masked".to_owned()) }
        })
    }
}

fn stage(script: Vec<(&'static str, Value)>, hooks: Against) -> (Stage, Arc<Against>) {
    let hooks = Arc::new(hooks);
    let script = script.into_iter().map(|call| vec![call]).collect();
    (Stage { hooks: Some(hooks.clone()), ..Stage::new(script) }, hooks)
}

#[test]
fn a_denied_call_is_not_made_and_is_on_record_as_a_decision() {
    let script = vec![("bash", json!({"command": "forbidden"})), ("bash", json!({"command": "make"}))];
    let (stage, hooks) = stage(script, Against { word: "forbidden", ..Against::default() });
    let ran = stage.run();
    assert_eq!(stage.made(), ["bash"], "the second one");
    assert_eq!(*hooks.asked.lock().unwrap(), ["before bash", "before bash", "after bash"]);
    let told = &ran.results()[0];
    assert_eq!(
        (&told["type"], &told["reason"]),
        (&json!("fullsend.observation-denied"), &json!("denied-by-check"))
    );
    assert!(told["detail"].as_str().unwrap().contains("forbidden is not for commands"), "{told}");
    let decisions = ran.decisions();
    assert_eq!(decisions.len(), 2, "one for each call");
    assert_eq!(decisions[0].decision, Verdict::Denied);
    assert!(decisions[0].reason_codes.contains(&"hook_denied".to_owned()));
    assert_eq!(decisions[0].detail.as_deref(), Some("forbidden is not for commands"));
    assert_eq!(decisions[1].decision, Verdict::Allowed);
    assert_eq!(ran.events()[0].severity, EventSeverity::Denied);
}

#[test]
fn what_flow_denies_no_check_is_asked_about() {
    let script = vec![("read_file", json!({"path": ".env"})), ("web_fetch", json!({"url": "$HANDLE"}))];
    let (stage, hooks) = stage(script, Against { word: "nothing like it", ..Against::default() });
    stage.run();
    assert_eq!(*hooks.asked.lock().unwrap(), ["before read_file", "after read_file", "appeal web_fetch"]);
    assert_eq!(stage.made(), ["read_file"]);
}

#[test]
fn who_speaks_for_the_operator_can_allow_once_what_flow_denies_and_checks_still_hold() {
    let fetch = |word: &'static str| {
        let script = vec![("read_file", json!({"path": ".env"})), ("web_fetch", json!({"url": "$HANDLE"}))];
        let (stage, hooks) = stage(script, Against { word, lets: true, ..Against::default() });
        let ran = stage.run();
        let decision = ran.decisions().pop().unwrap();
        assert_eq!(decision.decision, Verdict::Warned);
        assert!(decision.reason_codes.contains(&"operator_approved".to_owned()), "{decision:?}");
        assert!(decision.reason_codes.iter().any(|code| code.starts_with("flow_")), "what was against it");
        let asked = hooks.asked.lock().unwrap().clone();
        assert_eq!(asked[2..4], ["appeal web_fetch", "before web_fetch"]);
        stage.made()
    };
    assert_eq!(fetch("no such word"), ["read_file", "web_fetch"]);
    assert_eq!(fetch(r#""url":"swordfish"#), ["read_file"], "a check denies it nevertheless");
}

#[test]
fn nobody_can_allow_what_the_prompt_does_not() {
    let script = vec![("bash", json!({"command": "make"}))];
    let (stage, hooks) = stage(script, Against { word: "no such word", lets: true, ..Against::default() });
    let stage = Stage { role: PromptRole::Quote, ..stage };
    stage.run();
    assert!(stage.made().is_empty() && hooks.asked.lock().unwrap().is_empty());
}

#[test]
fn what_a_handle_stands_for_is_looked_at_and_a_denial_tells_nothing_of_it() {
    let script = vec![("read_file", json!({"path": ".env"})), ("bash", json!({"command": "$HANDLE"}))];
    let told = |word: &'static str| {
        // The first result is hidden and stays as it is, so that the handle stands for the word.
        let (stage, hooks) = stage(script.clone(), Against { word, ..Against::default() });
        let ran = stage.run();
        let asked = hooks.asked.lock().unwrap().clone();
        assert_eq!(asked.last().unwrap(), "after bash", "{asked:?}");
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        (stage.made(), keys(&ran.results()[1]), ran.results()[1].to_string())
    };
    // A part of the secret that no result has by itself.
    let (made, hidden, text) = told("no such word");
    assert_eq!(made, ["read_file", "bash"]);
    let denied = told(r#""command":"swordfish"#);
    assert_eq!(denied.0, ["read_file"], "the call was made");
    assert_eq!(denied.1, hidden, "it looks like any hidden result");
    assert!(!denied.2.contains("not for commands") && !denied.2.contains(SECRET), "{}", denied.2);
    assert!(!text.contains(SECRET));
}

#[test]
fn results_are_masked_or_withheld_before_they_are_kept() {
    for withholds in [false, true] {
        let script = vec![("web_fetch", json!({"url": "https://example.com/"}))];
        let (stage, _) = stage(script, Against { word: "page", withholds, ..Against::default() });
        let ran = stage.run();
        let told = ran.results()[0].to_string();
        assert!(!told.contains(r#""page""#), "{told}");
        assert!(!ran.records().contains(r#""page""#), "withholds: {withholds}");
        let events = ran.events();
        let severity = if withholds { EventSeverity::Denied } else { EventSeverity::Warning };
        assert_eq!((events.len(), events[0].severity), (1, severity));
        assert_eq!(withholds, told.contains("fullsend.output-withheld"));
    }
}
