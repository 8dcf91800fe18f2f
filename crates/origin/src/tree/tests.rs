use proptest::prelude::*;

use super::*;

fn digest_of(files: &[(&str, &str)]) -> String {
    let files =
        files.iter().map(|(path, content)| (path.parse().unwrap(), Sha256Digest::of(content.as_bytes())));
    TreeDigest::of(files).unwrap().to_string()
}

#[test]
fn vectors() {
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[], "01ba4719c80b6fe911b091a7c05124b64eeece964e09c058ef8f9805daca546b"),
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
    for (files, expected) in cases {
        assert_eq!(digest_of(files), *expected, "{files:?}");
    }
}

#[test]
fn the_last_line_is_terminated() {
    let content = Sha256Digest::of(b"alpha");
    let unterminated = Sha256Digest::of(format!("a.txt:{content}").as_bytes());
    let terminated = Sha256Digest::of(format!("a.txt:{content}\n").as_bytes());
    assert_eq!(digest_of(&[("a.txt", "alpha")]), terminated.to_string());
    assert_ne!(terminated, unterminated);
}

#[test]
fn whole_entries_are_sorted_not_paths() {
    let paths = ["foo", "foo-bar/x", "foo.md", "foo/y", "foo1"];
    let content = Sha256Digest::of(b"same");
    let lines = ["foo-bar/x", "foo.md", "foo/y", "foo1", "foo"].map(|path| format!("{path}:{content}\n"));
    let by_path = paths.map(|path| format!("{path}:{content}\n"));
    let found = digest_of(&paths.map(|path| (path, "same")));
    assert_eq!(found, Sha256Digest::of(lines.concat().as_bytes()).to_string());
    assert_ne!(found, Sha256Digest::of(by_path.concat().as_bytes()).to_string());
}

/// One file whose name spells out another entry would have the digest of two reviewed files.
#[test]
fn a_newline_in_a_name_cannot_forge_an_entry() {
    let two_files = digest_of(&[("a", "1"), ("b", "2")]);
    assert_eq!(two_files, "75fb1e9cacb45d1e3c4fe3943006d2a9a06b82955b744bd6b3fc6c58b8b7dd3d");
    let forged_name = format!("a:{}\nb", Sha256Digest::of(b"1"));
    let forged_preimage = format!("{forged_name}:{}\n", Sha256Digest::of(b"2"));
    assert_eq!(Sha256Digest::of(forged_preimage.as_bytes()).to_string(), two_files, "the attack is real");
    assert_eq!(TreePath::parse(&forged_name), Err(TreeError::ControlByte { byte: b'\n', offset: 66 }));
}

#[test]
fn paths_have_one_spelling() {
    let special = |path: &str, segment: &str| TreeError::SpecialSegment {
        path: path.to_owned(),
        segment: segment.to_owned(),
    };
    let cases = [
        ("", TreeError::EmptyPath),
        ("/x", TreeError::AbsolutePath { path: "/x".to_owned() }),
        ("a//b", special("a//b", "")),
        ("a/", special("a/", "")),
        ("./c", special("./c", ".")),
        ("a/../b", special("a/../b", "..")),
        ("..", special("..", "..")),
        ("a\0", TreeError::ControlByte { byte: 0, offset: 1 }),
        ("a\u{1f}b", TreeError::ControlByte { byte: 0x1f, offset: 1 }),
        ("\u{7f}", TreeError::ControlByte { byte: 0x7f, offset: 0 }),
    ];
    for (text, expected) in cases {
        assert_eq!(TreePath::parse(text), Err(expected), "{text:?}");
    }
}

#[test]
fn unusual_names_that_git_allows_are_kept() {
    for text in ["a b", "é", "e\u{301}", "...", ".hidden", "a:b", r"a\b", "-x"] {
        assert_eq!(TreePath::parse(text).unwrap().as_str(), text);
    }
    let path = TreePath::parse("a/b/c.md").unwrap();
    assert_eq!(path.segments().collect::<Vec<_>>(), ["a", "b", "c.md"]);
}

#[test]
fn a_path_that_occurs_twice_is_refused() {
    let path = TreePath::parse("a").unwrap();
    let files = [(path.clone(), Sha256Digest::of(b"1")), (path.clone(), Sha256Digest::of(b"1"))];
    assert_eq!(TreeDigest::of(files), Err(TreeError::DuplicatePath { path }));
}

#[test]
fn the_manifest_is_sorted_by_path() {
    let mut builder = TreeDigestBuilder::new();
    assert!(builder.is_empty());
    for path in ["foo1", "foo", "foo-bar"] {
        builder.add(path.parse().unwrap(), Sha256Digest::of(b"")).unwrap();
    }
    let listed: Vec<_> = builder.files().map(|(path, _)| path.as_str()).collect();
    assert_eq!(listed, ["foo", "foo-bar", "foo1"]);
    assert!(!builder.is_empty());
}

proptest! {
    #[test]
    fn order_of_files_does_not_matter(names in proptest::collection::btree_set("[a-z./-]{1,6}", 1..6)) {
        let files: Vec<_> = names
            .iter()
            .filter_map(|name| TreePath::parse(name).ok())
            .map(|path| { let content = Sha256Digest::of(path.as_str().as_bytes()); (path, content) })
            .collect();
        let reversed: Vec<_> = files.iter().rev().cloned().collect();
        prop_assert_eq!(TreeDigest::of(files), TreeDigest::of(reversed));
    }

    #[test]
    fn any_edit_changes_the_digest(a in "[a-z]{1,4}", b in "[a-z]{1,4}", x: Vec<u8>, y: Vec<u8>) {
        let one = |path: &str, content: &[u8]| {
            TreeDigest::of([(path.parse().unwrap(), Sha256Digest::of(content))]).unwrap()
        };
        prop_assert_eq!(one(&a, &x) == one(&b, &y), a == b && x == y);
    }
}
