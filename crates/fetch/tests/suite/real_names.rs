//! The whole path for real: the system's resolver, public addresses, port 443, certificates for real names.

use fullsend_fetch::get::{ExtraRoots, PrivateHost, RetryRules};
use fullsend_fetch::{FetchError, FetchRules, Fetched, Fetcher, Request};
use fullsend_origin::{HostPattern, PinnedUrl, Sha256Digest};
use fullsend_testkit::{Host, Reply, Server, TestCa, Validity, in_namespace, test_name};

use super::network::run;
use super::support::url;

const GITHUB: &str = "140.82.112.3";
const RAW: &str = "185.199.108.133";

fn rules(ca: &TestCa, hosts: &[&str]) -> FetchRules {
    let mut rules = FetchRules::new(hosts.iter().map(|host| HostPattern::parse(host).unwrap()).collect());
    rules.extra_roots = vec![ExtraRoots::Pem(ca.pem().into_bytes())];
    rules.retries = RetryRules { max_retries: 0, ..RetryRules::default() };
    rules
}

fn private(host: &str, cidr: &str) -> PrivateHost {
    PrivateHost { host: HostPattern::parse(host).unwrap(), port: 443, cidr: cidr.parse().unwrap() }
}

fn get(rules: &FetchRules, text: &str) -> Result<Fetched, FetchError> {
    run(Fetcher::new(rules.clone()).unwrap().get(&Request::new(&url(text))))
}

fn serve(ca: &TestCa, name: &str, address: &str) -> Server {
    let server = Server::start(&ca.leaf(&[name], Validity::Current), &[address]);
    server.route("/x", Reply::ok("hello"));
    server
}

#[test]
fn a_file_comes_from_its_real_host() {
    let hosts = [Host::new("github.com", GITHUB), Host::new("raw.githubusercontent.com", RAW)];
    in_namespace(test_name!(), &hosts, || {
        let ca = TestCa::new();
        let github = serve(&ca, "github.com", "140.82.112.3:443");
        let raw = serve(&ca, "raw.githubusercontent.com", "185.199.108.133:443");
        let rules = rules(&ca, &["github.com", "raw.githubusercontent.com"]);
        let pinned = PinnedUrl::new(url("https://raw.githubusercontent.com/x"), Sha256Digest::of(b"hello"));
        let fetched = run(Fetcher::new(rules.clone()).unwrap().get_pinned(&pinned)).unwrap();
        assert_eq!(fetched.peer, "185.199.108.133:443".parse().unwrap());
        assert_eq!(raw.requests()[0].header("host"), Some("raw.githubusercontent.com"));
        assert_eq!(raw.requests()[0].sni.as_deref(), Some("raw.githubusercontent.com"));

        github.route("/x", Reply::redirect(302, "https://raw.githubusercontent.com/x?token=1"));
        let error = get(&rules, "https://github.com/x").unwrap_err();
        assert_eq!(error.code(), "fetch-redirect");
        assert!(error.to_string().contains("raw.githubusercontent.com"));
        assert_eq!((github.connections(), raw.connections()), (1, 1));
    });
}

#[test]
fn a_public_name_for_a_private_address_is_refused() {
    let hosts = [Host::new("github.com", "10.1.2.3")];
    in_namespace(test_name!(), &hosts, || {
        let ca = TestCa::new();
        let server = serve(&ca, "github.com", "10.1.2.3:443");
        let mut rules = rules(&ca, &["github.com"]);
        assert_eq!(get(&rules, "https://github.com/x").unwrap_err().code(), "fetch-address-refused");
        rules.private_hosts =
            vec![private("github.com", "10.1.3.0/24"), private("other.example", "10.0.0.0/8")];
        assert_eq!(get(&rules, "https://github.com/x").unwrap_err().code(), "fetch-address-refused");
        assert_eq!(server.connections(), 0);
        rules.private_hosts = vec![private("github.com", "10.1.2.0/24")];
        assert_eq!(get(&rules, "https://github.com/x").unwrap().bytes, b"hello");
    });
}

#[test]
fn a_private_address_beside_a_public_one_is_refused() {
    let hosts = [Host::new("github.com", GITHUB), Host::new("github.com", "fd00::5")];
    in_namespace(test_name!(), &hosts, || {
        let ca = TestCa::new();
        let public = serve(&ca, "github.com", "140.82.112.3:443");
        let private = serve(&ca, "github.com", "[fd00::5]:443");
        let error = get(&rules(&ca, &["github.com"]), "https://github.com/x").unwrap_err();
        assert_eq!(error.code(), "fetch-address-refused");
        assert!(error.to_string().contains("fd00::5"));
        assert_eq!((public.connections(), private.connections()), (0, 0));
    });
}

#[test]
fn both_families_of_addresses_work() {
    let hosts = [Host::new("github.com", "2606:50c0:8000::153")];
    in_namespace(test_name!(), &hosts, || {
        let ca = TestCa::new();
        let names = ["github.com", "2606:50c0:8000::153"];
        let server = Server::start(&ca.leaf(&names, Validity::Current), &["[2606:50c0:8000::153]:443"]);
        server.route("/x", Reply::ok("hello"));
        let rules = rules(&ca, &["github.com", "[2606:50c0:8000::153]"]);
        assert_eq!(get(&rules, "https://github.com/x").unwrap().peer, server.address());
        assert_eq!(get(&rules, "https://[2606:50c0:8000::153]/x").unwrap().bytes, b"hello");
        assert_eq!(server.requests()[1].header("host"), Some("[2606:50c0:8000::153]"));
        assert_eq!(server.requests()[1].sni, None);
    });
}

#[test]
fn the_metadata_service_is_out_of_reach() {
    let hosts = [Host::new("metadata.example", "169.254.169.254")];
    in_namespace(test_name!(), &hosts, || {
        let ca = TestCa::new();
        let names = ["metadata.example", "169.254.169.254"];
        let server = Server::start(&ca.leaf(&names, Validity::Current), &["169.254.169.254:443"]);
        let mut rules = rules(&ca, &names);
        rules.private_hosts = names.iter().map(|name| private(name, "0.0.0.0/0")).collect();
        for text in ["https://metadata.example/x", "https://169.254.169.254/x"] {
            assert_eq!(get(&rules, text).unwrap_err().code(), "fetch-metadata-address", "{text}");
        }
        assert_eq!(server.connections(), 0);
    });
}

#[test]
fn a_name_that_does_not_exist_is_not_found() {
    in_namespace(test_name!(), &[], || {
        let rules = rules(&TestCa::new(), &["does-not-exist.example"]);
        assert_eq!(get(&rules, "https://does-not-exist.example/x").unwrap_err().code(), "fetch-dns");
    });
}

#[test]
fn loopback_is_refused_by_name_and_by_number() {
    in_namespace(test_name!(), &[], || {
        let ca = TestCa::new();
        let names = ["localhost", "127.0.0.1"];
        let server = Server::start(&ca.leaf(&names, Validity::Current), &["127.0.0.1:443"]);
        let rules = rules(&ca, &names);
        for text in ["https://localhost/x", "https://127.0.0.1/x"] {
            assert_eq!(get(&rules, text).unwrap_err().code(), "fetch-address-refused", "{text}");
        }
        assert_eq!(server.connections(), 0);
    });
}
