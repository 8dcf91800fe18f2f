//! Asks a mint for the token of the agent's role: short-lived, for some repositories.
//!
//! The request is `POST` with `{"role": "coder", "repos": ["name"]}`, and, where the CI system gives one, its identity token
//! as `Authorization: Bearer`. The answer is `{"token": "…", "expires_at": "…"}`, of which the second may be missing.

use std::time::Duration;

use fullsend_fetch::service::{
    ServiceAnswer, ServiceClient, ServiceError, ServiceLimits, ServiceMethod, ServiceRequest, ServiceUrl,
    WrongHeader,
};
use fullsend_guard::canary::CanaryToken;
use fullsend_harness::value::Platform;
use fullsend_sandbox::Secret;
use serde_json::json;
use thiserror::Error;

use crate::environment::Environment;

/// The variable with the repositories that the token is for.
const REPOSITORIES: &str = "MINT_REPOS";
/// The variable with the one that the run works on.
const REPOSITORY: &str = "REPO_FULL_NAME";
/// How long one request may take, and how much may come back.
const LIMITS: ServiceLimits =
    ServiceLimits { connect: Duration::from_secs(10), total: Duration::from_secs(30), largest: 64 * 1024 };
/// The longest token.
const LONGEST: usize = 4096;

/// A mint.
#[derive(Clone, Debug)]
pub struct Mint {
    /// Where it is.
    pub url: ServiceUrl,
    /// Where the CI system vouches for this run.
    pub identity: Option<Identity>,
    /// The pauses before it is asked again, because what it gave is no token.
    pub waits: Vec<Duration>,
}

impl Mint {
    /// The usual pauses: 2, 4 and 8 seconds.
    pub fn new(url: ServiceUrl, identity: Option<Identity>) -> Self {
        Self { url, identity, waits: [2, 4, 8].map(Duration::from_secs).to_vec() }
    }
}

/// Where GitHub Actions gives out tokens that say which workflow this is.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The address.
    pub url: ServiceUrl,
    /// What opens it.
    pub token: Secret,
}

/// A token that was minted.
#[derive(Clone, Debug)]
pub struct Minted {
    /// The token.
    pub token: Secret,
    /// The same, for those who look for it where it must not be.
    pub mark: CanaryToken,
    /// Until when it works, in the words of the mint.
    pub expires_at: Option<String>,
}

/// Why there is no token. No message holds one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MintError {
    /// The harness does not say which role it is for.
    #[error("the mint gives tokens by role, and the harness file names none")]
    NoRole,
    /// Nothing says which repositories the token is for.
    #[error("the mint gives tokens for repositories, and neither `MINT_REPOS` nor `REPO_FULL_NAME` is set")]
    NoRepositories,
    /// That is no name of a repository.
    #[error("`{variable}` does not name repositories")]
    Repository {
        /// Where it stands.
        variable: &'static str,
    },
    /// There is no answer.
    #[error("no token from {whom}: {}", with_cause(source))]
    Service {
        /// The mint, or whoever vouches for this run.
        whom: String,
        /// Why.
        source: ServiceError,
    },
    /// The answer is no.
    #[error("{whom} answered {status}{}", said(reason.as_deref()))]
    Refused {
        /// The mint, or whoever vouches for this run.
        whom: String,
        /// The status.
        status: u16,
        /// What it says.
        reason: Option<String>,
    },
    /// The answer is something else.
    #[error("{whom} answered without a token")]
    NoToken {
        /// The mint, or whoever vouches for this run.
        whom: String,
    },
    /// What it gives out as a token is none, again and again.
    #[error("{whom} gave something that is no token, {attempts} times")]
    Malformed {
        /// The mint.
        whom: String,
        /// How often.
        attempts: usize,
    },
    /// What opens the door cannot be sent.
    #[error("the identity of this run cannot be sent: {0}")]
    Header(#[from] WrongHeader),
}

impl MintError {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::NoRole => "add `role: NAME` to the harness file itself".to_owned(),
            Self::NoRepositories => {
                "set `REPO_FULL_NAME=owner/name`, or `MINT_REPOS` to names with commas between".to_owned()
            }
            Self::Repository { .. } => {
                "write names of letters, digits and `._-`, as in `MINT_REPOS=name,other`".to_owned()
            }
            Self::Refused { status: 401 | 403, .. } => {
                "give the job the permission `id-token: write`, and make sure that the mint knows this repository and role"
                    .to_owned()
            }
            Self::Service { .. }
            | Self::Refused { .. }
            | Self::NoToken { .. }
            | Self::Malformed { .. }
            | Self::Header(_) => {
                "check `--mint-url`, `FULLSEND_MINT_URL` or `mint_url`, or run without them and set `GH_TOKEN`".to_owned()
            }
        }
    }
}

