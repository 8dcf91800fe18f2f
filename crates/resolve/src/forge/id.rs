//! The names of git objects.

use std::fmt;
use std::str::FromStr;

use sha1::{Digest as _, Sha1};
use thiserror::Error;

/// The number of digits of an id.
const DIGITS: usize = 40;

/// A text is not the full id of a git object.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("an object id has 40 of the digits 0-9 and a-f")]
#[non_exhaustive]
pub struct ObjectIdError;

/// Checks the one spelling that ids have.
fn checked(text: &str) -> Result<String, ObjectIdError> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() == DIGITS && text.bytes().all(is_digit) { Ok(text.to_owned()) } else { Err(ObjectIdError) }
}

/// The full id of a commit, which names one state of a repository for ever.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(String);

impl CommitId {
    /// Reads 40 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, ObjectIdError> {
        checked(text).map(Self)
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for CommitId {
    type Err = ObjectIdError;

    fn from_str(text: &str) -> Result<Self, ObjectIdError> {
        Self::parse(text)
    }
}

/// The id of the content of a file.
///
/// SHA-1 is no longer safe against someone who makes two files on purpose; it shows that a file is the one that the
/// forge listed. What the *operator* meant is shown by the SHA-256 digest of the tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId(String);

impl BlobId {
    /// The id that git gives to `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = Sha1::new();
        hasher.update(format!("blob {}\0", bytes.len()));
        hasher.update(bytes);
        Self(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Reads 40 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, ObjectIdError> {
        checked(text).map(Self)
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{BlobId, CommitId};

    #[test]
    fn blobs_have_the_ids_that_git_gives_them() {
        assert_eq!(BlobId::of(b"").as_str(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(BlobId::of(b"hello\n").as_str(), "ce013625030ba8dba906f756967f9e9ca394464a");
        assert_ne!(BlobId::of(b"a\n"), BlobId::of(b"a\r\n"));
    }

    #[test]
    fn ids_have_one_spelling() {
        let id = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
        assert_eq!(CommitId::parse(id).unwrap().to_string(), id);
        for text in ["", "main", &id[1..], &format!("{id}0"), &id.to_uppercase(), &id.replace('e', "g")] {
            assert!(CommitId::parse(text).is_err() && BlobId::parse(text).is_err(), "{text}");
        }
    }
}
