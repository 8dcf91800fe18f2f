//! One request and one response over one connection.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use fullsend_origin::Sha256Hasher;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, HOST, HeaderName,
};
use hyper::header::{HeaderMap, HeaderValue, LOCATION, USER_AGENT};
use hyper::{Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::admit::Target;
use super::connect::Connection;
use super::error::{Phase, Refusal};
use super::request::{Explain, Request};
use super::{FetchError, FetchRules, Fetched, ResponseHeaders};

/// Who is asking.
pub(crate) const AGENT: &str = concat!("fullsend/", env!("CARGO_PKG_VERSION"));
/// The header for versions of GitHub's API.
const API_VERSION: HeaderName = HeaderName::from_static("x-github-api-version");
/// The largest headers of a response.
pub(crate) const MAX_HEADERS: usize = 64 * 1024;
/// The largest buffer for what has arrived but was not taken yet.
pub(crate) const MAX_BUFFER: usize = 128 * 1024;
/// How much memory is set aside because a server says that it will be needed.
const MAX_RESERVE: usize = 1024 * 1024;
/// How much of a refusal is kept.
const MAX_EXCERPT: usize = 2 * 1024;
/// How much of something that a server said goes into a message.
const MAX_QUOTE: usize = 80;
/// How long the end of a complete response is watched for bytes that do not belong to it.
const LAST_LOOK: Duration = Duration::from_secs(1);

/// What is left in the connection at its end.
type Driver = JoinSet<hyper::Result<Bytes>>;

/// Sends the request and reads the response.
pub(super) async fn exchange(
    target: &Target,
    connection: Connection,
    request: &Request<'_>,
    rules: &FetchRules,
) -> Result<Fetched, FetchError> {
    let Connection { stream, peer } = connection;
    let message = message(target, request)?;
    let mut builder = http1::Builder::new();
    builder.max_header_size(MAX_HEADERS).max_buf_size(MAX_BUFFER);
    let handshake = builder.handshake(TokioIo::new(stream)).await;
    let (mut sender, mut driven) = handshake.map_err(|source| broken(target, source))?;
    let mut driver = Driver::new();
    driver.spawn(async move {
        poll_fn(|context| driven.poll_without_shutdown(context)).await?;
        Ok(driven.into_parts().read_buf)
    });
    let response = match timeout(rules.stall_timeout, sender.send_request(message)).await {
        Ok(response) => response.map_err(|source| broken(target, source))?,
        Err(_) => return Err(FetchError::Timeout { host: target.host.clone(), phase: Phase::Headers }),
    };
    receive(target, response, request, rules, peer, &mut driver).await
}

/// The request as it goes over the wire: nothing in it comes from the environment.
fn message(target: &Target, request: &Request<'_>) -> Result<hyper::Request<Empty<Bytes>>, FetchError> {
    let invalid = |part| FetchError::Request { part };
    let path = request.url.request_target();
    let uri = Uri::builder().path_and_query(path).build().map_err(|_| invalid("path"))?;
    let text = |value: &str, part| HeaderValue::from_str(value).map_err(|_| invalid(part));
    let mut headers = HeaderMap::new();
    headers.insert(HOST, text(&target.authority(), "host")?);
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    if let Some(accept) = request.accept {
        headers.insert(ACCEPT, text(accept, "media type")?);
    }
    if let Some(version) = request.api_version {
        headers.insert(API_VERSION, text(version, "API version")?);
    }
    if let Some((name, value)) = request.credential.and_then(|credential| credential.for_host(&target.host)) {
        headers.insert(name, value);
    }
    let mut message = hyper::Request::new(Empty::new());
    *message.uri_mut() = uri;
    *message.headers_mut() = headers;
    Ok(message)
}

/// Judges the response and reads its body.
async fn receive(
    target: &Target,
    response: Response<Incoming>,
    request: &Request<'_>,
    rules: &FetchRules,
    peer: SocketAddr,
    driver: &mut Driver,
) -> Result<Fetched, FetchError> {
    if response.status() != StatusCode::OK {
        return Err(refused(target, response, request, rules).await);
    }
    let host = || target.host.clone();
    if let Some(encoding) = foreign_encoding(response.headers()) {
        return Err(FetchError::Encoding { host: host(), encoding });
    }
    let announced =
        response.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: u64| length > rules.max_bytes) {
        return Err(FetchError::TooLarge { host: host(), limit: rules.max_bytes });
    }
    let headers = ResponseHeaders::select(response.headers());
    let mut body = response.into_body();
    let mut bytes =
        Vec::with_capacity(announced.and_then(|length| length.try_into().ok()).unwrap_or(0).min(MAX_RESERVE));
    let mut hasher = Sha256Hasher::new();
    while let Some(piece) = next_piece(target, &mut body, rules, bytes.len() as u64).await? {
        if (bytes.len() as u64).saturating_add(piece.len() as u64) > rules.max_bytes {
            return Err(FetchError::TooLarge { host: host(), limit: rules.max_bytes });
        }
        hasher.update(&piece);
        bytes.extend_from_slice(&piece);
    }
    refuse_surplus(target, driver).await?;
    Ok(Fetched { bytes, digest: hasher.finish(), headers, peer })
}

