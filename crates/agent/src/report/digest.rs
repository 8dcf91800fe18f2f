//! How a run stands, for the model of the run that started it: nothing in it is of a model's making.

use serde_json::{Map, Value, json};

use super::account::Account;
use crate::store::{RunStore, StoreError};

/// What stands for the name of a tool that there is not: the name is what a model made up.
const UNKNOWN_TOOL: &str = "[unknown-tool]";

/// How a run that another one started stands. `tools` are the names that mean something.
pub(crate) fn of_child(store: &RunStore, tools: &[&str]) -> Result<Map<String, Value>, StoreError> {
    let entries = store.entries()?;
    let Some(account) = Account::of(&entries) else { return Ok(Map::new()) };
    let mut state = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            state.insert(key.to_owned(), value);
        }
    };
    let ending = account.ending();
    put("status", json!(account.status()));
    put("cfcEnforcementMode", json!(account.settings.flow_mode));
    put("createdAt", json!(account.parts.first().map(|part| part.started_at)));
    put("updatedAt", json!(account.updated_at));
    put("endedAt", json!(ending.map(|(at, _)| at)));
    put("terminalReason", json!(ending.map(|(_, ending)| ending.terminal_reason)));
    put("policyEventCounts", json!(account.event_counts));
    put("failureCount", json!(account.failures.len()));
    put("primaryFailure", json!(account.failures.primary().map(|failure| summary(failure, tools))));
    Ok(state)
}

fn summary(failure: &Value, tools: &[&str]) -> Value {
    let mut told = Map::new();
    told.insert("type".to_owned(), "fullsend.subagent-failure-summary".into());
    for key in ["kind", "source", "outputId", "exitCode"] {
        if let Some(value) = failure.get(key) {
            told.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(tool) = failure.get("toolId").and_then(Value::as_str) {
        let known = if tools.contains(&tool) { tool } else { UNKNOWN_TOOL };
        told.insert("toolId".to_owned(), known.into());
    }
    Value::Object(told)
}
