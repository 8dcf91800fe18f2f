//! What tools leave in the directory of a run.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fullsend_origin::Sha256Digest;
use rustix::fs::OFlags;
use serde::Serialize;
use serde_json::Value;

use super::error::ArtifactError;
use super::files::{self, Existing};
use super::run_id::{RunId, is_plain};
use super::{journal, lock};

/// The directory of whole results.
pub(super) const OUTPUTS: &str = "tool-outputs";
/// The directory of pictures.
pub(super) const IMAGES: &str = "image-attachments";
/// The list of all files.
pub(crate) const MANIFEST: &str = "artifacts.json";

/// The directory of a run, for those who leave something in it. Clones are cheap, and none waits for another.
#[derive(Clone, Debug)]
pub struct Artifacts(Arc<Place>);

#[derive(Debug)]
struct Place {
    directory: OwnedFd,
    path: PathBuf,
}

impl Artifacts {
    pub(super) fn new(directory: OwnedFd, path: PathBuf) -> Self {
        Self(Arc::new(Place { directory, path }))
    }

    /// The directory of the run.
    pub fn run_dir(&self) -> &Path {
        &self.0.path
    }

    pub(super) fn directory(&self) -> BorrowedFd<'_> {
        self.0.directory.as_fd()
    }

    /// How a file of the run is named in its record: from its directory on.
    pub fn relative(&self, path: &Path) -> String {
        path.strip_prefix(self.run_dir()).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// Keeps the whole result of a call. There is one for each output, and it never changes.
    pub fn write_output(
        &self,
        output_id: &str,
        tool: &str,
        record: &Value,
    ) -> Result<PathBuf, ArtifactError> {
        let name = format!("{}.json", plain_name(&format!("{output_id}-{tool}")));
        self.write_json(Some(OUTPUTS), &name, Existing::Keep, record)
    }

    /// Reads the whole result of a call.
    pub(crate) fn read_output(&self, output_id: &str, tool: &str) -> io::Result<Value> {
        let name = format!("{}.json", plain_name(&format!("{output_id}-{tool}")));
        let directory = files::dir_in(self.directory(), OUTPUTS)?;
        let file = files::open_file(directory, &name, OFlags::RDONLY)?;
        serde_json::from_reader(io::BufReader::new(file)).map_err(io::Error::from)
    }

    /// The highest number of an output that has a file; zero when there is none.
    pub(super) fn highest_output(&self, run_id: &RunId) -> u64 {
        let opened = files::dir_in(self.directory(), OUTPUTS);
        let names = opened.and_then(files::names).unwrap_or_default();
        let prefix = format!("{run_id}_");
        // `<run>_<tool>_<number>-<what>`: what has a longer name is not one that a number is given to twice.
        let number = |name: &OsString| {
            let (output, _) = name.to_str()?.strip_prefix(&prefix)?.split_once('-')?;
            output.rsplit('_').next()?.parse::<u64>().ok()
        };
        names.iter().filter_map(number).max().unwrap_or_default()
    }

    /// A new file for what a command writes while it runs, such as `stdout`.
    pub fn spill(&self, output_id: &str, stream: &str) -> io::Result<(PathBuf, File)> {
        let name = format!("{}.txt", plain_name(&format!("{output_id}-{stream}")));
        let directory = files::subdir(self.directory(), OUTPUTS)?;
        let file = files::create_file(directory, &name)?;
        Ok((self.run_dir().join(OUTPUTS).join(name), file))
    }

    /// Keeps a picture under the name of its digest. One that is there already is looked at before it is used again.
    pub fn keep_image(&self, bytes: &[u8], media_type: &str) -> Result<PathBuf, ArtifactError> {
        let name = format!("{}{}", Sha256Digest::of(bytes), extension(media_type));
        let path = self.run_dir().join(IMAGES).join(&name);
        let kept = || {
            let directory = files::subdir(self.directory(), IMAGES)?;
            if holds(&directory, &name, bytes)? {
                return Ok(());
            }
            files::write_whole(&directory, &name, Existing::Replace, |writer| writer.write_all(bytes))
        };
        kept().map_err(ArtifactError::at(&path))?;
        Ok(path)
    }

    /// Where the picture with this digest is kept, if it is.
    pub(crate) fn image(&self, digest: &str, media_type: &str) -> Option<PathBuf> {
        let digest: Sha256Digest = digest.parse().ok()?;
        let path = self.run_dir().join(IMAGES).join(format!("{digest}{}", extension(media_type)));
        path.is_file().then_some(path)
    }

    /// Writes a JSON file at the top of the directory, all of it or nothing; one that was there is replaced.
    pub fn write_artifact(&self, name: &str, value: &impl Serialize) -> Result<PathBuf, ArtifactError> {
        let reserved = [journal::JOURNAL, lock::LOCK, MANIFEST, OUTPUTS, IMAGES].contains(&name);
        if reserved || name.is_empty() || name.starts_with('.') || !name.bytes().all(is_plain) {
            let problem = io::Error::new(io::ErrorKind::InvalidInput, "no name for an artifact");
            return Err(ArtifactError::at(&self.run_dir().join(plain_name(name)))(problem));
        }
        self.write_json(None, name, Existing::Replace, value)
    }

    /// Writes a file that is made from the journal.
    pub(crate) fn write_rendered(
        &self,
        name: &str,
        value: &impl Serialize,
    ) -> Result<PathBuf, ArtifactError> {
        self.write_json(None, name, Existing::Replace, value)
    }

    /// Writes a text that is made from the journal.
    pub(crate) fn write_text(&self, name: &str, text: &str) -> Result<PathBuf, ArtifactError> {
        self.write(None, name, Existing::Replace, |writer| writer.write_all(text.as_bytes()))
    }

    fn write_json(
        &self,
        directory: Option<&str>,
        name: &str,
        existing: Existing,
        value: &impl Serialize,
    ) -> Result<PathBuf, ArtifactError> {
        self.write(directory, name, existing, |writer| {
            serde_json::to_writer_pretty(&mut *writer, value)?;
            writer.write_all(b"\n")
        })
    }

    fn write(
        &self,
        directory: Option<&str>,
        name: &str,
        existing: Existing,
        fill: impl FnOnce(&mut io::BufWriter<File>) -> io::Result<()>,
    ) -> Result<PathBuf, ArtifactError> {
        let path =
            directory.map_or_else(|| self.run_dir().join(name), |sub| self.run_dir().join(sub).join(name));
        let written = match directory {
            None => files::write_whole(self.directory(), name, existing, fill),
            Some(sub) => files::subdir(self.directory(), sub)
                .and_then(|directory| files::write_whole(directory, name, existing, fill)),
        };
        written.map_err(ArtifactError::at(&path))?;
        Ok(path)
    }
}

