//! The way to a leased browser: its addresses, and the path of its control socket. Nothing else is ever contacted.

use std::net::{IpAddr, SocketAddr};

use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::failure::Failure;
use super::lease::LocalOrigin;

/// The largest message of a browser.
const MAX_MESSAGE: usize = 16 << 20;
/// The largest description of a browser.
const MAX_VERSION: usize = 64 * 1024;
/// The largest head of an answer.
const MAX_HEAD: usize = 16 * 1024;
/// Where a browser says what it is.
const VERSION: &str = "/json/version";
/// How the path of the control socket begins.
const SOCKET: &str = "/devtools/browser/";
/// The longest name after it.
const LONGEST_ID: usize = 128;

/// A connection to the control socket.
pub(super) type Socket = WebSocketStream<TcpStream>;

/// Connects to the leased browser; also says at which address it was.
pub(super) async fn connect(origin: &LocalOrigin) -> Result<(Socket, SocketAddr), Failure> {
    let (stream, address) = dial(origin).await?;
    let path = socket_path(stream, address).await?;
    let unreachable = |_| Failure::host("the leased browser cannot be reached");
    let stream = TcpStream::connect(address).await.map_err(unreachable)?;
    stream.set_nodelay(true).map_err(unreachable)?;
    let limits = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE))
        .max_write_buffer_size(MAX_MESSAGE);
    // A browser only listens to callers that give its address, not a name, in `Host`: names can be made to lead here.
    let opened = client_async_with_config(format!("ws://{address}{path}"), stream, Some(limits)).await;
    let (socket, _) = opened.map_err(|_| Failure::host("the leased browser refused its control socket"))?;
    Ok((socket, address))
}

async fn dial(origin: &LocalOrigin) -> Result<(TcpStream, SocketAddr), Failure> {
    for ip in addresses(origin).await? {
        let address = SocketAddr::new(ip, origin.port());
        if let Ok(stream) = TcpStream::connect(address).await {
            return Ok((stream, address));
        }
    }
    Err(Failure::host("no browser listens where the lease says; it may have been closed"))
}

async fn addresses(origin: &LocalOrigin) -> Result<Vec<IpAddr>, Failure> {
    if let Some(fixed) = origin.fixed_addresses() {
        return Ok(fixed.to_vec());
    }
    let found = tokio::net::lookup_host((origin.host(), origin.port())).await;
    let found = found.map_err(|_| Failure::host("the host of the leased browser has no address here"))?;
    // Whoever answers for names must not send what is typed into pages to another network.
    Ok(found.map(|address| address.ip()).filter(is_near).collect())
}

/// Whether an address can only be that of this machine or its host.
fn is_near(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

/// The path of the control socket. Only the path: the host in the browser's answer is not believed.
async fn socket_path(stream: TcpStream, address: SocketAddr) -> Result<String, Failure> {
    let body = version(stream, address).await?;
    let answer: Value = serde_json::from_slice(&body).map_err(|_| not_a_browser())?;
    let url = answer.get("webSocketDebuggerUrl").and_then(Value::as_str).ok_or_else(not_a_browser)?;
    let (_, rest) = url.split_once("://").ok_or_else(not_a_browser)?;
    let path = rest.find('/').and_then(|at| rest.get(at..)).ok_or_else(not_a_browser)?;
    let id = path.strip_prefix(SOCKET).ok_or_else(not_a_browser)?;
    let plain = (1..=LONGEST_ID).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if plain { Ok(path.to_owned()) } else { Err(not_a_browser()) }
}

async fn version(stream: TcpStream, address: SocketAddr) -> Result<Bytes, Failure> {
    let failed = |_| not_a_browser();
    let (mut sender, connection) =
        http1::Builder::new().max_buf_size(MAX_HEAD).handshake(TokioIo::new(stream)).await.map_err(failed)?;
    let mut driver = JoinSet::new();
    driver.spawn(async move {
        // Why a connection ended is said by whoever used it.
        let _ = connection.await;
    });
    let request = Request::get(VERSION).header("host", address.to_string()).body(Empty::<Bytes>::new());
    let request = request.map_err(|_| not_a_browser())?;
    let answer = sender.send_request(request).await.map_err(failed)?;
    // A redirect would lead away from the lease.
    if answer.status() != StatusCode::OK {
        return Err(not_a_browser());
    }
    let body = Limited::new(answer.into_body(), MAX_VERSION).collect().await;
    Ok(body.map_err(|_| not_a_browser())?.to_bytes())
}

fn not_a_browser() -> Failure {
    Failure::host("what listens where the lease says is not a browser that can be driven")
}
