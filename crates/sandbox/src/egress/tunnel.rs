//! Connections that are carried as bytes once their beginning has shown that they lead where they were meant to.
//!
//! A host name on an allow-list may share its address with others. The first bytes of a connection say which one is
//! really meant: the server name of TLS, or the `Host` of HTTP. Nothing of the session goes out before that is known.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::gate::{Carried, Gate, Traffic};
use super::hello::{HANDSHAKE, Hello, MAX_HELLO, read_hello};
use super::http::{self, Door, Kept};
use super::journal::Asked;
use super::policy::is_default_port;
use super::refusal::Refusal;
use super::stream::{Peer, Source, Stream};
use super::target::{Host, MAX_QUOTE, Target, quote};

/// How long both sides may be silent before the first byte.
const SILENCE: Duration = Duration::from_secs(300);
/// How long the beginning may take once it has begun.
const BEGINNING: Duration = Duration::from_secs(10);
/// What is copied at a time.
const COPY_SIZE: usize = 256 * 1024;

/// Carries a connection that has been opened for `target`.
pub(super) async fn carry(
    gate: &Gate,
    asked: Asked,
    mut client: Peer,
    (upstream, address): (TcpStream, SocketAddr),
    target: Target,
) {
    let spoken = tokio::select! {
        biased;
        refusal = gate.forbidden(&target, address.ip(), Carried::Requests) => Err(refusal),
        spoken = sniff(&mut client, &upstream, &target) => spoken,
    };
    match spoken {
        Err(refusal) => gate.journal.deny(&asked, &refusal),
        Ok(Speech::Silence) => gate.journal.close(&asked, "silent", (0, 0)),
        Ok(Speech::Http) => {
            let kept = Kept::new(Source::new(Stream::Tcp(upstream)).into(), address);
            let door = Door::Fixed { target, entrance: asked.entrance };
            // Boxed because a request can lead to a tunnel and a tunnel to requests, which the compiler must not unroll.
            Box::pin(http::serve(gate, client, door, Some(kept), asked.connection)).await;
        }
        Ok(Speech::Bytes) => {
            let traffic = Traffic::default();
            let reason = tokio::select! {
                // The policy comes first: not a byte may go out before it has been asked about them.
                biased;
                refusal = gate.forbidden(&target, address.ip(), Carried::Bytes) => {
                    gate.journal.deny(&asked, &refusal);
                    "cut"
                }
                _ = copy(client, upstream, &traffic) => "closed",
            };
            gate.journal.close(&asked, reason, traffic.totals());
        }
    }
}

/// What a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speech {
    /// Nothing.
    Silence,
    /// Plain HTTP/1, to be checked request by request.
    Http,
    /// TLS to the right name, or another protocol where one is allowed.
    Bytes,
}

/// Looks at the beginning of what the client says. Where other protocols are allowed the server may speak first.
async fn sniff(client: &mut Peer, upstream: &TcpStream, target: &Target) -> Result<Speech, Refusal> {
    if client.buffer.is_empty() {
        let mut first = [0];
        tokio::select! {
            count = client.fill(SILENCE) => if !matches!(count, Ok(1..)) {
                return Ok(Speech::Silence);
            },
            count = upstream.peek(&mut first), if !is_default_port(target.port) => {
                return Ok(if matches!(count, Ok(1..)) { Speech::Bytes } else { Speech::Silence });
            }
        }
    }
    let recognised = timeout(BEGINNING, async {
        loop {
            match recognise(&client.buffer) {
                Seen::Beginning => {}
                seen @ (Seen::Http | Seen::Tls(_) | Seen::Other | Seen::Refused(..)) => return Some(seen),
            }
            if !matches!(client.fill(SILENCE).await, Ok(1..)) {
                return None;
            }
        }
    });
    match recognised.await {
        Err(_) => Err(Refusal::request(
            "beginning-too-slow",
            "the beginning of the connection takes too long to arrive",
        )),
        Ok(None) => Ok(Speech::Silence),
        Ok(Some(Seen::Http)) => Ok(Speech::Http),
        Ok(Some(Seen::Tls(name))) => check_name(name.as_deref(), target).map(|()| Speech::Bytes),
        Ok(Some(Seen::Refused(code, sentence))) => Err(Refusal::request(code, sentence)),
        Ok(Some(Seen::Other | Seen::Beginning)) if is_default_port(target.port) => {
            let sentence = format!("only HTTP and TLS may pass on port {}, and this is neither", target.port);
            Err(Refusal::request("not-http-or-tls", sentence))
        }
        Ok(Some(Seen::Other | Seen::Beginning)) => Ok(Speech::Bytes),
    }
}

/// What the first bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    /// Not enough to tell.
    Beginning,
    /// A request line of HTTP/1.
    Http,
    /// A whole hello, with its server name.
    Tls(Option<String>),
    /// Something else.
    Other,
    /// Something that could mean another host.
    Refused(&'static str, &'static str),
}

