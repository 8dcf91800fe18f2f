//! What request targets lead to: one table per verdict. Longer than other files because it is tables.

use fullsend_guard::Severity;
use fullsend_guard::url::{Allowed, Suspicion, Verdict, check_request, judge};

/// The rule of a target and how bad it is.
fn rule(target: &str) -> Option<(&'static str, Severity)> {
    check_request(target, &Allowed::nothing_more()).map(|finding| (finding.rule.id, finding.severity))
}

fn assert_blocked(targets: &[&str], rule_id: &str) {
    for target in targets {
        let verdict = judge(target);
        assert!(matches!(verdict, Verdict::Block { .. }), "{target:?}: {verdict:?}");
        assert_eq!(rule(target).map(|(id, _)| id), Some(rule_id), "{target:?}: {verdict:?}");
    }
}

/// Addresses that are not public, in the spellings that programs accept.
const ADDRESSES: &[&str] = &[
    "http://127.0.0.1/",
    "http://127.0.0.1:8080/",
    "https://127.0.0.1",
    "http://127.127.127.127/x",
    "http://127.255.255.254/",
    "http://0/",
    "http://0.0.0.0:9000/",
    "http://0.1.2.3/",
    "http://2130706433/",
    "http://017700000001/",
    "http://0000000017700000001/",
    "http://0x7f000001/",
    "http://0X7F000001/",
    "http://0x7f000001./",
    "http://0177.0.0.1/",
    "http://00000177.0.0.1/",
    "http://0x7f.0x0.0x0.0x1/",
    "http://0x7f.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://127.0x1/",
    "http://0x/",
    "http://010.0.0.1/",
    "http://010.010.010.010/",
    "http://10.0.0.1/",
    "http://10.255.255.255/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1.1/",
    "http://0xc0a80101/",
    "http://100.64.0.1/",
    "http://100.127.255.254/",
    "http://169.254.1.1/",
    "http://192.0.0.1/",
    "http://192.0.2.7/",
    "http://198.18.0.1/",
    "http://198.51.100.7/",
    "http://203.0.113.7/",
    "http://224.0.0.1/",
    "http://239.255.255.250:1900/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://[::1]/",
    "http://[::1]:8080/",
    "http://[0000:0000:0000:0000:0000:0000:0000:0001]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::FFFF:10.0.0.1]/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[64:ff9b::10.0.0.1]/",
    "http://[64:ff9b::169.254.169.254]/",
    "http://[64:ff9b:1::a9fe:a9fe]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a00:1::1]/",
    "http://[2001:0:4136:e378:8000:63bf:f5ff:fffa]/",
    "http://[2001::1]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[::1%25lo]/",
    "http://[fc00::1]/",
    "http://[fdab:cdef::1]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[2001:db8::1]/",
    "http://[127.0.0.1]/",
    "http://[::\u{ff11}]/",
    "http://user:pass@10.0.0.1/",
    "http://example.com@10.0.0.1/",
    "http://example.com@127.0.0.1/",
    "http://example.com:80@127.0.0.1:80/",
    "http://example.com%40x@127.0.0.1/",
    "http://example.com\\@127.0.0.1/",
    "http://127.0.0.1\\@example.com/",
    "http://127.0.0.1\\.example.com/",
    "http://example.com\\x@10.0.0.1:80/",
    "http://127.0.0.1#@example.com/",
    "http://127.0.0.1?@example.com/",
    "http://127.0.0.1?.example.com/",
    "http:127.0.0.1/",
    "http:/127.0.0.1/",
    "http:\\\\127.0.0.1\\",
    "http:/\\127.0.0.1/",
    "http:////127.0.0.1/",
    "https:10.0.0.1",
    "//127.0.0.1/",
    "///127.0.0.1/",
    "\\\\127.0.0.1\\share",
    "/\\127.0.0.1/",
    "\thttp://127.0.0.1/",
    " \u{0}\u{1f}http://127.0.0.1/ ",
    "\u{feff}http://127.0.0.1/",
    "http://127.0.\t0.1/",
    "ht\ntp://127.0.0.1/",
    "http:/\r\n/127.0.0.1/",
    "http://127\u{ff0e}0\u{ff0e}0\u{ff0e}1/",
    "http://127\u{3002}0\u{3002}0\u{3002}1/",
    "http://127\u{ff61}0\u{ff61}0\u{ff61}1/",
    "http://\u{2460}\u{2461}\u{2466}.\u{24ea}.\u{24ea}.\u{2460}/",
    "http://\u{ff11}\u{ff12}\u{ff17}.1/",
    "http://\u{1d7d9}\u{1d7d8}.0.0.1/",
    "http://1\u{200b}27.0.0.1/",
    "http://%31%32%37.0.0.1/",
    "http://127%2e0%2e0%2e1/",
    "http://127%E3%80%820%E3%80%820%E3%80%821/",
    "http://127.0.0.1./",
    "http://127.0.0.1 &@2.2.2.2# @3.3.3.3/",
    "http://127.0.0.1 .example.com/",
    "http://[::ffff:7f00:1%25eth0]/",
    "http://0x7f.0x1/",
    "http://127.1.1.1:80\\@x/",
    "http://127.000.000.001/",
    "http://127.0.0.1:080/",
    "http://127.0.0.1:/",
    "hTtP://127.0.0.1",
    "http://127\u{2024}0\u{2024}0\u{2024}1/",
    "http://127\u{fe52}0.0.1/",
    "http://[0:0:0:0:0:ffff:127.0.0.1]/",
    "[::]",
    "0",
    "0.0.0.0",
    "http://::1/",
    "ws://10.0.0.1/",
    "wss://192.168.0.1:8443/socket",
    "ssh://root@10.0.0.5/",
    "ssh://git@10.0.0.5:2222/x.git",
    "git://10.0.0.5/x.git",
    "git+ssh://git@[::1]/x",
    "git+https://10.0.0.5/x.git",
    "root@10.0.0.5:/srv/repo.git",
    "git@127.0.0.1:x/y",
    "git@[::1]:x/y",
    "10.0.0.5",
    "10.0.0.5:6379",
    "10.0.0.5/admin",
    "10.0.0.5:/srv/data",
    "127.1:80/x",
    "::1",
    "fe80::1%eth0",
    "[::1]:80",
];

