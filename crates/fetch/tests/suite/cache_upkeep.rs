//! Listing, verifying and collecting.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use fullsend_fetch::cache::{Corruption, Health, Parallel};
use fullsend_origin::Sha256Digest;

use super::support::Scratch;

const DAY: Duration = Duration::from_secs(86_400);

#[test]
fn a_listing_has_kinds_sizes_and_sources() {
    let scratch = Scratch::new();
    let file = scratch.put("hello");
    let tree = scratch.put_tree(&[("a", "1"), ("b/c", "22")]);
    fs::write(scratch.entry(&file).parent().unwrap().join("stray"), "").unwrap();
    let listed = scratch.cache.list().unwrap();
    let mut expected = vec![(file.id, 5), (tree.id, 3)];
    expected.sort_by_key(|(id, _)| id.digest());
    assert_eq!(listed.iter().map(|entry| (entry.id, entry.size)).collect::<Vec<_>>(), expected);
    let url = |position: usize| listed[position].metadata.as_ref().unwrap().url().to_owned();
    let urls: BTreeSet<String> = [url(0), url(1)].into();
    assert_eq!(urls, ["https://example.com/a".to_owned(), "https://example.com/t".to_owned()].into());
}

#[test]
fn verification_names_each_entry_that_is_not_intact() {
    let scratch = Scratch::new();
    let intact: Vec<_> = (0..20).map(|n| scratch.put(&format!("file {n}"))).collect();
    let corrupt = scratch.put_tree(&[("a", "1")]);
    let incomplete = scratch.put("incomplete");
    assert!(scratch.cache.verify_all(Parallel::Available).unwrap().is_sound());
    fs::write(corrupt.path.join("a"), "2").unwrap();
    fs::remove_file(scratch.entry(&incomplete).join("metadata.json")).unwrap();
    for parallel in [Parallel::Single, Parallel::Available] {
        let report = scratch.cache.verify_all(parallel).unwrap();
        assert!(!report.is_sound());
        assert_eq!(report.entries.len(), 22);
        assert_eq!(report.bytes, 10 * 6 + 10 * 7);
        for (id, health) in &report.entries {
            if *id == corrupt.id {
                assert!(matches!(health, Health::Corrupt(Corruption::Tree { .. })), "{health:?}");
            } else if id.digest() == incomplete.id.digest() {
                assert!(matches!(health, Health::Incomplete), "{health:?}");
            } else {
                assert!(matches!(health, Health::Intact), "{health:?}");
                assert!(intact.iter().any(|stored| stored.id == *id));
            }
        }
    }
}

#[test]
fn collection_spares_what_is_kept_and_what_is_young() {
    let scratch = Scratch::new();
    let (kept, old) = (scratch.put("kept"), scratch.put("old"));
    scratch.clock.set(1_800 + 86_400);
    let young = scratch.put("young");
    let keep: BTreeSet<Sha256Digest> = [kept.id.digest()].into();
    let report = scratch.cache.gc(&keep, DAY).unwrap();
    assert_eq!(report.removed, [old.id]);
    assert_eq!(report.bytes, 3);
    assert_eq!([&kept, &old, &young].map(|stored| scratch.state(stored)), ["hit", "miss", "hit"]);
    let report = scratch.cache.gc(&BTreeSet::new(), Duration::ZERO).unwrap();
    assert_eq!(report.removed.len(), 2);
    assert!(scratch.cache.list().unwrap().is_empty());
}

#[test]
fn leftovers_of_dead_writers_are_swept_when_they_are_old() {
    let scratch = Scratch::new();
    scratch.put("hello");
    let tmp = scratch.cache.root().join("tmp");
    let (old, young) = (tmp.join("1-1-old"), tmp.join("1-1-young"));
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    scratch.clock.set(1_000_000);
    for (path, age) in [(&old, 2), (&young, 0)] {
        fs::create_dir(path).unwrap();
        fs::write(path.join("content"), "half an en").unwrap();
        File::open(path).unwrap().set_modified(now - Duration::from_secs(3_600) * age).unwrap();
    }
    let lock = tmp.join("repair.lock");
    File::create(&lock).unwrap().set_modified(now - DAY).unwrap();
    let keep = scratch.cache.list().unwrap().iter().map(|entry| entry.id.digest()).collect();
    assert_eq!(scratch.cache.gc(&keep, DAY).unwrap().leftovers, 1);
    assert!(!old.exists() && young.exists() && lock.exists());
}
