//! Asks persons about calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use fullsend_agent::Pending;
use fullsend_agent::hooks::{After, Before, CallHooks, HookedCall};
use serde_json::Value;

use super::super::desk::{Question, TurnDesk};
use crate::protocol::{ChatPolicy, Decision, ToolRef};

/// What a person has said no to, by call.
#[derive(Clone, Debug, Default)]
pub(super) struct Denials(Arc<Mutex<BTreeMap<String, String>>>);

impl Denials {
    fn add(&self, call_id: &str, reason: &str) {
        let mut denied = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        denied.insert(call_id.to_owned(), reason.to_owned());
    }

    /// Why a call was denied, if it was.
    pub(super) fn take(&self, call_id: &str) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(call_id)
    }
}

/// Asks a person where the policy of a turn says so.
#[derive(Debug)]
pub(super) struct Asker {
    about: BTreeSet<String>,
    on_flow: bool,
    desk: TurnDesk,
    denied: Denials,
    /// Calls that a person has allowed although the rules of flow deny them: nobody is asked twice about one call.
    allowed: Mutex<BTreeSet<String>>,
}

impl Asker {
    pub(super) fn new(policy: &ChatPolicy, desk: TurnDesk, denied: Denials) -> Self {
        let about = policy.approval_tool_ids.clone();
        Self { about, on_flow: policy.ask_on_flow_denial, desk, denied, allowed: Mutex::default() }
    }

    async fn ask(&self, call: HookedCall<'_>, reason: &str, no: &str) -> Before {
        let tool = ToolRef { tool_call_id: call.call_id.to_owned(), tool_id: call.tool.to_owned() };
        let question = Question { tool, input: call.input.clone(), reason: reason.to_owned() };
        match self.desk.ask(question).await {
            Decision::Allow => Before::Allowed,
            Decision::Deny => {
                self.denied.add(call.call_id, no);
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

    fn after<'a>(&'a self, _call: HookedCall<'a>, _output: &'a Value) -> Pending<'a, After> {
        Box::pin(async { After::Unchanged })
    }
}
