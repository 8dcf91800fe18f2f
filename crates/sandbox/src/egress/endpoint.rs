//! Services with credentials: plain HTTP comes in from the session, and the real request goes out with the keys.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use fullsend_origin::is_metadata;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::time::{Duration, timeout};
use tokio_rustls::TlsConnector;

use super::dial;
use super::http::still_open;
use super::journal::locked;
use super::refusal::Refusal;
use super::resolve::Resolve;
use super::rules::{RequestRule, allows, ambiguous, plain_path};
use super::stream::{Halves, Source, Stream};
use super::target::{Host, Target};
use crate::error::SandboxError;
use crate::spec::Endpoint;

/// How many idle connections are kept.
const MAX_IDLE: usize = 4;
/// How long a TLS handshake may take.
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);
/// Headers that the proxy writes itself.
const RESERVED: [&str; 6] = ["host", "content-length", "transfer-encoding", "connection", "upgrade", "te"];

/// An [`Endpoint`] that has been understood.
pub(super) struct Service {
    pub(super) name: String,
    pub(super) target: Target,
    /// The upstream's path without its final slash.
    pub(super) base: String,
    pub(super) host_header: String,
    headers: Vec<(String, Vec<u8>)>,
    rules: Vec<RequestRule>,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    idle: Mutex<Vec<(Halves, SocketAddr)>>,
}

/// Without the headers, which are secret.
impl fmt::Debug for Service {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Service")
            .field("name", &self.name)
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

/// An [`Endpoint`] taken apart.
struct Understood {
    target: Target,
    base: String,
    host_header: String,
    /// Only with TLS.
    server_name: Option<ServerName<'static>>,
    headers: Vec<(String, Vec<u8>)>,
    rules: Vec<RequestRule>,
}

/// Whether an endpoint can be offered, as far as that can be told without a connection.
pub fn check_endpoint(endpoint: &Endpoint) -> Result<(), SandboxError> {
    understand(endpoint).map(drop)
}

/// Messages never contain the values of headers.
fn understand(endpoint: &Endpoint) -> Result<Understood, SandboxError> {
    let bad = |why: &str| {
        SandboxError::InvalidRequest(format!("endpoint `{}`: {why}", endpoint.name.escape_debug()))
    };
    let plain_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if endpoint.name.is_empty() || !endpoint.name.bytes().all(plain_name) {
        return Err(bad("its name is not made of letters, digits, `-` and `_`"));
    }
    let (secure, rest) =
        match (endpoint.upstream.strip_prefix("https://"), endpoint.upstream.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => return Err(bad("its upstream must start with `https://` or `http://`")),
        };
    let default_port = if secure { 443 } else { 80 };
    let (authority, base) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let form = "its upstream must be `https://host[:port][/path]`, without user, query or dot segments";
    let target = Target::parse(authority, Some(default_port)).ok_or_else(|| bad(form))?;
    if plain_path(base).is_none() || !base.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(bad(form));
    }
    if let Host::Address(address) = target.host
        && is_metadata(address)
    {
        return Err(bad("its upstream is a metadata service, which no sandbox opens"));
    }
    let server_name = || {
        ServerName::try_from(target.host.plain())
            .map_err(|_| bad("its upstream's host cannot have a certificate"))
    };
    let server_name = if secure { Some(server_name()?) } else { None };
    let headers =
        endpoint.headers.iter().map(|(name, value)| header(name, value.expose())).collect::<Option<_>>();
    let rules = endpoint.rules.iter().map(RequestRule::compile).collect::<Result<_, _>>();
    Ok(Understood {
        base: base.trim_end_matches('/').to_owned(),
        host_header: if target.port == default_port { target.host.to_string() } else { target.to_string() },
        headers: headers
            .ok_or_else(|| bad("one of its headers has a name or value that HTTP does not allow"))?,
        rules: rules.map_err(|why| bad(&why))?,
        server_name,
        target,
    })
}

impl Service {
    /// Reads an endpoint.
    pub(super) fn prepare(endpoint: &Endpoint, tls: &Arc<ClientConfig>) -> Result<Self, SandboxError> {
        let Understood { target, base, host_header, server_name, headers, rules } = understand(endpoint)?;
        Ok(Self {
            name: endpoint.name.clone(),
            target,
            base,
            host_header,
            headers,
            rules,
            tls: server_name.map(|name| (TlsConnector::from(Arc::clone(tls)), name)),
            idle: Mutex::default(),
        })
    }

    /// What is added to every request.
    pub(super) fn headers(&self) -> &[(String, Vec<u8>)] {
        &self.headers
    }

    /// Whether requests are restricted.
    pub(super) fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Whether a request is allowed; the path must stay below the upstream's.
    pub(super) fn judge(&self, method: &str, path: &str) -> Result<(), Refusal> {
        if !path.starts_with('/') || plain_path(path).is_none() {
            return Err(ambiguous());
        }
        allows(self.rules.iter(), method, path).map_err(|mut refusal| {
            let name = &self.name;
            refusal.sentence = format!("no rule of the endpoint `{name}` allows this method and path");
            refusal.remedy =
                refusal.remedy.map(|rule| format!("a rule {{{rule}}} for the endpoint `{name}`"));
            refusal
        })
    }

    /// An idle connection to the service, or a new one.
    pub(super) async fn reach(&self, resolver: &dyn Resolve) -> Result<(Halves, SocketAddr), Refusal> {
        while let Some((mut halves, address)) = self.take_idle() {
            if still_open(&mut halves).await {
                return Ok((halves, address));
            }
        }
        let mut addresses = dial::addresses(resolver, &self.target.host).await?;
        addresses.retain(|address| !is_metadata(*address));
        let (stream, address) = dial::connect(&self.target, &addresses).await?;
        let stream = match &self.tls {
            None => Stream::Tcp(stream),
            Some((connector, name)) => {
                let failed = |why: String| {
                    let sentence = format!("`{}` did not prove who it is: {why}", self.target);
                    Refusal::upstream("tls-failed", sentence)
                };
                match timeout(HANDSHAKE_PATIENCE, connector.connect(name.clone(), stream)).await {
                    Ok(Ok(stream)) => Stream::Other(Box::new(stream)),
                    Ok(Err(error)) => return Err(failed(error.to_string())),
                    Err(_) => return Err(failed("it does not answer".to_owned())),
                }
            }
        };
        Ok((Source::new(stream).into(), address))
    }

    /// Keeps a connection for the next request.
    pub(super) fn keep(&self, halves: Halves, address: SocketAddr) {
        let mut idle = locked(&self.idle);
        if idle.len() < MAX_IDLE {
            idle.push((halves, address));
        }
    }

    fn take_idle(&self) -> Option<(Halves, SocketAddr)> {
        locked(&self.idle).pop()
    }
}

fn header(name: &str, value: &str) -> Option<(String, Vec<u8>)> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let is_value = |byte: u8| byte == b'\t' || !byte.is_ascii_control();
    let reserved = RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved));
    let good = !name.is_empty() && name.bytes().all(is_token) && value.bytes().all(is_value) && !reserved;
    good.then(|| (name.to_owned(), value.as_bytes().to_vec()))
}
