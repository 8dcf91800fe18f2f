//! Writing a pin into a document that people edit by hand.
//!
//! Comments, quotes, order and layout of a harness belong to its author, so the document is not written anew: only the
//! bytes of the pin change. They are found through the positions of the parsed document and not by searching the text,
//! which would also hit comments, prose and longer URLs. Afterwards the result is parsed and compared with the original;
//! whatever else it would say differently makes the edit fail.
//!
//! Entry points: [`set_pin`] edits text, [`write_file`] puts the result in the place of the file.

mod document;
mod error;
mod splice;

use std::path::Path;

use fullsend_origin::{RemoteUrl, Sha256Digest};

pub use error::PinEditError;

use crate::durable::{FileError, Held, read_regular};
use document::{Document, Found};

/// A document with its new pins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The whole text.
    pub text: String,
    /// What changed, from top to bottom; empty when every pin was right already.
    pub changes: Vec<Change>,
    /// The digest of the text that was edited, by which [`write_file`] knows whether the file is still the same.
    pub original: Sha256Digest,
}

/// One pin that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The line, from 1.
    pub line: usize,
    /// The URL with its old pin, if it had one, without quotes.
    pub before: String,
    /// The URL with its new pin.
    pub after: String,
}

/// Pins every use of the URL `target` in a YAML document, or in the front matter of a Markdown file, to `digest`.
///
/// A use is a value or a key that is this URL and nothing more. Its present pin does not matter, and neither does one that
/// `target` may carry; a pin that is malformed is replaced too.
///
/// # Errors
/// When `target` is no URL, the document cannot be read or does not use the URL, or the edit would change anything else.
pub fn set_pin(text: &str, target: &str, digest: Sha256Digest) -> Result<Edited, PinEditError> {
    let url = RemoteUrl::parse(without_pin(target))?;
    let pinned = format!("{url}#sha256={digest}");
    let document = Document::parse(text)?;
    let uses = document.uses(url.as_str())?;
    if uses.is_empty() {
        return Err(PinEditError::NotFound { url: Box::new(url) });
    }
    let mut pen = Pen { text, copied: 0, edited: String::new(), changes: Vec::new() };
    for found in uses.into_iter().filter(|found| found.text != pinned) {
        pen.pin(found, &document, &url, &pinned)?;
    }
    pen.edited.push_str(text.get(pen.copied..).unwrap_or_default());
    document.check_edit(&pen.edited, url.as_str(), &pinned)?;
    Ok(Edited { text: pen.edited, changes: pen.changes, original: Sha256Digest::of(text.as_bytes()) })
}

/// Copies a text from top to bottom and puts pins in on the way.
struct Pen<'t> {
    text: &'t str,
    copied: usize,
    edited: String,
    changes: Vec<Change>,
}

impl Pen<'_> {
    fn pin(
        &mut self,
        found: Found,
        document: &Document,
        url: &RemoteUrl,
        pinned: &str,
    ) -> Result<(), PinEditError> {
        let line = document.line(&found);
        let pin = pin_range(self.text, &found, url).ok_or(PinEditError::SeveralLines { line })?;
        self.edited.push_str(self.text.get(self.copied..pin.start).unwrap_or_default());
        self.edited.push_str(pinned.get(url.as_str().len()..).unwrap_or_default());
        self.copied = pin.end;
        self.changes.push(Change { line, before: found.text, after: pinned.to_owned() });
        Ok(())
    }
}

/// The bytes of the whole document that hold the pin of a use; empty, behind the URL, when it has none.
fn pin_range(text: &str, found: &Found, url: &RemoteUrl) -> Option<std::ops::Range<usize>> {
    let start = found.range.start;
    let pin = splice::tail(text.get(found.range.clone())?, url.as_str())?;
    Some(start + pin.start..start + pin.end)
}

/// The part before the pin; a malformed pin counts as one, because the one who wrote it took it for one.
fn without_pin(text: &str) -> &str {
    let is_pin = |fragment: &str| fragment.get(..6).is_some_and(|name| name.eq_ignore_ascii_case("sha256"));
    match text.split_once('#') {
        Some((url, fragment)) if is_pin(fragment) => url,
        Some(_) | None => text,
    }
}

/// Puts an edited document in the place of the file it was read from. The file keeps its permissions.
///
/// # Errors
/// When the file is no longer what was edited, or cannot be replaced; it then is as it was.
pub fn write_file(path: &Path, edited: &Edited) -> Result<(), FileError> {
    let held = Held::lock(path)?;
    let present = read_regular(held.path(), document::MAX_BYTES)?;
    if present.map(|bytes| Sha256Digest::of(&bytes)) != Some(edited.original) {
        return Err(FileError::Changed { path: path.to_owned() });
    }
    if edited.changes.is_empty() {
        return Ok(());
    }
    held.replace(edited.text.as_bytes(), held.mode()?)
}
