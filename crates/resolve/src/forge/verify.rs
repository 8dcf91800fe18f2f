//! Is this the file that was listed?

use super::{BlobId, ForgeError, ListedFile};

/// What every note of Git LFS starts with.
const LFS_START: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";
/// No note of Git LFS is larger.
const LFS_MAX: usize = 1024;

/// Refuses bytes other than those that were listed, and notes about content that is elsewhere.
pub(super) fn verify(file: &ListedFile, bytes: &[u8]) -> Result<(), ForgeError> {
    let path = || file.path.clone();
    let found = BlobId::of(bytes);
    if file.size.is_some_and(|size| size != bytes.len() as u64) || found != file.blob {
        return Err(ForgeError::Changed { path: path(), listed: file.blob.clone(), found });
    }
    if bytes.len() <= LFS_MAX && bytes.starts_with(LFS_START) {
        return Err(ForgeError::LargeFile { path: path() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use fullsend_fetch::cache::FileMode;
    use fullsend_origin::TreePath;

    use super::{BlobId, ListedFile, verify};

    fn listed(bytes: &[u8], size: Option<u64>) -> ListedFile {
        let path = TreePath::parse("a/b").unwrap();
        ListedFile { path, mode: FileMode::Regular, size, blob: BlobId::of(bytes) }
    }

    #[test]
    fn only_the_listed_bytes_pass() {
        assert!(verify(&listed(b"x", None), b"x").is_ok());
        assert!(verify(&listed(b"x", Some(1)), b"x").is_ok());
        for (file, bytes) in [(listed(b"x", None), b"y"), (listed(b"x", Some(2)), b"x")] {
            assert_eq!(verify(&file, bytes).unwrap_err().code(), "forge-file-changed");
        }
    }

    #[test]
    fn notes_about_large_files_are_not_those_files() {
        let note = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n";
        assert_eq!(verify(&listed(note, None), note).unwrap_err().code(), "forge-large-file");
        let text = [&note[..], &[b'x'; 1024]].concat();
        assert!(verify(&listed(&text, None), &text).is_ok(), "a text that quotes a note is a text");
    }
}
