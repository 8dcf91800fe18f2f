//! The bytes of a frame: stream number, kind and length in nine bytes, then the payload.

use std::fmt;

/// Stream number (4 bytes, big endian), kind (1), length of the payload (4, big endian).
pub const HEADER: usize = 9;
/// The longest payload of a frame with data: short enough that streams take turns quickly.
pub const DATA: usize = 32 * 1024;
/// The longest message. The arguments and the environment of one command may have 2 MiB.
pub const MESSAGE: usize = 4 * 1024 * 1024;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A message for the other side as a whole; its stream number is 0.
    Message,
    /// The stream begins; the payload says what it is.
    Open,
    /// Bytes of the stream.
    Data,
    /// The sender has room for so many more bytes: a number in four bytes, big endian.
    Window,
    /// The sender has no more bytes.
    Finish,
    /// The stream is over in both directions; bytes under way are lost.
    Reset,
}

impl Kind {
    fn number(self) -> u8 {
        match self {
            Self::Message => 0,
            Self::Open => 1,
            Self::Data => 2,
            Self::Window => 3,
            Self::Finish => 4,
            Self::Reset => 5,
        }
    }

    fn of(number: u8) -> Option<Self> {
        let kinds = [Self::Message, Self::Open, Self::Data, Self::Window, Self::Finish, Self::Reset];
        kinds.into_iter().find(|kind| kind.number() == number)
    }

    /// The longest payload that a frame of this kind may have.
    fn longest(self) -> usize {
        match self {
            Self::Message => MESSAGE,
            Self::Open | Self::Data => DATA,
            Self::Window => 4,
            Self::Finish | Self::Reset => 0,
        }
    }
}

/// A frame in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Which stream; 0 for messages.
    pub stream: u32,
    /// What it is.
    pub kind: Kind,
    /// Its payload.
    pub payload: &'a [u8],
}

/// Why bytes are not a frame, or a frame is not allowed where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadFrame(pub &'static str);

impl fmt::Display for BadFrame {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the other side broke the protocol: {}", self.0)
    }
}

impl std::error::Error for BadFrame {}

/// Appends a frame to `out`.
pub fn put(out: &mut Vec<u8>, stream: u32, kind: Kind, payload: &[u8]) {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&stream.to_be_bytes());
    out.push(kind.number());
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(payload);
}

/// The first frame in `bytes` and its length, or nothing while it is not complete.
///
/// A length that is not allowed is refused as soon as the header is there: nobody makes us wait for four gigabytes.
pub fn take(bytes: &[u8]) -> Result<Option<(Frame<'_>, usize)>, BadFrame> {
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else { return Ok(None) };
    let [s0, s1, s2, s3, kind, l0, l1, l2, l3] = *header;
    let kind = Kind::of(kind).ok_or(BadFrame("a frame of an unknown kind"))?;
    let length = usize::try_from(u32::from_be_bytes([l0, l1, l2, l3])).unwrap_or(usize::MAX);
    if length > kind.longest() {
        return Err(BadFrame("a frame that is too long"));
    }
    let Some(payload) = rest.get(..length) else { return Ok(None) };
    let stream = u32::from_be_bytes([s0, s1, s2, s3]);
    Ok(Some((Frame { stream, kind, payload }, HEADER + length)))
}

#[cfg(test)]
mod tests {
    use super::{BadFrame, Frame, HEADER, Kind, put, take};

    #[test]
    fn a_frame_survives_and_every_prefix_of_it_is_incomplete() {
        let mut bytes = Vec::new();
        put(&mut bytes, 0xdead_beef, Kind::Data, b"payload");
        let frame = Frame { stream: 0xdead_beef, kind: Kind::Data, payload: b"payload" };
        assert_eq!(take(&bytes), Ok(Some((frame, HEADER + 7))));
        for length in 0..bytes.len() {
            assert_eq!(take(&bytes[..length]), Ok(None), "{length}");
        }
    }

    #[test]
    fn unknown_kinds_and_long_payloads_are_refused_by_their_header() {
        assert_eq!(take(&[0, 0, 0, 1, 6, 0, 0, 0, 0]), Err(BadFrame("a frame of an unknown kind")));
        for (kind, length) in [(0, 0xffff_ffff_u32), (2, 0x8001), (3, 5), (4, 1), (5, 1)] {
            let mut bytes = vec![0, 0, 0, 1, kind];
            bytes.extend(length.to_be_bytes());
            assert_eq!(take(&bytes), Err(BadFrame("a frame that is too long")), "{kind}");
        }
    }
}
