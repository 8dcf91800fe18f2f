//! Laws of reading and writing, for any content.

use fullsend_harness::value::Platform;
use fullsend_origin::{RemoteUrl, Sha256Digest, TreePath};
use fullsend_resolve::lock::{LockFile, LockedDependency, LockedHarness, LockedKind, LockedPath};
use jiff::Timestamp;
use proptest::prelude::*;

use super::lock_text::read_text;

fn any_digest() -> impl Strategy<Value = Sha256Digest> {
    prop_oneof!["[0-9a-f]{64}", "[0-9]{64}", "[0-9]{30}e[0-9]{33}"].prop_map(|text| text.parse().unwrap())
}

fn any_time() -> impl Strategy<Value = Timestamp> {
    (-62_135_596_800_i64..253_402_207_200, prop_oneof![Just(0), 0..1_000_000_000_i32, Just(500_000_000)])
        .prop_map(|(seconds, nanos)| Timestamp::new(seconds, if seconds < 0 { 0 } else { nanos }).unwrap())
}

fn any_url() -> impl Strategy<Value = RemoteUrl> {
    "https://[a-z]{1,5}\\.example/[a-zA-Z0-9 :&=,'\"{}\\[\\]é-]{0,12}(\\?[a-z=:&]{0,6})?"
        .prop_filter_map("hazards", |text| RemoteUrl::parse(&text).ok())
}

/// Words that YAML reads in its own way, and hostile ones.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}([0-9]{1,3})?",
        "\\PC{1,20}",
        "[ -~\\n\\t\u{85}\u{2028}\u{feff}\u{1b}]{1,12}",
        "[-+.:_0-9ex]{1,8}",
        prop::sample::select(vec![
            "on",
            "null",
            "<<",
            "---",
            "~",
            "2026-06-08",
            "- a",
            "a: b",
            "#",
            "!x",
            "{}",
            "'"
        ])
        .prop_map(str::to_owned),
    ]
}

prop_compose! {
    fn any_path()(text in "[ -~é]{1,10}", sha256 in any_digest()) -> Option<LockedPath> {
        TreePath::parse(&text).ok().map(|path| LockedPath { path, sha256 })
    }
}

prop_compose! {
    fn any_dependency()(
        field in any_text(),
        platform in prop::sample::select(vec![None, Some(Platform::GitHub), Some(Platform::Jira)]),
        url in any_url(),
        sha256 in any_digest(),
        kind in prop::sample::select(vec![None, Some(LockedKind::File), Some(LockedKind::Directory), Some(LockedKind::Script)]),
        files in prop::collection::vec(any_path(), 0..3),
        fetched_at in any_time(),
    ) -> LockedDependency {
        LockedDependency { field, platform, url, sha256, kind, files: files.into_iter().flatten().collect(), fetched_at }
    }
}

prop_compose! {
    fn any_harness()(
        source in any_text(),
        sha256 in any_digest(),
        composed_sha256 in prop::option::of(any_digest()),
        resolved_at in any_time(),
        dependencies in prop::collection::vec(any_dependency(), 0..4),
    ) -> LockedHarness {
        LockedHarness { source, sha256, composed_sha256, resolved_at, dependencies }
    }
}

prop_compose! {
    fn any_lock()(
        generated_at in prop::option::of(any_time()),
        harnesses in prop::collection::btree_map(any_text(), any_harness(), 0..5),
    ) -> LockFile {
        LockFile { generated_at, harnesses }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(lock in any_lock()) {
        let text = lock.render();
        let (again, problems) = read_text(&text);
        prop_assert_eq!(problems, Vec::<String>::new(), "{}", text);
        let again = again.unwrap();
        prop_assert_eq!(&again, &lock, "{}", text);
        prop_assert_eq!(again.render(), text);
    }

    #[test]
    fn reading_never_panics(text in "(version: 1\n)?[ -~\n]{0,200}") {
        let _outcome = read_text(&text);
    }
}
