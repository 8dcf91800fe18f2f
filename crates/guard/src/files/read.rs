//! Reads files up to a size.

use std::fs::File;
use std::io::{self, Read as _};

use crate::files::rules::{NOT_TEXT, TOO_LARGE, UNREADABLE};
use crate::finding::Finding;

/// The bytes of a file, as far as the limit goes.
#[derive(Debug)]
pub(crate) struct Bytes {
    pub(crate) bytes: Vec<u8>,
    /// Whether there is more.
    pub(crate) cut: bool,
}

/// Reads at most `limit` bytes. The size that the file system reports is not relied on: the file may grow.
pub(crate) fn read(file: &File, limit: u64) -> io::Result<Bytes> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    let cut = bytes.len() as u64 > limit;
    Ok(Bytes { bytes, cut })
}

/// Whether no program would take the bytes for text. UTF-16 is text, although it is full of zeros.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    !utf16 && bytes.contains(&0)
}

/// The bytes as text, or why not.
pub(crate) fn text(read: Bytes, limit: u64) -> Result<String, Finding> {
    if read.cut {
        return Err(too_large(limit));
    }
    String::from_utf8(read.bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Finding::new(&NOT_TEXT, None, format!("not valid UTF-8 from byte {at} on"))
    })
}

/// A file above the limit.
pub(crate) fn too_large(limit: u64) -> Finding {
    Finding::new(&TOO_LARGE, None, format!("larger than {limit} bytes"))
}

/// Something that cannot be read.
pub(crate) fn unreadable(error: &io::Error) -> Finding {
    Finding::new(&UNREADABLE, None, error.to_string())
}