/// Whether the file is there and holds just these bytes.
fn holds(directory: impl AsFd, name: &str, bytes: &[u8]) -> io::Result<bool> {
    let mut file = match files::open_file(directory, name, OFlags::RDONLY) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if Ok(file.metadata()?.len()) != u64::try_from(bytes.len()) {
        return Ok(false);
    }
    let mut found = Vec::with_capacity(bytes.len());
    file.read_to_end(&mut found)?;
    Ok(found == bytes)
}

/// The ending of a picture's name. Others than these four are not shown to models; they would be kept without one.
fn extension(media_type: &str) -> &'static str {
    match media_type {
        "image/png" => ".png",
        "image/jpeg" => ".jpg",
        "image/gif" => ".gif",
        "image/webp" => ".webp",
        _ => "",
    }
}

/// The longest name that is kept as it is; names of files end at 255 bytes.
const LONGEST_NAME: usize = 200;

/// A name for a file: every row of characters that mean something to somebody becomes one `_`.
fn plain_name(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut last_replaced = false;
    for character in name.chars() {
        let keeps = u8::try_from(character).is_ok_and(is_plain);
        if keeps {
            plain.push(character);
        } else if !last_replaced {
            plain.push('_');
        }
        last_replaced = !keeps;
    }
    if plain.len() > LONGEST_NAME {
        let digest = Sha256Digest::of(name.as_bytes());
        plain.truncate(LONGEST_NAME - 65);
        plain.push_str(&format!("-{digest}"));
    }
    plain
}
