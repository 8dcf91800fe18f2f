//! One connection, one request, one answer.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::ServiceLimits;
use super::error::ServiceError;
use super::request::{ServiceAnswer, ServiceMethod, ServiceRequest};
use super::url::ServiceUrl;
use crate::get::{AGENT, MAX_BUFFER, MAX_HEADERS};
use crate::tls::TlsClient;

/// Sends a request and reads the answer.
pub(super) async fn exchange(
    request: &ServiceRequest<'_>,
    tls: &TlsClient,
    limits: ServiceLimits,
) -> Result<ServiceAnswer, ServiceError> {
    let url = request.url;
    let stream = connect(url, limits).await?;
    if !url.secure {
        return converse(request, stream, limits).await;
    }
    let secured = timeout(limits.connect, tls.connect(url.host(), stream)).await;
    let host = || url.host().to_owned();
    match secured {
        Ok(Ok(stream)) => converse(request, stream, limits).await,
        Ok(Err(source)) if source.kind() == io::ErrorKind::InvalidData => {
            Err(ServiceError::Tls { host: host(), source })
        }
        Ok(Err(source)) => Err(ServiceError::Connect { host: host(), source }),
        Err(_elapsed) => Err(ServiceError::Timeout { host: host() }),
    }
}

/// Connects to the first address of the host that accepts.
async fn connect(url: &ServiceUrl, limits: ServiceLimits) -> Result<TcpStream, ServiceError> {
    let host = || url.host().to_owned();
    let found = tokio::net::lookup_host((url.host(), url.port)).await;
    let found = found.map_err(|source| ServiceError::Lookup { host: host(), source })?;
    let addresses: Vec<SocketAddr> = found.collect();
    // What `localhost` means is up to the machine; what goes there unencrypted stays on it.
    if url.loopback_only && !addresses.iter().all(|address| address.ip().is_loopback()) {
        return Err(ServiceError::NotLoopback { host: host() });
    }
    let mut last = ServiceError::Timeout { host: host() };
    for address in addresses {
        match timeout(limits.connect, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(source)) => last = ServiceError::Connect { host: host(), source },
            Err(_elapsed) => last = ServiceError::Timeout { host: host() },
        }
    }
    Err(last)
}

/// Speaks HTTP over a connection.
async fn converse(
    request: &ServiceRequest<'_>,
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    limits: ServiceLimits,
) -> Result<ServiceAnswer, ServiceError> {
    let broken = |source| ServiceError::Broken { host: request.url.host().to_owned(), source };
    let mut builder = http1::Builder::new();
    builder.max_header_size(MAX_HEADERS).max_buf_size(MAX_BUFFER);
    let (mut sender, driven) = builder.handshake(TokioIo::new(stream)).await.map_err(broken)?;
    // Ends with this function, however it ends.
    let mut driver = JoinSet::new();
    driver.spawn(async move { drop(driven.await) });
    let response = sender.send_request(message(request)).await.map_err(broken)?;
    receive(request, response, limits).await
}

/// The request as it goes over the wire: nothing in it comes from the environment.
fn message(request: &ServiceRequest<'_>) -> hyper::Request<Full<Bytes>> {
    let mut message = hyper::Request::new(Full::new(request.body.clone()));
    *message.method_mut() = match request.method {
        ServiceMethod::Get => Method::GET,
        ServiceMethod::Post => Method::POST,
        ServiceMethod::Patch => Method::PATCH,
        ServiceMethod::Put => Method::PUT,
    };
    *message.uri_mut() = request.url.target().unwrap_or_default();
    *message.headers_mut() = request.headers.clone();
    let headers = message.headers_mut();
    if let Ok(host) = HeaderValue::from_str(request.url.authority()) {
        headers.insert(HOST, host);
    }
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    message
}

/// Judges the answer and reads its body.
async fn receive(
    request: &ServiceRequest<'_>,
    response: Response<Incoming>,
    limits: ServiceLimits,
) -> Result<ServiceAnswer, ServiceError> {
    let host = || request.url.host().to_owned();
    let status = response.status().as_u16();
    if response.status().is_redirection() {
        return Err(ServiceError::Redirect { host: host(), status });
    }
    let mut encodings = response.headers().get_all(CONTENT_ENCODING).iter();
    if encodings.any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(ServiceError::Encoding { host: host() });
    }
    let mut incoming = response.into_body();
    let mut body = Vec::new();
    while let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(|source| ServiceError::Broken { host: host(), source })?;
        let piece = frame.into_data().unwrap_or_default();
        if body.len() + piece.len() > limits.largest {
            return Err(ServiceError::TooLarge { host: host(), limit: limits.largest });
        }
        body.extend_from_slice(&piece);
    }
    Ok(ServiceAnswer { status, body, secrets: request.secrets() })
}
