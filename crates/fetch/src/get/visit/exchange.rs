//! One request and one answer over one connection.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::Response;
use hyper::Uri;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION,
    USER_AGENT,
};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::super::admit::Target;
use super::super::error::Phase;
use super::super::exchange::{AGENT, MAX_BUFFER, MAX_HEADERS, broken, foreign_encoding};
use super::super::{FetchError, FetchRules, connect};
use super::{PageUrl, Visit};

/// The longest header that is taken from an answer.
const MAX_VALUE: usize = 8 * 1024;

/// A connection, encrypted or not.
pub(super) trait Connected: AsyncRead + AsyncWrite + Send + Unpin + fmt::Debug {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin + fmt::Debug> Connected for T {}

/// What a server said.
#[derive(Debug)]
pub(super) enum Answer {
    /// Go elsewhere.
    Redirect { status: u16, location: String },
    /// Something that is not wanted; it was not read.
    Unwanted { status: u16, content_type: Option<String> },
    /// Something that is.
    Content { status: u16, content_type: Option<String>, body: Vec<u8>, truncated: bool },
}

/// Connects to the first of `addresses` that accepts.
pub(super) async fn connect(
    target: &Target,
    addresses: &[SocketAddr],
    rules: &FetchRules,
    tls: Option<&Arc<ClientConfig>>,
) -> Result<Box<dyn Connected>, FetchError> {
    if let Some(tls) = tls {
        return Ok(Box::new(connect::connect(target, addresses, rules, tls).await?.stream));
    }
    let mut last = FetchError::Timeout { host: target.host.clone(), phase: Phase::Connect };
    for address in addresses {
        match timeout(rules.connect_timeout, connect::dial(target, *address, rules)).await {
            Ok(Ok(stream)) => return Ok(Box::new(stream)),
            Ok(Err(error @ FetchError::Connect { .. })) => last = error,
            Ok(Err(error)) => return Err(error),
            Err(_) => last = FetchError::Timeout { host: target.host.clone(), phase: Phase::Connect },
        }
    }
    Err(last)
}

/// Sends the request and reads what is wanted of the answer.
pub(super) async fn exchange(
    target: &Target,
    stream: Box<dyn Connected>,
    at: &PageUrl,
    visit: &Visit<'_>,
) -> Result<Answer, FetchError> {
    let message = message(at, visit)?;
    let mut builder = http1::Builder::new();
    builder.max_header_size(MAX_HEADERS).max_buf_size(MAX_BUFFER);
    let handshake = builder.handshake(TokioIo::new(stream)).await;
    let (mut sender, driven) = handshake.map_err(|source| broken(target, source))?;
    // Ends with this function, whatever the server does.
    let mut driver = JoinSet::new();
    driver.spawn(driven);
    let response = sender.send_request(message).await.map_err(|source| broken(target, source))?;
    receive(target, response, visit).await
}

fn message(at: &PageUrl, visit: &Visit<'_>) -> Result<hyper::Request<Empty<Bytes>>, FetchError> {
    let invalid = |part| FetchError::Request { part };
    let uri = Uri::builder().path_and_query(at.request_target()).build().map_err(|_| invalid("path"))?;
    let text = |value: &str, part| HeaderValue::from_str(value).map_err(|_| invalid(part));
    let mut message = hyper::Request::new(Empty::new());
    *message.uri_mut() = uri;
    let headers = message.headers_mut();
    headers.insert(HOST, text(&at.authority(), "host")?);
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    headers.insert(ACCEPT, text(visit.accept, "media type")?);
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    Ok(message)
}

async fn receive(
    target: &Target,
    response: Response<Incoming>,
    visit: &Visit<'_>,
) -> Result<Answer, FetchError> {
    let status = response.status();
    let value = |name: HeaderName| short(response.headers(), &name);
    if let (true, Some(location)) = (status.is_redirection(), value(LOCATION)) {
        return Ok(Answer::Redirect { status: status.as_u16(), location });
    }
    let (status, content_type) = (status.as_u16(), value(CONTENT_TYPE));
    if !(visit.wanted)(&essence(content_type.as_deref().unwrap_or_default())) {
        return Ok(Answer::Unwanted { status, content_type });
    }
    if let Some(encoding) = foreign_encoding(response.headers()) {
        return Err(FetchError::Encoding { host: target.host.clone(), encoding });
    }
    let mut incoming = response.into_body();
    let mut body = Vec::new();
    while let Some(frame) = incoming.frame().await {
        let received = body.len() as u64;
        let host = || target.host.clone();
        let frame = frame.map_err(|source| FetchError::Interrupted { host: host(), received, source })?;
        let piece = frame.into_data().unwrap_or_default();
        let room = visit.max_bytes.saturating_sub(body.len());
        body.extend_from_slice(piece.get(..room.min(piece.len())).unwrap_or_default());
        if piece.len() > room {
            return Ok(Answer::Content { status, content_type, body, truncated: true });
        }
    }
    Ok(Answer::Content { status, content_type, body, truncated: false })
}

/// A header that is text, and no longer than is reasonable.
fn short(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    (value.len() <= MAX_VALUE).then(|| value.to_owned())
}

/// A media type without its parameters, in lower case.
fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