/// Names of this machine, of its network, and of services that lead there.
const NAMES: &[&str] = &[
    "http://localhost/",
    "http://localhost:3000/",
    "http://LOCALHOST./",
    "http://app.localhost/",
    "http://localhost.localdomain/",
    "http://localhost6.localdomain6/",
    "http://ip6-localhost/",
    "http://ip6-loopback/",
    "http://loc\u{ad}alhost/",
    "http://loca\u{200d}lhost/",
    "http://%6c%6f%63%61%6c%68%6f%73%74/",
    "http://\u{ff4c}ocalhost/",
    "http://localho\u{17f}t/",
    "http://xn--localhost-/",
    "http://user@localhost/",
    "http:localhost/",
    "localhost",
    "localhost:3000/api",
    "localhost/api",
    "localhost:/srv/x",
    "localhost:repo.git",
    "ws://localhost:9222/devtools",
    "http://printer.local/",
    "http://db.internal/",
    "http://ip-10-0-0-5.ec2.internal/",
    "http://router.home.arpa/",
    "http://kubernetes.default.svc.cluster.local/",
    "http://kubernetes.default.svc/",
    "http://kubernetes/api",
    "http://gateway.docker.internal/",
    "http://host.docker.internal:8080/",
    "http://_gateway/",
    "http://10-0-0-5.sslip.io/",
    "http://10.0.0.5.nip.io/",
    "http://app.10.0.0.5.nip.io/",
    "http://app-127-0-0-1.nip.io/",
    "http://7f000001.nip.io/",
    "http://--1.sslip.io/",
    "http://fe80--1.sslip.io/",
    "http://169.254.169.254.nip.io/",
    "http://168.63.129.16.nip.io/",
    "http://8.8.8.8.10.0.0.1.xip.io/",
    "http://localtest.me/",
    "http://a.b.localtest.me:8080/",
    "http://lvh.me/",
    "http://vcap.me/",
    "http://7f000001.c0a80001.rbndr.us/",
    "http://make-1.2.3.4-rebind-127.0.0.1-rr.1u.ms/",
];

