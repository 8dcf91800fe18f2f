//! How much is too much.

use fullsend_testkit::TestFile;

use super::support::{BOTH, Dialect, World};

fn many(count: usize) -> Vec<TestFile> {
    (0..count).map(|at| TestFile::new(&format!("s/{at:04}"), "x")).collect()
}

#[test]
fn a_thousand_files_and_not_one_more() {
    for (count, code) in [(1000, "ok"), (1001, "forge-too-many-files")] {
        let (world, commit) = World::holding(&many(count));
        for dialect in BOTH {
            let listed = world.list(&dialect.tree(&commit, "s"), &commit);
            assert_eq!(listed.map_or_else(|error| error.code(), |_| "ok"), code, "{dialect:?}");
        }
    }
}

#[test]
fn a_huge_listing_ends_early() {
    let (world, commit) = World::holding(&many(5000));
    assert_eq!(world.code(&Dialect::GitLab.tree(&commit, "s")), "forge-too-many-files");
    assert_eq!(world.asked().len(), 11);
}

#[test]
fn bytes_are_counted_over_all_files() {
    let files = [TestFile::new("s/a", "12345"), TestFile::new("s/b", "67890")];
    for dialect in BOTH {
        let (mut world, commit) = World::holding(&files);
        world.limits.max_bytes = 10;
        assert_eq!(world.download(&dialect.tree(&commit, "s")).unwrap().files.len(), 2);
        world.limits.max_bytes = 9;
        let before = world.asked().len();
        assert_eq!(world.code(&dialect.tree(&commit, "s")), "forge-too-many-bytes");
        if dialect == Dialect::GitHub {
            assert_eq!(world.asked().len() - before, 1, "sizes are known from the listing");
        }
    }
}

#[test]
fn one_file_is_no_larger_than_the_fetcher_allows() {
    for dialect in BOTH {
        let (mut world, commit) = World::holding(&[TestFile::new("s/a", vec![b'x'; 5000])]);
        world.rules.max_bytes = 5000;
        assert_eq!(world.download(&dialect.tree(&commit, "s")).unwrap().files.len(), 1);
        world.rules.max_bytes = 4999;
        assert_eq!(world.code(&dialect.tree(&commit, "s")), "fetch-too-large");
    }
}

#[test]
fn requests_for_a_listing_are_counted() {
    let (mut world, commit) = World::holding(&many(300));
    world.limits.max_requests = 3;
    assert_eq!(world.list(&Dialect::GitLab.tree(&commit, "s"), &commit).unwrap().len(), 300);
    world.limits.max_requests = 2;
    let error = world.list(&Dialect::GitLab.tree(&commit, "s"), &commit).unwrap_err();
    assert_eq!(error.code(), "forge-too-many-requests");
}

/// Four directories of three files each, two levels down.
fn nested() -> Vec<TestFile> {
    let paths = (0..4).flat_map(|one| (0..3).map(move |two| format!("s/{}/{one}/{two}", one % 2)));
    paths.map(|path| TestFile::new(&path, path.clone())).collect()
}

#[test]
fn a_cut_listing_is_walked_tree_by_tree() {
    let (mut world, commit) = World::holding(&nested());
    let url = Dialect::GitHub.tree(&commit, "s");
    let whole = world.download(&url).unwrap();
    assert_eq!(whole.files.len(), 12);
    // s: 18 entries, s/0 and s/1: 8 each, those below: 3.
    for (cut, requests) in [(18, 1), (17, 4), (8, 4), (7, 10), (3, 10)] {
        world.forge.truncate_listings(cut);
        let before = world.asked().len();
        assert_eq!(world.list(&url, &commit).unwrap().len(), 12, "{cut}");
        assert_eq!(world.asked().len() - before, requests, "{cut}");
    }
    assert_eq!(world.download(&url).unwrap(), whole);
    world.limits.max_requests = 10;
    assert!(world.list(&url, &commit).is_ok());
    world.limits.max_requests = 9;
    assert_eq!(world.code(&url), "forge-too-many-requests");
    world.limits.max_requests = 100;
    world.forge.truncate_listings(2);
    assert_eq!(world.code(&url), "forge-truncated-listing");
}
