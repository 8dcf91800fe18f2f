//! Directories in the cache: digests, records, programs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use fullsend_fetch::cache::{FileMode, Listing, Lookup, TreeFile};
use fullsend_origin::{Sha256Digest, TreePath};

use super::support::{Scratch, path, snapshot, tree, tree_digest, url};

/// Files and the digest of the directory they make.
const VECTORS: &[(&[(&str, &str)], &str)] = &[
    (
        &[("a.txt", "alpha"), ("b.txt", "bravo"), ("c.txt", "charlie")],
        "8ad7e63122fe5cc69b9e5a51c4824299c0c8f476f98e84e8fe9a805bbba7495a",
    ),
    (
        &[("SKILL.md", "---\nname: test-skill\n---\n# Test Skill\n")],
        "412df4b1dc46860b077cae420fc40567d639217ba7612f5e6bb6fd3d30c108fd",
    ),
    (&[("SKILL.md", "")], "a400106528791498f610eb2af1ac60e1c3048a92e4140821dfb0e7724223bb3e"),
    (&[("SKILL.md", "# Skill\r\n")], "f4af57ef308985c3dc428109cf330e2ef5974ee0a8d8324654a528493cad38a7"),
    (
        &[("SKILL.md", "---\nname: srv-test\n---\n# Test\n")],
        "ab33ba348e51a8c81a5359d28a18df18edb630a3cb472a6d364eebfcd873d188",
    ),
    (
        &[
            ("SKILL.md", "# Review Skill\nA skill for reviews."),
            ("scripts/helper.sh", "#!/bin/bash\necho helper"),
            ("sub-agents/triage.md", "# Triage sub-agent"),
        ],
        "a534f60bdd516c10d969b377f42db7f1427539c9147c5167027e082097f06be3",
    ),
];

#[test]
fn known_directories_have_their_digests_and_are_found_by_them() {
    let scratch = Scratch::new();
    for (files, digest) in VECTORS {
        let stored = scratch.put_tree(files);
        assert_eq!(stored.id.digest().to_string(), *digest);
        let hit = scratch.cache.get_tree(&digest.parse().unwrap()).unwrap().hit().unwrap();
        assert_eq!(hit.dir, stored.path);
        let found: Vec<(&str, Sha256Digest, u64)> =
            hit.files.iter().map(|file| (file.path.as_str(), file.digest, file.size)).collect();
        let expected: Vec<(&str, Sha256Digest, u64)> = files
            .iter()
            .map(|(name, text)| (*name, Sha256Digest::of(text.as_bytes()), text.len() as u64))
            .collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn names_that_sort_differently_with_their_digests_are_found_again() {
    let scratch = Scratch::new();
    let stored = scratch.put_tree(&[("foo", "1"), ("foo-bar/x", "2"), ("foo.md", "3"), ("foo1", "4")]);
    assert_eq!(scratch.state(&stored), "hit");
    let hit = scratch.cache.get_tree(&tree_digest(&stored)).unwrap().hit().unwrap();
    let listed: Vec<&str> = hit.metadata.files().iter().map(|file| file.path.as_str()).collect();
    assert_eq!(listed, ["foo", "foo-bar/x", "foo.md", "foo1"]);
}

#[test]
fn names_that_look_like_temporary_files_are_ordinary() {
    let scratch = Scratch::new();
    let stored =
        scratch.put_tree(&[("x.tmp.1", "1"), (".named-2", "2"), ("metadata.json", "3"), ("ü/é", "4")]);
    assert_eq!(scratch.state(&stored), "hit");
}

#[test]
fn the_record_has_exactly_this_form() {
    let scratch = Scratch::new();
    let files = [
        TreeFile::new(path("scripts/helper.sh"), "#!/bin/sh\n").executable(),
        TreeFile::new(path("SKILL.md"), "# Skill"),
    ];
    let stored = scratch
        .cache
        .put_tree(&url("https://github.com/o/r/tree/main/skills/x"), &files, Listing::Full)
        .unwrap();
    let text = fs::read_to_string(scratch.entry(&stored).join("metadata.json")).unwrap();
    let expected = format!(
        r##"{{
  "url": "https://github.com/o/r/tree/main/skills/x",
  "fetch_time": "1970-01-01T00:30:00.12Z",
  "sha256": "{}",
  "type": "directory",
  "files": [
    {{
      "path": "SKILL.md",
      "sha256": "e2151f8490121dc5e6fd36c1d4e00b6da5593595e3eb8ece76c1d0ec3f310979"
    }},
    {{
      "path": "scripts/helper.sh",
      "sha256": "{}"
    }}
  ],
  "full_listing": true,
  "executable": [
    "scripts/helper.sh"
  ]
}}"##,
        stored.id.digest(),
        Sha256Digest::of(b"#!/bin/sh\n"),
    );
    assert_eq!(text, expected);
}

