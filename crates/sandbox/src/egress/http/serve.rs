//! Connections on which requests come in.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;

use super::super::endpoint::Service;
use super::super::gate::{Carried, Gate, Traffic};
use super::super::journal::Asked;
use super::super::refusal::{Kind, Refusal};
use super::super::stream::{Halves, Peer, Source, Stream};
use super::super::target::{Target, quote};
use super::super::tunnel;
use super::exchange::{After, Failed, Outgoing, exchange, still_open};
use super::head::{Request, read_request};
use super::route::{Form, check, check_host, malformed_host};

/// How long a client may wait between requests.
const IDLE: Duration = Duration::from_secs(300);
/// How much of a refused request is read so that the refusal can arrive, and for how long.
const LINGER_BYTES: usize = 256 * 1024;
const LINGER: Duration = Duration::from_secs(1);
/// How much of a method is written down.
const MAX_METHOD: usize = 32;

/// Through which kind of entrance a connection came.
#[derive(Debug)]
pub(in super::super) enum Door<'a> {
    /// The proxy: requests name their server.
    Proxy,
    /// A tunnel in which HTTP is spoken: all requests are for its target.
    Fixed {
        /// Where the tunnel leads.
        target: Target,
        /// How it came in.
        entrance: String,
    },
    /// A service with credentials.
    Service(&'a Service),
}

/// A connection to a server, for as long as it can be used.
pub(in super::super) struct Kept {
    pub(in super::super) halves: Halves,
    pub(in super::super) address: SocketAddr,
    /// The target it was opened for; none if it is fixed by the door.
    target: Option<Target>,
}

impl Kept {
    /// A connection to where the door leads.
    pub(in super::super) fn new(halves: Halves, address: SocketAddr) -> Self {
        Self { halves, address, target: None }
    }
}

/// What is to be done with a request.
struct Plan {
    target: Target,
    outgoing: Outgoing,
}

/// Serves requests until the client is done or one is refused.
pub(in super::super) async fn serve(
    gate: &Gate,
    client: Peer,
    door: Door<'_>,
    mut kept: Option<Kept>,
    connection: u64,
) {
    let mut client = Halves::from(client);
    loop {
        let mut asked = first_asked(&door, connection);
        let next = tokio::select! {
            biased;
            refusal = dismissed(gate, &door, kept.as_ref().map(|kept| kept.address)) => return gate.journal.deny(&asked, &refusal),
            next = read_request(&mut client.source, IDLE) => next,
        };
        let request = match next {
            Ok(Some(request)) => request,
            Ok(None) => break,
            Err(refusal) => return refuse(gate, client, &asked, &refusal).await,
        };
        asked.method = Some(quote(&request.method, MAX_METHOD));
        if matches!(door, Door::Proxy) && request.method == "CONNECT" {
            return connect(gate, client, request, connection).await;
        }
        let plan = match plan(gate, &door, request, &mut asked) {
            Ok(plan) => plan,
            Err(refusal) => return refuse(gate, client, &asked, &refusal).await,
        };
        let mut server = match reach(gate, &door, &plan.target, &asked, kept.take()).await {
            Ok(server) => server,
            Err(refusal) => return refuse(gate, client, &asked, &refusal).await,
        };
        match run(gate, &door, &mut client, &mut server, &plan, &asked).await {
            Ok(after) => {
                kept = Some(server).filter(|_| after.server);
                if !after.client {
                    break;
                }
            }
            Err(Failed::Unanswered(refusal)) => return refuse(gate, client, &asked, &refusal).await,
            Err(Failed::Midway) => return,
        }
    }
    if let (Door::Service(service), Some(kept)) = (&door, kept) {
        service.keep(kept.halves, kept.address);
    }
    // Whoever waits for the end of the answer sees it before the connection is gone.
    let _ = client.sink.shutdown().await;
    linger(&mut client).await;
}

