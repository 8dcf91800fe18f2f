//! Directories, when all is well.

use std::num::NonZeroUsize;
use std::time::Duration;

use fullsend_origin::{ForgeHosts, ForgeKind, Sha256Digest, TreeDigest, TreePath};
use fullsend_testkit::{Paging, TestFile, TestRepo};

use super::support::{BOTH, Dialect, World, contents};

fn skill() -> Vec<TestFile> {
    vec![
        TestFile::new("README.md", "not part of it"),
        TestFile::new("skills/other/SKILL.md", "another one"),
        TestFile::new("skills/review-more/SKILL.md", "starts alike"),
        TestFile::new("skills/review/SKILL.md", "# Review\n"),
        TestFile::executable("skills/review/scripts/run.sh", "#!/bin/sh\n"),
        TestFile::new("skills/review/data/empty", ""),
        TestFile::new("skills/review/data/100% of it #1?.txt", "odd"),
        TestFile::new("skills/review/data/ünï\\code", "names"),
    ]
}

fn digest(files: &[(&str, &[u8])]) -> TreeDigest {
    TreeDigest::of(
        files.iter().map(|(path, bytes)| (TreePath::parse(path).unwrap(), Sha256Digest::of(bytes))),
    )
    .unwrap()
}

#[test]
fn a_directory_comes_whole_with_modes_and_odd_names() {
    let (world, commit) = World::holding(&skill());
    let expected = [
        ("SKILL.md", "# Review\n", false),
        ("data/100% of it #1?.txt", "odd", false),
        ("data/empty", "", false),
        ("data/ünï\\code", "names", false),
        ("scripts/run.sh", "#!/bin/sh\n", true),
    ];
    let files: Vec<(&str, &[u8])> = expected.iter().map(|(path, text, _)| (*path, text.as_bytes())).collect();
    for dialect in BOTH {
        let tree = world.download(&dialect.tree("main", "skills/review")).unwrap();
        assert_eq!(
            contents(&tree),
            expected.map(|(path, text, mode)| (path.to_owned(), text.to_owned(), mode))
        );
        assert_eq!(tree.digest, digest(&files), "{dialect:?}");
        assert_eq!(tree.commit.as_str(), commit);
    }
}

#[test]
fn few_requests_are_made() {
    let (world, commit) = World::holding(&skill());
    world.download(&Dialect::GitHub.tree("main", "skills/review")).unwrap();
    let mut asked = world.asked();
    asked[2..].sort();
    let raw = |path: &str| format!("raw.githubusercontent.com/acme/skills/{commit}/skills/review/{path}");
    let expected = [
        "api.github.com/repos/acme/skills/commits/main".to_owned(),
        format!("api.github.com/repos/acme/skills/git/trees/{commit}:skills/review"),
        raw("SKILL.md"),
        raw("data/%C3%BCn%C3%AF%5Ccode"),
        raw("data/100%25%20of%20it%20%231%3F.txt"),
        raw("data/empty"),
        raw("scripts/run.sh"),
    ];
    assert_eq!(asked, expected);

    let (world, commit) = World::holding(&skill());
    world.download(&Dialect::GitLab.tree(&commit, "skills/review")).unwrap();
    let asked = world.asked();
    assert_eq!(asked.len(), 6, "a commit id needs no request: {asked:?}");
    assert_eq!(asked[0], "gitlab.com/api/v4/projects/acme%2Fskills/repository/tree");
    assert!(asked[1..].iter().all(|request| request.ends_with("/raw")));
}

#[test]
fn requests_look_as_the_apis_want_them() {
    let (world, commit) = World::holding(&skill());
    world.download(&Dialect::GitHub.tree("main", "skills/review")).unwrap();
    let requests = world.forge.requests();
    for (request, accept) in
        requests.iter().zip(["application/vnd.github.sha", "application/vnd.github+json"])
    {
        assert_eq!(request.header("accept"), Some(accept));
        assert_eq!(request.header("x-github-api-version"), Some("2022-11-28"));
    }
    assert!(requests[1].target.ends_with("?recursive=1"));
    world.download(&Dialect::GitLab.tree(&commit, "skills/review")).unwrap();
    let listing = &world.forge.requests()[requests.len()];
    let query = listing.target.split_once('?').unwrap().1;
    let expected = format!("ref={commit}&recursive=true&per_page=100&pagination=keyset&path=skills%2Freview");
    assert_eq!(query, expected);
}

#[test]
fn branches_tags_and_commits_name_what_they_name() {
    for dialect in BOTH {
        let world = World::new();
        let mut repo = TestRepo::new("acme", "skills");
        let first = repo.commit(&[TestFile::new("s/a", "1")]);
        repo.name_commit("v1", &first);
        let second = repo.commit(&[TestFile::new("s/a", "2")]);
        world.forge.add(repo);
        for (reference, commit, text) in
            [("main", &second, "2"), ("v1", &first, "1"), (&first, &first, "1"), (&second, &second, "2")]
        {
            let tree = world.download(&dialect.tree(reference, "s")).unwrap();
            assert_eq!((tree.commit.as_str(), contents(&tree)[0].1.as_str()), (commit.as_str(), text));
        }
        for reference in ["v2", &first[..7], "a%20b"] {
            assert_eq!(world.code(&dialect.tree(reference, "s")), "forge-not-found", "{reference}");
        }
    }
}

