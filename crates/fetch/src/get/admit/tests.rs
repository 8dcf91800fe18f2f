use std::net::IpAddr;

use fullsend_origin::{HostPattern, RemoteUrl, classify};

use super::{admit, pin_addresses};
use crate::get::{FetchRules, Mode, PrivateHost};

fn rules(hosts: &[&str]) -> FetchRules {
    FetchRules::new(hosts.iter().map(|host| HostPattern::parse(host).unwrap()).collect())
}

fn private(host: &str, port: u16, cidr: &str) -> PrivateHost {
    PrivateHost { host: HostPattern::parse(host).unwrap(), port, cidr: cidr.parse().unwrap() }
}

fn url(text: &str) -> RemoteUrl {
    RemoteUrl::parse(text).unwrap()
}

fn addresses(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// The code of the first refusal for a URL and the addresses of its host, or `ok`.
fn judge(rules: &FetchRules, text: &str, found: &[&str]) -> &'static str {
    let outcome = admit(url(text).as_https(), rules)
        .and_then(|target| pin_addresses(&target, &addresses(found), rules));
    outcome.map_or_else(|error| error.code(), |_| "ok")
}

#[test]
fn offline_comes_before_everything() {
    let offline = FetchRules { mode: Mode::Offline, ..rules(&[]) };
    for text in ["https://example.com/x", "https://127.0.0.1:1/x", "https://[::1]/x", "https://ü.example/x"]
    {
        assert_eq!(judge(&offline, text, &[]), "fetch-offline", "{text}");
    }
}

#[test]
fn hosts_are_on_the_list_or_refused() {
    let rules = rules(&["127.0.0.1", "localhost", "Example.com", "*.example.org"]);
    for (text, code) in [
        ("https://EXAMPLE.com/x", "ok"),
        ("https://sub.example.org/x", "ok"),
        ("https://deep.sub.example.org/x", "ok"),
        ("https://example.org/x", "fetch-host-not-allowed"),
        ("https://notexample.org/x", "fetch-host-not-allowed"),
        ("https://sub.example.com/x", "fetch-host-not-allowed"),
        ("https://[::1]/x", "fetch-host-not-allowed"),
        ("https://[::ffff:127.0.0.1]/x", "fetch-host-not-allowed"),
    ] {
        assert_eq!(judge(&rules, text, &["8.8.8.8"]), code, "{text}");
    }
}

#[test]
fn other_ports_are_refused_before_names_are_resolved() {
    let mut rules = rules(&["example.com", "other.example"]);
    let refused = admit(url("https://example.com:8443/file").as_https(), &rules).unwrap_err();
    assert_eq!(refused.code(), "fetch-port-not-allowed");
    rules.private_hosts.push(private("example.com", 8443, "10.0.0.0/8"));
    assert_eq!(judge(&rules, "https://example.com:8443/file", &["8.8.8.8"]), "ok");
    assert_eq!(judge(&rules, "https://example.com:443/file", &["8.8.8.8"]), "ok");
    assert_eq!(judge(&rules, "https://example.com:8444/file", &["8.8.8.8"]), "fetch-port-not-allowed");
    assert_eq!(judge(&rules, "https://other.example:8443/file", &["8.8.8.8"]), "fetch-port-not-allowed");
}

#[test]
fn every_address_of_the_answer_counts() {
    let rules = rules(&["example.com"]);
    for (found, code) in [
        (&["8.8.8.8", "1.1.1.1", "2001:4860:4860::8888", "::ffff:8.8.8.8"][..], "ok"),
        (&["8.8.8.8", "10.0.0.1"], "fetch-address-refused"),
        (&["10.0.0.1", "8.8.8.8"], "fetch-address-refused"),
        (&["8.8.8.8", "fd00::1"], "fetch-address-refused"),
        (&["8.8.8.8", "::ffff:127.0.0.1"], "fetch-address-refused"),
        (&["8.8.8.8", "64:ff9b::7f00:1"], "fetch-address-refused"),
        (&["8.8.8.8", "169.254.169.254"], "fetch-metadata-address"),
        (&["168.63.129.16"], "fetch-metadata-address"),
        (&[], "fetch-dns"),
    ] {
        assert_eq!(judge(&rules, "https://example.com/x", found), code, "{found:?}");
    }
}

