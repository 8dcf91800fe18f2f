//! Laws that hold for all files and directories.

use std::collections::BTreeMap;

use fullsend_fetch::cache::{FileMode, Listing, TreeFile};
use fullsend_origin::Sha256Digest;
use proptest::prelude::*;

use super::support::{Scratch, path, tree_digest, url};

/// Directories in which no file is also a directory: directory names start with `d`, file names do not.
fn trees() -> impl Strategy<Value = BTreeMap<String, (Vec<u8>, bool)>> {
    let name = "(d[a-z.:-]{1,4}/){0,3}[a-c0-9 .:é-]{1,6}[a-z]";
    proptest::collection::btree_map(
        name,
        (proptest::collection::vec(any::<u8>(), 0..300), any::<bool>()),
        1..12,
    )
}

/// The digest of a directory, computed without the code under test.
fn expected_digest(files: &BTreeMap<String, (Vec<u8>, bool)>) -> Sha256Digest {
    let mut lines: Vec<Vec<u8>> = files
        .iter()
        .map(|(name, (bytes, _))| {
            [name.as_bytes(), b":", Sha256Digest::of(bytes).to_string().as_bytes()].concat()
        })
        .collect();
    lines.sort();
    let mut preimage = lines.join(&b'\n');
    preimage.push(b'\n');
    Sha256Digest::of(&preimage)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_tree_comes_back_as_it_was(files in trees()) {
        let scratch = Scratch::new();
        let mode = |flag: bool| if flag { FileMode::Executable } else { FileMode::Regular };
        let given: Vec<TreeFile> = files
            .iter()
            .map(|(name, (bytes, flag))| TreeFile { path: path(name), bytes: bytes.clone(), mode: mode(*flag) })
            .collect();
        let stored = scratch.cache.put_tree(&url("https://example.com/t"), &given, Listing::Full).unwrap();
        prop_assert_eq!(stored.id.digest(), expected_digest(&files));
        let hit = scratch.cache.get_tree(&tree_digest(&stored)).unwrap().hit().unwrap();
        let found: Vec<TreeFile> = hit
            .files
            .iter()
            .map(|file| TreeFile {
                path: file.path.clone(),
                bytes: std::fs::read(hit.dir.join(file.path.as_str())).unwrap(),
                mode: file.mode,
            })
            .collect();
        prop_assert_eq!(found, given);
    }

    #[test]
    fn every_file_comes_back_as_it_was(bytes in proptest::collection::vec(any::<u8>(), 0..100_000)) {
        let scratch = Scratch::new();
        let stored = scratch.cache.put_file(&url("https://example.com/a"), &bytes).unwrap();
        prop_assert_eq!(stored.id.digest(), Sha256Digest::of(&bytes));
        let hit = scratch.cache.get_file(&stored.id.digest()).unwrap().hit().unwrap();
        prop_assert_eq!(hit.bytes, bytes);
    }
}
