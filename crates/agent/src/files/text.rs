//! Which bytes are text, and how they spell it.

/// How many bytes decide.
pub(super) const SAMPLE: usize = 64 * 1024;
/// A file with a greater share of bytes that are not UTF-8 is not text: one in this many.
const ONE_ODD_BYTE_IN: usize = 10;
/// The mark at the start of some UTF-8 files.
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// How a text is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Utf8Bom,
    Utf16Le,
    Utf16Be,
    /// Mostly ASCII, with some bytes that are not UTF-8: Latin-1 and its like, which cannot be told apart.
    EightBit,
}

impl Encoding {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf8Bom => "utf-8-bom",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
            Self::EightBit => "unknown-8bit",
        }
    }

    /// The encoding of a text that starts with these bytes; none for what is not text.
    pub(super) fn of(start: &[u8]) -> Option<Self> {
        match start {
            [0xff, 0xfe, ..] => return Some(Self::Utf16Le),
            [0xfe, 0xff, ..] => return Some(Self::Utf16Be),
            _ if memchr::memchr(0, start).is_some() => return None,
            _ => {}
        }
        match odd_bytes(start) {
            0 if start.starts_with(BOM) => Some(Self::Utf8Bom),
            0 => Some(Self::Utf8),
            odd if odd.saturating_mul(ONE_ODD_BYTE_IN) <= start.len() => Some(Self::EightBit),
            _ => None,
        }
    }
}

/// Bytes that are not UTF-8. A character that the sample cuts in two at its end is not odd.
fn odd_bytes(sample: &[u8]) -> usize {
    match std::str::from_utf8(sample) {
        Ok(_) => 0,
        Err(error) if error.error_len().is_none() && sample.len() >= SAMPLE => 0,
        Err(_) => sample.utf8_chunks().map(|chunk| chunk.invalid().len()).sum(),
    }
}

/// The text of UTF-16 bytes after their mark; none where they are not.
pub(super) fn from_utf16(bytes: &[u8], encoding: Encoding) -> Option<String> {
    let (units, rest) = bytes.get(2..)?.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let unit = |pair: &[u8; 2]| match encoding {
        Encoding::Utf16Be => u16::from_be_bytes(*pair),
        Encoding::Utf16Le | Encoding::Utf8 | Encoding::Utf8Bom | Encoding::EightBit => {
            u16::from_le_bytes(*pair)
        }
    };
    char::decode_utf16(units.iter().map(unit)).collect::<Result<String, _>>().ok()
}

/// The bytes of a text in UTF-16, with their mark.
pub(super) fn to_utf16(text: &str, encoding: Encoding) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    match encoding {
        Encoding::Utf16Be => units.flat_map(u16::to_be_bytes).collect(),
        Encoding::Utf16Le | Encoding::Utf8 | Encoding::Utf8Bom | Encoding::EightBit => {
            units.flat_map(u16::to_le_bytes).collect()
        }
    }
}