#[test]
fn only_public_addresses_pass() {
    let rules = rules(&["example.com"]);
    let refused = "127.0.0.1 ::1 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 fc00::1 169.254.1.1 fe80::1 \
        224.0.0.1 239.1.1.1 ff02::1 ff0e::1 0.0.0.0 :: 0.1.2.3 100.64.0.1 100.127.255.255 192.0.2.1 198.18.0.1 \
        198.19.255.255 198.51.100.1 203.0.113.1 240.0.0.1 255.255.255.255 192.0.0.1 192.88.99.1 64:ff9b:1::1 \
        2002:7f00:1:: 2001::1 ::7f00:1 ::ffff:0:7f00:1 2001:db8::1 3fff::1 100::1 fec0::1 5f00::1";
    for text in refused.split_whitespace() {
        assert_eq!(judge(&rules, "https://example.com/x", &[text]), "fetch-address-refused", "{text}");
    }
    let public = "100.63.255.255 100.128.0.0 172.15.255.255 172.32.0.0 198.17.255.255 198.20.0.0";
    for text in public.split_whitespace() {
        assert_eq!(judge(&rules, "https://example.com/x", &[text]), "ok", "{text}");
    }
}

#[test]
fn addresses_as_hosts_follow_the_same_rules() {
    let rules = rules(&["127.0.0.1", "[::1]", "8.8.8.8", "169.254.169.254"]);
    for (text, code) in [
        ("https://127.0.0.1/x", "fetch-address-refused"),
        ("https://[::1]/x", "fetch-address-refused"),
        ("https://169.254.169.254/x", "fetch-metadata-address"),
        ("https://8.8.8.8/x", "ok"),
    ] {
        let target = admit(url(text).as_https(), &rules).unwrap();
        let outcome = pin_addresses(&target, &[target.address.unwrap()], &rules);
        assert_eq!(outcome.map_or_else(|error| error.code(), |_| "ok"), code, "{text}");
    }
}

#[test]
fn a_private_host_is_open_at_its_port_and_range_only() {
    let mut rules = rules(&["git.corp.example", "other.corp.example"]);
    rules.private_hosts = vec![
        private("git.corp.example", 443, "10.1.0.0/16"),
        private("git.corp.example", 8443, "10.2.0.0/16"),
        private("git.corp.example", 443, "fd00::/8"),
    ];
    for (text, found, code) in [
        ("https://git.corp.example/x", &["10.1.2.3"][..], "ok"),
        ("https://git.corp.example/x", &["10.1.2.3", "fd12::1", "8.8.8.8"], "ok"),
        ("https://git.corp.example/x", &["::ffff:10.1.2.3"], "ok"),
        ("https://git.corp.example/x", &["10.2.2.3"], "fetch-address-refused"),
        ("https://git.corp.example:8443/x", &["10.2.2.3"], "ok"),
        ("https://git.corp.example:8443/x", &["10.1.2.3"], "fetch-address-refused"),
        ("https://git.corp.example/x", &["10.1.2.3", "127.0.0.1"], "fetch-address-refused"),
        ("https://other.corp.example/x", &["10.1.2.3"], "fetch-address-refused"),
    ] {
        assert_eq!(judge(&rules, text, found), code, "{text} {found:?}");
    }
}

#[test]
fn metadata_services_are_closed_to_everyone() {
    let mut rules = rules(&["example.com"]);
    rules.private_hosts = vec![private("example.com", 443, "0.0.0.0/0"), private("example.com", 443, "::/0")];
    for text in [
        "169.254.169.254",
        "169.254.170.2",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
        "fd00:ec2::254",
        "fd20:ce::254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::",
    ] {
        assert_eq!(judge(&rules, "https://example.com/x", &[text]), "fetch-metadata-address", "{text}");
    }
    let loopback: IpAddr = "127.0.0.1".parse().unwrap();
    assert!(!classify(loopback).is_global());
    assert_eq!(judge(&rules, "https://example.com/x", &["127.0.0.1"]), "ok");
}

#[test]
fn a_name_that_no_certificate_has_is_refused() {
    let rules = rules(&["münchen.example"]);
    assert_eq!(judge(&rules, "https://münchen.example/x", &["8.8.8.8"]), "fetch-host-name");
}

#[test]
fn the_host_header_has_brackets_and_unusual_ports() {
    let mut rules = rules(&["example.com", "[2001:4860:4860::8888]"]);
    rules.private_hosts.push(private("example.com", 8443, "10.0.0.0/8"));
    let authority = |text| admit(url(text).as_https(), &rules).unwrap().authority();
    assert_eq!(authority("https://EXAMPLE.com:443/x"), "example.com");
    assert_eq!(authority("https://example.com:8443/x"), "example.com:8443");
    assert_eq!(authority("https://[2001:4860:4860::8888]/x"), "[2001:4860:4860::8888]");
}