#[test]
fn keys_that_say_nothing_are_left_out() {
    let scratch = Scratch::new();
    let stored = scratch.put_tree(&[("a", "1")]);
    let text = fs::read_to_string(scratch.entry(&stored).join("metadata.json")).unwrap();
    assert!(!text.contains("full_listing") && !text.contains("executable"), "{text}");
    let hit = scratch.cache.get_tree(&tree_digest(&stored)).unwrap().hit().unwrap();
    assert_eq!(hit.metadata.listing(), Listing::Unstated);
}

#[test]
fn programs_are_noted_but_only_copies_can_be_run() {
    let scratch = Scratch::new();
    let files = [
        TreeFile::new(path("bin/run"), "#!/bin/sh\n").executable(),
        TreeFile::new(path("README.md"), "read me"),
    ];
    let stored = scratch.cache.put_tree(&url("https://example.com/t"), &files, Listing::Unstated).unwrap();
    let target = scratch.directory.path().join("copy");
    let copied = scratch.cache.copy_tree(&tree_digest(&stored), &target).unwrap().hit().unwrap();
    let modes: Vec<FileMode> = copied.files.iter().map(|file| file.mode).collect();
    assert_eq!(modes, [FileMode::Regular, FileMode::Executable]);
    assert_eq!(copied.dir, target);
    assert_eq!(snapshot(&target), ["README.md 600", "bin 700", "bin/run 700"]);
    assert_eq!(fs::read_to_string(target.join("README.md")).unwrap(), "read me");
    let mode = fs::metadata(stored.path.join("bin/run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(scratch.state(&stored), "hit");
    let error = scratch.cache.copy_tree(&tree_digest(&stored), &target).unwrap_err();
    assert_eq!(error.code(), "cache-io");
}

#[test]
fn what_is_not_a_directory_of_files_is_refused() {
    let scratch = Scratch::new();
    let put = |files: &[(&str, &str)]| {
        scratch.cache.put_tree(&url("https://example.com/t"), &tree(files), Listing::Unstated)
    };
    assert_eq!(put(&[]).unwrap_err().code(), "cache-empty-tree");
    assert_eq!(put(&[("a", "1"), ("a", "2")]).unwrap_err().code(), "tree-path-duplicate");
    assert_eq!(put(&[("a", "1"), ("a/b", "2")]).unwrap_err().code(), "cache-path-clash");
    assert_eq!(put(&[("a/b/c", "1"), ("a/b", "2")]).unwrap_err().code(), "cache-path-clash");
    assert!(scratch.cache.list().unwrap().is_empty());
}

#[test]
fn names_that_could_forge_entries_or_leave_the_tree_do_not_exist() {
    let forged = format!("a:{}\nb", Sha256Digest::of(b"1"));
    for name in [forged.as_str(), "/x", "a//b", "./c", "a/../b", "..", "a/", "\u{7f}", "nul\0"] {
        assert!(TreePath::parse(name).is_err(), "{name:?}");
    }
}

#[test]
fn an_entry_of_the_other_kind_is_a_miss() {
    let scratch = Scratch::new();
    let file = scratch.put("hello");
    let as_tree = file.id.digest().to_string().parse().unwrap();
    assert_eq!(scratch.cache.get_tree(&as_tree).unwrap(), Lookup::Miss);
}