/// Metadata services, by address and by name.
const METADATA: &[&str] = &[
    "http://169.254.169.254/latest/meta-data/",
    "http://169.254.169.254/metadata/instance?api-version=2021-02-01",
    "http://169.254.169.254/opc/v2/instance/",
    "http://169.254.169.254/hetzner/v1/metadata",
    "http://169.254.169.254/metadata/v1.json",
    "http://169.254.170.2/v2/credentials/x",
    "http://169.254.0.23/latest/meta-data/",
    "http://100.100.100.200/latest/meta-data/",
    "http://192.0.0.192/latest/",
    "http://168.63.129.16/machine/?comp=goalstate",
    "http://0251.0376.0251.0376/",
    "http://0xa9fea9fe/",
    "http://2852039166/",
    "http://169.254.43518/",
    "http://[fd00:ec2::254]/latest",
    "http://[fd20:ce::254]/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://METADATA.GOOGLE.INTERNAL./",
    "http://metadata.goog/",
    "http://metadata/",
    "http://metadata.azure.com/",
    "http://instance-data/latest/meta-data/",
    "http://instance-data.ec2.internal/",
    "http://metadata.tencentyun.com/",
    "http://rancher-metadata/latest",
    "https://user@169.254.169.254:80/",
    "169.254.169.254",
    "169.254.169.254/latest/meta-data/",
    "metadata.google.internal",
    "ssh://169.254.169.254/",
];

#[test]
fn special_places_are_blocked_in_every_spelling() {
    assert_blocked(ADDRESSES, "blocked_ip");
    assert_blocked(NAMES, "blocked_hostname");
    assert_blocked(METADATA, "blocked_hostname");
    for target in ADDRESSES.iter().chain(NAMES).chain(METADATA) {
        assert_eq!(rule(target).map(|(_, severity)| severity), Some(Severity::Critical), "{target:?}");
    }
}

#[test]
fn schemes_that_read_files_or_speak_raw_protocols_are_blocked() {
    let blocked = [
        "file:///etc/passwd",
        "FILE:/etc/passwd",
        "file:etc/passwd",
        "file://example.com/share",
        "ftp://example.com/x",
        "gopher://example.com:70/_x",
        "data:text/html,x",
        "data://text/plain;base64,AAA",
        "dict://127.0.0.1:11211/stat",
        "ldap://127.0.0.1:389/%0astats",
        "ldaps://example.com/",
        "tftp://example.com/x",
        "sftp://evil.example:22/",
        "jar:http://example.com/x.jar!/y",
        "netdoc:///etc/passwd",
        "view-source:http://127.0.0.1/",
        "javascript:fetch(\"http://127.0.0.1\")",
        "javascript:alert(1)",
        "http+unix://%2Fvar%2Frun%2Fdocker.sock/v1.24/containers/json",
        "unix:/var/run/docker.sock",
        "ext::sh -c id",
        "fi\tle:///etc/passwd",
    ];
    assert_blocked(&blocked, "blocked_scheme");
    assert_eq!(rule("file:///etc/passwd"), Some(("blocked_scheme", Severity::High)));
    assert_eq!(
        rule("dict://127.0.0.1:11211/"),
        Some(("blocked_scheme", Severity::Critical)),
        "the host is worse"
    );

    let disallowed =
        ["mailto:me@example.com", "redis://example.com/", "foo://example.com", "foo:bar", "chrome://gpu"];
    assert_blocked(&disallowed, "disallowed_scheme");
    assert_eq!(rule("foo://example.com"), Some(("disallowed_scheme", Severity::Medium)));
    assert_eq!(
        rule("redis://10.0.0.1:6379/"),
        Some(("disallowed_scheme", Severity::Critical)),
        "the host is worse"
    );
}

