//! Which services a run asks and tells.

use std::io::{self, Write as _};

use anyhow::Result;
use fullsend_fetch::get::ExtraRoots;
use fullsend_fetch::service::{Channel, ServiceClient, ServiceUrl};
use fullsend_harness::schema::ConfigFile;
use fullsend_runner::Environment;
use fullsend_runner::outward::Outward;
use fullsend_runner::outward::mint::{Identity, Mint};
use fullsend_runner::outward::status::StatusTarget;
use fullsend_sandbox::Secret;

use super::super::remote::{Session, advise};
use crate::cli::RunArgs;
use crate::environment;
use crate::output::Advice;

/// The variable that names the mint.
const MINT_URL: &str = "FULLSEND_MINT_URL";

/// The services that options, variables and the configuration name.
pub(super) fn services(args: &RunArgs, session: &Session, environment: &Environment) -> Result<Outward> {
    let roots: Vec<ExtraRoots> = environment::extra_roots().into_iter().map(ExtraRoots::File).collect();
    let client = ServiceClient::new(&roots).map_err(|error| advise(&error.to_string(), error.help()))?;
    Ok(Outward {
        client,
        mint: mint(args, session, environment)?,
        status: status(args, session),
        tell_secret: environment::in_github_actions().then_some(add_mask as fn(&str)),
    })
}

/// What is commented on, unless the configuration wants no comments.
fn status(args: &RunArgs, session: &Session) -> Option<StatusTarget> {
    let said = session.configuration.layers.iter().find_map(|layer| match layer {
        ConfigFile::Org(config) => config.defaults.as_ref()?.status_notifications.as_ref(),
        ConfigFile::Repo(config) => config.status_notifications.as_ref(),
    });
    if said.is_some_and(|said| said.is_no()) {
        return None;
    }
    let (repo, number) = args.status_repo.clone().zip(args.status_number)?;
    Some(StatusTarget { repo, number, run_url: args.run_url.clone() })
}

/// The mint. One that only the configuration names is for runs that CI vouches for: on a desk the same harness works with
/// what is there.
fn mint(args: &RunArgs, session: &Session, environment: &Environment) -> Result<Option<Mint>> {
    let identity = environment::identity_request();
    let configured = session.configuration.layers.iter().find_map(|layer| match layer {
        ConfigFile::Org(config) => config.dispatch.as_ref()?.mint_url.as_ref(),
        ConfigFile::Repo(config) => config.mint_url.as_ref(),
    });
    let configured = configured.map(|url| ("mint_url", url.as_str())).filter(|_| identity.is_some());
    let option = args.mint_url.as_deref().map(|url| ("--mint-url", url));
    let variable = environment.get(MINT_URL).map(|url| (MINT_URL, url));
    let set = |named: &(&str, &str)| !named.1.trim().is_empty();
    let Some((name, url)) = option.or(variable.filter(set)).or(configured.filter(set)) else {
        return Ok(None);
    };
    let url = address(name, url)?;
    let identity = identity.map(|(url, token)| {
        let url = address("ACTIONS_ID_TOKEN_REQUEST_URL", &url)?;
        anyhow::Ok(Identity { url, token: Secret::new(token) })
    });
    Ok(Some(Mint::new(url, identity.transpose()?)))
}

/// An address that secrets go to.
fn address(name: &str, url: &str) -> Result<ServiceUrl> {
    ServiceUrl::parse(url, Channel::Confidential).map_err(|problem| {
        Advice::new(format!("`{name}` {problem}"), "name the mint as `https://host/path`").into()
    })
}

/// Tells GitHub Actions to keep a value out of its logs. Tokens have no character that could end the command.
fn add_mask(secret: &str) {
    // Nothing can be done about a standard error that cannot be written to.
    let _nowhere_to_tell = writeln!(io::stderr().lock(), "::add-mask::{secret}");
}
