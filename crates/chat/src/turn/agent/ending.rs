//! How a run has ended, as a client is told.

use std::error::Error;

use fullsend_agent::budget::Limits;
use fullsend_agent::engine::{Finished, RunError};
use fullsend_agent::scene::SceneError;
use fullsend_agent::store::{EndStatus, Recorded, RunStore, StoreError, TerminalReason};
use fullsend_model::{ModelError, Usage};

use super::super::TurnEnd;
use crate::protocol::{ChatError, ErrorCode, TurnUsage};

/// How a turn has ended that had used this before it, and might use that.
pub(super) fn of(finished: Result<Finished, SceneError>, before: &Usage, limits: &Limits) -> TurnEnd {
    let finished = match finished {
        Ok(finished) => finished,
        Err(error) => return unmade(error),
    };
    if let Some(error) = &finished.error {
        return TurnEnd::Failed(stopped_by(error));
    }
    let detail = finished.ending.detail.clone().unwrap_or_else(|| "the turn could not go on".to_owned());
    match (finished.ending.status, finished.ending.terminal_reason) {
        (EndStatus::Completed, _) => {
            TurnEnd::Completed { usage: used(&finished.usage, before), final_text: finished.answer }
        }
        (EndStatus::Cancelled, _) => TurnEnd::Canceled,
        (EndStatus::Failed, TerminalReason::MaxModelTurns) => TurnEnd::Failed(limit(Limit::Turns, limits)),
        (EndStatus::Failed, TerminalReason::BudgetExhausted) => {
            TurnEnd::Failed(limit(reached(&finished, before, limits), limits))
        }
        (
            EndStatus::Failed,
            TerminalReason::AssistantCompleted
            | TerminalReason::PromptLoopError
            | TerminalReason::ProcessInterrupted
            | TerminalReason::ToolError,
        ) => TurnEnd::Failed(ChatError::new(ErrorCode::InternalError, detail)),
    }
}

/// Why the record of a session cannot be gone on with.
pub(super) fn without_record(error: StoreError) -> Result<Option<(RunStore, Recorded)>, TurnEnd> {
    // Its process died before anything happened.
    if let StoreError::NeverBegan { .. } = error {
        return Ok(None);
    }
    let gone = matches!(
        error,
        StoreError::NoRun { .. }
            | StoreError::NotPlain { .. }
            | StoreError::Damaged { .. }
            | StoreError::UnknownLabel(_)
    );
    let now = if gone { "" } else { " now" };
    let message = format!("the record of the session cannot be used{now}: {error}");
    let told = ChatError::new(ErrorCode::SessionUnusable, message);
    Err(if gone { TurnEnd::Broken(told) } else { TurnEnd::Failed(told) })
}

/// Why a run could not begin or go on.
pub(super) fn unmade(error: SceneError) -> TurnEnd {
    if let SceneError::Run(run) = &error {
        return TurnEnd::Failed(stopped_by(run));
    }
    let code = if matches!(
        error,
        SceneError::UnnamedPicture
            | SceneError::PicturePath { .. }
            | SceneError::PictureFile { .. }
            | SceneError::NoPicture(_)
    ) {
        ErrorCode::InvalidRequest
    } else if matches!(error, SceneError::Widened(_)) {
        // It is not what it was when it began: it can go on when it is that again.
        ErrorCode::SessionUnusable
    } else {
        ErrorCode::InternalError
    };
    let mut message = in_full(&error);
    if let Some(help) = error.help() {
        message.push_str(&format!("; {help}"));
    }
    TurnEnd::Failed(ChatError::new(code, message))
}

fn stopped_by(error: &RunError) -> ChatError {
    let RunError::Model(model) = error else {
        return ChatError::new(ErrorCode::InternalError, in_full(error));
    };
    let told = ChatError::new(ErrorCode::ProviderUnavailable, model.to_string());
    if may_pass(model) { told.retryable() } else { told }
}

/// Whether waiting alone may help.
fn may_pass(error: &ModelError) -> bool {
    let refused = if let ModelError::Refused { status, .. } = error { Some(*status) } else { None };
    matches!(error, ModelError::Transport { .. })
        || matches!(refused, Some(408 | 409 | 425 | 429 | 500..=599))
}

/// An error with all of its causes.
fn in_full(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let more = inner.to_string();
        if !text.contains(&more) {
            text.push_str(&format!(": {more}"));
        }
        cause = inner.source();
    }
    text
}

/// What a turn may use only so much of.
#[derive(Clone, Copy, Debug)]
enum Limit {
    Turns,
    Tokens,
    Cost,
    Time,
    Output,
}

fn reached(finished: &Finished, before: &Usage, limits: &Limits) -> Limit {
    let since = |now: Option<u64>, before: Option<u64>| {
        now.unwrap_or_default().saturating_sub(before.unwrap_or_default())
    };
    let cost = finished.usage.cost_usd.unwrap_or_default() - before.cost_usd.unwrap_or_default();
    let detail = finished.ending.detail.as_deref().unwrap_or_default();
    if since(finished.usage.total_tokens, before.total_tokens) >= limits.tokens {
        Limit::Tokens
    } else if cost >= limits.cost_usd {
        Limit::Cost
    } else if detail.contains("--max-output-bytes") {
        Limit::Output
    } else {
        Limit::Time
    }
}

/// A turn has used all of something.
fn limit(which: Limit, limits: &Limits) -> ChatError {
    let (name, allowed, words): (&str, serde_json::Value, String) = match which {
        Limit::Turns => {
            ("modelTurns", limits.turns.into(), format!("the model was asked {} times", limits.turns))
        }
        Limit::Tokens => ("totalTokens", limits.tokens.into(), format!("{} tokens were used", limits.tokens)),
        Limit::Cost => {
            ("costUsd", limits.cost_usd.into(), format!("{:.2} US dollars were spent", limits.cost_usd))
        }
        Limit::Time => {
            let seconds = limits.time.as_secs();
            ("seconds", seconds.into(), format!("{seconds} seconds have passed"))
        }
        Limit::Output => {
            let bytes = limits.output_bytes;
            ("outputBytes", bytes.into(), format!("the conversation has grown by {bytes} bytes"))
        }
    };
    let message = format!("the turn has reached a limit: {words}; another turn goes on from here");
    ChatError::new(ErrorCode::LimitReached, message).with("limit", name).with("allowed", allowed)
}

/// What was used since, if anybody counts.
fn used(now: &Usage, before: &Usage) -> Option<TurnUsage> {
    let since = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before.unwrap_or_default()));
    let total_tokens = since(now.total_tokens, before.total_tokens)?;
    Some(TurnUsage {
        input_tokens: since(now.input_tokens, before.input_tokens).unwrap_or_default(),
        output_tokens: since(now.output_tokens, before.output_tokens).unwrap_or_default(),
        total_tokens,
        cached_input_tokens: since(now.cached_input_tokens, before.cached_input_tokens),
        reasoning_tokens: since(now.reasoning_tokens, before.reasoning_tokens),
        cost_usd: now.cost_usd.map(|cost| cost - before.cost_usd.unwrap_or_default()),
    })
}
