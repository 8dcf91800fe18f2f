//! The whole path for real: the system's resolver, public addresses, port 443, certificates for real names.

use fullsend_fetch::get::{ExtraRoots, RetryRules};
use fullsend_fetch::{FetchRules, Fetcher};
use fullsend_origin::{ForgeHosts, ForgeKind, ForgeUrl, HttpsUrl};
use fullsend_resolve::forge::{
    DEFAULT_CONCURRENCY, DownloadedTree, ForgeError, ForgeOptions, ForgeToken, Forges, TreeLimits,
    allowed_hosts, download_directory,
};
use fullsend_testkit::{Host, TestCa, TestFile, TestForge, TestRepo, in_namespace, test_name};

use super::support::run;

const GITHUB: &str = "140.82.112.3";
const API: &str = "140.82.112.5";
const RAW: &str = "185.199.108.133";
const GITLAB: &str = "172.65.251.78";
const OWN: &str = "93.184.216.34";

fn hosts() -> [Host; 5] {
    [
        Host::new("github.com", GITHUB),
        Host::new("api.github.com", API),
        Host::new("raw.githubusercontent.com", RAW),
        Host::new("gitlab.com", GITLAB),
        Host::new("git.example.com", OWN),
    ]
}

/// A forge on all addresses, with a public and a private repository.
fn forge(ca: &TestCa) -> TestForge {
    let addresses = [GITHUB, API, RAW, GITLAB, OWN].map(|address| format!("{address}:443"));
    let forge = TestForge::start(ca, &addresses.each_ref().map(String::as_str));
    for mut repo in [TestRepo::new("acme", "skills"), TestRepo::new("acme", "hidden").private()] {
        repo.commit(&[TestFile::new("s/SKILL.md", "# S\n"), TestFile::executable("s/run", "#!/bin/sh\n")]);
        forge.add(repo);
    }
    forge.accept_token("t0ken", &["acme/hidden"], 403);
    forge
}

fn download(ca: &TestCa, tokens: &[ForgeToken], text: &str) -> Result<DownloadedTree, ForgeError> {
    let known = ForgeHosts::new().with_host("git.example.com", ForgeKind::GitHub).unwrap();
    let mut rules = FetchRules::new(allowed_hosts(&known));
    rules.extra_roots = vec![ExtraRoots::Pem(ca.pem().into_bytes())];
    rules.retries = RetryRules { max_retries: 0, ..RetryRules::default() };
    let forges =
        Forges::new(&Fetcher::new(rules).unwrap(), &known, tokens, &ForgeOptions::default()).unwrap();
    let url = ForgeUrl::parse(&HttpsUrl::parse(text).unwrap(), &known).unwrap();
    let forge = forges.at(url.host())?;
    run(download_directory(forge.as_ref(), &url, &TreeLimits::default(), DEFAULT_CONCURRENCY))
}

#[test]
fn strangers_get_what_is_public() {
    in_namespace(test_name!(), &hosts(), || {
        let ca = TestCa::new();
        let forge = forge(&ca);
        let mut digests = Vec::new();
        for text in [
            "https://github.com/acme/skills/tree/main/s",
            "https://gitlab.com/acme/skills/-/tree/main/s",
            "https://git.example.com/acme/skills/tree/main/s",
        ] {
            digests.push(download(&ca, &[], text).unwrap().digest);
        }
        assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "a directory is the same wherever it is");
        let met: Vec<String> =
            forge.requests().iter().map(|request| request.local.ip().to_string()).collect();
        assert_eq!(met, [API, API, RAW, RAW, GITLAB, GITLAB, GITLAB, GITLAB, OWN, OWN, OWN, OWN]);
    });
}

#[test]
fn a_token_reaches_one_address() {
    in_namespace(test_name!(), &hosts(), || {
        let ca = TestCa::new();
        let forge = forge(&ca);
        let tokens: Vec<ForgeToken> = ["github.com", "gitlab.com", "git.example.com"]
            .iter()
            .map(|host| ForgeToken::new(host, "t0ken").unwrap())
            .collect();
        for (host, middle, address) in
            [("github.com", "", API), ("gitlab.com", "/-", GITLAB), ("git.example.com", "", OWN)]
        {
            let before = forge.requests().len();
            let hidden = format!("https://{host}/acme/hidden{middle}/tree/main/s");
            assert_eq!(download(&ca, &tokens, &hidden).unwrap().files.len(), 2);
            let public = format!("https://{host}/acme/skills{middle}/tree/main/s");
            assert_eq!(download(&ca, &tokens, &public).unwrap().files.len(), 2);
            let requests = forge.requests().split_off(before);
            let informed: Vec<_> = requests.iter().filter(|it| format!("{it:?}").contains("t0ken")).collect();
            assert_eq!(informed.len(), 5, "four that open, and one that is refused");
            assert!(informed.iter().all(|request| request.local.ip().to_string() == address), "{host}");
        }
    });
}
