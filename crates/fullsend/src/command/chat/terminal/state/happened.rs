//! Events of the service.

use fullsend_chat::protocol::{
    ChatEvent, EventEnvelope, SessionState, SessionStatus, ToolRef, ToolStatus, TurnUsage,
};

use super::super::transcript::{Call, CallEnd, Item};
use super::{Chat, Running, Scroll};

impl Chat {
    /// Takes something that happened. What happened in another session is left out.
    pub(in super::super) fn happened(&mut self, envelope: &EventEnvelope) {
        let begins_here = self.session.is_none() && self.starting.is_some();
        let is_ours = self.session.as_ref().is_some_and(|session| session.session_id == envelope.session_id);
        if !is_ours && !begins_here {
            return;
        }
        match &envelope.event {
            ChatEvent::SessionStarted { session } | ChatEvent::StatusChanged { session } => {
                self.stands(session);
            }
            ChatEvent::TurnStarted { turn } => {
                self.starting = None;
                self.running = Some(Running { is_canceling: false, is_elsewhere: false });
                let said = self.inputs.get(&turn.turn_id).cloned();
                self.transcript.push(Item::Said(said.unwrap_or_else(|| "(not kept)".to_owned())));
            }
            ChatEvent::AssistantDelta { .. }
            | ChatEvent::AssistantRestarted {}
            | ChatEvent::AssistantCompleted { .. } => self.answered(&envelope.event),
            ChatEvent::ToolStarted { tool, summary } => {
                self.transcript.push(Item::Tool(Call::new(tool.clone(), summary.clone())));
            }
            ChatEvent::ToolCompleted { tool, status, result_summary, diff, reason } => {
                let (result, diff, reason) = (result_summary.clone(), diff.clone(), reason.clone());
                self.call_ended(tool, CallEnd { status: *status, result, diff, reason });
            }
            ChatEvent::SubagentStarted { subagent } => {
                if let Some(call) = self.call(&subagent.tool_call_id) {
                    call.subagent = Some(subagent.profile.clone().unwrap_or_else(|| "default".to_owned()));
                }
            }
            // The call that did it says so.
            ChatEvent::SubagentCompleted { .. } | ChatEvent::FileChanged { .. } => {}
            ChatEvent::ApprovalRequested { approval } => {
                let request = approval.clone();
                self.transcript.push(Item::Question { request: request.clone(), answer: None });
                self.questions.push_back(request);
                self.scroll = Scroll::End;
            }
            ChatEvent::ApprovalResolved { approval_id, decision, by } => {
                self.questions.retain(|question| question.approval_id != *approval_id);
                self.answer.clear();
                let is_it = |item: &Item| matches!(item, Item::Question { request, .. } if request.approval_id == *approval_id);
                let index = self.transcript.last(is_it);
                if let Some(Item::Question { answer, .. }) = index.and_then(|at| self.transcript.change(at)) {
                    *answer = Some((*decision, by.clone()));
                }
            }
            ChatEvent::TurnCompleted { usage, .. } => self.turn_ended(*usage),
            ChatEvent::TurnFailed { error, .. } => {
                self.turn_ended(None);
                self.problem(error.message.clone());
            }
            ChatEvent::TurnCanceled { reason, .. } => {
                self.running = Some(Running { is_canceling: true, is_elsewhere: false });
                self.note(format!("Cancelled: {reason}."));
            }
            ChatEvent::SessionClosed { reason } => {
                self.turn_ended(None);
                self.note(format!("The session was closed: {reason}."));
            }
            ChatEvent::Error { error, .. } => self.problem(error.message.clone()),
        }
    }

    fn stands(&mut self, session: &SessionStatus) {
        self.session = Some(session.clone());
        match session.status {
            SessionState::Idle | SessionState::Closed | SessionState::Failed => self.turn_ended(None),
            SessionState::TurnRunning | SessionState::Canceling => {}
        }
    }

    fn turn_ended(&mut self, usage: Option<TurnUsage>) {
        self.running = None;
        self.questions.clear();
        self.answer.clear();
        while let Some(at) =
            self.transcript.last(|item| matches!(item, Item::Tool(call) if call.end.is_none()))
        {
            if let Some(Item::Tool(call)) = self.transcript.change(at) {
                let result = "the turn ended before the call did".to_owned();
                call.end = Some(CallEnd { status: ToolStatus::Failed, result, diff: None, reason: None });
            }
        }
        let is_open = |item: &Item| matches!(item, Item::Answer { is_open: true, .. });
        if let Some(Item::Answer { is_open, .. }) =
            self.transcript.last(is_open).and_then(|at| self.transcript.change(at))
        {
            *is_open = false;
        }
        let Some(usage) = usage else { return };
        self.used.input_tokens += usage.input_tokens;
        self.used.output_tokens += usage.output_tokens;
        self.used.total_tokens += usage.total_tokens;
        if let Some(cost) = usage.cost_usd {
            self.used.cost_usd = Some(self.used.cost_usd.unwrap_or_default() + cost);
        }
    }

    fn answered(&mut self, event: &ChatEvent) {
        let open = self.transcript.last(|item| matches!(item, Item::Answer { is_open: true, .. }));
        let answer = open.and_then(|at| self.transcript.change(at));
        match (event, answer) {
            (ChatEvent::AssistantDelta { text: more }, Some(Item::Answer { text, .. })) => {
                text.push_str(more)
            }
            (ChatEvent::AssistantDelta { text }, _) => {
                self.transcript.push(Item::Answer { text: text.clone(), is_open: true });
            }
            (ChatEvent::AssistantCompleted { text: whole }, Some(Item::Answer { text, is_open })) => {
                text.clone_from(whole);
                *is_open = false;
            }
            (ChatEvent::AssistantCompleted { text }, _) if !text.trim().is_empty() => {
                self.transcript.push(Item::Answer { text: text.clone(), is_open: false });
            }
            (ChatEvent::AssistantRestarted {}, Some(Item::Answer { text, .. })) => text.clear(),
            _ => {}
        }
    }

    fn call_ended(&mut self, tool: &ToolRef, end: CallEnd) {
        match self.call(&tool.tool_call_id) {
            Some(call) => call.end = Some(end),
            None => {
                let call = Call { end: Some(end), ..Call::new(tool.clone(), String::new()) };
                self.transcript.push(Item::Tool(call));
            }
        }
    }

    /// The call that has not ended yet and has this id; ids are unique in a turn only.
    fn call(&mut self, id: &str) -> Option<&mut Call> {
        let is_it = |item: &Item| matches!(item, Item::Tool(call) if call.end.is_none() && call.tool.tool_call_id == id);
        match self.transcript.last(is_it).and_then(|at| self.transcript.change(at)) {
            Some(Item::Tool(call)) => Some(call),
            _ => None,
        }
    }
}
