//! SOCKS 5 (RFC 1928): connections by name or address, without authentication, and nothing else.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use super::gate::Gate;
use super::journal::Asked;
use super::refusal::{Kind, Refusal};
use super::stream::Peer;
use super::target::{Host, MAX_QUOTE, Target, quote};
use super::tunnel;

/// The first byte of every message.
pub(super) const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const NOTHING_ACCEPTABLE: u8 = 0xff;
const CONNECT: u8 = 1;
/// How long the negotiation may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves a client whose first byte was [`VERSION`].
pub(super) async fn serve(gate: &Gate, mut client: Peer, connection: u64) {
    let Ok(Some(wish)) = timeout(PATIENCE, negotiate(&mut client)).await else {
        return;
    };
    let asked = Asked {
        entrance: "socks".to_owned(),
        connection,
        host: wish.host.clone(),
        port: wish.port,
        ..Asked::default()
    };
    let opened = match wish.target() {
        Ok(target) => gate.open(&asked, &target).await.map(|opened| (target, opened)),
        Err(refusal) => Err(refusal),
    };
    match opened {
        Ok((target, opened)) => {
            if answer(&mut client, Reply::Succeeded).await {
                tunnel::carry(gate, asked, client, opened, target).await;
            }
        }
        Err(refusal) => {
            gate.journal.deny(&asked, &refusal);
            answer(&mut client, Reply::from(&refusal)).await;
        }
    }
}

/// The replies that are given.
#[derive(Clone, Copy)]
enum Reply {
    Succeeded = 0,
    NotAllowed = 2,
    HostUnreachable = 4,
    CommandNotSupported = 7,
}

impl From<&Refusal> for Reply {
    fn from(refusal: &Refusal) -> Self {
        match refusal.kind {
            Kind::Request if refusal.code == "socks-command" => Self::CommandNotSupported,
            Kind::Policy | Kind::Request => Self::NotAllowed,
            Kind::Upstream => Self::HostUnreachable,
        }
    }
}

/// Whether the reply could be sent.
async fn answer(client: &mut Peer, reply: Reply) -> bool {
    let message = [VERSION, reply as u8, 0, 1, 0, 0, 0, 0, 0, 0];
    client.inner.write_all(&message).await.is_ok() && client.inner.flush().await.is_ok()
}

/// What a client wants; the host as it wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wish {
    command: u8,
    host: String,
    parsed: Option<Host>,
    port: u16,
}

impl Wish {
    fn target(&self) -> Result<Target, Refusal> {
        if self.command != CONNECT {
            return Err(Refusal::request(
                "socks-command",
                "only connections can be asked for, not UDP or listening",
            ));
        }
        match &self.parsed {
            Some(host) if self.port != 0 => Ok(Target { host: host.clone(), port: self.port }),
            Some(_) | None => {
                Err(Refusal::request("host-malformed", format!("`{}` is not a host and port", self.host)))
            }
        }
    }
}

/// Goes through the negotiation; `None` if the client does not.
async fn negotiate(client: &mut Peer) -> Option<Wish> {
    let methods = loop {
        match read_greeting(&client.buffer) {
            Step::Done(methods, length) => {
                let _ = client.buffer.split_to(length);
                break methods;
            }
            Step::More => more(client).await?,
            Step::Malformed => return None,
        }
    };
    let chosen = if methods.contains(&NO_AUTHENTICATION) { NO_AUTHENTICATION } else { NOTHING_ACCEPTABLE };
    client.inner.write_all(&[VERSION, chosen]).await.ok()?;
    client.inner.flush().await.ok()?;
    if chosen == NOTHING_ACCEPTABLE {
        return None;
    }
    loop {
        match read_request(&client.buffer) {
            Step::Done(wish, length) => {
                let _ = client.buffer.split_to(length);
                return Some(wish);
            }
            Step::More => more(client).await?,
            Step::Malformed => return None,
        }
    }
}

async fn more(client: &mut Peer) -> Option<()> {
    matches!(client.fill(PATIENCE).await, Ok(1..)).then_some(())
}

/// A message that may not be there yet; a whole one with its length.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step<T> {
    Done(T, usize),
    More,
    Malformed,
}

fn read_greeting(bytes: &[u8]) -> Step<Vec<u8>> {
    match bytes {
        [VERSION, count, rest @ ..] => match rest.get(..usize::from(*count)) {
            Some(methods) => Step::Done(methods.to_vec(), 2 + methods.len()),
            None => Step::More,
        },
        [] | [VERSION] => Step::More,
        [_, ..] => Step::Malformed,
    }
}

