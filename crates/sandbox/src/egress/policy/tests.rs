use std::net::IpAddr;

use super::CompiledPolicy;
use crate::egress::target::{Host, Target};
use crate::spec::{HttpRule, NetworkPolicy, PrivateHost};

fn policy(allowed: &[&str], denied: &[&str], private: &[(&str, &str)]) -> Result<CompiledPolicy, String> {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let private = private
        .iter()
        .map(|(host, network)| PrivateHost { host: (*host).into(), network: (*network).into() });
    let policy = NetworkPolicy::Limited {
        allowed_hosts: owned(allowed),
        denied_hosts: owned(denied),
        http_rules: vec![],
        private_hosts: private.collect(),
    };
    CompiledPolicy::compile(&policy).map_err(|error| error.to_string())
}

fn code(policy: &CompiledPolicy, authority: &str) -> &'static str {
    let target = Target::parse(authority, None).unwrap();
    policy.judge(&target).err().map_or("ok", |refusal| refusal.code)
}

#[test]
fn the_list_decides_by_host_and_port() {
    let allowed = [
        "ok.test",
        "*.wild.test",
        "Port.Test.:8443",
        "192.0.2.10:8443",
        "[2001:db8::1]",
        "sub.denied.test:99",
    ];
    let denied = ["bad.wild.test", "x.wild.test:443", "denied.test", "*.denied.test"];
    let policy = policy(&allowed, &denied, &[]).unwrap();
    for (authority, expected) in [
        ("ok.test:443", "ok"),
        ("OK.TEST.:80", "ok"),
        ("ok.test:22", "port-not-allowed"),
        ("ok.test.evil.com:443", "host-not-allowed"),
        ("evilok.test:443", "host-not-allowed"),
        ("a.wild.test:443", "ok"),
        ("a.b.wild.test:80", "ok"),
        ("wild.test:443", "host-not-allowed"),
        ("notwild.test:443", "host-not-allowed"),
        ("bad.wild.test:443", "host-denied"),
        ("bad.wild.test:9", "host-denied"),
        ("x.wild.test:443", "host-denied"),
        ("x.wild.test:80", "ok"),
        ("sub.denied.test:99", "host-denied"),
        ("port.test:8443", "ok"),
        ("port.test:443", "port-not-allowed"),
        ("192.0.2.10:8443", "ok"),
        ("192.0.2.10:443", "port-not-allowed"),
        ("192.0.2.11:8443", "address-not-allowed"),
        ("[2001:db8::1]:443", "ok"),
        ("[::ffff:192.0.2.10]:8443", "address-not-allowed"),
        ("169.254.169.254:80", "metadata-service"),
        ("[::ffff:169.254.169.254]:80", "metadata-service"),
        ("metadata.google.internal:80", "metadata-service"),
        ("x.metadata.google.internal:80", "metadata-service"),
        ("xn--k-0fa.test:443", "host-not-allowed"),
    ] {
        assert_eq!(code(&policy, authority), expected, "{authority}");
    }
    assert_eq!(code(&CompiledPolicy::default(), "ok.test:443"), "host-not-allowed");
}

#[test]
fn entries_that_cannot_be_meant_are_refused() {
    for entry in [
        "*",
        "*:443",
        "",
        "*.",
        "a.*.test",
        "https://ok.test",
        "ok.test/path",
        "user@ok.test",
        "ok.test:",
        "ok.test:0",
        "ok.test:http",
        "ok.test:1:2",
        "ok test",
        "ok.test\n",
        "bücher.test",
        "1.2.3",
        "::1",
        "[::1",
        "[::ffff:10.0.0.1]",
        "169.254.169.254",
        "metadata.google.internal",
        "*.metadata.google.internal",
        "ok..test",
        "%6fk.test",
        "ok.test\0",
    ] {
        let outcome = policy(&[entry], &[], &[]);
        if entry == "*.metadata.google.internal" {
            // A pattern is not a host; what it matches is refused when it is asked for.
            assert_eq!(code(&outcome.unwrap(), "a.metadata.google.internal:80"), "metadata-service");
        } else {
            assert!(outcome.is_err(), "{entry:?}");
        }
    }
    let message = policy(&["*"], &[], &[]).unwrap_err();
    assert!(message.contains("allowed_hosts") && message.contains("unrestricted"), "{message}");
    assert!(CompiledPolicy::compile(&NetworkPolicy::Unrestricted).is_err());
    for (host, network) in [
        ("*.x.test", "10.0.0.0/8"),
        ("x.test", "10.0.0.0/33"),
        ("x.test", "ten"),
        ("x.test", "169.254.169.254/32"),
        ("metadata.google.internal", "10.0.0.0/8"),
        ("169.254.169.254", "169.254.0.0/16"),
    ] {
        assert!(policy(&[], &[], &[(host, network)]).is_err(), "{host} {network}");
    }
}

