//! Gets a run the token of its agent's role, and says where it works that it has begun.

use fullsend_guard::canary::CanaryToken;
use fullsend_sandbox::Secret;

use crate::outward::mint::{MintError, repositories, variables};
use crate::outward::status::Status;
use crate::pipeline::Known;
use crate::request::Request;
use crate::stop::Stop;
use crate::teller::Teller;

/// Asks the mint, if there is one, and gives the run what it gave. Only the snapshot of the environment is changed, so there
/// is nothing to be put back in the end. Says what was given.
pub(crate) async fn mint(
    request: &mut Request,
    role: Option<&str>,
    teller: &Teller<'_>,
) -> Result<Option<String>, Stop> {
    let Some(mint) = &request.outward.mint else { return Ok(None) };
    let role = role.ok_or(Stop::Mint(MintError::NoRole))?;
    let repositories = repositories(&request.environment).map_err(Stop::Mint)?;
    let minted = mint.token(&request.outward.client, role, &repositories).await.map_err(Stop::Mint)?;
    if let Some(tell_secret) = request.outward.tell_secret {
        tell_secret(minted.token.expose());
    }
    teller.mask(std::slice::from_ref(&minted.mark));
    request.environment.add_secret(minted.mark);
    for (name, value) in variables(role, request.platform) {
        request.environment.set(name, value.unwrap_or_else(|| minted.token.expose()));
    }
    let until = minted.expires_at.map(|time| format!(" until {time}")).unwrap_or_default();
    Ok(Some(format!("token for role {role}{until}")))
}

/// Begins the comment, if one is wanted. That it cannot is a warning.
pub(crate) fn comment(request: &mut Request, agent: &str, teller: &Teller<'_>, known: &mut Known) {
    let Some(target) = &request.outward.status else { return };
    let (client, platform) = (&request.outward.client, request.platform);
    let mut mark = None;
    let masked = |token: &Secret, text| {
        // Too short a token could not be told from other texts.
        mark = CanaryToken::parse(token.expose()).ok();
        teller.mask(mark.as_slice());
        teller.masked(text)
    };
    match Status::begin(client, target, platform, &request.environment, agent, masked) {
        Ok(status) => known.status = Some(status),
        Err(error) => teller.warn(format!("there is no status comment: {error}")),
    }
    mark.into_iter().for_each(|mark| request.environment.add_secret(mark));
}
