//! What whoever asks is told when there is no skill.

use std::borrow::Cow;

/// Why there is no skill: a status of HTTP, and a message that gives nothing of the host away.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FetchRefusal {
    /// The status of HTTP.
    pub status: u16,
    /// What the agent reads.
    pub message: String,
    /// The stable name of the reason, for the audit log.
    pub(super) code: Cow<'static, str>,
    /// The whole story, for the audit log; none when the message is all of it.
    pub(super) cause: Option<String>,
}

impl FetchRefusal {
    pub(super) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), code: Cow::Borrowed(code), cause: None }
    }

    /// The same refusal with what is behind it, which only the log is told.
    pub(super) fn because(mut self, code: &str, cause: impl Into<String>) -> Self {
        self.code = Cow::Owned(code.to_owned());
        self.cause = Some(cause.into());
        self
    }

    /// The same refusal, of something that the skill asked for needs.
    pub(super) fn of_dependency(mut self, url: &str) -> Self {
        self.message = format!("the skill depends on \"{url}\": {}", self.message);
        self
    }

    pub(super) fn reason(&self) -> &str {
        self.cause.as_deref().unwrap_or(&self.message)
    }
}
