//! What a server can be told to do.

/// The reply to a request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Reply {
    /// A proper response.
    Normal {
        /// The status code.
        status: u16,
        /// Additional headers.
        headers: Vec<(String, String)>,
        /// The body, sent with its length.
        body: Vec<u8>,
    },
    /// These bytes as they are, then a proper end of the connection.
    Raw(Vec<u8>),
    /// These bytes as they are, then the connection is dropped without the TLS farewell.
    Cut(Vec<u8>),
    /// These bytes, then silence with the connection open.
    Stall(Vec<u8>),
    /// The first bytes, and then the second again and again without end.
    Endless {
        /// Sent once.
        head: Vec<u8>,
        /// Repeated.
        chunk: Vec<u8>,
    },
    /// The bytes one at a time, with a pause of so many milliseconds before each.
    Drip {
        /// What to send.
        bytes: Vec<u8>,
        /// The pause.
        pause_ms: u64,
    },
    /// One after the other, the last one for all further requests.
    Sequence(Vec<Reply>),
}

impl Reply {
    /// A 200 with a body.
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self::Normal { status: 200, headers: Vec::new(), body: body.into() }
    }

    /// A response with a status and no body.
    pub fn status(status: u16) -> Self {
        Self::Normal { status, headers: Vec::new(), body: Vec::new() }
    }

    /// Adds a header to a normal reply.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let Self::Normal { headers, .. } = &mut self else {
            panic!("{self:?} has no headers");
        };
        headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the body of a normal reply.
    #[must_use]
    pub fn body(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        let Self::Normal { body, .. } = &mut self else {
            panic!("{self:?} has no body");
        };
        *body = bytes.into();
        self
    }

    /// A redirect.
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::status(status).header("Location", location)
    }

    /// A length that does not fit the body, then a proper end of the connection.
    pub fn wrong_length(claimed: usize, body: &str) -> Self {
        Self::Raw(format!("HTTP/1.1 200 OK\r\nContent-Length: {claimed}\r\n\r\n{body}").into_bytes())
    }

    /// Headers that arrive a byte at a time and never end.
    pub fn slow_headers(pause_ms: u64) -> Self {
        let bytes = format!("HTTP/1.1 200 OK\r\n{}", "X-Filler: 0123456789\r\n".repeat(10_000)).into_bytes();
        Self::Drip { bytes, pause_ms }
    }

    /// A body without a known length that never ends.
    pub fn endless_body() -> Self {
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        let chunk = [b"4000\r\n".to_vec(), vec![b'x'; 0x4000], b"\r\n".to_vec()].concat();
        Self::Endless { head, chunk }
    }

    /// A header of `size` bytes.
    pub fn huge_header(size: usize) -> Self {
        Self::status(200).header("X-Filler", &"x".repeat(size))
    }

    /// Fails `times` times with `failure`, then succeeds with `success`.
    pub fn flapping(times: usize, failure: Self, success: Self) -> Self {
        let mut replies = vec![failure; times];
        replies.push(success);
        Self::Sequence(replies)
    }

    /// Takes what is to be done for the next request.
    pub(super) fn next(&mut self) -> Self {
        let Self::Sequence(replies) = self else {
            return self.clone();
        };
        if replies.len() > 1 {
            return replies.remove(0).next();
        }
        replies.first_mut().map_or_else(|| Self::status(404), Self::next)
    }
}