#[test]
fn what_programs_read_differently_is_rejected() {
    let malformed = [
        "",
        "  ",
        "0://127.0.0.1:80;http://example.com:80/",
        "://example.com",
        "\u{ff48}ttp://example.com/",
        "http://425.510.425.510/",
        "http://256.1.1.1/",
        "http://127.0.0.256/",
        "http://0x100000000/",
        "http://4294967296/",
        "http://99999999999999999999999999/",
        "http://127.0.0.09/",
        "http://08.8.8.8/",
        "http://127..0.1/",
        "http://1.2.3.4.5/",
        "http://example.1/",
        "http://1.2.3.4..",
        "http://\u{661}\u{662}\u{667}.\u{660}.\u{660}.\u{661}/",
        "http://[::1",
        "http://[::1]x/",
        "http://[::g]/",
        "http://[]/",
        "http://[v1.x]/",
        "http://[8.8.8.8]/",
        "http://[2606:4700:4700::1111%25eth0]/",
        "http://%5B::1%5D/",
        "http://a:b:c/",
        "http://foo@127.0.0.1:80@example.com/",
        "http://a@b@c/",
        "http://127.0.0.1%0d%0aHost:%20internal/",
        "http://127.0.0.1%20.example.com/",
        "http://1.1.1.1 &@2.2.2.2# @3.3.3.3/",
        "http://good.example @evil.example/",
        "http://169.254.169.254:80.example.com/",
        "http://127.0.0.1;good.example/",
        "http://127.0.0.1,good.example/",
        "http://127.0.0.1.4294967296/",
        "http://0177.0.0.08/",
        "http://089.1.1.1/",
        "http://[%3a%3a1]/",
        "http://example.com%00.evil.example/",
        "http://example.com\u{0}.evil.example/",
        "http://exam%2fple.com/",
        "http://exam%252ecom/",
        "http://example%zz.com/",
        "http://example.com%ff/",
        "http://example\u{2100}.com/",
        "http://example.com\u{ff0f}evil.example/",
        "http://example.com\u{ff20}evil.example/",
        "http://example.com\u{ff1a}80/",
        "http://exa*mple.com/",
        "http://{host}/",
        "http://$HOST/",
        "http://<host>/",
        "http://example.com:0x50/",
        "http://example.com:0/",
        "http://example.com:65536/",
        "http://example.com:-80/",
        "http://example.com:\u{ff18}\u{ff10}/",
        "http://.example.com/",
        "http://example..com/",
        "http://example.com../",
        "http://xn--99999999.example/",
        "http://xn--example-.com/",
    ];
    for target in malformed {
        let verdict = judge(target);
        assert!(matches!(verdict, Verdict::Reject { .. }), "{target:?}: {verdict:?}");
        assert_eq!(rule(target), Some(("malformed_url", Severity::High)), "{target:?}");
    }
    for target in [
        "http:///x",
        "http://",
        "https:",
        "http:example.com/",
        "http:/example.com",
        "http://:80/",
        "http://user@/",
        "/etc/hosts",
        "///example.com/",
        "http://./",
        "ssh:host",
    ] {
        assert_eq!(rule(target), Some(("empty_hostname", Severity::High)), "{target:?}: {:?}", judge(target));
    }
    let long = format!("http://{}.example.com/", "a".repeat(64));
    assert_eq!(rule(&long), Some(("malformed_url", Severity::High)));
    let longer = format!("http://{}com/", "a.".repeat(100_000));
    assert_eq!(rule(&longer), Some(("malformed_url", Severity::High)));
}

