//! What hooks and the service for skills decide, told as events of the run.
//!
//! Hooks are answered by threads that outlive no call; what they find is handed over to the task that tells of everything.

use fullsend_guard::hook::{Action, Decision, HookPhase, Recorded};
use fullsend_guard::service::tool_name;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::event::{AccessKind, Event, Step};

/// Hands decisions over.
#[derive(Clone, Debug)]
pub(crate) struct HookTeller(UnboundedSender<Event>);

/// Decisions that were handed over.
#[derive(Debug)]
pub(crate) struct HookEvents(UnboundedReceiver<Event>);

/// Both ends.
pub(crate) fn channel() -> (HookTeller, HookEvents) {
    let (sender, receiver) = unbounded_channel();
    (HookTeller(sender), HookEvents(receiver))
}

impl HookTeller {
    /// Hands over what was decided about a call; nothing when there was nothing to say. Nobody may be listening any more.
    pub(crate) fn tell(&self, phase: HookPhase, input: &[u8], decision: &Decision) {
        let denied = decision.exit != 0;
        if decision.recorded.is_empty() && !denied {
            return;
        }
        let tool = tool_name(input).unwrap_or_else(|| "a tool".to_owned());
        for Recorded { finding, action } in &decision.recorded {
            let when = match phase {
                HookPhase::PreTool => "before",
                HookPhase::PostTool => "after",
            };
            let _nobody_listens = self.0.send(Event::Finding {
                step: Step::Agent,
                rule: format!("{}/{}", finding.rule.scanner, finding.rule.id),
                severity: finding.severity.as_str().to_owned(),
                place: format!("{when} {tool}"),
                detail: finding.detail().to_owned(),
                action: action.as_str().to_owned(),
            });
        }
        if denied {
            let why = decision.recorded.iter().find(|recorded| recorded.action == Action::Block);
            let why = why.map_or("a check denies it", |recorded| recorded.finding.detail());
            let detail = why.to_owned();
            let _nobody_listens =
                self.0.send(Event::Access { kind: AccessKind::Tool, target: tool, allowed: false, detail });
        }
    }
}

impl HookTeller {
    /// Hands over that a skill was asked for.
    pub(crate) fn fetch(&self, url: &str, allowed: bool, why: &str) {
        let (target, detail) = (url.to_owned(), why.to_owned());
        let _nobody_listens = self.0.send(Event::Access { kind: AccessKind::Fetch, target, allowed, detail });
    }
}

impl HookEvents {
    /// The next decision; waits until there is one.
    pub(crate) async fn next(&mut self) -> Event {
        match self.0.recv().await {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }

    /// A decision that is there already.
    pub(crate) fn ready(&mut self) -> Option<Event> {
        self.0.try_recv().ok()
    }
}
