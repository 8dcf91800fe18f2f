//! Bodies: where they end, and passing them on.
//!
//! Two readers that disagree about the end of a body make request smuggling. A request that says it in two ways is
//! refused, and what is passed on is framed anew.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use super::super::refusal::Refusal;
use super::super::stream::Source;
use super::head::{Headers, Request, Response, Version};

/// The longest line between chunks.
const MAX_CHUNK_LINE: usize = 4 * 1024;
/// The largest trailers; they are dropped.
const MAX_TRAILERS: usize = 16 * 1024;

/// How a body's end is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is none.
    Empty,
    /// By its length.
    Length(u64),
    /// By an empty chunk.
    Chunked,
    /// By the end of the connection.
    UntilClose,
}

impl Framing {
    /// Of a request's body.
    pub(super) fn of_request(request: &Request) -> Result<Self, Refusal> {
        let ambiguous = |why: &str| {
            Refusal::request("body-ambiguous", format!("the end of the request's body is unclear: {why}"))
        };
        let codings = request.headers.values("transfer-encoding");
        let lengths = request.headers.values("content-length");
        match (codings.as_slice(), lengths.as_slice()) {
            ([], []) => Ok(Self::Empty),
            ([], [length]) => {
                parse_length(length).map(Self::Length).ok_or_else(|| ambiguous("its length is not a number"))
            }
            ([coding], [])
                if coding.eq_ignore_ascii_case(b"chunked") && request.version == Version::Http11 =>
            {
                Ok(Self::Chunked)
            }
            ([], _) => Err(ambiguous("it has several lengths")),
            (_, []) => Err(ambiguous("its transfer coding is not simply `chunked`")),
            (_, _) => Err(ambiguous("it has a length and a transfer coding")),
        }
    }

    /// Of a response's body.
    pub(super) fn of_response(response: &Response, method: &str) -> Result<Self, Refusal> {
        let unclear = || Refusal::upstream("response-malformed", "the end of the server's answer is unclear");
        if method == "HEAD" || matches!(response.status, 100..=199 | 204 | 304) {
            return Ok(Self::Empty);
        }
        let codings = response.headers.values("transfer-encoding");
        let lengths = response.headers.values("content-length");
        match (codings.as_slice(), lengths.as_slice()) {
            ([], []) => Ok(Self::UntilClose),
            ([], [first, rest @ ..]) if rest.iter().all(|other| other == first) => {
                parse_length(first).map(Self::Length).ok_or_else(unclear)
            }
            ([coding], []) if coding.eq_ignore_ascii_case(b"chunked") => Ok(Self::Chunked),
            (_, _) => Err(unclear()),
        }
    }

    /// The header that tells it.
    pub(super) fn announce(self, headers: &mut Headers) {
        match self {
            Self::Length(length) => headers.push("Content-Length", length.to_string()),
            Self::Chunked => headers.push("Transfer-Encoding", "chunked"),
            Self::Empty | Self::UntilClose => {}
        }
    }
}

fn parse_length(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?;
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// Which side a body could not be passed on because of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    /// It ended early, stalled or is malformed.
    Source,
    /// It was not taken.
    Sink,
}

/// Passes a body on as it comes.
pub(super) async fn pass_on<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
    source: &mut Source<R>,
    sink: &mut W,
    framing: (Framing, Framing),
    idle: Duration,
    count: &AtomicU64,
) -> Result<(), BodyError> {
    let (comes, goes) = framing;
    let mut out = Out { sink, chunked: goes == Framing::Chunked, count };
    match comes {
        Framing::Empty => {}
        Framing::Length(length) => out.exactly(source, length, idle).await?,
        Framing::UntilClose => loop {
            out.buffered(source, u64::MAX).await?;
            if source.fill(idle).await.map_err(|_| BodyError::Source)? == 0 {
                break;
            }
        },
        Framing::Chunked => loop {
            let size = chunk_size(&line(source, idle).await?).ok_or(BodyError::Source)?;
            if size == 0 {
                trailers(source, idle).await?;
                break;
            }
            out.exactly(source, size, idle).await?;
            if !line(source, idle).await?.is_empty() {
                return Err(BodyError::Source);
            }
        },
    }
    out.finish().await
}

struct Out<'a, W> {
    sink: &'a mut W,
    chunked: bool,
    count: &'a AtomicU64,
}

