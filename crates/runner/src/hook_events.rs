//! What hooks and the service for skills decide, told as events of the run.
//!
//! Hooks and the service for skills are answered by threads and tasks of their own; what they decide is handed over to the task
//! that tells of everything. What the runtime does goes the same way, so that a denial is told before what follows from it.

use fullsend_guard::hook::{Action, Decision, HookPhase, Recorded};
use fullsend_guard::service::tool_name;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::event::{AccessKind, Event, Step};

/// Hands events over.
#[derive(Clone, Debug)]
pub(crate) struct HookTeller(UnboundedSender<Event>);

/// Events that were handed over, in the order in which they happened.
#[derive(Debug)]
pub(crate) struct HookEvents {
    teller: HookTeller,
    waiting: UnboundedReceiver<Event>,
}

/// Both ends.
pub(crate) fn channel() -> (HookTeller, HookEvents) {
    let (sender, waiting) = unbounded_channel();
    let teller = HookTeller(sender);
    (teller.clone(), HookEvents { teller, waiting })
}

impl HookTeller {
    /// Hands an event over. Nobody may be listening any more.
    pub(crate) fn pass(&self, event: Event) {
        let _nobody_listens = self.0.send(event);
    }

    /// Hands over what was decided about a call; nothing when there was nothing to say.
    pub(crate) fn tell(&self, phase: HookPhase, input: &[u8], decision: &Decision) {
        if decision.exit == 0 && decision.recorded.is_empty() {
            return;
        }
        let tool = tool_name(input).unwrap_or_else(|| "a tool".to_owned());
        for Recorded { finding, action } in &decision.recorded {
            let when = match phase {
                HookPhase::PreTool => "before",
                HookPhase::PostTool => "after",
            };
            self.pass(Event::Finding {
                step: Step::Agent,
                rule: format!("{}/{}", finding.rule.scanner, finding.rule.id),
                severity: finding.severity.as_str().to_owned(),
                place: format!("{when} {tool}"),
                detail: finding.detail().to_owned(),
                action: action.as_str().to_owned(),
            });
        }
        // What a hook says after a call is about the output; the findings tell of it.
        if phase == HookPhase::PreTool && decision.exit != 0 {
            let detail = reason(decision);
            self.pass(Event::Access { kind: AccessKind::Tool, target: tool, allowed: false, detail });
        }
    }
}

/// Why a call was denied: what was found, or what the hook says where it found nothing.
fn reason(decision: &Decision) -> String {
    let found = decision.recorded.iter().filter(|recorded| recorded.action == Action::Block);
    let found: Vec<String> = found
        .map(|Recorded { finding, .. }| {
            let rule = finding.rule;
            let detail = finding.detail();
            let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
            format!("{}/{}{detail}", rule.scanner, rule.id)
        })
        .collect();
    if found.is_empty() { decision.stderr.trim().to_owned() } else { found.join("; ") }
}

impl HookTeller {
    /// Hands over that a skill was asked for.
    pub(crate) fn fetch(&self, url: &str, allowed: bool, why: &str) {
        let (target, detail) = (url.to_owned(), why.to_owned());
        let _nobody_listens = self.0.send(Event::Access { kind: AccessKind::Fetch, target, allowed, detail });
    }
}

impl HookEvents {
    /// The end that events of others can be put in order by.
    pub(crate) fn teller(&self) -> HookTeller {
        self.teller.clone()
    }

    /// The next event; waits until there is one.
    pub(crate) async fn next(&mut self) -> Event {
        match self.waiting.recv().await {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }

    /// An event that is there already.
    pub(crate) fn ready(&mut self) -> Option<Event> {
        self.waiting.try_recv().ok()
    }
}
