use fullsend_fetch::cache::FileMode;
use fullsend_origin::TreePath;

use super::{Checked, Entry, Listing};
use crate::forge::{BlobId, ForgeError, ListedFile, ListingFault, TreeLimits};

fn entry(kind: &str, mode: &str) -> Entry {
    let id = BlobId::of(b"x").to_string();
    Entry { path: String::new(), mode: mode.to_owned(), kind: kind.to_owned(), id, size: Some(1) }
}

fn file(path: &str) -> ListedFile {
    match entry("blob", "100644").check(path.to_owned()).unwrap() {
        Checked::File(file) => file,
        other @ Checked::Directory(..) => panic!("{other:?}"),
    }
}

fn code(kind: &str, mode: &str) -> &'static str {
    entry(kind, mode).check("a".to_owned()).map_or_else(|error| error.code(), |_| "ok")
}

#[test]
fn both_dialects_are_read() {
    let github = r#"{"path":"a","mode":"100755","type":"blob","sha":"b","size":3,"url":"https://x"}"#;
    let gitlab = r#"{"id":"b","name":"a","type":"blob","path":"a","mode":"100755"}"#;
    for (text, size) in [(github, Some(3)), (gitlab, None)] {
        let entry: Entry = serde_json::from_str(text).unwrap();
        assert_eq!((entry.path.as_str(), entry.id.as_str(), entry.size), ("a", "b", size));
    }
    assert!(serde_json::from_str::<Entry>(r#"{"path":"a","mode":"100755","type":"blob"}"#).is_err());
}

#[test]
fn modes_decide() {
    for (mode, expected) in
        [("100644", FileMode::Regular), ("100664", FileMode::Regular), ("100755", FileMode::Executable)]
    {
        let Checked::File(file) = entry("blob", mode).check("a".to_owned()).unwrap() else {
            panic!("{mode}")
        };
        assert_eq!(file.mode, expected);
    }
    assert!(matches!(entry("tree", "040000").check("a".to_owned()), Ok(Checked::Directory(..))));
    assert_eq!(code("blob", "120000"), "forge-entry-symlink");
    assert_eq!(code("commit", "160000"), "forge-entry-submodule");
}

#[test]
fn kinds_and_modes_that_contradict_each_other_are_refused() {
    for (kind, mode) in [
        ("blob", "040000"),
        ("tree", "100644"),
        ("tree", "120000"),
        ("blob", "160000"),
        ("commit", "100644"),
        ("blob", "020000"),
        ("blob", ""),
        ("", "100644"),
        ("blob", "0100644"),
    ] {
        assert_eq!(code(kind, mode), "forge-entry-special", "{kind} {mode}");
    }
}

#[test]
fn hostile_paths_are_refused_whatever_they_are() {
    for (kind, mode) in [("blob", "100644"), ("tree", "040000"), ("blob", "120000")] {
        for path in [
            "",
            "/etc/passwd",
            "../x",
            "a/../../x",
            "a/./b",
            "a//b",
            "a/",
            "a\nb:0",
            "a\0b",
            "a\u{7f}",
            ".git/config",
            "a/.GIT/hooks/pre-commit",
            "a\u{fffd}b",
        ] {
            let error = entry(kind, mode).check(path.to_owned()).unwrap_err();
            assert_eq!(error.code(), "forge-bad-listing", "{path:?} {kind}");
            assert!(error.help().is_some() || path.is_empty());
            assert!(!error.to_string().contains(['\n', '\0', '\u{7f}']), "a message must not carry {path:?}");
        }
    }
    assert!(matches!(file(".gitignore").path.as_str(), ".gitignore"));
}

#[test]
fn ids_must_be_ids() {
    for id in ["", "main", "../../other", &"A".repeat(40)] {
        let error = Entry { id: id.to_owned(), ..entry("blob", "100644") }.check("a".to_owned()).unwrap_err();
        assert!(matches!(error, ForgeError::Listing { source: ListingFault::Id, .. }), "{id}");
    }
}

#[test]
fn no_path_occurs_twice_and_no_file_has_files_below() {
    let limits = TreeLimits::default();
    let mut listing = Listing::new(&limits);
    listing.add(file("a/b")).unwrap();
    assert_eq!(listing.add(file("a/b")).unwrap_err().code(), "forge-bad-listing");
    for (one, other) in [("a", "a/b"), ("x/y/z", "x/y"), ("a/b/c/d", "a")] {
        let mut listing = Listing::new(&limits);
        listing.add(file(one)).unwrap();
        listing.add(file(other)).unwrap();
        assert!(matches!(
            listing.finish(),
            Err(ForgeError::Listing { source: ListingFault::FileAndDirectory, .. })
        ));
    }
    let mut listing = Listing::new(&limits);
    for path in ["b", "a/c", "a.b", "ab"] {
        listing.add(file(path)).unwrap();
    }
    let paths: Vec<String> = listing.finish().unwrap().iter().map(|file| file.path.to_string()).collect();
    assert_eq!(paths, ["a.b", "a/c", "ab", "b"]);
}

#[test]
fn a_directory_without_files_is_a_hole_in_the_listing() {
    let limits = TreeLimits::default();
    let mut listing = Listing::new(&limits);
    listing.add(file("a/b/c")).unwrap();
    listing.add_directory(TreePath::parse("a").unwrap());
    listing.add_directory(TreePath::parse("a/b").unwrap());
    listing.add_directory(TreePath::parse("a/bc").unwrap());
    let error = listing.finish().unwrap_err();
    assert!(
        matches!(&error, ForgeError::Listing { path, source: ListingFault::Incomplete } if path == "a/bc")
    );
}

#[test]
fn limits_hold_at_their_edges() {
    let limits = TreeLimits { max_files: 2, max_bytes: 3, ..TreeLimits::default() };
    let mut listing = Listing::new(&limits);
    listing.add(file("a")).unwrap();
    listing.add(ListedFile { size: Some(2), ..file("b") }).unwrap();
    assert_eq!(
        listing.add(ListedFile { size: Some(0), ..file("c") }).unwrap_err().code(),
        "forge-too-many-files"
    );
    let mut listing = Listing::new(&limits);
    assert_eq!(
        listing.add(ListedFile { size: Some(4), ..file("a") }).unwrap_err().code(),
        "forge-too-many-bytes"
    );
    let mut listing = Listing::new(&limits);
    listing.add(file("a")).unwrap();
    let error = listing.add(ListedFile { size: Some(u64::MAX), ..file("b") }).unwrap_err();
    assert_eq!(error.code(), "forge-too-many-bytes");
}