#[test]
fn only_public_addresses_or_opened_ones_are_dialled() {
    let policy =
        policy(&["ok.test", "lan.test"], &[], &[("lan.test", "10.1.0.0/16"), ("lan.test", "169.254.0.0/16")])
            .unwrap();
    let judge = |host: &str, address: &str| {
        let target = Target::parse(host, Some(443)).unwrap();
        let own: [IpAddr; 1] = ["9.9.9.9".parse().unwrap()];
        policy
            .judge_address(&target, address.parse().unwrap(), &own)
            .err()
            .map_or("ok", |refusal| refusal.code)
    };
    assert_eq!(judge("ok.test", "140.82.112.3"), "ok");
    for address in [
        "127.0.0.1",
        "10.1.0.1",
        "0.0.0.0",
        "100.64.0.1",
        "192.168.0.1",
        "169.254.1.1",
        "::1",
        "fe80::1",
        "fd00::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "224.0.0.1",
        "9.9.9.9",
        "::ffff:9.9.9.9",
    ] {
        assert_eq!(judge("ok.test", address), "address-not-public", "{address}");
    }
    for address in ["169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fd00:ec2::254"] {
        assert_eq!(judge("ok.test", address), "metadata-service", "{address}");
        assert_eq!(judge("lan.test", address), "metadata-service", "{address}");
    }
    assert_eq!(judge("lan.test", "10.1.2.3"), "ok");
    assert_eq!(judge("lan.test", "::ffff:10.1.2.3"), "ok");
    assert_eq!(judge("lan.test", "10.2.0.1"), "address-not-public");
    assert_eq!(judge("sub.lan.test", "10.1.2.3"), "address-not-public");
}

#[test]
fn names_are_answered_when_some_port_is_open() {
    let policy =
        policy(&["ok.test", "port.test:8443", "*.wild.test"], &["bad.wild.test", "x.wild.test:443"], &[])
            .unwrap();
    for (name, expected) in [
        ("ok.test", "ok"),
        ("port.test", "ok"),
        ("x.wild.test", "ok"),
        ("bad.wild.test", "host-denied"),
        ("evil.test", "host-not-allowed"),
        ("metadata", "metadata-service"),
    ] {
        let verdict = policy.judge_name(&Host::parse(name).unwrap());
        assert_eq!(verdict.err().map_or("ok", |refusal| refusal.code), expected, "{name}");
    }
}

#[test]
fn remedies_would_work() {
    let closed = CompiledPolicy::default();
    for (authority, entry) in
        [("x.test:443", "x.test"), ("x.test:8443", "x.test:8443"), ("[2001:db8::1]:22", "[2001:db8::1]:22")]
    {
        let target = Target::parse(authority, None).unwrap();
        let remedy = closed.judge(&target).unwrap_err().remedy.unwrap();
        assert_eq!(remedy, format!("allowed_hosts: [\"{entry}\"] or --allow-host {entry}"));
        assert_eq!(policy(&[entry], &[], &[]).unwrap().judge(&target), Ok(()));
    }
}

#[test]
fn rules_bind_a_host_to_requests() {
    let rules = vec![HttpRule {
        host: "ok.test:80".into(),
        methods: vec!["GET".into()],
        paths: vec!["/pub/*".into()],
    }];
    let policy = CompiledPolicy::compile(&NetworkPolicy::Limited {
        allowed_hosts: vec!["ok.test".into(), "other.test".into()],
        denied_hosts: vec![],
        http_rules: rules,
        private_hosts: vec![],
    })
    .unwrap();
    let judge = |authority: &str, method: &str, path: &str| {
        policy.judge_request(&Target::parse(authority, None).unwrap(), method, path)
    };
    assert_eq!(judge("ok.test:80", "GET", "/pub/x"), Ok(()));
    assert_eq!(judge("other.test:80", "PUT", "/x"), Ok(()));
    let refusal = judge("ok.test:80", "PUT", "/pub/\"x").unwrap_err();
    let remedy = r#"http_rules: [{"host": "ok.test:80", "methods": ["PUT"], "paths": ["/pub/\"x"]}]"#;
    assert_eq!((refusal.code, refusal.remedy.as_deref()), ("request-not-allowed", Some(remedy)));
    assert!(policy.has_rules(&Target::parse("ok.test:80", None).unwrap()));
    assert!(!policy.has_rules(&Target::parse("ok.test:443", None).unwrap()));
}

#[test]
fn the_open_ports_are_told() {
    let ports = |allowed: &[&str]| policy(allowed, &[], &[]).unwrap().ports();
    assert_eq!(ports(&[]), Vec::<u16>::new());
    assert_eq!(ports(&["a.test:22", "b.test"]), [22, 80, 443]);
    assert_eq!(ports(&["a.test:8443", "b.test:22", "c.test:8443"]), [22, 8443]);
}