impl Mint {
    /// Asks for a token.
    pub async fn token(
        &self,
        client: &ServiceClient,
        role: &str,
        repositories: &[String],
    ) -> Result<Minted, MintError> {
        let identity = match &self.identity {
            Some(identity) => Some(self.vouch(client, identity).await?),
            None => None,
        };
        let whom = format!("the mint at {}", self.url);
        let mut request = ServiceRequest::new(ServiceMethod::Post, &self.url)
            .json(&json!({"role": role_of(role), "repos": repositories}));
        if let Some(identity) = &identity {
            request = request.bearer(identity.expose())?;
        }
        let mut waits = self.waits.iter();
        loop {
            if let Some(minted) = minted(&ask(client, &request, &whom).await?, &whom)? {
                return Ok(minted);
            }
            // A mint that has just been started was seen to give out texts that were none.
            match waits.next() {
                Some(wait) => tokio::time::sleep(*wait).await,
                None => return Err(MintError::Malformed { whom, attempts: self.waits.len() + 1 }),
            }
        }
    }

    /// A token that says which workflow this is. It is for this mint alone: another one could not use it at this one.
    async fn vouch(&self, client: &ServiceClient, identity: &Identity) -> Result<Secret, MintError> {
        let url = identity.url.with_query("audience", &self.url.origin());
        let request = ServiceRequest::new(ServiceMethod::Get, &url).bearer(identity.token.expose())?;
        let whom = format!("the CI system at {}", identity.url);
        let answer = ask(client, &request, &whom).await?;
        let document = answer.json();
        let value = document.as_ref().and_then(|document| document.get("value")?.as_str());
        value.map(Secret::new).ok_or(MintError::NoToken { whom })
    }
}

/// One request, which must succeed.
async fn ask(
    client: &ServiceClient,
    request: &ServiceRequest<'_>,
    whom: &str,
) -> Result<ServiceAnswer, MintError> {
    let sent = client.send(request, LIMITS).await;
    let answer = sent.map_err(|source| MintError::Service { whom: whom.to_owned(), source })?;
    if answer.is_success() {
        return Ok(answer);
    }
    Err(MintError::Refused { whom: whom.to_owned(), status: answer.status, reason: answer.reason() })
}

/// The token in an answer; none if what stands in its place is none.
fn minted(answer: &ServiceAnswer, whom: &str) -> Result<Option<Minted>, MintError> {
    let document = answer.json();
    let text = |key: &str| document.as_ref().and_then(|document| document.get(key)?.as_str());
    let token = text("token").ok_or_else(|| MintError::NoToken { whom: whom.to_owned() })?;
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if token.len() > LONGEST || !token.bytes().all(usual) {
        return Ok(None);
    }
    // Too short a text could not be told from others, and so not be kept out of anything.
    let Ok(mark) = CanaryToken::parse(token) else { return Ok(None) };
    let plain =
        |text: &&str| text.len() <= 64 && text.bytes().all(|byte| usual(byte) || matches!(byte, b':' | b'+'));
    let expires_at = text("expires_at").filter(plain).map(str::to_owned);
    Ok(Some(Minted { token: Secret::new(token), mark, expires_at }))
}

/// The role that the mint knows: those who repair code are coders.
fn role_of(role: &str) -> &str {
    match role {
        "code" | "fix" => "coder",
        other => other,
    }
}

/// The repositories that a token is wanted for, by their names without owners.
pub fn repositories(environment: &Environment) -> Result<Vec<String>, MintError> {
    let set = |name: &str| environment.get(name).map(str::trim).filter(|value| !value.is_empty());
    let (variable, names): (_, Vec<&str>) = match (set(REPOSITORIES), set(REPOSITORY)) {
        (Some(list), _) => {
            (REPOSITORIES, list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect())
        }
        (None, Some(full)) => (REPOSITORY, full.split_once('/').map(|(_, name)| name).into_iter().collect()),
        (None, None) => return Err(MintError::NoRepositories),
    };
    let fit = !names.is_empty() && names.len() <= 500 && names.iter().all(|name| is_repository(name));
    if fit {
        Ok(names.into_iter().map(str::to_owned).collect())
    } else {
        Err(MintError::Repository { variable })
    }
}

/// A segment of a path that is a name and nothing else.
pub(super) fn is_repository(name: &str) -> bool {
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=100).contains(&name.len()) && name.bytes().all(usual) && !matches!(name, "." | "..")
}

/// The variables that a token of a role is given in.
pub fn variables(role: &str, platform: Option<Platform>) -> Vec<(&'static str, Option<&'static str>)> {
    let mut variables = vec![("GH_TOKEN", None)];
    match role_of(role) {
        "coder" => {
            let source = if platform == Some(Platform::GitLab) { "pat" } else { "github-app" };
            variables.extend([("PUSH_TOKEN", None), ("PUSH_TOKEN_SOURCE", Some(source))]);
        }
        "review" => variables.push(("REVIEW_TOKEN", None)),
        _ => {}
    }
    variables
}

fn said(reason: Option<&str>) -> String {
    reason.map(|reason| format!(": {reason}")).unwrap_or_default()
}

/// An error of a service with what caused it, in a line.
pub(super) fn with_cause(error: &ServiceError) -> String {
    crate::steps::pre_script::with_cause(error)
}
