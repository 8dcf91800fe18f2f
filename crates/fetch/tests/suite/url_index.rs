//! The index of digests by URL.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use fullsend_fetch::cache::{Cache, IndexState, UrlIndex};
use fullsend_origin::Sha256Digest;
use fullsend_testkit::{reexec, test_name};

use super::support::Scratch;

fn digest(text: &str) -> Sha256Digest {
    Sha256Digest::of(text.as_bytes())
}

#[test]
fn the_file_is_sorted_and_indented() {
    let scratch = Scratch::new();
    let index = UrlIndex::new(&scratch.cache);
    assert_eq!(index.get("https://x/a").unwrap(), None);
    let before = index.record([("skill:https://x/b".to_owned(), digest("b"))]).unwrap();
    assert_eq!(before, IndexState::Sound([].into()));
    assert!(matches!(index.record([("https://x/a".to_owned(), digest("a"))]).unwrap(), IndexState::Sound(_)));
    let path = scratch.cache.root().join("url-index.json");
    let expected = format!(
        "{{\n  \"https://x/a\": \"{}\",\n  \"skill:https://x/b\": \"{}\"\n}}",
        digest("a"),
        digest("b")
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(index.get("https://x/a").unwrap(), Some(digest("a")));
}

#[test]
fn a_damaged_index_counts_as_empty_and_says_so() {
    let scratch = Scratch::new();
    let index = UrlIndex::new(&scratch.cache);
    assert!(matches!(index.record([("https://x/a".to_owned(), digest("a"))]).unwrap(), IndexState::Sound(_)));
    let path = scratch.cache.root().join("url-index.json");
    for text in ["", "[]", "{\"https://x/a\": 1}", "{\"https://x/a\": \"../../etc/passwd\"}", "{"] {
        fs::write(&path, text).unwrap();
        assert!(matches!(index.read().unwrap(), IndexState::Damaged { .. }), "{text}");
        assert_eq!(index.get("https://x/a").unwrap(), None);
    }
    fs::remove_file(&path).unwrap();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert!(matches!(index.read().unwrap(), IndexState::Damaged { .. }), "a pipe");
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    let before = index.record([("https://x/b".to_owned(), digest("b"))]).unwrap();
    assert!(matches!(before, IndexState::Damaged { .. }));
    assert_eq!(index.get("https://x/b").unwrap(), Some(digest("b")));
    assert!(fs::symlink_metadata(&path).unwrap().is_file());
}

#[test]
fn many_processes_lose_nothing() {
    const PROCESSES: usize = 8;
    const EACH: usize = 20;
    if let Some(role) = reexec::role() {
        let (number, directory) = role.split_once(' ').unwrap();
        let index = UrlIndex::new(&Cache::open(directory.as_ref()).unwrap());
        for n in 0..EACH {
            let key = format!("https://x/{number}/{n}");
            let value = digest(&key);
            assert!(matches!(index.record([(key, value)]).unwrap(), IndexState::Sound(_)));
        }
        return;
    }
    let scratch = Scratch::new();
    let directory = scratch.directory.path().to_str().unwrap();
    let start =
        |n| reexec::command(test_name!(), &format!("{n} {directory}")).stdout(Stdio::null()).spawn().unwrap();
    let children: Vec<_> = (0..PROCESSES).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let entries = UrlIndex::new(&scratch.cache).read().unwrap().entries();
    assert_eq!(entries.len(), PROCESSES * EACH);
    assert!(entries.iter().all(|(key, value)| *value == digest(key)));
}
