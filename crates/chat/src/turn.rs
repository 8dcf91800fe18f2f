//! What a turn is made by, and what it has to tell with.

mod agent;
mod desk;

use std::fmt;

use fullsend_agent::Pending;

pub use self::agent::{AgentTurns, ModelSource, SessionKit};
pub use self::desk::{Question, TurnDesk};
use crate::protocol::{BrowserAccess, ChatError, SessionStatus, StartSession, TurnRecord, TurnUsage};

/// Makes turns.
pub trait TurnRunner: fmt::Debug + Send + Sync {
    /// Whether a session can be: what goes on record about it, or why not.
    fn begin(&self, ask: &StartSession) -> Result<Ground, ChatError>;

    /// Makes a turn. When the desk says that it is cancelled, the future ends soon; what it says then does not count.
    fn run(&self, order: TurnOrder, desk: TurnDesk) -> Pending<'static, TurnEnd>;
}

/// What a session stands on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ground {
    /// The model that answers.
    pub model: Option<String>,
    /// Where its run is kept.
    pub artifact_root: Option<String>,
}

/// A turn that is to be made.
#[derive(Clone, Debug)]
pub struct TurnOrder {
    /// The session, as it stands.
    pub session: SessionStatus,
    /// The turn, with what is said and what it may do.
    pub turn: TurnRecord,
    /// A browser that is lent.
    pub browser: Option<BrowserAccess>,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnEnd {
    /// It came to its end.
    Completed {
        /// The last answer.
        final_text: String,
        /// What it used, subagents included.
        usage: Option<TurnUsage>,
    },
    /// It could not go on.
    Failed(ChatError),
    /// It could not go on, and neither can its session.
    Broken(ChatError),
    /// It ended because it was cancelled.
    Canceled,
}
