//! What comes out of a tree that an attacker shaped.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use fullsend_runner::extract::{self, ExtractError, GitConfig, Limits};

struct Trees {
    base: tempfile::TempDir,
}

impl Trees {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        fs::create_dir(base.path().join("from")).unwrap();
        fs::write(base.path().join("secret"), "host secret").unwrap();
        Self { base }
    }

    fn from(&self) -> PathBuf {
        self.base.path().join("from")
    }

    fn to(&self) -> PathBuf {
        self.base.path().join("to")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.from().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn fifo(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
}

fn links(root: &Path) -> Vec<String> {
    let mut found: Vec<String> = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_symlink())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    found.sort();
    found
}

#[test]
fn output_has_only_regular_files() {
    let trees = Trees::new();
    trees.write("a/result.json", "{}");
    trees.write("security/x.txt", "x");
    let odd = trees.from().join(OsStr::from_bytes(b"na\xffme\n"));
    fs::write(&odd, "odd").unwrap();
    symlink("../secret", trees.from().join("link")).unwrap();
    symlink("a", trees.from().join("dirlink")).unwrap();
    fifo(&trees.from().join("pipe"));
    let socket = std::os::unix::net::UnixListener::bind(trees.from().join("socket")).unwrap();
    let extracted = extract::output(&trees.from(), &trees.to(), Limits::OUTPUT, &|| false).unwrap();
    drop(socket);
    let mut files = extracted.files.clone();
    files.sort();
    let expected = [
        Path::new("a/result.json"),
        Path::new(OsStr::from_bytes(b"na\xffme\n")),
        Path::new("security/x.txt"),
    ];
    assert_eq!(files, expected);
    assert_eq!(fs::read(trees.to().join(OsStr::from_bytes(b"na\xffme\n"))).unwrap(), b"odd");
    assert_eq!(fs::read_dir(trees.to()).unwrap().count(), 3);
    assert_eq!(extracted.warnings.len(), 4, "{:?}", extracted.warnings);
}

#[test]
fn copies_are_new_files_for_the_owner_without_special_permissions() {
    let trees = Trees::new();
    trees.write("tool", "#!/bin/sh\n");
    fs::set_permissions(trees.from().join("tool"), Permissions::from_mode(0o6777)).unwrap();
    fs::hard_link(trees.base.path().join("secret"), trees.from().join("hard")).unwrap();
    extract::repo(&trees.from(), &trees.to(), Limits::REPO, &GitConfig::default(), &|| false).unwrap();
    let mode = |name: &str| trees.to().join(name).metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode("tool"), mode("hard"), mode(".")), (0o700, 0o600, 0o700));
    fs::write(trees.to().join("hard"), "changed").unwrap();
    assert_eq!(fs::read_to_string(trees.base.path().join("secret")).unwrap(), "host secret");
    assert_eq!(trees.to().join("hard").metadata().unwrap().nlink(), 1);
}

#[test]
fn links_of_a_repository_stay_only_where_they_lead_inside() {
    let trees = Trees::new();
    trees.write("dir/file", "x");
    let make = |text: &str, name: &str| symlink(text, trees.from().join(name)).unwrap();
    make("dir/file", "inside");
    make("dir/../dir/file", "around");
    make("inside", "chain");
    make("../secret", "out");
    make("../to/dir/file", "out_and_in");
    make("/etc/passwd", "absolute");
    make("nowhere", "dangling");
    make("loop", "loop");
    make("out", "through_out");
    make("up/secret", "through_directory");
    make("..", "up");
    make("/proc/self/root/etc/passwd", "magic");
    let extracted =
        extract::repo(&trees.from(), &trees.to(), Limits::REPO, &GitConfig::default(), &|| false).unwrap();
    assert_eq!(links(&trees.to()), ["around", "chain", "inside"]);
    assert_eq!(extracted.warnings.len(), 9, "{:#?}", extracted.warnings);
}