impl<W: AsyncWrite + Unpin> Out<'_, W> {
    /// Passes on the next `length` bytes.
    async fn exactly<R: AsyncRead + Unpin>(
        &mut self,
        source: &mut Source<R>,
        length: u64,
        idle: Duration,
    ) -> Result<(), BodyError> {
        let mut left = length;
        loop {
            left -= self.buffered(source, left).await?;
            if left == 0 {
                return Ok(());
            }
            if source.fill(idle).await.map_err(|_| BodyError::Source)? == 0 {
                return Err(BodyError::Source);
            }
        }
    }

    /// Passes on what is there, up to `most` bytes; how many that were.
    async fn buffered<R>(&mut self, source: &mut Source<R>, most: u64) -> Result<u64, BodyError> {
        let count = source.buffer.len().min(usize::try_from(most).unwrap_or(usize::MAX));
        if count == 0 {
            return Ok(0);
        }
        let piece = source.buffer.split_to(count);
        if self.chunked {
            let framed = [format!("{count:x}\r\n").as_bytes(), &piece, b"\r\n"].concat();
            self.send(&framed).await?;
        } else {
            self.send(&piece).await?;
        }
        let passed = count as u64;
        self.count.fetch_add(passed, Ordering::Relaxed);
        Ok(passed)
    }

    /// Nothing stays in buffers: events must arrive when they happen.
    async fn send(&mut self, bytes: &[u8]) -> Result<(), BodyError> {
        self.sink.write_all(bytes).await.map_err(|_| BodyError::Sink)?;
        self.sink.flush().await.map_err(|_| BodyError::Sink)
    }

    async fn finish(&mut self) -> Result<(), BodyError> {
        if self.chunked { self.send(b"0\r\n\r\n").await } else { Ok(()) }
    }
}

/// The next line without its end, which must be CR LF.
async fn line<R: AsyncRead + Unpin>(source: &mut Source<R>, idle: Duration) -> Result<Vec<u8>, BodyError> {
    loop {
        if let Some(end) = source.buffer.iter().position(|byte| *byte == b'\n') {
            let line = source.buffer.split_to(end + 1);
            let line = line.strip_suffix(b"\r\n").ok_or(BodyError::Source)?;
            return Ok(line.to_vec());
        }
        if source.buffer.len() > MAX_CHUNK_LINE {
            return Err(BodyError::Source);
        }
        if source.fill(idle).await.map_err(|_| BodyError::Source)? == 0 {
            return Err(BodyError::Source);
        }
    }
}

/// Hexadecimal digits, and extensions that nobody uses.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|byte| *byte == b';').next()?.trim_ascii_end();
    let plain = !digits.is_empty() && digits.len() <= 15 && digits.iter().all(u8::is_ascii_hexdigit);
    if plain { u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok() } else { None }
}

async fn trailers<R: AsyncRead + Unpin>(source: &mut Source<R>, idle: Duration) -> Result<(), BodyError> {
    let mut total = 0;
    loop {
        let line = line(source, idle).await?;
        total += line.len();
        if line.is_empty() {
            return Ok(());
        }
        if total > MAX_TRAILERS {
            return Err(BodyError::Source);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::super::super::stream::Source;
    use super::{Framing, pass_on};

    /// What comes out, and what is left for the next message.
    fn through(bytes: &[u8], comes: Framing, goes: Framing) -> Result<(Vec<u8>, Vec<u8>), String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut source = Source::new(bytes);
            let mut out = Vec::new();
            let count = AtomicU64::new(0);
            let outcome = pass_on(&mut source, &mut out, (comes, goes), Duration::from_secs(5), &count).await;
            let rest = [&source.buffer[..], source.inner].concat();
            outcome.map(|()| (out, rest)).map_err(|error| format!("{error:?}"))
        })
    }

    #[test]
    fn bodies_end_where_they_say() {
        let chunks = b"3\r\nabc\r\n0A;x=y\r\n0123456789\r\n0\r\nT: x\r\n\r\nGET";
        let (body, rest) = through(chunks, Framing::Chunked, Framing::UntilClose).unwrap();
        assert_eq!((&body[..], &rest[..]), (&b"abc0123456789"[..], &b"GET"[..]));
        let (again, _) = through(chunks, Framing::Chunked, Framing::Chunked).unwrap();
        let (body_again, _) = through(&again, Framing::Chunked, Framing::UntilClose).unwrap();
        assert_eq!(body_again, body);
        let (body, rest) = through(b"abcdef", Framing::Length(4), Framing::Length(4)).unwrap();
        assert_eq!((&body[..], &rest[..]), (&b"abcd"[..], &b"ef"[..]));
        assert_eq!(through(b"abc", Framing::UntilClose, Framing::UntilClose).unwrap().0, b"abc");
    }

    #[test]
    fn broken_chunks_are_not_passed_off_as_whole() {
        for bytes in [
            &b"3\r\nabcd\r\n0\r\n\r\n"[..],
            b"3\nabc\r\n0\r\n\r\n",
            b"-1\r\n",
            b"+3\r\nabc\r\n0\r\n\r\n",
            b"\r\n",
            b"3\r\nab",
            b"0x3\r\nabc\r\n0\r\n\r\n",
            b"fffffffffffffffff\r\n",
            b"3\r\nabc\r\n0\r\n",
            b" 3\r\nabc\r\n0\r\n\r\n",
        ] {
            assert!(through(bytes, Framing::Chunked, Framing::Chunked).is_err(), "{bytes:?}");
        }
        assert!(through(b"abc", Framing::Length(4), Framing::Length(4)).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = through(&bytes, Framing::Chunked, Framing::Chunked);
        }
    }
}
