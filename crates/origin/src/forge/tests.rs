use super::*;
use crate::host::HostPatternError;
use crate::url::{Hazard, UrlError};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn parse(text: &str) -> Result<ForgeUrl, ForgeUrlError> {
    ForgeUrl::parse(&HttpsUrl::parse(text).unwrap(), &ForgeHosts::new())
}

/// Kind, owner, repository, directory or file, ref, path.
type Summary<'a> = (ForgeKind, &'a str, &'a str, PathKind, &'a str, String);

fn summary(url: &ForgeUrl) -> Summary<'_> {
    (url.kind(), url.owner(), url.repo(), url.path_kind(), url.reference(), url.path_text())
}

#[test]
fn places_on_forges() {
    use ForgeKind::{GitHub, GitLab};
    use PathKind::{Blob, Tree};
    let cases = [
        ("https://github.com/o/r/tree/main/skills/x/", (GitHub, "o", "r", Tree, "main", "skills/x")),
        ("https://github.com/o/r/tree/main//skills//x", (GitHub, "o", "r", Tree, "main", "skills/x")),
        ("https://github.com/o/r/tree/feature/x/skills", (GitHub, "o", "r", Tree, "feature", "x/skills")),
        ("https://github.com/o/r/tree/main", (GitHub, "o", "r", Tree, "main", "")),
        ("https://github.com/o/r/blob/v1.0/a%20b.md", (GitHub, "o", "r", Blob, "v1.0", "a b.md")),
        ("https://GitHub.com/O/r.git/tree/main/x", (GitHub, "O", "r", Tree, "main", "x")),
        ("https://github.com/o/r/tree/main/-/x", (GitHub, "o", "r", Tree, "main", "-/x")),
        ("https://gitlab.com/g/r/-/tree/main/x", (GitLab, "g", "r", Tree, "main", "x")),
        ("https://gitlab.com/g/r/-/blob/main/-/x", (GitLab, "g", "r", Blob, "main", "-/x")),
        (
            "https://gitlab.com/top/sub/deep/repo/-/tree/v1.0/docs",
            (GitLab, "top/sub/deep", "repo", Tree, "v1.0", "docs"),
        ),
    ];
    for (text, (kind, owner, repo, path_kind, reference, path)) in cases {
        let found = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(summary(&found), (kind, owner, repo, path_kind, reference, path.to_owned()), "{text}");
    }
}

#[test]
fn other_urls_are_refused() {
    let short = |kind| ForgeUrlError::TooShort { kind };
    let host = |host: &str| ForgeUrlError::UnknownHost { host: host.to_owned() };
    let path_kind = |found: &str| ForgeUrlError::PathKind { found: found.to_owned() };
    let name = |name: &str| ForgeUrlError::Name { name: name.to_owned() };
    let hazard = |hazard, corrected: &str| {
        ForgeUrlError::from(UrlError::Hazard { hazard, corrected: Some(corrected.to_owned()) })
    };
    let option = ForgeUrlError::Reference { reference: "--upload-pack=x".to_owned() };
    let cases = [
        ("https://github.com", short(ForgeKind::GitHub)),
        ("https://github.com/o/r", short(ForgeKind::GitHub)),
        ("https://github.com/o/r/tree/", short(ForgeKind::GitHub)),
        ("https://github.com/o/r/raw/main/x", path_kind("raw")),
        ("https://github.com/o/r/commits/main/x", path_kind("commits")),
        ("https://github.com/o/r/Tree/main/x", path_kind("Tree")),
        ("https://www.github.com/o/r/tree/main/x", host("www.github.com")),
        ("https://gitlab.example.com/g/r/-/tree/main/x", host("gitlab.example.com")),
        ("https://raw.githubusercontent.com/o/r/main/x", host("raw.githubusercontent.com")),
        ("https://github.com.evil.com/o/r/tree/main/x", host("github.com.evil.com")),
        ("https://github.com./o/r/tree/main/x", host("github.com.")),
        ("https://github.com:8443/o/r/tree/main/x", ForgeUrlError::Port),
        ("https://github.com:443/o/r/tree/main/x", ForgeUrlError::Port),
        ("https://github.com/o/r/tree/main/x?plain=1", ForgeUrlError::Query),
        ("https://github.com/o/r/tree/main/x#L1", ForgeUrlError::Fragment),
        (
            "https://github.com/o/r/tree/main/../x",
            hazard(Hazard::DotSegment, "https://github.com/o/r/tree/x"),
        ),
        (
            "https://github.com/o/r/tree/main/a%2fb",
            hazard(Hazard::EncodedSeparator, "https://github.com/o/r/tree/main/a/b"),
        ),
        ("https://github.com/o/r/tree/main/%ff", ForgeUrlError::NotUtf8),
        ("https://github.com/o/r/tree/--upload-pack=x/y", option),
        ("https://github.com/o/.git/tree/main/x", name(".git")),
        ("https://github.com/-o/r/tree/main/x", name("-o")),
        ("https://github.com/o%3f/r/tree/main/x", name("o?")),
        ("https://gitlab.com/r/-/tree/main/x", short(ForgeKind::GitLab)),
        ("https://gitlab.com/g/r/-/tree", short(ForgeKind::GitLab)),
        ("https://gitlab.com/g/r/tree/main/x", ForgeUrlError::NoSeparator),
        ("https://gitlab.com/g/r/-/raw/main/x", path_kind("raw")),
    ];
    for (text, expected) in cases {
        let error = parse(text).unwrap_err();
        assert_eq!(error, expected, "{text}");
        assert!(error.help().is_some(), "{text}");
    }
}

