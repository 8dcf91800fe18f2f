//! Model gateways: OpenAI-compatible chat completions, and scripted models that replay a file.
//!
//! # Entry points
//!
//! * [`ModelClient`]: one completion for a conversation, streamed
//! * [`Gateway`]: an OpenAI-compatible server
//! * [`Replay`]: a model that follows a script
//! * [`Conversation`]: the messages so far, each put into wire form once
//! * [`Completion`]: what the model said and asked for, what it cost, and every attempt that was made
//!
//! # Invariants
//!
//! * Whatever a server sends becomes a [`Completion`] or a [`ModelError`]; nothing panics, nothing is read without a limit.
//! * Every attempt is on record, the failed ones too. No record holds a key or the body of a request.
//!
//! # What it does not do
//!
//! Run tools, keep transcripts, decide what a model may see.

mod client;
mod conversation;
mod diagnostics;
pub mod gateway;
pub mod replay;
mod usage;
mod wire;

pub use client::{
    Completion, FinishReason, ModelClient, ModelError, ModelRequest, Pending, Progress, ReasoningEffort,
};
pub use conversation::{AssistantMessage, Conversation, Image, Message, ToolCall, ToolDescription};
pub use diagnostics::{Attempt, AttemptOutcome, RequestSize};
pub use gateway::{Gateway, GatewayConfig};
pub use replay::Replay;
pub use usage::{Cost, Usage};
