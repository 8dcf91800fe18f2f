//! Who gets to see a token.

use fullsend_fetch::Fetcher;
use fullsend_origin::{ForgeHosts, ForgeKind};
use fullsend_resolve::forge::{ForgeError, ForgeToken, Forges, GitHub, GitLab, TokenUse};
use fullsend_testkit::{Recorded, TestFile, TestRepo};

use super::support::{BOTH, Dialect, World, describe};

const SECRET: &str = "s3cret-t0ken";

/// A world with a public and a private repository of two files each.
fn world() -> World {
    let world = World::new();
    for mut repo in [TestRepo::new("acme", "skills"), TestRepo::new("acme", "hidden").private()] {
        repo.commit(&[TestFile::new("s/a", "1"), TestFile::new("s/b", "2")]);
        world.forge.add(repo);
    }
    world
}

fn carries(request: &Recorded) -> bool {
    format!("{request:?}").contains(SECRET)
}

/// The hosts that saw the token, each once.
fn informed(world: &World) -> Vec<String> {
    let requests = world.forge.requests();
    let mut hosts: Vec<String> = requests.iter().filter(|it| carries(it)).map(describe).collect();
    hosts.iter_mut().for_each(|text| text.truncate(text.find('/').unwrap_or(text.len())));
    hosts.sort();
    hosts.dedup();
    hosts
}

fn hidden(dialect: Dialect) -> String {
    dialect.tree_at(dialect.host(), "acme/hidden", "main", "s")
}

#[test]
fn without_a_token_nothing_is_sent_and_private_means_not_found() {
    let world = world();
    for dialect in BOTH {
        assert_eq!(world.download(&dialect.tree("main", "s")).unwrap().files.len(), 2);
        let error = world.download(&hidden(dialect)).unwrap_err();
        assert!(matches!(error, ForgeError::NotFound { token: TokenUse::None, .. }));
        let variables =
            if dialect == Dialect::GitHub { "`GH_TOKEN` or `GITHUB_TOKEN`" } else { "`GITLAB_TOKEN`" };
        assert!(error.help().unwrap().contains(variables), "{error:?}");
    }
    let headers =
        |request: &Recorded| request.header("authorization").or(request.header("private-token")).is_some();
    assert!(!world.forge.requests().iter().any(headers));
}

#[test]
fn a_token_opens_a_private_repository_and_only_the_api_sees_it() {
    for (dialect, api, header, value) in [
        (Dialect::GitHub, "api.github.com", "authorization", format!("Bearer {SECRET}")),
        (Dialect::GitLab, "gitlab.com", "private-token", SECRET.to_owned()),
    ] {
        let mut world = world();
        world.give_token(dialect.host(), SECRET);
        world.forge.accept_token(SECRET, &["acme/hidden"], 200);
        assert_eq!(world.download(&hidden(dialect)).unwrap().files.len(), 2);
        assert_eq!(informed(&world), [api]);
        let requests = world.forge.requests();
        assert_eq!(requests.len(), 4);
        assert!(requests.iter().all(|request| request.header(header) == Some(&value)));
        assert!(requests.iter().all(|request| !request.target.contains(SECRET)));
    }
}

#[test]
fn a_token_that_is_refused_is_left_out_once_and_for_all() {
    // A token for one repository makes public ones fail; an expired one makes all fail.
    for (elsewhere, known) in [(403, true), (404, true), (401, true), (401, false)] {
        for dialect in BOTH {
            let mut world = world();
            world.give_token(dialect.host(), SECRET);
            if known {
                world.forge.accept_token(SECRET, &["acme/other"], elsewhere);
            }
            let forges = world.forges();
            let url = dialect.tree("main", "s");
            assert_eq!(world.download_with(&forges, &url).unwrap().files.len(), 2, "{elsewhere} {dialect:?}");
            assert_eq!(world.download_with(&forges, &url).unwrap().files.len(), 2);
            let count = world.forge.requests().iter().filter(|request| carries(request)).count();
            assert_eq!(count, 1, "only the first request has the token");
            assert!(!informed(&world).iter().any(|host| host.starts_with("raw.")));
        }
    }
}

#[test]
fn a_token_that_works_for_the_public_too_is_kept() {
    let mut world = world();
    world.give_token("github.com", SECRET);
    world.forge.accept_token(SECRET, &[], 200);
    assert_eq!(world.download(&Dialect::GitHub.tree("main", "s")).unwrap().files.len(), 2);
    assert!(world.forge.requests().iter().all(carries), "the larger quota is used");
    assert_eq!(informed(&world), ["api.github.com"]);
}

#[test]
fn what_neither_opens_says_what_the_token_met() {
    for dialect in BOTH {
        for (accepted, status, code) in [
            (false, 401, "forge-unauthorised"),
            (true, 403, "forge-unauthorised"),
            (true, 404, "forge-not-found"),
        ] {
            let mut world = world();
            world.give_token(dialect.host(), SECRET);
            if accepted {
                world.forge.accept_token(SECRET, &["acme/other"], status);
            }
            let error = world.download(&hidden(dialect)).unwrap_err();
            assert_eq!(error.code(), code);
            assert!(error.help().unwrap().contains("token"), "{error:?}");
            assert_eq!(world.forge.requests().len(), 2, "with the token, and once without");
            assert!(!format!("{error:?} {error}").contains(SECRET));
        }
    }
}

#[test]
fn a_token_for_one_forge_is_never_sent_to_another() {
    let hosts = ForgeHosts::new().with_host("git.example.com", ForgeKind::GitLab).unwrap();
    let mut world = World::with_hosts(hosts);
    let mut repo = TestRepo::new("acme", "skills");
    repo.commit(&[TestFile::new("s/a", "1")]);
    world.forge.add(repo);
    world.forge.accept_token(SECRET, &["acme/skills"], 200);
    world.give_token("git.example.com", SECRET);
    for dialect in BOTH {
        world.download(&dialect.tree("main", "s")).unwrap();
    }
    assert_eq!(informed(&world), [""; 0]);
    world.download(&Dialect::GitLab.tree_at("git.example.com", "acme/skills", "main", "s")).unwrap();
    assert_eq!(informed(&world), ["git.example.com"]);
}

#[test]
fn tokens_and_urls_for_other_hosts_are_refused() {
    let world = world();
    let fetcher = || Fetcher::new(world.rules.clone()).unwrap();
    let token = ForgeToken::new("evil.example", SECRET).unwrap();
    let options = || world.options.clone();
    let refused = [
        Forges::new(&fetcher(), &world.hosts, std::slice::from_ref(&token), &options()).err(),
        GitHub::new("github.com", fetcher(), Some(&token), options()).err(),
        GitLab::new("gitlab.com", fetcher(), Some(&token), options()).err(),
        world.forges().at("evil.example").err(),
    ];
    for error in refused {
        assert_eq!(error.unwrap().code(), "forge-other-host");
    }
    let wrong = world.url(&Dialect::GitLab.tree("main", "s"));
    let forges = world.forges();
    let error = super::support::run(forges.at("github.com").unwrap().resolve_commit(&wrong)).unwrap_err();
    assert_eq!(error.code(), "forge-other-host");
    assert!(world.forge.requests().is_empty());
    assert!(!format!("{forges:?}").contains(SECRET));
}