fn recognise(bytes: &[u8]) -> Seen {
    if bytes.first() == Some(&HANDSHAKE) {
        return match read_hello(bytes) {
            Hello::Incomplete => Seen::Beginning,
            Hello::Complete(name) => Seen::Tls(name),
            Hello::Malformed => Seen::Refused(
                "tls-malformed",
                "the connection starts with a TLS hello that is not well-formed",
            ),
        };
    }
    // Servers skip empty lines before a request, and some skip spaces.
    let start =
        bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n' | b' ' | b'\t')).unwrap_or(bytes.len());
    let rest = bytes.get(start..).unwrap_or_default();
    let is_method = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    match rest.first() {
        None if bytes.len() > MAX_HELLO => Seen::Other,
        None => Seen::Beginning,
        Some(first) if !is_method(first) => Seen::Other,
        Some(_) => recognise_line(rest),
    }
}

fn recognise_line(rest: &[u8]) -> Seen {
    let end = rest.iter().position(|byte| *byte == b'\n');
    let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
    let version = line.windows(5).position(|word| word.eq_ignore_ascii_case(b"HTTP/"));
    let is_binary = line.iter().any(|byte| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\r'));
    match (end, version) {
        (Some(_), Some(at)) if line.get(at + 5) == Some(&b'1') => Seen::Http,
        (Some(_), Some(_)) => Seen::Refused("http-version", "only HTTP/1 can be checked outside TLS"),
        (Some(_), None) => Seen::Other,
        (None, None) if is_binary => Seen::Other,
        (None, _) if rest.len() >= MAX_HELLO => {
            Seen::Refused("line-too-long", "the connection starts with an endless line")
        }
        (None, _) => Seen::Beginning,
    }
}

/// The name in TLS must be the host that was asked for; an address is asked for without a name.
fn check_name(name: Option<&str>, target: &Target) -> Result<(), Refusal> {
    match (name, &target.host) {
        (None, Host::Address(_)) => Ok(()),
        (None, Host::Name(host)) => {
            let sentence = format!(
                "the TLS connection to `{host}` does not say that it is for `{host}` (no server name)"
            );
            Err(Refusal::request("sni-missing", sentence))
        }
        (Some(name), host) if Host::parse(name).as_ref() == Some(host) => Ok(()),
        (Some(name), host) => {
            let sentence = format!("the TLS connection to `{host}` is for `{}`", quote(name, MAX_QUOTE));
            Err(Refusal::request("sni-mismatch", sentence))
        }
    }
}

/// Copies both ways until both ends are done or one fails.
async fn copy(client: Peer, mut upstream: TcpStream, traffic: &Traffic) -> std::io::Result<()> {
    let Source { inner, buffer } = client;
    upstream.write_all(&buffer).await?;
    traffic.up.fetch_add(buffer.len() as u64, Ordering::Relaxed);
    drop(buffer);
    let (from_server, to_server) = upstream.split();
    match inner {
        Stream::Tcp(mut client) => {
            let (from_client, to_client) = client.split();
            let up = pump(from_client, to_server, &traffic.up);
            let down = pump(from_server, to_client, &traffic.down);
            tokio::try_join!(up, down).map(drop)
        }
        Stream::Other(client) => {
            let (from_client, to_client) = tokio::io::split(client);
            let up = pump(from_client, to_server, &traffic.up);
            let down = pump(from_server, to_client, &traffic.down);
            tokio::try_join!(up, down).map(drop)
        }
    }
}

async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    count: &AtomicU64,
) -> std::io::Result<()> {
    let mut buffer = vec![0; COPY_SIZE];
    loop {
        let read = from.read(&mut buffer).await?;
        let Some(piece) = buffer.get(..read).filter(|piece| !piece.is_empty()) else {
            return to.shutdown().await;
        };
        to.write_all(piece).await?;
        to.flush().await?;
        count.fetch_add(read as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Seen, recognise};

    #[test]
    fn protocols_are_told_by_their_beginning() {
        for (bytes, expected) in [
            (&b""[..], Seen::Beginning),
            (b"\r\n", Seen::Beginning),
            (b"GET / HT", Seen::Beginning),
            (b"GET / HTTP/1.1", Seen::Beginning),
            (b"GET / HTTP/1.1\r\n", Seen::Http),
            (b"\r\n\nget /x http/1.0\n", Seen::Http),
            (b"GET\t/\tHTTP/1.1\r\n", Seen::Http),
            (b" \r\n\tGET / HTTP/1.1\r\n", Seen::Http),
            (b"GET /\0 HTTP/1.1\r\n", Seen::Http),
            (b"EHLO me\r\n", Seen::Other),
            (b"SSH-2.0-x\r\n", Seen::Other),
            (b"0033git-upload-pack /x\0host=y\0", Seen::Other),
            (b"\0\0\0\x08\x04\xd2\x16\x2f", Seen::Other),
            (b"\x16\x03", Seen::Beginning),
        ] {
            assert_eq!(recognise(bytes), expected, "{:?}", String::from_utf8_lossy(bytes));
        }
        assert!(matches!(recognise(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Seen::Refused("http-version", _)));
        assert!(matches!(recognise(&[b'A'; 20_000]), Seen::Refused("line-too-long", _)));
        assert!(matches!(recognise(b"\x16SSH, but binary"), Seen::Refused("tls-malformed", _)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_recognised_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = recognise(&bytes);
        }
    }
}
