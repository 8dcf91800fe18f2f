//! One attempt: a request, an answer, and what goes on record about them.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderName,
    HeaderValue, LOCATION, USER_AGENT,
};
use hyper::{Method, Request, Response};
use tokio::time::Instant;

use super::Gateway;
use super::answer::{Answer, Listener, Unusable};
use super::chunk::ServerError;
use super::connection::Connection;
use super::failure::{Failure, retry_after};
use super::patience::Patience;
use super::redact::{excerpt, without_key};
use super::refusal;
use crate::diagnostics::{Attempt, AttemptOutcome};

/// The headers of an answer that go on record.
const KEPT: [&str; 6] =
    ["x-request-id", "x-openai-request-id", "cf-ray", "retry-after", "content-type", "date"];
/// Those of them that name the request.
const IDS: [&str; 3] = ["x-request-id", "x-openai-request-id", "cf-ray"];
/// How much of the body of a refusal is read.
const MAX_REFUSAL: usize = 64 * 1024;
/// How long to wait for what a server may add after the model is done, and for the end of the answer after that.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What is shared by the steps of one attempt.
#[derive(Debug)]
pub(super) struct Trial<'a> {
    pub(super) gateway: &'a Gateway,
    pub(super) patience: Patience,
    pub(super) record: Attempt,
    pub(super) began: Instant,
    /// Whether the connection had carried an answer before, and gave none this time.
    pub(super) was_stale: bool,
    /// Whether pieces of an answer were reported.
    pub(super) reported: bool,
}