#[test]
fn the_top_of_a_repository_is_a_directory() {
    let (world, _) = World::holding(&[TestFile::new("a", "1"), TestFile::new("b/c", "2")]);
    for dialect in BOTH {
        let tree = world.download(&dialect.tree("main", "")).unwrap();
        assert_eq!(
            contents(&tree),
            [("a".to_owned(), "1".to_owned(), false), ("b/c".to_owned(), "2".to_owned(), false)]
        );
    }
}

#[test]
fn a_directory_that_is_none_is_not_found() {
    let (world, _) = World::holding(&skill());
    for dialect in BOTH {
        for path in ["skills/none", "skills/review/SKILL.md", "README.md/x"] {
            assert_eq!(world.code(&dialect.tree("main", path)), "forge-not-found", "{path}");
        }
        let blob = dialect.tree("main", "skills/review/SKILL.md").replace("/tree/", "/blob/");
        assert_eq!(world.code(&blob), "forge-not-a-directory");
    }
    let (world, _) = World::holding(&[]);
    for dialect in BOTH {
        assert_eq!(world.code(&dialect.tree("main", "")), "forge-empty-directory");
    }
}

#[test]
fn groups_may_have_groups() {
    let world = World::new();
    let mut repo = TestRepo::new("top/sub/deep", "skills");
    repo.commit(&[TestFile::new("s/a", "1")]);
    world.forge.add(repo);
    let url = Dialect::GitLab.tree_at("gitlab.com", "top/sub/deep/skills", "main", "s");
    assert_eq!(world.download(&url).unwrap().files.len(), 1);
    assert!(world.asked()[0].contains("/projects/top%2Fsub%2Fdeep%2Fskills/repository/"));
}

#[test]
fn self_hosted_forges_have_their_apis_on_their_own_hosts() {
    for (dialect, kind, prefix) in [
        (Dialect::GitHub, ForgeKind::GitHub, "/api/v3/repos/"),
        (Dialect::GitLab, ForgeKind::GitLab, "/api/v4/projects/"),
    ] {
        let hosts = ForgeHosts::new().with_host("git.example.com", kind).unwrap();
        let world = World::with_hosts(hosts);
        let mut repo = TestRepo::new("acme", "skills");
        repo.commit(&skill());
        world.forge.add(repo);
        let url = dialect.tree_at("git.example.com", "acme/skills", "main", "skills/review");
        assert_eq!(world.download(&url).unwrap().files.len(), 5);
        assert!(world.asked().iter().all(|request| request.starts_with(&format!("git.example.com{prefix}"))));
    }
}

#[test]
fn long_listings_have_pages() {
    let files: Vec<TestFile> = (0..250).map(|at| TestFile::new(&format!("s/{at:03}/f"), "x")).collect();
    let (world, commit) = World::holding(&files);
    for (paging, parameter) in [(Paging::Numbers, "&page=3"), (Paging::Keyset, "&page_token=after%2F200")] {
        world.forge.set_paging(paging);
        let before = world.asked().len();
        assert_eq!(world.list(&Dialect::GitLab.tree("main", "s"), &commit).unwrap().len(), 250);
        // A directory is an entry as well.
        assert_eq!(world.asked().len() - before, 5);
        assert!(world.forge.requests()[before + 2].target.ends_with(parameter));
    }
    assert!(world.asked().iter().all(|request| request.starts_with("gitlab.com/")), "links are not followed");
}

#[test]
fn files_are_under_way_at_once_but_not_too_many() {
    let files: Vec<TestFile> = (0..24).map(|at| TestFile::new(&format!("s/{at}"), format!("{at}"))).collect();
    // The latency is long enough for all to arrive on a busy machine while the first still waits.
    for (concurrency, latency, dialect) in [
        (8, 300, Dialect::GitHub),
        (8, 300, Dialect::GitLab),
        (3, 150, Dialect::GitHub),
        (1, 1, Dialect::GitLab),
    ] {
        let (mut world, commit) = World::holding(&files);
        world.forge.set_latency(Duration::from_millis(latency));
        world.concurrency = NonZeroUsize::new(concurrency).unwrap();
        assert_eq!(world.download(&dialect.tree(&commit, "s")).unwrap().files.len(), 24);
        assert_eq!(world.forge.most_at_once(), concurrency, "{dialect:?}");
        assert_eq!(world.asked().len(), 25);
    }
}

#[test]
fn attributes_of_git_change_no_byte() {
    let (world, _) = World::holding(&[
        TestFile::new(".gitattributes", "*.txt text eol=crlf ident working-tree-encoding=UTF-16\n"),
        TestFile::new("s/.gitattributes", "* text eol=crlf\n"),
        TestFile::new("s/a.txt", "$Id$\nb\n"),
        TestFile::new("s/b.txt", "a\r\nb\r\n"),
    ]);
    for dialect in BOTH {
        let tree = world.download(&dialect.tree("main", "s")).unwrap();
        let expected: [(&str, &[u8]); 3] =
            [(".gitattributes", b"* text eol=crlf\n"), ("a.txt", b"$Id$\nb\n"), ("b.txt", b"a\r\nb\r\n")];
        assert_eq!(tree.digest, digest(&expected));
    }
}
