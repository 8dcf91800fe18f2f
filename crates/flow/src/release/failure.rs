//! Why a value does not fit a schema, kept without copying until somebody asks.

use std::{fmt, rc::Rc};

use super::ReleaseError;

/// What ends a check early.
#[derive(Debug)]
pub(super) enum Stop<'s, 'v> {
    /// The value does not fit; a branch of a combinator may still.
    Mismatch(Failure<'s, 'v>),
    /// A bound was exceeded; nothing more is tried.
    Limit(ReleaseError),
}

impl Stop<'_, '_> {
    pub(super) fn into_error(self) -> ReleaseError {
        match self {
            Self::Mismatch(failure) => ReleaseError::Mismatch { reason: failure.to_string() },
            Self::Limit(error) => error,
        }
    }
}

impl From<ReleaseError> for Stop<'_, '_> {
    fn from(error: ReleaseError) -> Self {
        Self::Limit(error)
    }
}

impl<'s, 'v> From<Reason<'s, 'v>> for Stop<'s, 'v> {
    fn from(reason: Reason<'s, 'v>) -> Self {
        Self::Mismatch(Failure { reason, path: Vec::new() })
    }
}

/// One step into a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'v> {
    Key(&'v str),
    Index(usize),
}

/// The first thing that does not fit, and where.
#[derive(Clone, Debug)]
pub(super) struct Failure<'s, 'v> {
    reason: Reason<'s, 'v>,
    /// Innermost step first.
    path: Vec<Step<'v>>,
}

/// Adds a step to the place of a failure on its way out.
pub(super) fn within<'s, 'v>(step: Step<'v>, outcome: Result<(), Stop<'s, 'v>>) -> Result<(), Stop<'s, 'v>> {
    outcome.map_err(|stop| match stop {
        Stop::Mismatch(mut failure) => {
            failure.path.push(step);
            Stop::Mismatch(failure)
        }
        Stop::Limit(error) => Stop::Limit(error),
    })
}

impl fmt::Display for Failure<'_, '_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in self.path.iter().rev() {
            match step {
                Step::Key(key) => write!(out, "{key}: ")?,
                Step::Index(index) => write!(out, "{index}: ")?,
            }
        }
        self.reason.fmt(out)
    }
}

/// What does not fit.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum Reason<'s, 'v> {
    #[error("schema rejects all values")]
    RejectsAll,
    #[error("schema reference does not resolve within the schema")]
    Unresolved,
    #[error("schema refers to itself without progress")]
    Reentered,
    #[error("schema is neither an object nor a boolean")]
    NotASchema,
    #[error("value does not match anyOf")]
    AnyOf,
    #[error("value does not match exactly one oneOf branch")]
    OneOf,
    #[error("value is not in enum")]
    Enum,
    #[error("value does not match const")]
    Const,
    #[error("value does not match type {}", .0.join("|"))]
    Type(Rc<[&'s str]>),
    #[error("value is outside the declared range")]
    Range,
    #[error("array length is outside the declared bounds")]
    Length,
    #[error("missing required property {0}")]
    Missing(&'s str),
    #[error("additional property {0}")]
    Additional(&'v str),
}
