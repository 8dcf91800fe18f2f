//! What a run says to services that the operator named, and asks of them: a mint for tokens, a forge for comments on how it
//! stands, a collector for its trace.
//!
//! A run waits for a mint, because it cannot go on without the token. Nothing else here decides how a run ends: who cannot be
//! told of it is a warning. Tokens are in headers of requests and nowhere else.

pub mod collector;
mod comment;
pub mod mint;
pub mod status;
mod target;

use fullsend_fetch::service::ServiceClient;

use self::mint::Mint;
use self::status::StatusTarget;

/// Services for a run.
#[derive(Debug)]
pub struct Outward {
    /// Speaks to all of them.
    pub client: ServiceClient,
    /// Where the token of the agent's role comes from, if it is to be minted.
    pub mint: Option<Mint>,
    /// What is commented on, if anything is.
    pub status: Option<StatusTarget>,
    /// Who is told of a new secret before anything is done with it, so that it can be kept out of what others write down.
    pub tell_secret: Option<fn(&str)>,
}
