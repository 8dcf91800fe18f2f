//! What a gateway can be told to do.

use std::time::Duration;

use serde_json::Value;

/// What happens after the bytes of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The connection waits for the next request.
    KeepOpen,
    /// The connection is closed.
    Close,
    /// Nothing happens any more, with the connection open.
    Hang,
    /// The last piece is sent again and again.
    Endless,
}

/// The bytes of a reply and how they are sent.
#[derive(Clone, Debug)]
pub struct GatewayReply {
    pieces: Vec<Vec<u8>>,
    pause: Duration,
    ending: Ending,
}

impl GatewayReply {
    /// These bytes as they are.
    pub fn raw(bytes: impl Into<Vec<u8>>, ending: Ending) -> Self {
        Self { pieces: vec![bytes.into()], pause: Duration::ZERO, ending }
    }

    /// A response with a status, headers as lines, and a body.
    pub fn with_headers(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let head = format!("HTTP/1.1 {status} Scripted\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
        Self::raw([head.as_bytes(), body].concat(), Ending::KeepOpen)
    }

    /// A response with a status and a body.
    pub fn status(status: u16, body: impl AsRef<[u8]>) -> Self {
        Self::with_headers(status, "", body)
    }

    /// A whole answer from a gateway that does not stream.
    pub fn json(body: &Value) -> Self {
        Self::with_headers(200, "Content-Type: application/json\r\n", body.to_string())
    }

    /// A stream of this text in one chunk.
    pub fn stream(text: impl AsRef<[u8]>) -> Self {
        Self::stream_in_pieces(&[text.as_ref()])
    }

    /// A stream of these pieces, each in a chunk of its own.
    pub fn stream_in_pieces(pieces: &[&[u8]]) -> Self {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        let mut sent = vec![head.as_bytes().to_vec()];
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            sent.push([format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat());
        }
        sent.push(b"0\r\n\r\n".to_vec());
        Self { pieces: sent, pause: Duration::ZERO, ending: Ending::KeepOpen }
    }

    /// A stream of events with this data, and `[DONE]` at the end.
    pub fn events(events: &[Value]) -> Self {
        Self::stream(super::turns::sse_of(events))
    }

    /// The same without the end of the stream: the connection is cut instead.
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.pieces.pop();
        self.ending = Ending::Close;
        self
    }

    /// The same with another piece at the end.
    #[must_use]
    pub fn then(mut self, piece: impl Into<Vec<u8>>) -> Self {
        self.pieces.push(piece.into());
        self
    }

    /// The same with another ending.
    #[must_use]
    pub fn ending(mut self, ending: Ending) -> Self {
        self.ending = ending;
        self
    }

    /// The same without the end of the stream, and then silence.
    #[must_use]
    pub fn hang(mut self) -> Self {
        self.pieces.pop();
        self.ending = Ending::Hang;
        self
    }

    /// The same with a pause before each piece.
    #[must_use]
    pub fn paced(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    pub(super) fn parts(&self) -> (&[Vec<u8>], Duration, Ending) {
        (&self.pieces, self.pause, self.ending)
    }
}
