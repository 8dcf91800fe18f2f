//! What a file holds: its digest, its size, and whether it is text; found in one pass.

use std::io::{self, Read};

use fullsend_origin::Sha256Hasher;
use serde::{Deserialize, Serialize};

use crate::ContentDigest;

/// How much of a file decides whether it is text.
pub(crate) const SNIFFED: usize = 8_192;

const CHUNK: usize = 64 * 1024;

/// Whether a file is text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContentKind {
    /// UTF-8 without NUL, as far as the beginning tells.
    Text,
    /// Anything else.
    Binary,
}

impl ContentKind {
    /// The word used in output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ContentKind::Text => "text",
            ContentKind::Binary => "binary",
        }
    }
}

/// What reading a file once has shown.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) digest: ContentDigest,
    pub(crate) size: u64,
    pub(crate) kind: ContentKind,
    /// The first bytes: as many as were asked for, and at least those that decide about the kind.
    pub(crate) head: Vec<u8>,
}

/// Why a file's content is not known.
#[derive(Debug)]
pub(crate) enum ContentError {
    Io(io::Error),
    /// The file has more bytes than were allowed.
    TooLarge,
}

/// Reads `file` to its end, at most `limit` bytes, and keeps the first `keep`.
pub(crate) fn examine(mut file: impl Read, keep: usize, limit: u64) -> Result<Content, ContentError> {
    let keep = keep.max(SNIFFED);
    let mut hasher = Sha256Hasher::new();
    let mut head: Vec<u8> = Vec::new();
    let mut chunk = vec![0; CHUNK];
    let mut size = 0_u64;
    loop {
        let count = match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(ContentError::Io(error)),
        };
        size += count as u64;
        if size > limit {
            return Err(ContentError::TooLarge);
        }
        let bytes = chunk.get(..count).unwrap_or_default();
        hasher.update(bytes);
        head.extend_from_slice(bytes.get(..count.min(keep - head.len())).unwrap_or_default());
    }
    Ok(Content { digest: ContentDigest(hasher.finish()), size, kind: kind(&head, size), head })
}

/// A character that the end of the sniffed part cuts in two is still text.
fn kind(head: &[u8], size: u64) -> ContentKind {
    let sniffed = head.get(..head.len().min(SNIFFED)).unwrap_or_default();
    if memchr::memchr(0, sniffed).is_some() {
        return ContentKind::Binary;
    }
    match std::str::from_utf8(sniffed) {
        Ok(_) => ContentKind::Text,
        Err(error) if error.error_len().is_none() && size > sniffed.len() as u64 => ContentKind::Text,
        Err(_) => ContentKind::Binary,
    }
}

/// The first `max` bytes as text; a character that does not fit is left out, bytes that are no character are replaced.
pub(crate) fn text_within(head: &[u8], max: usize) -> String {
    let cut = head.get(..head.len().min(max)).unwrap_or_default();
    let cut_short = cut.len() < head.len();
    let whole = cut.utf8_chunks().last().map_or(0, |chunk| {
        let tail = chunk.invalid();
        let split = cut_short && std::str::from_utf8(tail).is_err_and(|error| error.error_len().is_none());
        if split { cut.len() - tail.len() } else { cut.len() }
    });
    String::from_utf8_lossy(cut.get(..whole).unwrap_or_default()).into_owned()
}
