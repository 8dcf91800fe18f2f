//! One request to a service that the operator named: where runs report to, or ask for something.
//!
//! Unlike what harnesses and models name, such a place is trusted to be meant, so it may be on this machine or in a private
//! network. What it answers is not trusted: it is short, comes in time, and leads nowhere else. No redirect is followed and no
//! proxy of the environment is used, so a credential reaches the host it was sent to and nobody else. Nothing is tried again
//! here, because only the caller knows whether a request may arrive twice.

mod error;
mod exchange;
mod request;
mod url;

use std::time::Duration;

use tokio::time::timeout;

pub use error::{ServiceError, ServiceUrlError};
pub use request::{ServiceAnswer, ServiceMethod, ServiceRequest, WrongHeader};
pub use url::{Channel, ServiceUrl};

use crate::get::{ExtraRoots, RulesError};
use crate::tls::TlsClient;

/// How long a request may take, and how much may come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceLimits {
    /// For connecting to one address, TLS included.
    pub connect: Duration,
    /// For everything.
    pub total: Duration,
    /// The largest answer, in bytes.
    pub largest: usize,
}

impl Default for ServiceLimits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), total: Duration::from_secs(15), largest: 64 * 1024 }
    }
}

/// Speaks to services. Keeps no connection between requests.
#[derive(Clone, Debug)]
pub struct ServiceClient {
    tls: TlsClient,
}

impl ServiceClient {
    /// Trusts the authorities of the system and `extra`.
    pub fn new(extra: &[ExtraRoots]) -> Result<Self, RulesError> {
        Ok(Self { tls: TlsClient::new(extra)? })
    }

    /// Sends a request and reads the answer, whatever its status is, unless it is a redirect.
    pub async fn send(
        &self,
        request: &ServiceRequest<'_>,
        limits: ServiceLimits,
    ) -> Result<ServiceAnswer, ServiceError> {
        let sending = exchange::exchange(request, &self.tls, limits);
        match timeout(limits.total, sending).await {
            Ok(answer) => answer,
            Err(_elapsed) => Err(ServiceError::Timeout { host: request.url.host().to_owned() }),
        }
    }
}
