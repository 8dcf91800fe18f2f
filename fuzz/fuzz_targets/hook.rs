//! Feeds arbitrary bytes to the tool hooks, in both phases: there is always an answer, it is one of the forms that runtimes
//! know, and output that is changed keeps its shape.
#![no_main]

use std::sync::LazyLock;

use fullsend_guard::hook::{CanaryCheck, Checks, Hook, HookConfig, HookPhase};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

static HOOK: LazyLock<Hook> = LazyLock::new(|| {
    let canary = CanaryCheck { tokens: vec!["SECRET_CANARY_xyz".to_owned()], ..CanaryCheck::default() };
    let checks = Checks { canary, ..Checks::default() };
    Hook::new(HookConfig { checks, ..HookConfig::default() }).expect("a configuration")
});

fuzz_target!(|bytes: &[u8]| {
    for phase in [HookPhase::PreTool, HookPhase::PostTool] {
        let decision = HOOK.decide(phase, bytes);
        assert!(matches!(decision.exit, 0 | 2));
        assert_eq!(decision, HOOK.decide(phase, bytes), "the same call has the same answer");
        if decision.stdout.is_empty() {
            assert_eq!((decision.exit, decision.stderr.as_str()), (0, ""));
            continue;
        }
        let reply: Value = serde_json::from_str(&decision.stdout).expect("a reply is JSON");
        assert_eq!(decision.exit == 2, reply["decision"] == "block");
        assert!(phase == HookPhase::PostTool || decision.exit == 2, "what may happen is not changed");
        // Halves of characters, which hooks repair, are no JSON here.
        if let Some(replaced) = reply.pointer("/hookSpecificOutput/updatedToolOutput")
            && let Ok(call) = serde_json::from_slice::<Value>(bytes)
        {
            assert!(same_shape(&call["tool_response"], replaced), "{} / {replaced}", call["tool_response"]);
        }
    }
});

fn same_shape(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::String(_), Value::String(_)) => true,
        (Value::Array(before), Value::Array(after)) => {
            before.len() == after.len()
                && before.iter().zip(after).all(|(before, after)| same_shape(before, after))
        }
        (Value::Object(before), Value::Object(after)) => {
            before.len() == after.len()
                && before
                    .iter()
                    .zip(after)
                    .all(|((key, before), (also, after))| key == also && same_shape(before, after))
        }
        (before, after) => before == after,
    }
}
