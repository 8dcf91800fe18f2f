//! The service: plain HTTP on this machine, one request per connection.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use fullsend_sandbox::{Endpoint, FilesystemMount, HttpRule};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use super::fetcher::RuntimeFetcher;
use super::message::{LARGEST_REQUEST, line, requested_url};
use super::refusal::FetchRefusal;
use super::token::Token;

/// The variable with the address of the service, in the sandbox.
pub const FETCH_URL: &str = "FULLSEND_FETCH_URL";
/// The variable with the token of the run, in the sandbox.
pub const FETCH_TOKEN: &str = "FULLSEND_FETCH_TOKEN";

/// The endpoint of the sandbox behind which the service is.
const ENDPOINT: &str = "fetch";
/// How long a request may take to arrive.
const READ_PATIENCE: Duration = Duration::from_secs(30);
/// How long a connection may last: what may be spent on reading and on the reply together.
const CONNECTION_PATIENCE: Duration = Duration::from_secs(150);
/// How long requests under way may go on when the run ends.
const FAREWELL: Duration = Duration::from_secs(5);
/// How many connections there are at a time. More wait.
const MOST_CONNECTIONS: usize = 32;
/// How many bytes the head of a request may have.
const LARGEST_HEAD: usize = 16 * 1024;

/// The service of one run. Dropping it ends it at once; [`FetchService::stop`] lets requests under way finish.
#[derive(Debug)]
pub struct FetchService {
    address: SocketAddr,
    token: Token,
    fetcher: RuntimeFetcher,
    stopping: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// What a connection needs.
#[derive(Debug)]
struct Counter {
    fetcher: RuntimeFetcher,
    token: Token,
}

impl FetchService {
    /// Starts the service on a free port of this machine, which no other machine can reach.
    ///
    /// # Errors
    /// When there is no port, or no randomness for the token.
    pub async fn start(fetcher: RuntimeFetcher) -> io::Result<Self> {
        let token = Token::generate()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let counter = Arc::new(Counter { fetcher: fetcher.clone(), token: token.clone() });
        let (stopping, stopped) = watch::channel(false);
        let task = tokio::spawn(serve(listener, counter, stopped));
        Ok(Self { address, token, fetcher, stopping, task })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The service as a sandbox offers it: requests for skills go through and nothing else does.
    pub fn endpoint(&self) -> Endpoint {
        let rule = HttpRule {
            host: Ipv4Addr::LOCALHOST.to_string(),
            methods: vec!["POST".to_owned()],
            paths: vec!["/fetch".to_owned()],
        };
        Endpoint {
            name: ENDPOINT.to_owned(),
            upstream: format!("http://{}", self.address),
            headers: Vec::new(),
            rules: vec![rule],
        }
    }

    /// Lines for the file of variables that shells in the sandbox read. The first refers to the variable that the endpoint
    /// has there, whose value is only known inside.
    pub fn env_lines(&self) -> String {
        format!(
            "export {FETCH_URL}=\"$FULLSEND_ENDPOINT_{}/fetch\"\nexport {FETCH_TOKEN}='{}'\n",
            ENDPOINT.to_uppercase(),
            self.token.as_str()
        )
    }

    /// The directory that skills are delivered to, for the sandbox.
    pub fn mount(&self) -> FilesystemMount {
        self.fetcher.mount()
    }

    /// What fetches for it.
    pub fn fetcher(&self) -> &RuntimeFetcher {
        &self.fetcher
    }

    /// Accepts nothing more, waits a moment for requests under way, and ends.
    pub async fn stop(mut self) {
        let _gone_already = self.stopping.send(true);
        let _ended = timeout(FAREWELL, &mut self.task).await;
    }
}

impl Drop for FetchService {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Accepts connections until the service is to stop, then waits for those that are open.
async fn serve(listener: TcpListener, counter: Arc<Counter>, mut stopped: watch::Receiver<bool>) {
    let gate = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let accepted = async {
            let place = Arc::clone(&gate).acquire_owned().await.ok()?;
            Some((place, listener.accept().await))
        };
        let (place, stream) = tokio::select! {
            accepted = accepted => match accepted {
                Some((place, Ok((stream, _)))) => (place, stream),
                // Out of descriptors, or a connection that was gone before it was accepted.
                Some((_, Err(error))) => {
                    tracing::warn!(%error, "the fetch service cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
                None => break,
            },
            _ = stopped.changed() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
        };
        let counter = Arc::clone(&counter);
        connections.spawn(async move {
            let _place = place;
            let _cut_off = timeout(CONNECTION_PATIENCE, converse(stream, counter)).await;
        });
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// One connection.
async fn converse(stream: TcpStream, counter: Arc<Counter>) {
    let service = service_fn(move |request| {
        let counter = Arc::clone(&counter);
        async move { Ok::<_, Infallible>(counter.answer(request).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(READ_PATIENCE)
        .max_buf_size(LARGEST_HEAD)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection to the fetch service ended early");
    }
}

impl Counter {
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        match request.uri().path() {
            "/healthz" => reply(StatusCode::OK, None, String::new()),
            "/fetch" => {
                let shown = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
                if !shown.is_some_and(|header| self.token.is_shown_by(header)) {
                    return plain(StatusCode::UNAUTHORIZED, "unauthorized\n");
                }
                if request.method() != Method::POST {
                    return plain(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
                }
                self.fetch(request.into_body()).await
            }
            _ => plain(StatusCode::NOT_FOUND, "404 page not found\n"),
        }
    }

    async fn fetch(&self, body: Incoming) -> Response<Full<Bytes>> {
        let url = match read(body).await {
            Ok(url) => url,
            Err(refusal) => return refused(&refusal),
        };
        match self.fetcher.fetch(&url).await {
            Ok(fetched) if fetched.dependencies.is_empty() => {
                json_reply(StatusCode::OK, &json!({ "local_path": fetched.path }))
            }
            Ok(fetched) => json_reply(
                StatusCode::OK,
                &json!({ "local_path": fetched.path, "dependencies": fetched.dependencies }),
            ),
            Err(refusal) => refused(&refusal),
        }
    }
}

/// The URL that a request asks for.
async fn read(body: Incoming) -> Result<String, FetchRefusal> {
    let invalid = || FetchRefusal::new(400, "request", "invalid request body");
    let collected = timeout(READ_PATIENCE, Limited::new(body, LARGEST_REQUEST).collect()).await;
    let bytes = match collected {
        Ok(Ok(collected)) => collected.to_bytes(),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            return Err(FetchRefusal::new(413, "request", "request body too large"));
        }
        Ok(Err(_)) | Err(_) => return Err(invalid()),
    };
    requested_url(&bytes).ok_or_else(invalid)
}

fn refused(refusal: &FetchRefusal) -> Response<Full<Bytes>> {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    json_reply(status, &json!({ "error": refusal.message }))
}

fn json_reply(status: StatusCode, value: &serde_json::Value) -> Response<Full<Bytes>> {
    reply(status, Some("application/json"), line(value))
}

fn plain(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    reply(status, Some("text/plain; charset=utf-8"), text.to_owned())
}

fn reply(status: StatusCode, kind: Option<&'static str>, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    if let Some(kind) = kind {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    response
}
