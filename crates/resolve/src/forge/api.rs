//! One request to a forge.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fullsend_fetch::{Clock, Credential, FetchError, Fetched, Fetcher, Request, SystemClock};
use fullsend_origin::{ApiUrl, ForgeKind};
use tokio::time::sleep;

use super::rate::RateLimit;
use super::{ForgeError, Place, TokenUse};

/// The version of GitHub's API that the clients are written for.
const GITHUB_VERSION: &str = "2022-11-28";
/// How many times a request waits for a quota.
const MAX_WAITS: u32 = 3;

/// How a client behaves.
#[derive(Clone, Debug)]
pub struct ForgeOptions {
    /// The longest time that one request waits for a quota, in all.
    pub max_wait: Duration,
    /// The port of all hosts of the forge; `None` for the usual one.
    pub port: Option<u16>,
    /// Tells when a quota is filled again.
    pub clock: Arc<dyn Clock>,
}

impl Default for ForgeOptions {
    /// Waits up to 30 seconds, by the clock of the system.
    fn default() -> Self {
        Self { max_wait: Duration::from_secs(30), port: None, clock: Arc::new(SystemClock) }
    }
}

/// What a client asks with.
#[derive(Debug)]
pub(super) struct Api {
    fetcher: Fetcher,
    token: Option<Credential>,
    options: ForgeOptions,
    /// Repositories that refused the token and then opened without it. A token that is made for some repositories may
    /// be refused by all others, public ones included.
    open: Mutex<BTreeSet<String>>,
}

/// A request, and what it is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    /// Where to ask.
    pub(super) url: &'a ApiUrl,
    /// The media type to ask for; `None` where the forge has only one.
    pub(super) accept: Option<&'a str>,
    /// What is asked for.
    pub(super) place: &'a Place,
}

impl Api {
    /// With these means.
    pub(super) fn new(fetcher: Fetcher, token: Option<Credential>, options: ForgeOptions) -> Self {
        Self { fetcher, token, options, open: Mutex::default() }
    }

    /// The port to ask at.
    pub(super) fn port(&self) -> Option<u16> {
        self.options.port
    }

    /// Whether requests about a repository are sent with a token.
    pub(super) fn token_use(&self, place: &Place) -> TokenUse {
        if self.token_for(place).is_some() { TokenUse::Sent } else { TokenUse::None }
    }

    /// Asks with the token, if there is one, and once more without it if that may be the reason for a refusal.
    pub(super) async fn get(&self, call: Call<'_>) -> Result<Fetched, ForgeError> {
        let Some(token) = self.token_for(call.place) else {
            return self.get_anonymously(call).await;
        };
        let first = match self.get_patiently(call, Some(token)).await {
            Err(error @ (ForgeError::NotFound { .. } | ForgeError::Unauthorised { .. })) => error,
            outcome => return outcome,
        };
        tracing::debug!(code = first.code(), "trying again without the token");
        match self.get_anonymously(call).await {
            Ok(fetched) => {
                self.open().insert(call.place.repo.full_name());
                Ok(fetched)
            }
            // The forge says less to strangers.
            Err(ForgeError::NotFound { .. } | ForgeError::Unauthorised { .. }) => Err(first),
            Err(error) => Err(error),
        }
    }

    /// Asks without a token.
    pub(super) async fn get_anonymously(&self, call: Call<'_>) -> Result<Fetched, ForgeError> {
        self.get_patiently(call, None).await
    }

    /// Asks until the quota allows it, unless that takes too long.
    async fn get_patiently(&self, call: Call<'_>, token: Option<&Credential>) -> Result<Fetched, ForgeError> {
        let mut request = Request::to_api(call.url).explain_refusals();
        if let Some(accept) = call.accept {
            request = request.accept(accept);
            if call.place.repo.kind() == ForgeKind::GitHub {
                request = request.github_api_version(GITHUB_VERSION);
            }
        }
        if let Some(token) = token {
            request = request.credential(token);
        }
        let sent = if token.is_some() { TokenUse::Sent } else { TokenUse::None };
        let mut left = self.options.max_wait;
        let mut waits = 0;
        loop {
            let error = match self.fetcher.get(&request).await {
                Ok(fetched) => return Ok(fetched),
                Err(error) => error,
            };
            let now = self.options.clock.now();
            let Some(limit) = error.refusal().and_then(|refusal| RateLimit::in_refusal(refusal, now)) else {
                return Err(explain(error, call.place, sent));
            };
            let Some(wait) = limit.wait(now).filter(|wait| *wait <= left && waits < MAX_WAITS) else {
                let place = Box::new(call.place.clone());
                return Err(ForgeError::RateLimited { place, reset: limit.reset, token: sent });
            };
            tracing::debug!(?wait, "waiting for the quota");
            left = left.saturating_sub(wait);
            waits += 1;
            sleep(wait).await;
        }
    }

    /// The token for a repository, unless it opens without.
    fn token_for(&self, place: &Place) -> Option<&Credential> {
        let opens = self.open().contains(&place.repo.full_name());
        self.token.as_ref().filter(|_| !opens)
    }

    /// The repositories that open without the token.
    fn open(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a failure means, in terms of a repository.
fn explain(error: FetchError, place: &Place, token: TokenUse) -> ForgeError {
    let place = || Box::new(place.clone());
    if let FetchError::Redirect { .. } = error {
        return ForgeError::Moved { place: place() };
    }
    match error.refusal().map(|refusal| refusal.status) {
        Some(status @ (401 | 403)) => ForgeError::Unauthorised { place: place(), status, token },
        // 409 is an empty repository, 422 a ref that GitHub does not know.
        Some(404 | 409 | 410 | 422) => ForgeError::NotFound { place: place(), token },
        Some(_) | None => ForgeError::Transport(error),
    }
}
