//! Single files at a commit.

use fullsend_fetch::cache::{FileMode, TreeFile};
use fullsend_origin::{HttpsUrl, RawGitHubUrl, TreePath};
use fullsend_resolve::forge::{CommitId, ForgeError, Repository};
use fullsend_testkit::{TestFile, TestRepo};

use super::support::{BOTH, Dialect, World, run};

fn get(world: &World, dialect: Dialect, commit: &str, path: &str) -> Result<TreeFile, ForgeError> {
    let repo = Repository::of(&world.url(&dialect.tree("main", "")));
    let (commit, path) = (CommitId::parse(commit).unwrap(), TreePath::parse(path).unwrap());
    run(world.forges().at(repo.host()).unwrap().get_file_at_ref(&repo, &commit, &path))
}

#[test]
fn a_file_comes_with_its_mode() {
    let (world, commit) = World::holding(&[
        TestFile::executable("scripts/pre run.sh", "#!/bin/sh\n"),
        TestFile::new("top", "t"),
        TestFile::new("scripts/sub/x", "x"),
    ]);
    for dialect in BOTH {
        let script = get(&world, dialect, &commit, "scripts/pre run.sh").unwrap();
        assert_eq!((script.bytes.as_slice(), script.mode), (&b"#!/bin/sh\n"[..], FileMode::Executable));
        assert_eq!(script.path.as_str(), "scripts/pre run.sh");
        assert_eq!(get(&world, dialect, &commit, "top").unwrap().bytes, b"t");
        for path in ["none", "scripts", "scripts/sub", "scripts/none", "none/none", "top/x"] {
            assert_eq!(get(&world, dialect, &commit, path).unwrap_err().code(), "forge-not-found", "{path}");
        }
    }
}

#[test]
fn what_is_no_plain_file_is_not_given_out_as_one() {
    let (world, commit) = World::holding(&[
        TestFile::symlink("s/link", "../../../etc/passwd"),
        TestFile::submodule("s/module"),
        TestFile::new("s/large", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"),
    ]);
    for dialect in BOTH {
        for (path, code) in [
            ("s/link", "forge-entry-symlink"),
            ("s/module", "forge-entry-submodule"),
            ("s/large", "forge-large-file"),
        ] {
            assert_eq!(get(&world, dialect, &commit, path).unwrap_err().code(), code);
        }
    }
}

#[test]
fn a_file_that_changes_in_between_is_refused() {
    let (world, commit) = World::holding(&[TestFile::new("s/a", "before")]);
    world.forge.change_file(b"before", "after!");
    for dialect in BOTH {
        assert_eq!(get(&world, dialect, &commit, "s/a").unwrap_err().code(), "forge-file-changed");
    }
}

#[test]
fn a_file_is_found_on_a_late_page() {
    let files: Vec<TestFile> =
        (0..150).map(|at| TestFile::new(&format!("s/{at:03}"), format!("{at}"))).collect();
    let (world, commit) = World::holding(&files);
    for dialect in BOTH {
        assert_eq!(get(&world, dialect, &commit, "s/149").unwrap().bytes, b"149");
    }
}

#[test]
fn private_files_come_with_a_token_and_raw_urls_name_repositories() {
    let mut world = World::new();
    let mut repo = TestRepo::new("acme", "skills").private();
    let commit = repo.commit(&[TestFile::new("s/a", "1")]);
    world.forge.add(repo);
    world.forge.accept_token("t0ken", &["acme/skills"], 404);
    let raw =
        HttpsUrl::parse(&format!("https://raw.githubusercontent.com/acme/skills/{commit}/s/a")).unwrap();
    let repo = Repository::of_raw_github(&RawGitHubUrl::parse(&raw).unwrap());
    assert_eq!(repo.to_string(), "github.com/acme/skills");
    for dialect in BOTH {
        assert_eq!(get(&world, dialect, &commit, "s/a").unwrap_err().code(), "forge-not-found");
        world.give_token(dialect.host(), "t0ken");
        assert_eq!(get(&world, dialect, &commit, "s/a").unwrap().bytes, b"1");
    }
    assert!(world.asked().iter().all(|request| !request.starts_with("raw.")));
}