#[test]
fn what_can_hide_where_it_leads_needs_a_second_look() {
    let table = [
        ("http://example.com?@127.0.0.1/", Suspicion::AtBehindHost),
        ("http://example.com#@10.0.0.1/", Suspicion::AtBehindHost),
        ("http://[::1]@evil.example/", Suspicion::UserLooksLikeHost),
        ("http://%5B::1%5D@evil.example/", Suspicion::UserLooksLikeHost),
        ("https://example.com/?u=https:10.0.0.1", Suspicion::NestedTarget),
        ("https://example.com/?next=%68ttp://10.0.0.1", Suspicion::NestedTarget),
        ("http://127.0.0.1%2f@example.com/", Suspicion::UserLooksLikeHost),
        ("https://good.example@evil.example/", Suspicion::UserLooksLikeHost),
        ("https://good.example:443@evil.example/", Suspicion::UserLooksLikeHost),
        ("https://localhost:80@evil.example/", Suspicion::UserLooksLikeHost),
        ("https://a%40127.0.0.1:x@evil.example/", Suspicion::UserLooksLikeHost),
        ("http://good.example\u{ff0f}x@evil.example/", Suspicion::UserLooksLikeHost),
        ("http://xn--lcalhost-t0a/", Suspicion::LookAlike),
        ("http://l\u{3bf}calhost/", Suspicion::LookAlike),
        ("http://m\u{435}tadata.google.internal.example/", Suspicion::LookAlike),
        ("http://g\u{456}thub.com/", Suspicion::LookAlike),
        ("http://xn--gthub-n2e.com/", Suspicion::LookAlike),
        ("http://abc.onion/", Suspicion::PrivateName),
        ("http://wiki.corp/", Suspicion::PrivateName),
        ("http://nas.lan/", Suspicion::PrivateName),
        ("http://8.8.8.8.nip.io/", Suspicion::AddressInName),
        ("http://nip.io/", Suspicion::AddressInName),
        ("https://example.com/redirect?url=http%3A%2F%2F169.254.169.254%2F", Suspicion::NestedTarget),
        ("https://example.com/?u=http%253A%252F%252F10.0.0.1", Suspicion::NestedTarget),
        ("https://example.com/?u=//127.0.0.1/x", Suspicion::NestedTarget),
        ("https://example.com/?a=100%&b=%ff&u=http%3A%2F%2F10.0.0.1", Suspicion::NestedTarget),
        ("https://web.example.com/save/http://metadata.google.internal/", Suspicion::NestedTarget),
        ("http://example.com:22/", Suspicion::Port),
        ("http://example.com:6667/", Suspicion::Port),
        ("example.com:25", Suspicion::Port),
        ("http://134744072/", Suspicion::UnusualNumber),
        ("http://8.8.2056/", Suspicion::UnusualNumber),
        ("http://exa%6dple.com/", Suspicion::DisguisedHost),
        ("http://\u{ff45}xample.com/", Suspicion::DisguisedHost),
        ("http://exam\u{ad}ple.com/", Suspicion::DisguisedHost),
        ("http://example.com\\path", Suspicion::Backslash),
        ("http:\\\\example.com/", Suspicion::Backslash),
        ("http://example.com\\@good.example/", Suspicion::Backslash),
        ("http://exam\tple.com/", Suspicion::Control),
        ("http://example.com/\r\nHost: x", Suspicion::Control),
    ];
    for (target, expected) in table {
        let verdict = judge(target);
        assert!(
            matches!(&verdict, Verdict::Ask { reason, .. } if *reason == expected),
            "{target:?}: {verdict:?}"
        );
        assert_eq!(rule(target), Some(("suspicious_url", Severity::Medium)), "{target:?}");
    }
}

