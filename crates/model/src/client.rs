//! What every model does: complete a conversation.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use serde::{Deserialize, Serialize};

use crate::conversation::{AssistantMessage, Conversation, ToolDescription};
use crate::diagnostics::Attempt;
use crate::usage::Usage;

/// The result of a call that takes time.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What is asked of a model. Dropping the pending answer cancels the request.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// The name of the model, as its gateway knows it.
    pub model: &'a str,
    /// The conversation so far.
    pub conversation: &'a Conversation,
    /// What the model may call.
    pub tools: &'a [ToolDescription],
    /// What the model's own side may do while it answers, by type: such as `google_search`.
    pub native_tools: &'a [String],
    /// The most tokens of an answer, if there is a limit.
    pub max_output_tokens: Option<u64>,
    /// How much the model thinks before it answers; where nothing is said, its own side decides.
    pub reasoning_effort: Option<ReasoningEffort>,
}

/// How much a model thinks before it answers, in the three words that gateways share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasoningEffort {
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

impl ReasoningEffort {
    /// The word of a harness, where `xhigh` and `max` are as much as a gateway can be asked for.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "low" => Some(Self::Low),
            "medium" => Some(Self::Medium),
            "high" | "xhigh" | "max" => Some(Self::High),
            _ => None,
        }
    }

    /// The word of the gateway.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// A piece of an answer under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// The next piece of the text.
    Text(&'a str),
    /// The next piece of what the model thinks before it answers.
    Reasoning(&'a str),
    /// What came so far does not count any more: the request is made again.
    Restarted,
}

/// Why a model stopped. On record it is one word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum FinishReason {
    /// It had nothing more to say.
    Stop,
    /// It wants tools to be called.
    ToolCalls,
    /// The answer is cut off at a limit of length.
    Length,
    /// The gateway withheld the answer.
    ContentFilter,
    /// Something else, or the gateway did not say.
    Other(Option<String>),
}

impl FinishReason {
    /// The word for it; empty when the gateway did not say.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::Other(word) => word.as_deref().unwrap_or_default(),
        }
    }
}

impl From<String> for FinishReason {
    fn from(word: String) -> Self {
        match word.as_str() {
            "stop" => Self::Stop,
            "tool_calls" => Self::ToolCalls,
            "length" => Self::Length,
            "content_filter" => Self::ContentFilter,
            "" => Self::Other(None),
            _ => Self::Other(Some(word)),
        }
    }
}

impl From<FinishReason> for String {
    fn from(reason: FinishReason) -> Self {
        reason.as_str().to_owned()
    }
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Completion {
    /// What the model said, and what it wants to be called.
    pub message: AssistantMessage,
    /// Why it stopped.
    pub finish: FinishReason,
    /// What it used, as far as the gateway says.
    pub usage: Usage,
    /// Every attempt that was made, in order.
    pub attempts: Vec<Attempt>,
}

/// A model that completes conversations.
pub trait ModelClient: fmt::Debug + Send + Sync {
    /// Completes the conversation, reporting pieces of the answer as they come.
    fn complete<'a>(
        &'a self,
        request: ModelRequest<'a>,
        progress: &'a mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Pending<'a, Result<Completion, ModelError>>;

    /// A word for who answers: `openai-compatible-gateway` or `replay`.
    fn provider(&self) -> &'static str;
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The gateway could not be reached, or stopped in the middle, each time it was tried.
    #[error("the model gateway at {endpoint} cannot be reached after {} attempts: {problem}", attempts.len())]
    Transport {
        /// What was asked.
        endpoint: String,
        /// What went wrong the last time.
        problem: String,
        /// Whether that was a matter of time.
        timed_out: bool,
        /// Every attempt.
        attempts: Vec<Attempt>,
    },
    /// The gateway refused.
    #[error("the model gateway at {endpoint} answered {status}: {problem}")]
    Refused {
        /// What was asked.
        endpoint: String,
        /// The status of the answer.
        status: u16,
        /// What the gateway said, and what may be done about it.
        problem: String,
        /// Every attempt.
        attempts: Vec<Attempt>,
    },
    /// The answer is not one.
    #[error("the model gateway at {endpoint} sent an answer that cannot be understood: {problem}")]
    Malformed {
        /// What was asked.
        endpoint: String,
        /// What is wrong with it.
        problem: String,
        /// Every attempt.
        attempts: Vec<Attempt>,
    },
    /// The conversation departed from the script of a replayed model.
    #[error("the conversation departed from the script: {problem}")]
    Departed {
        /// Where in the script, what was expected, and what came instead, as a difference of lines.
        problem: String,
    },
}

impl ModelError {
    /// Every attempt that was made before giving up.
    pub fn attempts(&self) -> &[Attempt] {
        match self {
            Self::Transport { attempts, .. }
            | Self::Refused { attempts, .. }
            | Self::Malformed { attempts, .. } => attempts,
            Self::Departed { .. } => &[],
        }
    }
}