/// The next bytes of the body; `None` at its end.
async fn next_piece(
    target: &Target,
    body: &mut Incoming,
    rules: &FetchRules,
    received: u64,
) -> Result<Option<Bytes>, FetchError> {
    let host = || target.host.clone();
    match timeout(rules.stall_timeout, body.frame()).await {
        Err(_) => Err(FetchError::Timeout { host: host(), phase: Phase::Body }),
        Ok(None) => Ok(None),
        // Trailers carry nothing that we use.
        Ok(Some(Ok(frame))) => Ok(Some(frame.into_data().unwrap_or_default())),
        Ok(Some(Err(source))) => Err(FetchError::Interrupted { host: host(), received, source }),
    }
}

/// Refuses a response after which more bytes arrived with the last of the body. What comes later is never read.
async fn refuse_surplus(target: &Target, driver: &mut Driver) -> Result<(), FetchError> {
    let surplus = match timeout(LAST_LOOK, driver.join_next()).await {
        Ok(Some(Ok(Ok(rest)))) => !rest.is_empty(),
        Ok(Some(Ok(Err(error)))) => error.is_parse(),
        Ok(None | Some(Err(_))) | Err(_) => false,
    };
    if surplus { Err(FetchError::Length { host: target.host.clone() }) } else { Ok(()) }
}

/// What a response other than 200 means.
async fn refused(
    target: &Target,
    response: Response<Incoming>,
    request: &Request<'_>,
    rules: &FetchRules,
) -> FetchError {
    let host = target.host.clone();
    let status = response.status();
    if let (true, Some(location)) = (status.is_redirection(), response.headers().get(LOCATION)) {
        let target = redirect_target(location);
        return FetchError::Redirect { host, status: status.as_u16(), target };
    }
    let headers = ResponseHeaders::select(response.headers());
    let excerpt = match request.explain {
        Explain::No => String::new(),
        Explain::Excerpt => excerpt(target, response.into_body(), rules).await,
    };
    FetchError::Status { host, refusal: Box::new(Refusal { status: status.as_u16(), headers, excerpt }) }
}

/// The start of a body; whatever goes wrong only makes it shorter.
async fn excerpt(target: &Target, mut body: Incoming, rules: &FetchRules) -> String {
    let mut bytes = Vec::new();
    while let Ok(Some(piece)) = next_piece(target, &mut body, rules, 0).await {
        bytes.extend_from_slice(&piece);
        if bytes.len() >= MAX_EXCERPT {
            break;
        }
    }
    bytes.truncate(MAX_EXCERPT);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An encoding other than none, shortened for a message.
pub(super) fn foreign_encoding(headers: &HeaderMap) -> Option<String> {
    let mut values = headers.get_all(CONTENT_ENCODING).iter();
    values.find(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity")).map(quote)
}

/// The host of a `Location`, never its path or query: those may carry secrets.
fn redirect_target(location: &HeaderValue) -> String {
    let uri = location.to_str().ok().and_then(|text| text.parse::<Uri>().ok());
    match uri.as_ref().map(|uri| (uri.host(), uri.path())) {
        Some((Some(host), _)) => host.chars().take(MAX_QUOTE).collect(),
        Some((None, _)) => "the same host".to_owned(),
        None => "an unreadable place".to_owned(),
    }
}

/// A header value for a message.
fn quote(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).chars().take(MAX_QUOTE).collect()
}

/// What a failure before the body means.
pub(super) fn broken(target: &Target, source: hyper::Error) -> FetchError {
    let host = target.host.clone();
    if source.is_parse() {
        FetchError::Protocol { host, source }
    } else {
        FetchError::Interrupted { host, received: 0, source }
    }
}