/// Waits until the policy forbids the tunnel that the next request would come through.
async fn dismissed(gate: &Gate, door: &Door<'_>, reached: Option<SocketAddr>) -> Refusal {
    match (door, reached) {
        (Door::Fixed { target, .. }, Some(address)) => {
            gate.forbidden(target, address.ip(), Carried::Requests).await
        }
        (Door::Fixed { .. }, None) | (Door::Proxy | Door::Service(_), _) => std::future::pending().await,
    }
}

fn first_asked(door: &Door<'_>, connection: u64) -> Asked {
    let (entrance, host, port) = match door {
        Door::Proxy => ("http".to_owned(), String::new(), 0),
        Door::Fixed { target, entrance } => (entrance.clone(), target.host.to_string(), target.port),
        Door::Service(service) => {
            (format!("endpoint:{}", service.name), service.target.host.to_string(), service.target.port)
        }
    };
    Asked { entrance, connection, host, port, method: None, path: None }
}

/// Decides what a request is, and whether it is allowed.
fn plan(gate: &Gate, door: &Door<'_>, request: Request, asked: &mut Asked) -> Result<Plan, Refusal> {
    let (target, origin) = match (door, Form::of(&request)?) {
        (Door::Proxy, Form::Absolute(target, origin)) => {
            (asked.host, asked.port) = (target.host.to_string(), target.port);
            (target, origin)
        }
        (Door::Proxy, Form::Origin(_)) => {
            return Err(Refusal::request(
                "request-target",
                "this is a proxy; requests must name their server",
            ));
        }
        (Door::Fixed { target, .. }, Form::Origin(origin)) => (target.clone(), origin),
        (Door::Fixed { target, .. }, Form::Absolute(named, origin)) if named == *target => (named, origin),
        (Door::Fixed { target, .. }, Form::Absolute(named, _)) => {
            let sentence = format!("the connection is for `{target}`, but the request for `{named}`");
            return Err(Refusal::request("host-mismatch", sentence));
        }
        (Door::Service(service), Form::Origin(origin)) => (service.target.clone(), origin),
        (Door::Service(_), Form::Absolute(..)) => {
            return Err(Refusal::request(
                "request-target",
                "this is not a proxy; requests must start with a path",
            ));
        }
    };
    asked.path = Some(origin.split('?').next().unwrap_or_default().to_owned());
    if !matches!(door, Door::Service(_)) {
        check_host(&request, &target)?;
    }
    let routed = check(request, &origin)?;
    let outgoing = match door {
        Door::Service(service) => {
            service.judge(routed.method(), &routed.path)?;
            if service.has_rules() {
                routed.check_overrides()?;
            }
            routed.outgoing(&service.base, &service.host_header, service.headers())
        }
        Door::Proxy | Door::Fixed { .. } => {
            let policy = gate.policy();
            policy.judge(&target)?;
            policy.judge_request(&target, routed.method(), &routed.path)?;
            if policy.has_rules(&target) {
                routed.check_overrides()?;
            }
            routed.outgoing("", &target.authority(), &[])
        }
    };
    Ok(Plan { target, outgoing })
}

/// A connection to the server: the last one if it will do, else a new one. The decision is written down.
async fn reach(
    gate: &Gate,
    door: &Door<'_>,
    target: &Target,
    asked: &Asked,
    kept: Option<Kept>,
) -> Result<Kept, Refusal> {
    if let Some(mut kept) = kept
        && kept.target.as_ref().is_none_or(|opened_for| opened_for == target)
        && still_open(&mut kept.halves).await
    {
        if !matches!(door, Door::Service(_)) {
            gate.permits(target, kept.address.ip(), Carried::Requests)?;
        }
        gate.journal.allow(asked, Some(kept.address.to_string()))?;
        return Ok(kept);
    }
    if let Door::Service(service) = door {
        let (halves, address) = service.reach(gate.resolver.as_ref()).await?;
        gate.journal.allow(asked, Some(address.to_string()))?;
        return Ok(Kept::new(halves, address));
    }
    let (stream, address) = gate.open(asked, target).await?;
    let halves = Source::new(Stream::Tcp(stream)).into();
    Ok(Kept { halves, address, target: Some(target.clone()) })
}