impl Trial<'_> {
    /// Asks once.
    pub(super) async fn run(&mut self, body: &Bytes, listener: &mut Listener<'_>) -> Result<Answer, Failure> {
        let (connection, response) = self.ask(body).await?;
        self.record.outcome = AttemptOutcome::HttpResponse;
        self.record.first_byte_ms = Some(millis(self.began));
        self.record.http_status = Some(response.status().as_u16());
        self.keep_headers(response.headers());
        if !response.status().is_success() {
            return Err(self.refused(response, connection).await);
        }
        if let Some(encoding) = foreign_encoding(response.headers()) {
            let encoding = self.presentable(&encoding);
            return Err(Failure::malformed(format!(
                "it is encoded as `{encoding}`, which was not asked for"
            )));
        }
        let mut incoming = response.into_body();
        let answer = self.receive(&mut incoming, listener).await;
        if answer.is_ok() && ends_now(&mut incoming).await {
            self.gateway.parked.keep(connection);
        }
        answer
    }

    /// Sends the request, over the warm connection if there is one.
    async fn ask(&mut self, body: &Bytes) -> Result<(Connection, Response<Incoming>), Failure> {
        let gateway = self.gateway;
        let timeouts = gateway.config.timeouts;
        loop {
            let opening = gateway.parked.open(
                &gateway.endpoint,
                gateway.tls.as_ref(),
                &self.patience,
                timeouts.connect,
            );
            let mut connection = opening.await?;
            let used = connection.used;
            let sending = connection.send(self.message(body));
            let sent = self.patience.within(timeouts.first_byte, "waiting for an answer", sending).await?;
            match sent {
                Ok(response) => return Ok((connection, response)),
                // The peer closed the warm connection, and nothing was sent.
                Err(error) if used && (error.is_canceled() || error.is_closed()) => {}
                Err(error) if error.is_parse() => {
                    return Err(Failure::malformed(format!("it does not speak HTTP/1.1: {error}")));
                }
                Err(error) => {
                    self.was_stale = used;
                    return Err(Failure::transport(format!("the connection broke: {}", reason(&error))));
                }
            }
        }
    }

    /// The request. The key is in this header and nowhere else.
    fn message(&self, body: &Bytes) -> Request<Full<Bytes>> {
        let gateway = self.gateway;
        let mut message = Request::new(Full::new(body.clone()));
        *message.method_mut() = Method::POST;
        *message.uri_mut() = gateway.endpoint.target.clone();
        let headers = message.headers_mut();
        headers.insert(HOST, gateway.endpoint.authority.clone());
        headers.insert(USER_AGENT, gateway.user_agent.clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(authorization) = &gateway.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        message
    }

    /// Reads the answer to its end.
    async fn receive(
        &mut self,
        incoming: &mut Incoming,
        listener: &mut Listener<'_>,
    ) -> Result<Answer, Failure> {
        let mut answer = Answer::default();
        let idle = self.gateway.config.timeouts.idle;
        while !answer.is_done() {
            let limit = if answer.is_finished() { idle.min(LAST_WORDS) } else { idle };
            let next = self.patience.within(limit, "reading the answer", incoming.frame()).await;
            let piece = match next {
                Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
                Ok(None) => break,
                // What a server does after the model is done cannot spoil the answer.
                Ok(Some(Err(_))) | Err(_) if answer.is_finished() => break,
                Ok(Some(Err(error))) => {
                    return Err(Failure::transport(format!("the answer broke off: {}", reason(&error))));
                }
                Err(late) => return Err(late),
            };
            let fed = answer.feed(&piece, listener);
            self.reported |= answer.has_begun();
            fed.map_err(|unusable| self.unusable(unusable))?;
        }
        answer.end(listener).map_err(|unusable| self.unusable(unusable))?;
        Ok(answer)
    }

    /// What an answer that is none means.
    fn unusable(&self, unusable: Unusable) -> Failure {
        match unusable {
            Unusable::EndsEarly => {
                Failure::transport("the answer ended before the model was done".to_owned())
            }
            Unusable::Malformed(problem) => Failure::malformed(self.presentable(&problem)),
            Unusable::Server(ServerError { message, status }) => {
                let problem =
                    refusal::explain(status, &self.presentable(&message), &self.gateway.config.auth);
                Failure::status(status, problem, None)
            }
        }
    }

    /// What an answer with another status means.
    async fn refused(&mut self, response: Response<Incoming>, connection: Connection) -> Failure {
        let status = response.status().as_u16();
        let location = response.headers().get(LOCATION).cloned();
        let asked = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let asked = asked.and_then(|text| retry_after(text, self.gateway.clock.now()));
        let mut incoming = response.into_body();
        let (bytes, whole) = self.read_refusal(&mut incoming).await;
        if whole {
            self.gateway.parked.keep(connection);
        }
        let text = String::from_utf8_lossy(&bytes);
        let (shown, cut) = excerpt(&without_key(&text, &self.gateway.config.auth));
        self.record.response_body_bytes = Some(bytes.len() as u64);
        self.record.response_body_excerpt = Some(shown);
        self.record.response_body_truncated = Some(cut || !whole);
        if (300..400).contains(&status) {
            let target =
                location.as_ref().map(|location| self.presentable(&refusal::redirect_target(location)));
            return Failure::status(status, refusal::redirect(target.as_deref()), None);
        }
        let said = self.presentable(&refusal::message(&text));
        Failure::status(status, refusal::explain(status, &said, &self.gateway.config.auth), asked)
    }

    /// The beginning of the body of a refusal, and whether that is all; whatever goes wrong only makes it shorter.
    async fn read_refusal(&self, incoming: &mut Incoming) -> (Vec<u8>, bool) {
        let mut bytes = Vec::new();
        let limit = self.gateway.config.timeouts.idle.min(LAST_WORDS);
        while bytes.len() < MAX_REFUSAL {
            match self.patience.within(limit, "reading a refusal", incoming.frame()).await {
                Ok(Some(Ok(frame))) => bytes.extend_from_slice(&frame.into_data().unwrap_or_default()),
                Ok(None) => return (bytes, true),
                Ok(Some(Err(_))) | Err(_) => break,
            }
        }
        bytes.truncate(MAX_REFUSAL);
        (bytes, false)
    }

    fn keep_headers(&mut self, headers: &HeaderMap) {
        let value = |name: &str| {
            let value = headers.get(HeaderName::from_bytes(name.as_bytes()).ok()?)?.to_str().ok()?.trim();
            (!value.is_empty()).then(|| self.presentable(value))
        };
        let kept: BTreeMap<String, String> =
            KEPT.iter().filter_map(|name| Some(((*name).to_owned(), value(name)?))).collect();
        self.record.request_id = IDS.iter().find_map(|name| kept.get(*name).cloned());
        self.record.response_headers = kept;
    }

    /// Something that the server said, for a message or a record.
    fn presentable(&self, text: &str) -> String {
        excerpt(&without_key(text, &self.gateway.config.auth)).0
    }
}

/// An encoding other than none.
fn foreign_encoding(headers: &HeaderMap) -> Option<String> {
    let mut values = headers.get_all(CONTENT_ENCODING).iter().map(HeaderValue::as_bytes);
    let foreign = values.find(|value| !value.eq_ignore_ascii_case(b"identity"))?;
    Some(String::from_utf8_lossy(foreign).into_owned())
}

/// Whether nothing follows the answer, so that the connection can be used again.
async fn ends_now(incoming: &mut Incoming) -> bool {
    let limit = Duration::from_millis(200);
    loop {
        match tokio::time::timeout(limit, incoming.frame()).await {
            Ok(None) => return true,
            Ok(Some(Ok(frame))) if frame.data_ref().is_none_or(Bytes::is_empty) => {}
            Ok(Some(_)) | Err(_) => return false,
        }
    }
}

/// The innermost reason of an error, which says more than the outer ones.
fn reason(error: &hyper::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// Milliseconds since `began`.
pub(super) fn millis(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}
