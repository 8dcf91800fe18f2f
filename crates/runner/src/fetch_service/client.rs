//! The other end of the service: what `fullsend fetch-skill` does in the sandbox.
//!
//! The request goes to the address that the run gave, over plain HTTP, and nowhere else: proxies of the environment are
//! not asked, since they would see the token, and redirects are not followed.

use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::json;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long everything may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// The largest reply, in bytes.
const LARGEST_REPLY: usize = 1 << 20;

/// Why there is no skill.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientFault {
    /// The address or the token cannot be used.
    #[error("failed to create request: {0}")]
    Request(String),
    /// The service cannot be reached, or hangs up.
    #[error("fetch request failed: {0}")]
    Connection(String),
    /// The reply is not JSON.
    #[error("failed to decode response (HTTP {status}): {why}")]
    Decode {
        /// The status of the reply.
        status: u16,
        /// What is wrong with it.
        why: String,
    },
    /// The service says no.
    #[error("{0}")]
    Refused(String),
}

/// What a reply may hold.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Reply {
    local_path: Option<String>,
    error: Option<String>,
}

/// Asks the service at `address` for the skill at `url`, and gives the path of its directory.
///
/// # Errors
/// When the service cannot be asked, or says no.
pub async fn request_skill(address: &str, token: &str, url: &str) -> Result<String, ClientFault> {
    let (authority, request) = compose(address, token, url)?;
    let late = || ClientFault::Connection(format!("no reply within {} seconds", PATIENCE.as_secs()));
    let (status, body) = timeout(PATIENCE, exchange(&authority, request)).await.map_err(|_| late())??;
    let reply: Option<Reply> = serde_json::from_slice(&body)
        .map_err(|error| ClientFault::Decode { status: status.as_u16(), why: error.to_string() })?;
    let reply = reply.unwrap_or_default();
    match reply.error.filter(|error| !error.is_empty()) {
        Some(error) => Err(ClientFault::Refused(error)),
        None if status != StatusCode::OK => {
            Err(ClientFault::Refused(format!("fetch service returned status {}", status.as_u16())))
        }
        None => Ok(reply.local_path.unwrap_or_default()),
    }
}

/// The request, and whom to connect to.
fn compose(address: &str, token: &str, url: &str) -> Result<(String, Request<Full<Bytes>>), ClientFault> {
    let bad = |why: String| ClientFault::Request(why);
    let uri: Uri = address.parse().map_err(|error| bad(format!("`{address}`: {error}")))?;
    let authority = match (uri.scheme_str(), uri.authority()) {
        (Some("http"), Some(authority)) if !authority.as_str().contains('@') => authority.clone(),
        _ => return Err(bad(format!("`{address}` is not `http://HOST[:PORT]/PATH`"))),
    };
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    let request = Request::post(target)
        .header(HOST, authority.as_str())
        .header(CONTENT_TYPE, "application/json")
        .header(AUTHORIZATION, format!("Bearer {token}"))
        .body(Full::new(Bytes::from(json!({ "url": url }).to_string())))
        .map_err(|error| bad(error.to_string()))?;
    let port = authority.port_u16().unwrap_or(80);
    Ok((format!("{}:{port}", authority.host()), request))
}

async fn exchange(
    authority: &str,
    request: Request<Full<Bytes>>,
) -> Result<(StatusCode, Bytes), ClientFault> {
    let failed = |error: &dyn std::error::Error| ClientFault::Connection(error.to_string());
    let stream = TcpStream::connect(authority).await.map_err(|error| failed(&error))?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| failed(&error))?;
    let conversation = async move {
        let response = sender.send_request(request).await.map_err(|error| failed(&error))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), LARGEST_REPLY).collect().await;
        Ok((status, body.map_err(|error| failed(&*error))?.to_bytes()))
    };
    tokio::pin!(conversation);
    tokio::select! {
        answered = &mut conversation => answered,
        // The connection may end before the last of what it brought has been read.
        _ = connection => conversation.await,
    }
}