fn read_request(bytes: &[u8]) -> Step<Wish> {
    let (command, kind, rest) = match bytes {
        [VERSION, command, 0, kind, rest @ ..] => (*command, *kind, rest),
        [] | [VERSION] | [VERSION, _] | [VERSION, _, 0] => return Step::More,
        [_, ..] => return Step::Malformed,
    };
    let (host, port) = match kind {
        1 => (rest.get(..4), rest.get(4..6)),
        4 => (rest.get(..16), rest.get(16..18)),
        3 => {
            let length = rest.first().map_or(0, |length| usize::from(*length));
            (rest.get(1..1 + length), rest.get(1 + length..3 + length))
        }
        _ => return Step::Malformed,
    };
    let (Some(host), Some(&[high, low])) = (host, port) else {
        return Step::More;
    };
    let parsed = match kind {
        1 => <[u8; 4]>::try_from(host).ok().map(|octets| Host::Address(IpAddr::V4(Ipv4Addr::from(octets)))),
        4 => <[u8; 16]>::try_from(host).ok().map(|octets| Host::Address(IpAddr::V6(Ipv6Addr::from(octets)))),
        _ => std::str::from_utf8(host).ok().and_then(Host::parse),
    };
    let shown =
        parsed.as_ref().map_or_else(|| quote(&String::from_utf8_lossy(host), MAX_QUOTE), Host::to_string);
    let wish = Wish { command, host: shown, parsed, port: u16::from_be_bytes([high, low]) };
    let length = 4 + usize::from(kind == 3) + host.len() + 2;
    Step::Done(wish, length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Step, read_greeting, read_request};

    #[test]
    fn messages_are_read_however_they_are_cut() {
        assert_eq!(read_greeting(b"\x05\x02\x00\x02rest"), Step::Done(vec![0, 2], 4));
        let named = b"\x05\x01\x00\x03\x07OK.test\x01\xbbrest";
        let Step::Done(wish, 14) = read_request(named) else { panic!("{:?}", read_request(named)) };
        assert_eq!((wish.host.as_str(), wish.port), ("ok.test", 443));
        for end in 0..14 {
            assert_eq!(read_request(&named[..end]), Step::More, "{end}");
        }
        let Step::Done(wish, 10) = read_request(b"\x05\x01\x00\x01\x7f\0\0\x01\0\x50") else {
            panic!("no IPv4")
        };
        assert_eq!(wish.target().unwrap().to_string(), "127.0.0.1:80");
        let v6 = [&b"\x05\x01\x00\x04"[..], &[0; 15], &[1, 0, 80]].concat();
        let Step::Done(wish, 22) = read_request(&v6) else { panic!("no IPv6") };
        assert_eq!(wish.target().unwrap().to_string(), "[::1]:80");
    }

    #[test]
    fn other_wishes_are_not_targets() {
        for (bytes, code) in [
            (&b"\x05\x02\x00\x01\x7f\0\0\x01\0\x50"[..], "socks-command"),
            (b"\x05\x03\x00\x01\x7f\0\0\x01\0\x50", "socks-command"),
            (b"\x05\x01\x00\x01\x7f\0\0\x01\0\0", "host-malformed"),
            (b"\x05\x01\x00\x03\x00\0\x50", "host-malformed"),
            (b"\x05\x01\x00\x03\x09ok.test\0e\0\x50", "host-malformed"),
            (b"\x05\x01\x00\x03\x04\xff\xfe\xfd.\0\x50", "host-malformed"),
        ] {
            let Step::Done(wish, _) = read_request(bytes) else { panic!("{bytes:?}") };
            assert_eq!(wish.target().unwrap_err().code, code, "{bytes:?}");
        }
        assert_eq!(read_request(b"\x05\x01\x00\x02"), Step::Malformed);
        assert_eq!(read_request(b"\x04\x01"), Step::Malformed);
        assert_eq!(read_greeting(b"\x04\x01"), Step::Malformed);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = (read_greeting(&bytes), read_request(&bytes));
            if let Step::Done(wish, length) = read_request(&[b"\x05\x01\x00", &bytes[..]].concat()) {
                prop_assert!(length <= bytes.len() + 3);
                let _ = wish.target();
            }
        }
    }
}
