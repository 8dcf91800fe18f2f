//! Files in the cache: layout, records, who wins.

use std::fs;
use std::os::unix::fs::symlink;

use fullsend_fetch::cache::{Cache, EntryId, Listing, Lookup};
use fullsend_origin::{Sha256Digest, TreeDigest};
use fullsend_testkit::{reexec, test_name};

use super::support::{Scratch, snapshot, tree, url};

/// The digest of `hello`.
const HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

#[test]
fn what_was_put_is_found() {
    let scratch = Scratch::new();
    let stored = scratch.cache.put_file(&url("https://example.com/a?x=1&y=<2>"), b"hello").unwrap();
    assert_eq!(stored.id, EntryId::File(HELLO.parse().unwrap()));
    let hit = scratch.cache.get_file(&HELLO.parse().unwrap()).unwrap().hit().unwrap();
    assert_eq!(hit.bytes, b"hello");
    assert_eq!(hit.path, stored.path);
    assert_eq!(hit.metadata.url(), "https://example.com/a?x=1&y=<2>");
    assert_eq!(hit.metadata.fetch_time().to_string(), "1970-01-01T00:30:00.12Z");
    assert!(!hit.metadata.is_directory());
}

#[test]
fn the_record_has_exactly_this_form() {
    let scratch = Scratch::new();
    let stored = scratch.cache.put_file(&url("https://example.com/a?x=1&y=<2>"), b"hello").unwrap();
    let text = fs::read_to_string(scratch.entry(&stored).join("metadata.json")).unwrap();
    let expected = format!(
        "{{\n  \"url\": \"https://example.com/a?x=1\\u0026y=\\u003c2\\u003e\",\n  \"fetch_time\": \"1970-01-01T00:30:00.12Z\",\n  \"sha256\": \"{HELLO}\"\n}}"
    );
    assert_eq!(text, expected);
}

#[test]
fn records_with_plain_characters_are_read_too() {
    let scratch = Scratch::new();
    let stored = scratch.put("hello");
    let record = format!(
        r#"{{"url":"https://x/?a&b","fetch_time":"2026-11-15T06:14:40.169297373Z","sha256":"{HELLO}","later":1}}"#
    );
    fs::write(scratch.entry(&stored).join("metadata.json"), record).unwrap();
    let hit = scratch.cache.get_file(&HELLO.parse().unwrap()).unwrap().hit().unwrap();
    assert_eq!(hit.metadata.url(), "https://x/?a&b");
    assert_eq!(hit.metadata.fetch_time().to_string(), "2026-11-15T06:14:40.169297373Z");
}

#[test]
fn the_layout_and_modes_hold_under_any_umask() {
    if let Some(directory) = reexec::role() {
        let cache = Cache::open(directory.as_ref()).unwrap();
        cache.put_file(&url("https://example.com/a"), b"hello").unwrap();
        let files = tree(&[("SKILL.md", "x"), ("scripts/run.sh", "y")]);
        cache.put_tree(&url("https://example.com/t"), &files, Listing::Full).unwrap();
        return;
    }
    for umask in ["000", "022", "077", "277"] {
        let directory = tempfile::tempdir().unwrap();
        let role = directory.path().to_str().unwrap();
        let child = reexec::command_with_umask(umask, test_name!(), role).output().unwrap();
        assert!(child.status.success(), "{child:?}");
        let cache = Cache::open(directory.path()).unwrap();
        let listed = cache.list().unwrap();
        let tree = listed.iter().find(|entry| matches!(entry.id, EntryId::Tree(_))).unwrap().id.digest();
        let mut expected = vec![
            ".fullsend-cache 700".to_owned(),
            ".fullsend-cache/resources 700".to_owned(),
            ".fullsend-cache/resources/sha256 700".to_owned(),
            format!(".fullsend-cache/resources/sha256/{HELLO} 700"),
            format!(".fullsend-cache/resources/sha256/{HELLO}/content 600"),
            format!(".fullsend-cache/resources/sha256/{HELLO}/metadata.json 600"),
            format!(".fullsend-cache/resources/sha256/{tree} 700"),
            format!(".fullsend-cache/resources/sha256/{tree}/metadata.json 600"),
            format!(".fullsend-cache/resources/sha256/{tree}/tree 700"),
            format!(".fullsend-cache/resources/sha256/{tree}/tree/SKILL.md 600"),
            format!(".fullsend-cache/resources/sha256/{tree}/tree/scripts 700"),
            format!(".fullsend-cache/resources/sha256/{tree}/tree/scripts/run.sh 600"),
            ".fullsend-cache/tmp 700".to_owned(),
            ".fullsend-cache/version 600".to_owned(),
        ];
        expected.sort();
        assert_eq!(snapshot(directory.path()), expected, "umask {umask}");
    }
}