/// Carries the exchange out, unless the policy changes its mind.
async fn run(
    gate: &Gate,
    door: &Door<'_>,
    client: &mut Halves,
    server: &mut Kept,
    plan: &Plan,
    asked: &Asked,
) -> Result<After, Failed> {
    let traffic = Traffic::default();
    let address = server.address.ip();
    let forbidden = async {
        match door {
            // The operator named it; the session's policy does not apply.
            Door::Service(_) => std::future::pending().await,
            Door::Proxy | Door::Fixed { .. } => {
                gate.forbidden(&plan.target, address, Carried::Requests).await
            }
        }
    };
    let (outcome, reason) = tokio::select! {
        biased;
        refusal = forbidden => {
            gate.journal.deny(asked, &refusal);
            (Err(Failed::Midway), "cut")
        }
        outcome = exchange(client, &mut server.halves, &plan.outgoing, &traffic) => {
            let reason = if outcome.is_ok() { "answered" } else { "broken" };
            (outcome, reason)
        }
    };
    gate.journal.close(asked, reason, traffic.totals());
    outcome
}

/// Opens a tunnel.
async fn connect(gate: &Gate, mut client: Halves, request: Request, connection: u64) {
    let mut asked = Asked { entrance: "connect".to_owned(), connection, ..Asked::default() };
    let target = match connect_target(&request, &mut asked) {
        Ok(target) => target,
        Err(refusal) => return refuse(gate, client, &asked, &refusal).await,
    };
    let opened = match gate.open(&asked, &target).await {
        Ok(opened) => opened,
        Err(refusal) => return refuse(gate, client, &asked, &refusal).await,
    };
    let established = client.sink.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await;
    if established.is_ok() && client.sink.flush().await.is_ok() {
        tunnel::carry(gate, asked, client.into(), opened, target).await;
    }
}

fn connect_target(request: &Request, asked: &mut Asked) -> Result<Target, Refusal> {
    let target = Target::parse(&request.target, None);
    let malformed = || malformed_host(&request.target);
    (asked.host, asked.port) = match &target {
        Some(target) => (target.host.to_string(), target.port),
        None => (quote(&request.target, super::super::target::MAX_QUOTE), 0),
    };
    let target = target.ok_or_else(malformed)?;
    check_host(request, &target)?;
    let body =
        ["content-length", "transfer-encoding"].iter().any(|name| !request.headers.values(name).is_empty());
    if body {
        return Err(Refusal::request("body-ambiguous", "a CONNECT request has no body"));
    }
    Ok(target)
}

/// Tells the client why, and hangs up.
async fn refuse(gate: &Gate, mut client: Halves, asked: &Asked, refusal: &Refusal) {
    gate.journal.deny(asked, refusal);
    let status = match refusal.kind {
        Kind::Policy => "403 Forbidden",
        Kind::Request => "400 Bad Request",
        Kind::Upstream => "502 Bad Gateway",
    };
    let body = format!("fullsend sandbox: {refusal}\n");
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
         X-Fullsend-Reason: {}\r\nConnection: close\r\n\r\n{body}",
        refusal.code
    );
    // A client that is gone needs no answer.
    let _ = client.sink.write_all(answer.as_bytes()).await;
    let _ = client.sink.shutdown().await;
    linger(&mut client).await;
}

/// Reads a little of what is still coming: closing at once would destroy the answer on its way.
async fn linger(client: &mut Halves) {
    let mut read = client.source.buffer.len();
    let reading = async {
        while read < LINGER_BYTES {
            client.source.buffer.clear();
            match client.source.fill(LINGER).await {
                Ok(count @ 1..) => read += count,
                Ok(0) | Err(_) => return,
            }
        }
    };
    let _ = tokio::time::timeout(LINGER, reading).await;
}
