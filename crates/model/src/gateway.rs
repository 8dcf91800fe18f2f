//! A client of OpenAI-compatible chat completions.
//!
//! The operator names one host, and everything goes there: no proxy from the environment is used and no redirect is
//! followed, so the key reaches nobody else. The answer is streamed; servers that do not stream are understood as well.
//! One connection is kept warm between requests, because a run asks the same host hundreds of times.

mod answer;
mod attempt;
mod calls;
mod chunk;
mod config;
mod connection;
mod endpoint;
mod failure;
mod patience;
mod redact;
mod refusal;
mod request;
mod sse;

use std::sync::Arc;
use std::time::Duration;

use fullsend_fetch::tls::TlsClient;
use fullsend_fetch::{Clock, SystemClock};
use hyper::header::HeaderValue;
use jiff::Timestamp;
use tokio::time::{Instant, sleep};

pub use answer::read_answer;
pub use config::{ApiKey, Auth, GatewayConfig, GatewayError, Retries, Timeouts};

use crate::client::{Completion, ModelClient, ModelError, ModelRequest, Pending, Progress};
use crate::diagnostics::{Attempt, AttemptOutcome, RequestSize};
use answer::{Answer, Listener};
use attempt::{Trial, millis};
use connection::Parked;
use endpoint::Endpoint;
use failure::Failure;
use patience::Patience;
use request::ToolsInWireForm;

/// The client of one gateway.
#[derive(Debug)]
pub struct Gateway {
    config: GatewayConfig,
    endpoint: Endpoint,
    authorization: Option<HeaderValue>,
    user_agent: HeaderValue,
    tls: Option<TlsClient>,
    parked: Parked,
    tools: ToolsInWireForm,
    clock: Arc<dyn Clock>,
}

impl Gateway {
    /// Checks the configuration; nothing is sent. Reads certificate files for `https`, so it may block briefly.
    pub fn new(config: GatewayConfig) -> Result<Self, GatewayError> {
        let endpoint = Endpoint::parse(&config.base_url)?;
        let authorization = authorization(&config.auth)?;
        let user_agent = HeaderValue::from_str(&config.user_agent).map_err(|_| GatewayError::UserAgent)?;
        let tls = endpoint.secure.then(|| TlsClient::new(&config.extra_roots)).transpose()?;
        Ok(Self {
            config,
            endpoint,
            authorization,
            user_agent,
            tls,
            parked: Parked::default(),
            tools: ToolsInWireForm::default(),
            clock: Arc::new(SystemClock),
        })
    }

    /// Where requests go.
    pub fn endpoint(&self) -> &str {
        &self.endpoint.url
    }

    /// Tries until there is an answer, or no use or time in trying again.
    async fn attempts(
        &self,
        request: ModelRequest<'_>,
        listener: &mut Listener<'_>,
    ) -> Result<Completion, ModelError> {
        let body = request::body(&request, &self.tools);
        let patience = Patience::new(self.config.timeouts.total);
        let mut attempts = Vec::new();
        loop {
            let number = u32::try_from(attempts.len()).unwrap_or(u32::MAX).saturating_add(1);
            let record = self.record(&request, body.len(), number);
            let mut trial = Trial {
                gateway: self,
                patience,
                record,
                began: Instant::now(),
                was_stale: false,
                reported: false,
            };
            let outcome = trial.run(&body, listener).await;
            let (was_stale, reported) = (trial.was_stale, trial.reported);
            attempts.push(self.close(trial, outcome.as_ref().err()));
            let mut failure = match outcome {
                Ok(answer) => return Ok(self.completion(answer, &request, attempts)),
                Err(failure) => failure,
            };
            let Some(pause) = failure.pause(number, &self.config.retries, patience.left()) else {
                return Err(failure.into_error(&self.endpoint.url, attempts));
            };
            tracing::debug!(attempt = number, problem = failure.problem, ?pause, "asking the model again");
            // A warm connection that turned out to be cold says nothing about the gateway.
            sleep(if was_stale { Duration::ZERO } else { pause }).await;
            if reported {
                listener(Progress::Restarted);
            }
        }
    }

    /// The record of an attempt that begins.
    fn record(&self, request: &ModelRequest<'_>, bytes: usize, number: u32) -> Attempt {
        Attempt {
            endpoint: self.endpoint.url.clone(),
            attempt: number,
            max_attempts: self.config.retries.max_attempts.max(1),
            started_at: moment(self.clock.now()),
            ended_at: String::new(),
            first_byte_ms: None,
            duration_ms: 0,
            request: RequestSize {
                model: request.model.to_owned(),
                message_count: request.conversation.messages().len(),
                tool_count: request.tools.len() + request.native_tools.len(),
                serialized_bytes: bytes,
            },
            outcome: AttemptOutcome::TransportError,
            http_status: None,
            request_id: None,
            response_headers: std::collections::BTreeMap::new(),
            response_body_bytes: None,
            response_body_excerpt: None,
            response_body_truncated: None,
            error_detail: None,
        }
    }

    /// The record of an attempt that ended.
    fn close(&self, trial: Trial<'_>, failure: Option<&Failure>) -> Attempt {
        let broke =
            |failure: &Failure| matches!(failure.cause, failure::Cause::Transport | failure::Cause::Timeout);
        Attempt {
            ended_at: moment(self.clock.now()),
            duration_ms: millis(trial.began),
            outcome: match failure {
                Some(failure) if broke(failure) => AttemptOutcome::TransportError,
                Some(_) | None => trial.record.outcome,
            },
            error_detail: failure.map(|failure| failure.problem.clone()),
            ..trial.record
        }
    }

    /// The answer as the caller sees it.
    fn completion(&self, answer: Answer, request: &ModelRequest<'_>, attempts: Vec<Attempt>) -> Completion {
        let (message, finish, mut usage) = answer.finish(request.conversation);
        if usage.cost_usd.is_none() {
            usage.cost_usd = self.config.prices.get(request.model).and_then(|prices| prices.of(&usage));
        }
        Completion { message, finish, usage, attempts }
    }
}

impl ModelClient for Gateway {
    fn complete<'a>(
        &'a self,
        request: ModelRequest<'a>,
        progress: &'a mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Pending<'a, Result<Completion, ModelError>> {
        Box::pin(self.attempts(request, progress))
    }

    fn provider(&self) -> &'static str {
        "openai-compatible-gateway"
    }
}

/// The header with the key, or why there is none.
fn authorization(auth: &Auth) -> Result<Option<HeaderValue>, GatewayError> {
    let Auth::Bearer { key, source } = auth else { return Ok(None) };
    let key_source = source.clone();
    match key.reveal() {
        "" => Err(GatewayError::KeyMissing { key_source }),
        "..." => Err(GatewayError::KeyPlaceholder { key_source }),
        key if !key.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Err(GatewayError::KeyCharacters { key_source })
        }
        key => match HeaderValue::from_str(&format!("Bearer {key}")) {
            Ok(mut value) => {
                value.set_sensitive(true);
                Ok(Some(value))
            }
            Err(_) => Err(GatewayError::KeyCharacters { key_source }),
        },
    }
}

/// A moment for a record: UTC with milliseconds.
fn moment(time: Timestamp) -> String {
    format!("{time:.3}")
}
