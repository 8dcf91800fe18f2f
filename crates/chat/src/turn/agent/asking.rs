//! Asks persons about calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fullsend_agent::Pending;
use fullsend_agent::hooks::{After, Before, CallHooks, HookedCall};
use serde_json::{Map, Value};

use super::super::desk::{Question, TurnDesk};
use crate::protocol::{ChatPolicy, Decision, ToolRef};

/// What is known about calls, by those who tell of them and those who ask about them.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// What a person has said no to, and in which words.
    denied: BTreeMap<String, String>,
}

impl Calls {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why a person has denied a call, if one has.
    pub(super) fn denied(&self, call_id: &str) -> Option<String> {
        self.lock().denied.remove(call_id)
    }

    fn deny(&self, call_id: &str, reason: &str) {
        self.lock().denied.insert(call_id.to_owned(), reason.to_owned());
    }
}

/// Asks a person where the policy of a turn says so.
#[derive(Debug)]
pub(super) struct Asker {
    about: BTreeSet<String>,
    on_flow: bool,
    desk: TurnDesk,
    calls: Calls,
    /// Calls that a person has allowed although the rules of flow deny them: nobody is asked twice about one call.
    allowed: Mutex<BTreeSet<String>>,
}

impl Asker {
    pub(super) fn new(policy: &ChatPolicy, desk: TurnDesk, calls: Calls) -> Self {
        let about = policy.approval_tool_ids.clone();
        Self { about, on_flow: policy.ask_on_flow_denial, desk, calls, allowed: Mutex::default() }
    }

    async fn ask(&self, call: HookedCall<'_>, reason: &str, no: &str) -> Before {
        let tool = ToolRef { tool_call_id: call.call_id.to_owned(), tool_id: call.tool.to_owned() };
        // What a handle stands for is nothing for a record of questions.
        let input: Map<String, Value> = serde_json::from_str(call.written).unwrap_or_default();
        let question = Question { tool, input, reason: reason.to_owned() };
        match self.desk.ask(question).await {
            Decision::Allow => Before::Allowed,
            Decision::Deny => {
                self.calls.deny(call.call_id, no);
                Before::Denied { reason: no.to_owned() }
            }
        }
    }
}

impl CallHooks for Asker {
    fn before<'a>(&'a self, call: HookedCall<'a>) -> Pending<'a, Before> {
        Box::pin(async move {
            let settled = self.allowed.lock().unwrap_or_else(PoisonError::into_inner).remove(call.call_id);
            if settled || !self.about.contains(call.tool) {
                return Before::Allowed;
            }
            let reason = format!("every call of {} is asked about", call.tool);
            self.ask(call, &reason, "the operator was asked, and said no").await
        })
    }

    fn appeal<'a>(&'a self, call: HookedCall<'a>, reason: &'a str) -> Pending<'a, Before> {
        Box::pin(async move {
            if !self.on_flow {
                return Before::Denied { reason: reason.to_owned() };
            }
            let answer = self.ask(call, reason, reason).await;
            if answer == Before::Allowed {
                let mut allowed = self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
                allowed.insert(call.call_id.to_owned());
            }
            answer
        })
    }

    fn after<'a>(&'a self, call: HookedCall<'a>, _output: &'a Value) -> Pending<'a, After> {
        // Some calls are answered without being made. Models name calls: a yes must not wait for the next one of that name.
        self.allowed.lock().unwrap_or_else(PoisonError::into_inner).remove(call.call_id);
        Box::pin(async { After::Unchanged })
    }
}
