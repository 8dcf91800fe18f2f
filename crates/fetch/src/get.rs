//! Guarded HTTPS: gets bytes from hosts that the configuration names, and from nowhere else.
//!
//! A URL in a harness file, a skill or a model's request may point at this machine, at the network around it, or at
//! the metadata service of a cloud; a name may resolve to something else the second time; a server may redirect, stall
//! or never end. The checks run in this order, and nothing is sent before those above have passed:
//!
//! 1. the network may be used at all;
//! 2. the host is on the list of allowed hosts;
//! 3. the port is 443, or opened for this very host;
//! 4. the name is resolved **once**, and every address in the answer is public, or opened for this host and port;
//!    metadata services are never open;
//! 5. the connection goes to exactly these addresses, and the certificate is for the name;
//! 6. the status is 200, redirects are refused, the body is unencoded, complete, and no larger than allowed.
//!
//! The client is put together from `hyper` and `rustls` rather than taken ready-made. A general client resolves
//! names, follows redirects, reads proxy variables, pools connections and repairs URLs by itself, and each of those
//! has to be found and switched off. Here the only code that opens a socket takes an address that was checked, the
//! path on the wire is the one that the allow-list saw, and there is nothing to switch off.

mod admit;
mod connect;
mod error;
mod exchange;
mod request;
mod resolve;
mod response;
mod retry;
pub(crate) mod roots;
mod rules;
pub mod visit;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use fullsend_origin::PinnedUrl;
use tokio::time::{Instant, sleep, timeout_at};
use tracing::Instrument as _;

pub use error::{FetchError, Phase, Refusal, RulesError};
pub(crate) use exchange::{AGENT, MAX_BUFFER, MAX_HEADERS};
pub use request::{Credential, CredentialError, Request};
pub use resolve::{Resolve, Resolving, SystemResolver};
pub use response::{Fetched, ResponseHeaders};
pub use rules::{ExtraRoots, FetchRules, Mode, PrivateHost, RetryRules};

use crate::clock::{Clock, SystemClock};
use admit::Target;

/// Fetches by one set of rules. Nothing is kept between requests: no connections, sessions, cookies or addresses.
#[derive(Clone, Debug)]
pub struct Fetcher {
    rules: FetchRules,
    tls: Arc<roots::Tls>,
    resolver: Arc<dyn Resolve>,
    clock: Arc<dyn Clock>,
}

impl Fetcher {
    /// A fetcher that resolves names like the rest of the system. Reads certificate files, so it may block briefly.
    pub fn new(rules: FetchRules) -> Result<Self, RulesError> {
        Self::with_resolver(rules, Arc::new(SystemResolver))
    }

    /// A fetcher with a resolver of its own.
    pub fn with_resolver(rules: FetchRules, resolver: Arc<dyn Resolve>) -> Result<Self, RulesError> {
        let tls = Arc::new(roots::Tls::new(&rules.extra_roots)?);
        Ok(Self { rules, tls, resolver, clock: Arc::new(SystemClock) })
    }

    /// The rules it goes by.
    pub fn rules(&self) -> &FetchRules {
        &self.rules
    }

    /// Fetches one URL.
    pub async fn get(&self, request: &Request<'_>) -> Result<Fetched, FetchError> {
        let target = admit::admit(request.url, &self.rules)?;
        let url = request.url;
        let span = tracing::debug_span!("fetch", host = url.host(), path = url.raw_path());
        let deadline = after(self.rules.total_timeout);
        let attempts = self.attempts(&target, request, deadline).instrument(span);
        match timeout_at(deadline, attempts).await {
            Ok(outcome) => outcome,
            Err(_) => Err(FetchError::Timeout { host: target.host.clone(), phase: Phase::Total }),
        }
    }

    /// Fetches one URL and refuses content other than the pinned one.
    pub async fn get_pinned(&self, pinned: &PinnedUrl) -> Result<Fetched, FetchError> {
        let fetched = self.get(&Request::new(pinned.url())).await?;
        if fetched.digest == pinned.digest() {
            Ok(fetched)
        } else {
            Err(FetchError::Digest { expected: pinned.digest(), found: fetched.digest })
        }
    }

    /// Tries until it works, may not be tried again, or there is no time left for another pause.
    async fn attempts(
        &self,
        target: &Target,
        request: &Request<'_>,
        deadline: Instant,
    ) -> Result<Fetched, FetchError> {
        let mut addresses = None;
        let mut failed = 0;
        loop {
            let error = match self.attempt(target, request, &mut addresses).await {
                Ok(fetched) => return Ok(fetched),
                Err(error) => error,
            };
            let pause = retry::pause(&error, failed, &self.rules.retries, self.clock.now());
            match pause.filter(|pause| after(*pause) < deadline) {
                Some(pause) => {
                    tracing::debug!(code = error.code(), ?pause, "trying again");
                    sleep(pause).await;
                    failed += 1;
                }
                None => return Err(error),
            }
        }
    }

    /// Tries once. The addresses of the first resolution serve all attempts.
    async fn attempt(
        &self,
        target: &Target,
        request: &Request<'_>,
        addresses: &mut Option<Vec<SocketAddr>>,
    ) -> Result<Fetched, FetchError> {
        let pinned = match addresses {
            Some(pinned) => pinned,
            None => addresses.insert(self.resolve(target).await?),
        };
        let connection = connect::connect(target, pinned, &self.rules, self.tls.config()).await?;
        exchange::exchange(target, connection, request, &self.rules).await
    }

    /// Finds the addresses of the host and checks them all.
    async fn resolve(&self, target: &Target) -> Result<Vec<SocketAddr>, FetchError> {
        let found = match target.address {
            Some(address) => vec![address],
            None => self
                .resolver
                .resolve(&target.host)
                .await
                .map_err(|source| FetchError::Dns { host: target.host.clone(), source })?,
        };
        admit::pin_addresses(target, &found, &self.rules)
    }
}

/// The moment after `wait`; waits too long for the clock to express end within the day.
fn after(wait: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(wait).unwrap_or(now + Duration::from_secs(86_400))
}
