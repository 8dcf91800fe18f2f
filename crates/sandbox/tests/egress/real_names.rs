//! Real names at public addresses on the usual ports, in a network of the test's own.

use std::net::IpAddr;
use std::process::Command;

use fullsend_sandbox::NetworkPolicy;
use fullsend_sandbox::egress::{Entrance, Resolve, Resolving, SystemResolver};
use fullsend_testkit::{Host, Reply, Server, TestCa, Validity, declare_skip, in_namespace, test_name};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use super::support::{Origin, Proxy, client_config, handshake, listen, read_all};

const ADDRESS: &str = "140.82.112.3";

fn hosts() -> [Host; 2] {
    [Host::new("github.com", ADDRESS), Host::new("evil.example", ADDRESS)]
}

/// The system's resolver, on a machine that the test's servers are not part of.
#[derive(Debug)]
struct Elsewhere;

impl Resolve for Elsewhere {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        SystemResolver.resolve(host)
    }

    fn own_addresses(&self) -> Vec<IpAddr> {
        Vec::new()
    }
}

fn run(body: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(body);
}

#[test]
fn the_usual_ports_carry_tls_and_http_and_nothing_else() {
    in_namespace(test_name!(), &hosts(), || {
        run(async {
            let ca = TestCa::new();
            let server = Server::start(
                &ca.leaf(&["github.com", "evil.example"], Validity::Current),
                &["140.82.112.3:443"],
            );
            server.route("/", Reply::ok("hello"));
            let plain = Origin::on("140.82.112.3:80", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
            let proxy = Proxy::with(&NetworkPolicy::limited(["github.com"]), Elsewhere, vec![], vec![]);

            let stream = proxy.tunnel("github.com:443").await;
            let mut tls = handshake(client_config(&ca.pem()), "github.com", stream).await.unwrap();
            tls.write_all(b"GET / HTTP/1.1\r\nHost: github.com\r\nConnection: close\r\n\r\n").await.unwrap();
            assert!(read_all(&mut tls).await.contains("hello"));
            let stream = proxy.tunnel("github.com:443").await;
            assert!(
                handshake(client_config(&ca.pem()), "evil.example", stream).await.is_err(),
                "same address, other name"
            );

            let get = "GET http://github.com/ HTTP/1.1\r\nHost: github.com\r\nConnection: close\r\n\r\n";
            assert!(proxy.send(get).await.starts_with("HTTP/1.1 200"));
            for authority in ["github.com:80", "github.com:443"] {
                let mut stream = proxy.tunnel(authority).await;
                stream.write_all(b"EHLO there\r\n").await.unwrap();
                assert_eq!(read_all(&mut stream).await, "", "{authority}");
            }
            proxy.logged(&[("reason", json!("not-http-or-tls"))]).await;
            for authority in ["140.82.112.3:443", "evil.example:443", "github.com:22"] {
                let answer =
                    proxy.send(format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n")).await;
                assert!(answer.starts_with("HTTP/1.1 403"), "{authority}: {answer}");
            }
            assert_eq!((server.requests().len(), plain.requests().len()), (1, 1));
        });
    });
}

#[test]
fn this_machines_own_addresses_are_refused_however_public() {
    in_namespace(test_name!(), &hosts(), || {
        run(async {
            let plain = Origin::on("140.82.112.3:80", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
            let proxy = Proxy::with(&NetworkPolicy::limited(["github.com"]), SystemResolver, vec![], vec![]);
            let get = "GET http://github.com/ HTTP/1.1\r\nHost: github.com\r\n\r\n";
            let answer = proxy.send(get).await;
            assert!(
                answer.contains("address-not-public") && answer.contains("an address of this machine"),
                "{answer}"
            );
            assert_eq!(plain.connections(), 0);
        });
    });
}

#[test]
fn curl_gets_through_every_entrance_and_no_further() {
    if Command::new("curl").arg("--version").output().is_err() {
        return declare_skip(test_name!(), "there is no curl");
    }
    in_namespace(test_name!(), &hosts(), || {
        run(async {
            let ca = TestCa::new();
            let server = Server::start(&ca.leaf(&["github.com"], Validity::Current), &["140.82.112.3:443"]);
            server.route("/", Reply::ok("hello"));
            let proxy = Proxy::with(&NetworkPolicy::limited(["github.com"]), Elsewhere, vec![], vec![]);
            let transparent = listen(&proxy.egress, Entrance::Transparent { port: 443 });
            let curl = |arguments: Vec<String>| {
                tokio::task::spawn_blocking(move || {
                    let output = Command::new("curl")
                        .args(["--silent", "--show-error", "--noproxy", "", "--max-time", "20", "--insecure"])
                        .args(arguments)
                        .output()
                        .unwrap();
                    String::from_utf8_lossy(&output.stdout).into_owned()
                        + &String::from_utf8_lossy(&output.stderr)
                })
            };
            let through = |scheme: &str, url: &str| {
                vec!["--proxy".to_owned(), format!("{scheme}://{}", proxy.address), url.to_owned()]
            };
            for scheme in ["http", "socks5h"] {
                assert_eq!(curl(through(scheme, "https://github.com/")).await.unwrap(), "hello", "{scheme}");
                let refused = curl(through(scheme, "https://evil.example/")).await.unwrap();
                assert!(!refused.contains("hello") && refused.starts_with("curl: "), "{scheme}: {refused}");
            }
            // Without proxy settings: the stand-in address, on the port that the sandbox would have at 443.
            let stand_in = format!("github.com:443:127.64.0.1:{}", transparent.port());
            let mut query = vec![1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 6];
            query.extend(b"github\x03com\0\0\x01\0\x01");
            assert!(proxy.egress.answer_name(&query).unwrap().ends_with(&[127, 64, 0, 1]));
            assert_eq!(
                curl(vec!["--connect-to".into(), stand_in, "https://github.com/".into()]).await.unwrap(),
                "hello"
            );
            assert_eq!(server.requests().len(), 3);
        });
    });
}

#[test]
fn the_systems_resolver_understands_the_name_server() {
    in_namespace(test_name!(), &hosts(), || {
        run(async {
            let policy = NetworkPolicy::limited(["stand.example", "*.wild.example"]);
            let proxy = Proxy::with(&policy, Elsewhere, vec![], vec![]);
            let socket = std::net::UdpSocket::bind("127.0.0.1:53").unwrap();
            proxy.egress.answer_names(socket).unwrap();
            let look_up = |name: &'static str| async move {
                let found = SystemResolver.resolve(name).await;
                found.ok().map(|addresses| addresses.iter().map(IpAddr::to_string).collect::<Vec<_>>())
            };
            assert_eq!(look_up("stand.example").await, Some(vec!["127.64.0.1".to_owned()]));
            assert_eq!(look_up("A.wild.example").await, Some(vec!["127.64.0.2".to_owned()]));
            assert_eq!(look_up("other.example").await, None);
            proxy.logged(&[("host", json!("other.example")), ("reason", json!("host-not-allowed"))]).await;
        });
    });
}