#[test]
fn the_last_writer_is_in_the_record() {
    let scratch = Scratch::new();
    scratch.put("hello");
    scratch.clock.set(3_600);
    scratch.cache.put_file(&url("https://example.com/b"), b"hello").unwrap();
    let hit = scratch.cache.get_file(&HELLO.parse().unwrap()).unwrap().hit().unwrap();
    assert_eq!(hit.metadata.url(), "https://example.com/b");
    assert_eq!(hit.metadata.fetch_time().to_string(), "1970-01-01T01:00:00.12Z");
    assert_eq!(fs::read_dir(scratch.cache.root().join("tmp")).unwrap().count(), 0);
}

#[test]
fn opening_and_looking_create_nothing() {
    let scratch = Scratch::new();
    assert_eq!(scratch.cache.get_file(&HELLO.parse().unwrap()).unwrap(), Lookup::Miss);
    assert_eq!(scratch.cache.get_tree(&HELLO.parse().unwrap()).unwrap(), Lookup::Miss);
    assert!(scratch.cache.list().unwrap().is_empty());
    assert!(!scratch.cache.root().exists());
}

#[test]
fn a_cache_of_another_layout_is_left_alone() {
    let scratch = Scratch::new();
    scratch.put("hello");
    let mark = scratch.cache.root().join("version");
    assert_eq!(fs::read_to_string(&mark).unwrap(), "1\n");
    for text in ["2\n", "", "1.1"] {
        fs::write(&mark, text).unwrap();
        assert_eq!(Cache::open(scratch.directory.path()).unwrap_err().code(), "cache-version", "{text}");
        let error = scratch.cache.put_file(&url("https://example.com/b"), b"other").unwrap_err();
        assert_eq!(error.code(), "cache-version", "{text}");
    }
    fs::remove_file(&mark).unwrap();
    symlink("/dev/zero", &mark).unwrap();
    assert_eq!(Cache::open(scratch.directory.path()).unwrap_err().code(), "cache-version");
    fs::remove_file(&mark).unwrap();
    assert!(
        Cache::open(scratch.directory.path())
            .unwrap()
            .get_file(&HELLO.parse().unwrap())
            .unwrap()
            .hit()
            .is_some()
    );
}

#[test]
fn a_relative_workspace_becomes_absolute() {
    let cache = Cache::open("some/workspace".as_ref()).unwrap();
    assert!(cache.root().is_absolute());
}

#[test]
fn only_digests_in_their_one_spelling_are_names() {
    for text in ["../../etc/passwd", "abcdef", &HELLO.to_uppercase(), &format!("{HELLO}0")] {
        assert!(text.parse::<Sha256Digest>().is_err(), "{text}");
        assert!(text.parse::<TreeDigest>().is_err(), "{text}");
    }
}

#[test]
fn a_cache_behind_a_link_is_refused() {
    for link in [".fullsend-cache", ".fullsend-cache/resources", ".fullsend-cache/resources/sha256"] {
        let directory = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let place = directory.path().join(link);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        symlink(elsewhere.path(), &place).unwrap();
        let error = Cache::open(directory.path()).unwrap_err();
        assert_eq!(error.code(), "cache-escapes", "{link}");
        fs::remove_file(&place).unwrap();

        let cache = Cache::open(directory.path()).unwrap();
        symlink(elsewhere.path(), &place).unwrap();
        let error = cache.put_file(&url("https://example.com/a"), b"hello").unwrap_err();
        assert_eq!(error.code(), "cache-escapes", "{link}");
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_file_that_spells_a_tree_does_not_displace_it() {
    let scratch = Scratch::new();
    let stored = scratch.put_tree(&[("a", "1")]);
    let preimage = format!("a:{}\n", Sha256Digest::of(b"1"));
    let error = scratch.cache.put_file(&url("https://example.com/a"), preimage.as_bytes()).unwrap_err();
    assert_eq!(error.code(), "cache-kind-conflict");
    assert_eq!(scratch.cache.get_file(&stored.id.digest()).unwrap(), Lookup::Miss);
    assert_eq!(scratch.state(&stored), "hit");
}

#[test]
fn the_empty_file_is_a_file() {
    let scratch = Scratch::new();
    let stored = scratch.put("");
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(stored.id.digest().to_string(), empty);
    assert_eq!(scratch.state(&stored), "hit");
}
