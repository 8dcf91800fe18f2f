//! What is said between a client and the service: one JSON object in a line, in both directions.
//!
//! Keys that nobody knows are ignored, so that a newer client can talk to an older service. What is known must have its
//! form: a request that is wrong is answered with what is wrong and where.

mod answer;
mod envelope;
mod error;
mod event;
mod policy;
mod record;
mod request;

pub use self::answer::{EventList, SessionList, TurnList, Welcome};
pub use self::envelope::{
    EVENT, EventEnvelope, EventTag, OLDER_REQUEST, Outgoing, REQUEST, RESPONSE, Response, ResponseTag,
};
pub use self::error::{ChatError, ErrorCode};
pub use self::event::{ApprovalRequest, ChatEvent, FileChange, SubagentRef, ToolRef, ToolStatus, TurnUsage};
pub use self::policy::{BrowserAccess, BrowserAccessTag, ChatPolicy, PolicyTag, ToolMode};
pub use self::record::{
    Capabilities, ChatContext, ImageAttachment, SessionState, SessionStatus, TurnInput, TurnRecord,
    TurnState, TurnStatus, Workspace,
};
pub use self::request::{
    CancelTurn, CloseSession, Decision, Hello, ListEvents, ListTurns, Method, Request, ResolveApproval,
    StartSession, StartTurn, StatusQuery,
};

/// The version that this build speaks.
pub const PROTOCOL_VERSION: u32 = 1;
