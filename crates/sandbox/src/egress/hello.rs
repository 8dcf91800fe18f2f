//! The server name in a TLS `ClientHello` (RFC 8446 §4.1.2, RFC 6066 §3).
//!
//! The name is what the other side will serve, whatever host was asked for, so it is read strictly: what some server
//! could read differently (two names, two extensions, a message that does not end where it says) is malformed here.

/// The largest hello, in bytes on the wire.
pub(super) const MAX_HELLO: usize = 16 * 1024;

/// Record type of handshake messages; also how TLS is recognised.
pub(super) const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

/// What the bytes so far are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hello {
    /// The beginning of a hello.
    Incomplete,
    /// A whole hello, with the server name if it has one.
    Complete(Option<String>),
    /// Not a hello that everybody reads the same way.
    Malformed,
}

/// Reads the first bytes of a connection, whose first byte is [`HANDSHAKE`].
pub(super) fn read_hello(bytes: &[u8]) -> Hello {
    let message = match handshake_bytes(bytes) {
        Some(message) => message,
        None => return Hello::Malformed,
    };
    let mut reader = Reader(&message);
    let (Some(kind), Some(length)) = (reader.byte(), reader.number(3)) else {
        return unfinished(bytes);
    };
    if kind != CLIENT_HELLO || length > MAX_HELLO {
        return Hello::Malformed;
    }
    match reader.take(length) {
        None => unfinished(bytes),
        Some(body) => server_name(body).map_or(Hello::Malformed, Hello::Complete),
    }
}

fn unfinished(bytes: &[u8]) -> Hello {
    if bytes.len() < MAX_HELLO { Hello::Incomplete } else { Hello::Malformed }
}

/// The contents of the records so far, which must all carry handshake messages. The last record may be incomplete.
fn handshake_bytes(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut message = Vec::new();
    let mut reader = Reader(bytes);
    while let Some(kind) = reader.byte() {
        if kind != HANDSHAKE {
            // Whatever follows a whole hello is the business of both ends.
            return is_whole(&message).then_some(message);
        }
        let Some(version) = reader.number(2) else { break };
        let Some(length) = reader.number(2) else { break };
        if version >> 8 != 3 || length == 0 || length > MAX_HELLO {
            return is_whole(&message).then_some(message);
        }
        match reader.take(length) {
            Some(fragment) => message.extend_from_slice(fragment),
            None => {
                message.extend_from_slice(reader.0);
                break;
            }
        }
    }
    Some(message)
}

fn is_whole(message: &[u8]) -> bool {
    let mut reader = Reader(message);
    reader.byte().is_some() && reader.number(3).is_some_and(|length| reader.take(length).is_some())
}

/// Walks through the body of a hello; the outer `None` means malformed.
fn server_name(body: &[u8]) -> Option<Option<String>> {
    let mut reader = Reader(body);
    let _version = reader.take(2)?;
    let _random = reader.take(32)?;
    let _session = reader.vector(1)?;
    let _suites = reader.vector(2)?;
    let _compression = reader.vector(1)?;
    if reader.0.is_empty() {
        return Some(None);
    }
    let mut extensions = Reader(reader.vector(2)?);
    if !reader.0.is_empty() {
        return None;
    }
    let mut found = None;
    while !extensions.0.is_empty() {
        let kind = extensions.number(2)?;
        let data = extensions.vector(2)?;
        if kind == usize::from(SERVER_NAME) {
            let name = single_name(data)?;
            if found.replace(name).is_some() {
                return None;
            }
        }
    }
    Some(found)
}

/// The one name in a server name extension.
fn single_name(data: &[u8]) -> Option<String> {
    let mut outer = Reader(data);
    let mut list = Reader(outer.vector(2)?);
    if list.byte()? != HOST_NAME {
        return None;
    }
    let name = list.vector(2)?;
    let alone = list.0.is_empty() && outer.0.is_empty();
    let text = std::str::from_utf8(name).ok()?;
    (alone && text.is_ascii() && !text.is_empty()).then(|| text.to_owned())
}

/// Reads from the front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    /// A big-endian number of `width` bytes.
    fn number(&mut self, width: usize) -> Option<usize> {
        Some(self.take(width)?.iter().fold(0, |value, byte| value << 8 | usize::from(*byte)))
    }

    /// Bytes preceded by their number.
    fn vector(&mut self, width: usize) -> Option<&'a [u8]> {
        let length = self.number(width)?;
        self.take(length)
    }
}

#[cfg(test)]
mod tests;
