//! Where pages redirect to: each host on the way gets to see a request that was made of the conversation.

use std::sync::{Mutex, PoisonError};

use fullsend_fetch::get::visit::PageUrl;
use fullsend_flow::{Argument, Call, Deed, Destination, GrantLedger, Label, Policy, Verdict, decide};
use jiff::Timestamp;

use crate::gate::FlowMode;
use crate::store::{EventSeverity, PolicyEvent, Row};
use crate::tool::ToolCallContext;

/// By what redirects are judged.
#[derive(Debug)]
pub(super) struct Redirects {
    /// Without exceptions: one that was made for an address does not cover where its host sends whoever asks.
    policy: Policy,
    mode: FlowMode,
}

/// The redirects of one call.
#[derive(Debug)]
pub(super) struct Judged<'a> {
    by: &'a Redirects,
    context: &'a ToolCallContext<'a>,
    now: Timestamp,
    /// The host that was asked last, and what somebody should know.
    so_far: Mutex<(String, Vec<Row>)>,
}

impl Redirects {
    pub(super) fn new(policy: &Policy, mode: FlowMode) -> Self {
        Self { policy: Policy { grants: Vec::new(), ..policy.clone() }, mode }
    }

    /// The redirects of a call that begins at `url`, about which was decided when the call was.
    pub(super) fn judge<'a>(
        &'a self,
        context: &'a ToolCallContext<'a>,
        url: &str,
        now: Timestamp,
    ) -> Judged<'a> {
        let host = PageUrl::parse(url).map(|url| url.host()).unwrap_or_default();
        Judged { by: self, context, now, so_far: Mutex::new((host, Vec::new())) }
    }
}

impl Judged<'_> {
    /// Whether a redirect may be followed. A host may send whoever asks on to itself.
    pub(super) fn may_follow(&self, next: &PageUrl) -> bool {
        let host = next.host();
        let mut so_far = self.so_far.lock().unwrap_or_else(PoisonError::into_inner);
        if so_far.0 == host {
            return true;
        }
        let verdict = self.verdict(&host);
        let told = match verdict {
            Verdict::Allowed => None,
            Verdict::Warned => Some((EventSeverity::Warning, "would not be followed when enforcing")),
            Verdict::Denied => Some((EventSeverity::Denied, "was not followed")),
        };
        if let Some((severity, what)) = told {
            let detail = format!("a redirect to another host {what}: flow_redirect");
            so_far.1.push(self.event(severity, detail));
        }
        so_far.0 = host;
        verdict != Verdict::Denied
    }

    /// What somebody should know of them.
    pub(super) fn into_rows(self) -> Vec<Row> {
        self.so_far.into_inner().unwrap_or_else(PoisonError::into_inner).1
    }

    /// Decides as about a call with this host: whoever redirects chooses the address, but to make the request at all, and what
    /// the first address said, is the conversation's.
    fn verdict(&self, host: &str) -> Verdict {
        let label = self.context.label;
        let arguments = [Argument { name: "url", value: None, label, destination: Destination::Host(host) }];
        let inputs = &Label::bottom();
        let call =
            Call { tool: "web_fetch", deed: Deed::Send, context: label, arguments: &arguments, inputs };
        decide(&call, &self.by.policy, self.by.mode, &GrantLedger::default(), self.now).verdict
    }

    fn event(&self, severity: EventSeverity, detail: String) -> Row {
        Row::PolicyEvent(Box::new(PolicyEvent {
            severity,
            mode: self.by.mode,
            tool_id: "web_fetch".to_owned(),
            tool_call_id: Some(self.context.call_id.to_owned()),
            detail,
            tool_input_summary: None,
            observation_denied: None,
        }))
    }
}