#[test]
fn limits_are_errors_that_say_what_is_too_much() {
    let small = Limits { entries: 3, file_bytes: 10, bytes: 15 };
    let cases: [(&[(&str, u64)], &str); 4] = [
        (&[("huge", 1 << 40)], "`huge` has more than 10 bytes"),
        (&[("a", 8), ("b", 8)], "more than 15 bytes in all files"),
        (&[("a", 1), ("b", 1), ("c", 1), ("d", 1)], "more than 3 files"),
        (&[("ok", 10)], ""),
    ];
    for (files, expected) in cases {
        let trees = Trees::new();
        for (name, length) in files {
            fs::File::create(trees.from().join(name)).unwrap().set_len(*length).unwrap();
        }
        match extract::output(&trees.from(), &trees.to(), small, &|| false) {
            Err(error @ ExtractError::TooMuch(_)) => assert!(error.to_string().contains(expected), "{error}"),
            other => assert!(expected.is_empty() && other.is_ok(), "{other:?}"),
        }
    }
    let trees = Trees::new();
    let deep = "d/".repeat(200);
    trees.write(&format!("{deep}x"), "x");
    let error = extract::output(&trees.from(), &trees.to(), Limits::OUTPUT, &|| false).unwrap_err();
    assert!(error.to_string().contains("128 directories"), "{error}");
}

#[test]
fn a_root_that_became_a_link_is_not_followed() {
    let trees = Trees::new();
    fs::remove_dir(trees.from()).unwrap();
    symlink("/etc", trees.from()).unwrap();
    assert!(matches!(
        extract::output(&trees.from(), &trees.to(), Limits::OUTPUT, &|| false),
        Err(ExtractError::Io { .. })
    ));
}

#[test]
fn many_warnings_become_a_number() {
    let trees = Trees::new();
    for number in 0..60 {
        symlink("/x", trees.from().join(format!("l{number}"))).unwrap();
    }
    let extracted = extract::output(&trees.from(), &trees.to(), Limits::OUTPUT, &|| false).unwrap();
    assert_eq!(extracted.warnings.last().unwrap(), "and 10 more were left out");
}

#[test]
fn a_removed_output_directory_is_an_empty_one() {
    let trees = Trees::new();
    fs::remove_dir(trees.from()).unwrap();
    let extracted = extract::output(&trees.from(), &trees.to(), Limits::OUTPUT, &|| false).unwrap();
    assert_eq!((extracted.files.len(), extracted.warnings.len(), trees.to().is_dir()), (0, 1, true));
}

#[test]
fn transcripts_are_copied_by_handle_and_under_their_own_names() {
    let trees = Trees::new();
    trees.write("projects/a/t.jsonl", "one");
    trees.write("projects/b/t.jsonl", "two");
    trees.write("odd name\n.jsonl", "three");
    symlink("../../secret", trees.from().join("projects/link.jsonl")).unwrap();
    symlink("projects/a", trees.from().join("via")).unwrap();
    fifo(&trees.from().join("pipe.jsonl"));
    fs::create_dir(trees.to()).unwrap();
    let names = [
        "projects/a/t.jsonl",
        "projects/b/t.jsonl",
        "odd name\n.jsonl",
        "projects/link.jsonl",
        "via/t.jsonl",
        "pipe.jsonl",
        "gone.jsonl",
        "../secret",
    ];
    let paths: Vec<PathBuf> = names.iter().map(|name| trees.from().join(name)).collect();
    let found = extract::transcripts(&trees.from(), &paths, &trees.to(), "rev", Limits::OUTPUT).unwrap();
    assert_eq!(found.files, ["rev-t.jsonl", "rev-2-t.jsonl", "rev-odd_name_.jsonl"].map(PathBuf::from));
    assert_eq!(fs::read_to_string(trees.to().join("rev-2-t.jsonl")).unwrap(), "two");
    assert_eq!(
        (found.warnings.len(), fs::read_dir(trees.to()).unwrap().count()),
        (5, 3),
        "{:?}",
        found.warnings
    );
}

#[test]
fn the_end_of_the_run_is_heard_between_files_and_in_large_ones() {
    let trees = Trees::new();
    let large = fs::File::create(trees.from().join("large")).unwrap();
    large.set_len(200 << 20).unwrap();
    let asked = std::cell::Cell::new(0);
    let is_over = |most: u32| {
        asked.set(asked.get() + 1);
        asked.get() > most
    };
    let over = extract::output(&trees.from(), &trees.to(), Limits::OUTPUT, &|| is_over(3));
    assert!(matches!(over, Err(ExtractError::Over)), "{over:?}");
    let copied = fs::metadata(trees.to().join("large")).unwrap().len();
    assert!(copied > 0 && copied < 200 << 20, "{copied}");

    let trees = Trees::new();
    (0..10).for_each(|name| fs::write(trees.from().join(name.to_string()), "x").unwrap());
    asked.set(0);
    let over = extract::output(&trees.from(), &trees.to(), Limits::OUTPUT, &|| is_over(9));
    assert!(matches!(over, Err(ExtractError::Over)), "{over:?}");
}
