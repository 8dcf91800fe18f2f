//! What was typed before, in this chat and in earlier ones.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// How many texts are kept.
const MOST_TEXTS: usize = 1000;
/// How much of the file is read; it is written anew where it is longer.
const MOST_BYTES: u64 = 4 << 20;

/// Texts that can be brought back.
#[derive(Debug, Default)]
pub(super) struct Recall {
    texts: Vec<String>,
    /// Which of them is shown, and what was being typed before.
    shown: Option<(usize, String)>,
}

impl Recall {
    pub(super) fn new(texts: Vec<String>) -> Self {
        Self { texts, shown: None }
    }

    /// Adds a text.
    pub(super) fn add(&mut self, text: &str) {
        self.shown = None;
        if self.texts.last().is_none_or(|last| last != text) {
            self.texts.push(text.to_owned());
        }
    }

    /// The text before the one that is shown; `typed` is kept for the way back.
    pub(super) fn older(&mut self, typed: &str) -> Option<String> {
        let (at, draft) = match self.shown.take() {
            Some(shown) => shown,
            None => (self.texts.len(), typed.to_owned()),
        };
        let older = at.checked_sub(1);
        self.shown = Some((older.unwrap_or(at), draft));
        older.and_then(|older| self.texts.get(older).cloned())
    }

    /// The text after the one that is shown, and after the last one what was being typed.
    pub(super) fn newer(&mut self) -> Option<String> {
        let (at, draft) = self.shown.take()?;
        match self.texts.get(at + 1) {
            Some(text) => {
                self.shown = Some((at + 1, draft));
                Some(text.clone())
            }
            None => Some(draft),
        }
    }

    /// The person goes on with what is shown.
    pub(super) fn leave(&mut self) {
        self.shown = None;
    }
}

/// The file with what was typed: a line of JSON for each text, for its owner's eyes only.
#[derive(Debug)]
pub(super) struct HistoryFile {
    path: PathBuf,
}

impl HistoryFile {
    /// The one that belongs to a database.
    pub(super) fn beside(database: &Path) -> Self {
        let mut path = database.as_os_str().to_owned();
        path.push("-typed");
        Self { path: path.into() }
    }

    /// What is in it, oldest first. Lines that are damaged are left out.
    pub(super) fn read(&self) -> io::Result<Vec<String>> {
        let mut content = Vec::new();
        match self.options().read(true).open(&self.path) {
            Ok(file) => file.take(MOST_BYTES).read_to_end(&mut content)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let lines = content.split(|byte| *byte == b'\n');
        let mut texts: Vec<String> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        if texts.len() > 2 * MOST_TEXTS || content.len() as u64 == MOST_BYTES {
            texts.drain(..texts.len().saturating_sub(MOST_TEXTS));
            self.replace(&texts)?;
        }
        Ok(texts)
    }

    /// Adds a text.
    pub(super) fn add(&self, text: &str) -> io::Result<()> {
        let mut file = self.options().append(true).create(true).open(&self.path)?;
        file.write_all(line(text)?.as_bytes())
    }

    fn replace(&self, texts: &[String]) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        for text in texts {
            file.write_all(line(text)?.as_bytes())?;
        }
        file.persist(&self.path).map(drop).map_err(|error| error.error)
    }

    /// A link that somebody else has put there is not followed.
    fn options(&self) -> OpenOptions {
        let mut options = File::options();
        let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        options.mode(0o600).custom_flags(no_follow);
        options
    }
}

fn line(text: &str) -> io::Result<String> {
    Ok(format!("{}\n", serde_json::to_string(text)?))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use super::{HistoryFile, MOST_TEXTS, Recall};

    #[test]
    fn what_was_typed_comes_back_and_the_draft_too() {
        let mut recall = Recall::new(vec!["one".to_owned(), "two".to_owned()]);
        recall.add("two");
        assert_eq!(recall.newer(), None);
        assert_eq!(recall.older("draft").as_deref(), Some("two"));
        assert_eq!(recall.older("two").as_deref(), Some("one"));
        assert_eq!(recall.older("one"), None);
        assert_eq!(recall.newer().as_deref(), Some("two"));
        assert_eq!(recall.newer().as_deref(), Some("draft"));
        assert_eq!(recall.newer(), None);
    }

    #[test]
    fn the_file_is_private_and_has_an_end() {
        let directory = tempfile::tempdir().unwrap();
        let file = HistoryFile::beside(&directory.path().join("chat.db"));
        assert_eq!(file.read().unwrap(), [""; 0]);
        file.add("two\nlines \u{1b}").unwrap();
        let path = directory.path().join("chat.db-typed");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        fs::write(&path, format!("{}damaged\n", fs::read_to_string(&path).unwrap())).unwrap();
        file.add("more").unwrap();
        assert_eq!(file.read().unwrap(), ["two\nlines \u{1b}", "more"]);

        fs::write(&path, "\"x\"\n".repeat(2 * MOST_TEXTS + 1)).unwrap();
        assert_eq!(file.read().unwrap().len(), MOST_TEXTS);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), MOST_TEXTS);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        symlink("elsewhere", directory.path().join("chat.db-typed")).unwrap();
        let file = HistoryFile::beside(&directory.path().join("chat.db"));
        assert!(file.add("secret").is_err());
        assert!(!directory.path().join("elsewhere").exists());
    }
}