#[test]
fn ordinary_targets_pass() {
    let names = [
        ("https://doc.example.org/url/latest/", "doc.example.org"),
        ("https://api.github.com/search?q=169.254.169.254", "api.github.com"),
        ("https://mylocalhost.com/", "mylocalhost.com"),
        ("https://localhost.example.com/", "localhost.example.com"),
        ("https://internal.example.com/", "internal.example.com"),
        ("https://metadata.example.com/", "metadata.example.com"),
        ("https://notnip.io/", "notnip.io"),
        ("https://evil.example/", "evil.example"),
        ("http://nodns.invalid/", "nodns.invalid"),
        ("http://slow.test/", "slow.test"),
        ("https://bit.ly/abc", "bit.ly"),
        ("https://例え.テスト.jp/", "例え.テスト.jp"),
        ("https://例え。テスト。jp/", "例え.テスト.jp"),
        ("https://bücher.example/", "bücher.example"),
        ("https://BÜCHER.example/", "bücher.example"),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("https://xn--r8jz45g.xn--zckzah/", "xn--r8jz45g.xn--zckzah"),
        ("https://пример.рф/", "пример.рф"),
        ("https://नमस्ते.example/", "नमस्ते.example"),
        ("HTTPS://EXAMPLE.COM:443/", "example.com"),
        ("https://example.com./", "example.com"),
        ("https://example.com:/", "example.com"),
        ("http://example.com:8080/a?b=c#d", "example.com"),
        ("https://example.com?email=me@example.org", "example.com"),
        ("https://example.com/@user/post", "example.com"),
        ("https://example.com/a:b/c@10.0.0.1", "example.com"),
        ("https://web.archive.org/web/2020/https://example.com/", "web.archive.org"),
        ("https://example.com/?next=https%3A%2F%2Fexample.org%2F", "example.com"),
        ("https://example.com/100%", "example.com"),
        ("https://raw.githubusercontent.com/o/r/main/README.md", "raw.githubusercontent.com"),
        ("https://x-access-token:abcdef@github.com/o/r.git", "github.com"),
        ("https://me:1234@git.example.com/x.git", "git.example.com"),
        ("https://me%40example.com:pw@git.example.com/x.git", "git.example.com"),
        ("git@github.com:x/y", "github.com"),
        ("first.last@build.example.com:src", "build.example.com"),
        ("ssh://first.last@build.example.com/src", "build.example.com"),
        ("git@github.com:x/y.git", "github.com"),
        ("github.com:x/y.git", "github.com"),
        ("ssh://git@github.com/x", "github.com"),
        ("ssh://git@github.com:22/x", "github.com"),
        ("git+https://github.com/x/y.git@v1", "github.com"),
        ("ws://example.com/", "example.com"),
        ("github.com/a", "github.com"),
        ("example.com:8080/x", "example.com"),
        ("my_host.example.com", "my_host.example.com"),
        ("//example.com/x", "example.com"),
        ("https://10-0-0-5.example.com/", "10-0-0-5.example.com"),
        ("http://7f000001/", "7f000001"),
        ("http://redis:6379/", "redis"),
    ];
    for (target, host) in names {
        assert_eq!(judge(target), Verdict::Resolve { host: host.into() }, "{target:?}");
        assert_eq!(rule(target), None);
    }
    let addresses = [
        ("https://1.1.1.1/dns-query", "1.1.1.1"),
        ("http://8.8.8.8", "8.8.8.8"),
        ("http://172.15.255.255/", "172.15.255.255"),
        ("http://172.32.0.1/", "172.32.0.1"),
        ("http://100.63.255.255/", "100.63.255.255"),
        ("http://100.128.0.1/", "100.128.0.1"),
        ("http://[2606:4700:4700::1111]/", "2606:4700:4700::1111"),
        ("http://[2001:4860:4860::8888]:443/", "2001:4860:4860::8888"),
        ("2001:4860:4860::8888", "2001:4860:4860::8888"),
        ("http://[::ffff:8.8.8.8]/", "8.8.8.8"),
    ];
    for (target, host) in addresses {
        assert_eq!(judge(target), Verdict::Allow { host: host.into() }, "{target:?}");
    }
}

#[test]
fn messages_name_the_place_and_keep_secrets() {
    let detail =
        |target| check_request(target, &Allowed::nothing_more()).map(|found| found.detail().to_owned());
    let table = [
        ("http://u:s3cret@10.0.0.1/?t=s3cret", "host `10.0.0.1`: 10.0.0.1 is a private address"),
        ("http://169.254.169.254/x", "host `169.254.169.254`: a cloud metadata service"),
        ("http://localhost:3000/", "host `localhost`: a name of this machine"),
        ("http://10-0-0-5.sslip.io/", "host `10-0-0-5.sslip.io`: a name for 10.0.0.5, a private address"),
        ("javascript:alert('s3cret')", "blocked scheme `javascript`"),
        ("http://example.com:0x50/?s3cret", "the port is not a number from 1 to 65535"),
    ];
    for (target, expected) in table {
        assert_eq!(detail(target).as_deref(), Some(expected), "{target}");
    }
}