#[test]
fn skills_are_directories_below_the_top() {
    let check = |text| parse(text).unwrap().require_tree_directory();
    assert_eq!(check("https://github.com/o/r/tree/main/x"), Ok(()));
    assert_eq!(check("https://gitlab.com/g/r/-/tree/main/x"), Ok(()));
    assert_eq!(check("https://github.com/o/r/blob/main/x"), Err(ForgeUrlError::NotADirectory));
    assert_eq!(check("https://github.com/o/r/tree/main/"), Err(ForgeUrlError::RepositoryRoot));
}

#[test]
fn only_a_full_commit_id_cannot_move() {
    let names_commit = |reference: &str| {
        parse(&format!("https://github.com/o/r/tree/{reference}/x")).unwrap().names_commit()
    };
    assert!(names_commit(COMMIT));
    for reference in ["main", &COMMIT[..39], &COMMIT.to_uppercase(), &COMMIT.replace('0', "g")] {
        assert!(!names_commit(reference), "{reference}");
    }
}

#[test]
fn the_bytes_of_a_file_have_their_own_url() {
    let hosts = ForgeHosts::new().with_host("ghe.example", ForgeKind::GitHub).unwrap();
    let cases = [
        (
            "https://github.com/o/r/blob/main/a b.md",
            Some("https://raw.githubusercontent.com/o/r/main/a%20b.md"),
        ),
        ("https://gitlab.com/g/s/r/-/blob/main/x", Some("https://gitlab.com/g/s/r/-/raw/main/x")),
        ("https://github.com/o/r/tree/main/x", None),
        ("https://github.com/o/r/blob/main", None),
        ("https://ghe.example/o/r/blob/main/x", None),
    ];
    for (text, expected) in cases {
        let url = ForgeUrl::parse(&HttpsUrl::parse(text).unwrap(), &hosts).unwrap();
        assert_eq!(url.raw_file_url().as_deref(), expected, "{text}");
    }
}

#[test]
fn raw_urls() {
    let parse = |text: &str| RawGitHubUrl::parse(&HttpsUrl::parse(text).unwrap());
    let file = parse("https://raw.githubusercontent.com/o/r/v1/a/b.md").unwrap();
    assert_eq!((file.owner(), file.repo(), file.reference(), file.names_commit()), ("o", "r", "v1", false));
    assert_eq!(file.path(), ["a", "b.md"]);
    assert!(parse(&format!("https://raw.githubusercontent.com/o/r/{COMMIT}/a")).unwrap().names_commit());
    for long in ["refs/heads/main", "refs/tags/main"] {
        let file = parse(&format!("https://raw.githubusercontent.com/o/r/{long}/a")).unwrap();
        assert_eq!((file.reference(), file.path()), ("main", &["a".to_owned()][..]));
    }
    let short = ForgeUrlError::TooShort { kind: ForgeKind::GitHub };
    for text in ["o/r", "o/r/refs/x", "o/r/refs/heads"] {
        assert_eq!(parse(&format!("https://raw.githubusercontent.com/{text}")), Err(short.clone()), "{text}");
    }
    let other = ForgeUrlError::UnknownHost { host: "github.com".to_owned() };
    assert_eq!(parse("https://github.com/o/r/main/x"), Err(other));
}

#[test]
fn self_hosted_forges() {
    let hosts = ForgeHosts::new().with_host("Git.Example.com", ForgeKind::GitLab).unwrap();
    let url = HttpsUrl::parse("https://GIT.example.com/g/r/-/tree/main/x").unwrap();
    let found = ForgeUrl::parse(&url, &hosts).unwrap();
    assert_eq!((found.kind(), found.host()), (ForgeKind::GitLab, "git.example.com"));
    let known: Vec<_> = hosts.iter().collect();
    assert_eq!(
        known,
        [
            ("git.example.com", ForgeKind::GitLab),
            ("github.com", ForgeKind::GitHub),
            ("gitlab.com", ForgeKind::GitLab)
        ]
    );
    let by_address = ForgeHosts::new().with_host("[::1]", ForgeKind::GitHub).unwrap();
    assert_eq!(by_address.kind_of("::1"), Some(ForgeKind::GitHub));
}

#[test]
fn forge_hosts_that_cannot_be_declared() {
    let built_in = |host: &str| ForgeHostError::BuiltIn { host: host.to_owned() };
    let cases = [
        ("GitHub.com", built_in("github.com")),
        ("gitlab.com", built_in("gitlab.com")),
        ("raw.githubusercontent.com", built_in("raw.githubusercontent.com")),
        ("git.example.com", ForgeHostError::Duplicate { host: "git.example.com".to_owned() }),
        ("*.example.com", ForgeHostError::Wildcard),
        ("example.com:8443", HostPatternError::Port.into()),
        ("github.com.", HostPatternError::EmptyLabel.into()),
    ];
    let hosts = ForgeHosts::new().with_host("git.example.com", ForgeKind::GitHub).unwrap();
    for (host, expected) in cases {
        assert_eq!(hosts.clone().with_host(host, ForgeKind::GitHub), Err(expected), "{host}");
    }
}
