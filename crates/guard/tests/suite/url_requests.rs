//! Requests in their surroundings: redirects, resolved addresses, what the operator allows, targets known in part.

use std::net::IpAddr;

use fullsend_guard::url::{
    Allowed, AllowedHost, PrivateHost, Suspicion, Verdict, check_partial, check_request, judge_addresses,
    judge_chain, judge_with,
};
use fullsend_guard::{Finding, Severity};

#[test]
fn every_hop_of_a_redirect_is_judged() {
    let none = Allowed::nothing_more();
    assert_eq!(judge_chain(&["https://example.com/a", "https://example.org/b"], &none), None);
    let found =
        judge_chain(&["https://example.com/redirect", "http://192.168.1.100/internal"], &none).unwrap();
    assert_eq!(found.rule.id, "blocked_ip");
    assert_eq!(found.severity, Severity::Critical);
    assert_eq!(found.detail(), "Redirect hop 1: host `192.168.1.100`: 192.168.1.100 is a private address");
    let found = judge_chain(&["http://localhost/redirect"], &none).unwrap();
    assert_eq!(found.detail(), "Redirect hop 0: host `localhost`: a name of this machine");
}

#[test]
fn every_resolved_address_must_be_public() {
    let judged = |addresses: &[&str]| {
        let addresses: Vec<IpAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
        judge_addresses("rebind.example", &addresses, &Allowed::nothing_more())
    };
    assert_eq!(judged(&["8.8.8.8", "1.1.1.1", "2001:4860:4860::8888", "::ffff:8.8.8.8"]), None);
    assert_eq!(
        judged(&[]).map(|found| (found.rule.id, found.severity)),
        Some(("dns_failure", Severity::High))
    );
    let rebound = judged(&["93.184.216.34", "169.254.169.254"]).unwrap();
    assert_eq!((rebound.rule.id, rebound.severity), ("blocked_resolved_ip", Severity::Critical));
    assert_eq!(rebound.detail(), "`rebind.example` resolves to 169.254.169.254, a link-local address");
    for special in
        ["127.0.0.1", "10.0.0.1", "::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "168.63.129.16", "224.0.0.1"]
    {
        assert!(judged(&["8.8.8.8", special]).is_some(), "{special}");
    }
}

fn allowed(hosts: &[&str], private: &[(&str, &str)]) -> Allowed {
    let hosts = hosts.iter().map(|text| text.parse::<AllowedHost>().unwrap()).collect();
    let private = private.iter().map(|(host, network)| PrivateHost {
        host: host.parse().unwrap(),
        network: network.parse().unwrap(),
    });
    Allowed::new(hosts, private.collect())
}

#[test]
fn what_the_operator_allows_passes_except_metadata() {
    let open = allowed(
        &[
            "db.internal",
            "*.corp",
            "localhost:8080",
            "10.1.2.3",
            "[fd00::5]:443",
            "*.internal",
            "169.254.169.254",
            "*.nip.io",
        ],
        &[
            ("build.example.com", "10.2.0.0/16"),
            ("10.9.9.9", "10.9.9.9/32"),
            ("metadata.example", "169.254.0.0/16"),
        ],
    );
    for passes in [
        "http://db.internal/",
        "postgres.internal",
        "https://wiki.corp/",
        "http://localhost:8080/",
        "localhost",
        "http://10.1.2.3:9000/",
        "https://[fd00::5]/",
        "http://10.9.9.9/",
        "http://[::ffff:10.1.2.3]/",
    ] {
        assert_eq!(check_request(passes, &open), None, "{passes}");
    }
    for refused in [
        "http://localhost/",
        "http://localhost:9090/",
        "http://[fd00::5]:80/",
        "http://10.1.2.4/",
        "http://169.254.169.254/",
        "http://metadata.google.internal/",
        "http://10.0.0.1.nip.io/",
        "http://10.1.2.3\\@10.0.0.1/",
        "file:///etc/passwd",
        "dict://db.internal/",
    ] {
        assert!(judge_with(refused, &open).is_refused(), "{refused}");
    }
    assert_eq!(
        judge_with("http://0xa010203/", &open),
        Verdict::Ask { reason: Suspicion::UnusualNumber, host: "10.1.2.3".into() }
    );

    let at = |host: &str, address: &str| judge_addresses(host, &[address.parse().unwrap()], &open);
    assert_eq!(at("build.example.com", "10.2.3.4"), None);
    assert_eq!(at("build.example.com", "::ffff:10.2.3.4"), None);
    assert!(at("build.example.com", "10.3.0.1").is_some());
    assert!(at("other.example.com", "10.2.3.4").is_some());
    assert!(at("metadata.example", "169.254.169.254").is_some());
}

#[test]
fn entries_of_the_allow_list_are_read_strictly() {
    for bad in
        ["", "*", "*:80", "host:", "host:x", "host:70000", "[::1", "[::1]x", "a b", "0x7f.1", "http://host"]
    {
        assert!(bad.parse::<AllowedHost>().is_err(), "{bad}");
    }
    assert_eq!("*.example.com:8443".parse::<AllowedHost>().unwrap().port, Some(8443));
}

#[test]
fn a_target_known_in_part_is_judged_by_what_is_certain() {
    let judged = |prefix| {
        check_partial(prefix, &Allowed::nothing_more()).map(|found: Finding| (found.rule.id, found.severity))
    };
    let table = [
        ("", Some(("incomplete_target", Severity::Low))),
        ("htt", Some(("incomplete_target", Severity::Low))),
        ("http://", Some(("incomplete_target", Severity::Low))),
        ("http:/", Some(("incomplete_target", Severity::Low))),
        ("http://10.0.0.", Some(("incomplete_target", Severity::Low))),
        ("http://10.0.0.1", Some(("incomplete_target", Severity::Low))),
        ("http://10.0.0.1:", Some(("incomplete_target", Severity::Low))),
        ("http://user:", Some(("incomplete_target", Severity::Low))),
        ("https://example.com", Some(("incomplete_target", Severity::Low))),
        ("https://example.com/", None),
        ("https://example.com/path?x=", None),
        ("https://example.com:8080/", None),
        ("example.com/path/", None),
        ("http://10.0.0.1/", Some(("blocked_ip", Severity::Critical))),
        ("10.0.0.1/x", Some(("blocked_ip", Severity::Critical))),
        ("http://169.254.169.254/latest/", Some(("blocked_hostname", Severity::Critical))),
        ("file://", Some(("blocked_scheme", Severity::High))),
        ("gopher://host", Some(("blocked_scheme", Severity::High))),
        ("foo://", Some(("disallowed_scheme", Severity::Medium))),
        ("0://x", Some(("malformed_url", Severity::High))),
    ];
    for (prefix, expected) in table {
        assert_eq!(judged(prefix), expected, "{prefix:?}");
    }
}
