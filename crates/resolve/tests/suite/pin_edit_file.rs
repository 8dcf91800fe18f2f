//! Replacing the edited file.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use fullsend_origin::Sha256Digest;
use fullsend_resolve::pin_edit::{set_pin, write_file};
use tempfile::TempDir;

const URL: &str = "https://x.example/a.md";
const TEXT: &str = "agent: https://x.example/a.md # mine\n";

fn digest() -> Sha256Digest {
    "d".repeat(64).parse().unwrap()
}

#[test]
fn the_file_keeps_its_permissions_and_a_link_stays_a_link() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("code.yaml");
    let link = directory.path().join("link.yaml");
    fs::write(&path, TEXT).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    symlink("code.yaml", &link).unwrap();
    let edited = set_pin(TEXT, URL, digest()).unwrap();
    write_file(&link, &edited).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("agent: {URL}#sha256={} # mine\n", digest()));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
    assert!(link.is_symlink());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "nothing is left beside it");
}

#[test]
fn a_file_that_changed_meanwhile_is_left_alone() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("code.yaml");
    let edited = set_pin(TEXT, URL, digest()).unwrap();
    let refused = || {
        let error = write_file(&path, &edited).unwrap_err();
        format!("{}: {error} | {}", error.code(), error.help())
    };
    let expected = format!(
        "file-changed: `{}` has changed since it was read; nothing was written | look at the new content and run the command \
         again",
        path.display()
    );
    assert_eq!(refused(), expected, "gone");
    fs::write(&path, "agent: other.md\n").unwrap();
    assert_eq!(refused(), expected);
    assert_eq!(fs::read_to_string(&path).unwrap(), "agent: other.md\n");
    fs::write(&path, TEXT).unwrap();
    write_file(&path, &edited).unwrap();
    assert_eq!(refused(), expected, "already written");
}

#[test]
fn nothing_to_change_writes_nothing() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("code.yaml");
    let done = set_pin(TEXT, URL, digest()).unwrap().text;
    fs::write(&path, &done).unwrap();
    let inode = || std::os::unix::fs::MetadataExt::ino(&fs::metadata(&path).unwrap());
    let before = inode();
    write_file(&path, &set_pin(&done, URL, digest()).unwrap()).unwrap();
    assert_eq!(inode(), before);
}
